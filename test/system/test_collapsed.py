"""Collapsed forwarding: concurrent misses of one URL share one fetch, on any worker, while it is still arriving."""
import hashlib
import threading

import pytest

from client import Cut, Task, request, soon
from origin import CLOSE, RESET, chunk, head, not_modified, ok

FRESH = 'Cache-Control: max-age=600'
LARGE = hashlib.shake_256(b'collapsed').digest(1 << 20)


def ask_all(p, url, n=10, fields=()):
    """n connections, spread over the workers by the kernel, each having sent its request."""
    clients = [p.connect() for _ in range(n)]
    for c in clients:
        c.send(request('GET', url, *fields))
    return clients


def wait_read(clients):
    """Until their requests are in the proxy's hands."""
    for c in clients:
        c.wait_read()


def tags(p, url, n):
    return sorted(p.codes(url, n))


def test_ten_clients_one_fetch(make_proxy, origin):
    go = threading.Event()
    page = origin.page([go, ok(b'shared', FRESH)])
    p = make_proxy()
    clients = ask_all(p, page.url)
    page.wait(1)
    wait_read(clients)
    go.set()
    for c in clients:
        assert c.response().body == b'shared'
        c.close()
    assert page.count == 1
    assert tags(p, page.url, 10) == ['TCP_CF_HIT/200'] * 9 + ['TCP_MISS/200']
    assert {line.hier for line in p.lines() if line.code == 'TCP_CF_HIT'} == {'HIER_NONE/-'}
    assert p.counters()['client_http.hits'] == 9
    assert p.get(page.url).body == b'shared'


@pytest.mark.parametrize('form', ['length', 'chunked', 'close'])
def test_readers_while_it_arrives(proxy, origin, form):
    """Those who come when half of it is there get that half at once, and the rest as it comes."""
    half, go = len(LARGE) // 2, threading.Event()
    first, second = LARGE[:half], LARGE[half:]
    script = {'length': [head(f'Content-Length: {len(LARGE)}', FRESH), first, go, second],
              'chunked': [head('Transfer-Encoding: chunked', FRESH), chunk(first), go, chunk(second), b'0\r\n\r\n'],
              'close': [head(FRESH), first, go, second, CLOSE]}[form]
    page = origin.page(script)
    clients = ask_all(proxy, page.url, 1)
    page.wait(1)
    for c in clients:
        while len(c.reader.waiting) < half:
            assert c.reader.fill()
    late = ask_all(proxy, page.url, 9)
    for c in late:
        while len(c.reader.waiting) < half:
            assert c.reader.fill()
    go.set()
    for c in clients + late:
        assert c.response().body == LARGE
        c.close()
    assert page.count == 1
    assert tags(proxy, page.url, 10) == ['TCP_CF_HIT/200'] * 9 + ['TCP_MISS/200']
    assert proxy.get(page.url).body == LARGE
    assert page.count == 1


def test_each_at_its_own_pace(proxy, origin):
    page = origin.page(ok(LARGE, FRESH))
    slow = proxy.connect(receive_buffer=4096)
    slow.send(request('GET', page.url))
    page.wait(1)
    others = ask_all(proxy, page.url, 4)
    for c in others:
        assert c.response().body == LARGE
        c.close()
    assert slow.response().body == LARGE
    slow.close()
    assert page.count == 1


@pytest.mark.parametrize('fields', [['Cache-Control: private, max-age=600'], ['Cache-Control: no-store'],
                                    ['Cache-Control: max-age=600', 'Vary: *']])
def test_an_answer_for_one_alone_lets_the_others_go(proxy, origin, fields):
    go = threading.Event()
    page = origin.page([go, lambda x: ok(b'for %d' % x.n, *fields)], lambda x: ok(b'for %d' % x.n, *fields))
    clients = ask_all(proxy, page.url, 5)
    page.wait(1)
    wait_read(clients)
    go.set()
    got = sorted(c.response().body for c in clients)
    assert got == [b'for %d' % i for i in range(1, 6)], 'each has an answer of its own'
    assert page.count == 5
    assert tags(proxy, page.url, 5) == ['TCP_MISS/200'] * 5
    for c in clients:
        c.close()


def test_variants_are_told_apart(proxy, origin):
    """A waiter whom the answer doesn't fit fetches its own."""
    go = threading.Event()
    page = origin.page([go, lambda x: ok(x.request.get('Foo').encode(), FRESH, 'Vary: Foo')],
                       lambda x: ok(x.request.get('Foo').encode(), FRESH, 'Vary: Foo'))
    leader = ask_all(proxy, page.url, 1, ['Foo: a'])
    page.wait(1)
    same, other = ask_all(proxy, page.url, 2, ['Foo: a']), ask_all(proxy, page.url, 1, ['Foo: b'])
    wait_read(leader + same + other)
    go.set()
    assert [c.response().body for c in leader + same + other] == [b'a', b'a', b'a', b'b']
    assert page.count == 2
    for c in leader + same + other:
        c.close()


@pytest.mark.parametrize('end', [CLOSE, RESET], ids=['fin', 'rst'])
def test_an_origin_that_fails_half_way_cuts_all(proxy, origin, end):
    go = threading.Event()
    page = origin.page([head('Content-Length: 1000', FRESH), b'x' * 500, go, end], ok(b'whole', FRESH))
    clients = ask_all(proxy, page.url, 1)
    page.wait(1)
    while not clients[0].reader.waiting.endswith(b'xxx'):
        clients[0].reader.fill()
    clients += ask_all(proxy, page.url, 4)
    for c in clients[1:]:
        while not c.reader.waiting.endswith(b'xxx'):
            assert c.reader.fill()
    go.set()
    for c in clients:
        with pytest.raises(Cut):
            c.response()
        c.close()
    assert proxy.get(page.url).body == b'whole', 'nothing was stored'
    assert page.count == 2


def test_an_origin_that_fails_before_its_head_fails_all(proxy, origin):
    go = threading.Event()
    page = origin.page([go, CLOSE])
    clients = ask_all(proxy, page.url, 4)
    page.wait(1)
    wait_read(clients)
    go.set()
    for c in clients:
        assert c.response().status == 502
        c.close()


def test_the_leader_s_leaving_ends_nothing(proxy, origin):
    go = threading.Event()
    page = origin.page([head(f'Content-Length: {len(LARGE)}', FRESH), LARGE[:1000], go, LARGE[1000:]])
    leader, = ask_all(proxy, page.url, 1)
    page.wait(1)
    leader.reader.fill()
    others = ask_all(proxy, page.url, 4)
    for c in others:
        c.reader.fill()
    leader.reset()
    soon(lambda: [x for x in proxy.lines() if x.url == page.url and x.what == 'TCP_MISS_ABORTED/200'],
         'the leader is gone')
    go.set()
    for c in others:
        assert c.response().body == LARGE
        c.close()
    assert page.count == 1
    assert tags(proxy, page.url, 5) == ['TCP_CF_HIT/200'] * 4 + ['TCP_MISS_ABORTED/200']
    assert proxy.get(page.url).body == LARGE


def test_a_leader_that_leaves_before_the_head(proxy, origin):
    go = threading.Event()
    page = origin.page([go, ok(b'for those who stayed', FRESH)])
    leader, = ask_all(proxy, page.url, 1)
    page.wait(1)
    others = ask_all(proxy, page.url, 3)
    wait_read([leader, *others])
    leader.reset()
    soon(lambda: [x for x in proxy.lines() if x.url == page.url], 'the leader is gone')
    go.set()
    for c in others:
        assert c.response().body == b'for those who stayed'
        c.close()
    assert page.count == 1


def test_waiters_that_leave_end_nothing(proxy, origin):
    go = threading.Event()
    page = origin.page([go, ok(b'x', FRESH)])
    leader, = ask_all(proxy, page.url, 1)
    page.wait(1)
    others = ask_all(proxy, page.url, 5)
    wait_read([leader, *others])
    for c in others:
        c.reset()
    go.set()
    assert leader.response().body == b'x'
    leader.close()


def test_one_validation_for_all(proxy, origin):
    go = threading.Event()
    page = origin.page(ok(b'first', 'ETag: "x"', 'Cache-Control: max-age=0'), [go, not_modified(FRESH, 'ETag: "x"')])
    proxy.get(page.url)
    clients = ask_all(proxy, page.url, 5)
    page.wait(2)
    wait_read(clients)
    go.set()
    for c in clients:
        assert c.response().body == b'first'
        c.close()
    assert page.count == 2
    assert tags(proxy, page.url, 6) == ['TCP_CF_HIT/200'] * 4 + ['TCP_MISS/200', 'TCP_REFRESH_UNMODIFIED/200']


def test_a_waiter_s_own_condition(proxy, origin):
    go = threading.Event()
    page = origin.page([go, ok(b'body', FRESH, 'ETag: "x"')])
    leader, = ask_all(proxy, page.url, 1)
    page.wait(1)
    r = Task(lambda: proxy.get(page.url, 'If-None-Match: "x"'))
    go.set()
    assert leader.response().body == b'body'
    assert r.result().status in (200, 304)
    leader.close()


def test_collapsed_forwarding_off(make_proxy, origin):
    go = threading.Event()
    page = origin.page([go, ok(b'x', FRESH)])
    p = make_proxy('collapsed_forwarding off')
    clients = ask_all(p, page.url, 3)
    page.wait(3)
    go.set()
    for c in clients:
        assert c.response().body == b'x'
        c.close()
    assert tags(p, page.url, 3) == ['TCP_MISS/200'] * 3


def test_too_large_to_store_is_still_whole_for_all(make_proxy, origin):
    """A fill that turns out too large: who reads it already goes on, nobody is cut, nothing is stored."""
    go = threading.Event()
    page = origin.page([head('Transfer-Encoding: chunked', FRESH), chunk(LARGE[:1000]), go, chunk(LARGE[1000:]),
                        b'0\r\n\r\n'])
    p = make_proxy('maximum_object_size_in_memory 100 KB\nmaximum_object_size 100 KB')
    clients = ask_all(p, page.url, 4)
    page.wait(1)
    for c in clients:
        c.reader.fill()
    wait_read(clients)
    go.set()
    results = [Task(c.response) for c in clients]
    for r in results:
        assert r.result().body == LARGE
    for c in clients:
        c.close()
    assert p.get(page.url).body == LARGE
    assert page.count >= 2
