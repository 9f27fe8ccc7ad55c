"""pipeline_prefetch: requests behind the one in hand are begun before it is answered; answers come in order."""
import threading

import pytest

from client import Cut, request
from origin import CLOSE, RESET, chunk, chunked, head, ok

FRESH = 'Cache-Control: max-age=600'
NEVER = 'Cache-Control: no-store'


def ask_all(c, *pages, fields=()):
    c.send(b''.join(request('GET', p.url, *fields) for p in pages))


@pytest.fixture
def held(origin):
    """A page that is answered when its event is set."""
    event = threading.Event()
    page = origin.page([event, ok(b'first', FRESH)])
    page.event = event
    yield page
    event.set()


def test_those_behind_are_begun(make_proxy, origin, held):
    p = make_proxy('pipeline_prefetch 2\n')
    pages = [origin.page(ok(b'%d' % i, NEVER)) for i in range(3)]
    with p.connect() as c:
        ask_all(c, held, *pages)
        pages[0].wait(1)
        pages[1].wait(1)
        assert p.get(origin.page(ok()).url).status == 200  # time enough for one more
        assert pages[2].count == 0, 'not more than two'
        held.event.set()
        assert [c.response().body for _ in range(4)] == [b'first', b'0', b'1', b'2']
    assert [page.count for page in pages] == [1, 1, 1], 'none is fetched twice'
    assert [line.what for page in (held, *pages) for line in p.logged(page.url)] == ['TCP_MISS/200'] * 4


@pytest.mark.parametrize('conf', ['', 'pipeline_prefetch off\n', 'pipeline_prefetch 0\n'])
def test_none_by_default(make_proxy, origin, held, conf):
    p = make_proxy(conf)
    page = origin.page(ok())
    with p.connect() as c:
        ask_all(c, held, page)
        held.wait(1)
        assert p.get(origin.page(ok()).url).status == 200
        assert page.count == 0
        held.event.set()
        assert c.response().body == b'first' and c.response().status == 200


def test_they_come_in_pieces(make_proxy, origin, held):
    p = make_proxy('pipeline_prefetch on\n')
    page = origin.page(ok(b'second', NEVER))
    both = request('GET', held.url) + request('GET', page.url)
    with p.connect() as c:
        c.send_bytes(both)
        page.wait(1)
        held.event.set()
        assert [c.response().body, c.response().body] == [b'first', b'second']


def test_half_a_head_behind(make_proxy, origin, held):
    p = make_proxy('pipeline_prefetch 3\n')
    page = origin.page(ok(b'second', NEVER))
    second = request('GET', page.url)
    with p.connect() as c:
        c.send(request('GET', held.url) + second[:20])
        c.wait_read()
        held.event.set()
        assert c.response().body == b'first'
        c.send(second[20:])
        assert c.response().body == b'second'


@pytest.mark.parametrize('behind', [
    lambda p: request('POST', p.url, 'Content-Length: 1', body=b'x'), lambda p: request('HEAD', p.url),
    lambda p: request('GET', p.url, 'Range: bytes=0-1'),
    lambda p: request('GET', p.url, 'If-None-Match: "1"'), lambda p: request('GET', p.url, 'Cache-Control: only-if-cached')])
def test_what_waits_for_its_turn(make_proxy, origin, held, behind):
    p = make_proxy('pipeline_prefetch 5\n')
    page, after = origin.page(ok(b'xyz', NEVER)), origin.page(ok(b'after', NEVER))
    with p.connect() as c:
        c.send(request('GET', held.url) + behind(page) + request('GET', after.url))
        held.wait(1)
        c.wait_read()
        assert (page.count, after.count) == (0, 0), 'nor is what is behind it begun'
        held.event.set()
        assert c.response().body == b'first'
        assert c.response(behind(page).split()[0].decode()).status in (200, 206, 504)
        assert c.response().body == b'after'


def test_what_is_wrong_is_told_in_its_turn(make_proxy, origin, held):
    p = make_proxy('pipeline_prefetch 5\n')
    with p.connect() as c:
        c.send(request('GET', held.url) + b'GET http://x/\n\x00\r\n\r\n')
        held.wait(1)
        held.event.set()
        assert c.response().body == b'first'
        assert c.response().status == 400
        assert c.is_closed()


def test_what_is_denied_is_told_in_its_turn(make_proxy, origin, held):
    p = make_proxy('pipeline_prefetch 5\nacl no urlpath_regex secret\nhttp_access deny no\n')
    last = origin.page(ok(b'last', NEVER))
    with p.connect() as c:
        c.send(request('GET', held.url) + request('GET', held.url + '/secret') + request('GET', last.url))
        held.wait(1)
        held.event.set()
        assert [c.response().status for _ in range(3)] == [200, 403, 200]


def test_the_same_twice_is_fetched_once(make_proxy, origin, held):
    p = make_proxy('pipeline_prefetch 5\n')
    other = origin.page(ok(b'other', FRESH))
    with p.connect() as c:
        ask_all(c, held, held, other)
        held.wait(1)
        held.event.set()
        assert [c.response().body for _ in range(3)] == [b'first', b'first', b'other']
    assert held.count == 1
    assert p.codes(held.url, 2) == ['TCP_MISS/200', 'TCP_MEM_HIT/200']


def test_large_ones(make_proxy, origin, held):
    """Their bodies wait at the origin while it isn't their turn, but for a window."""
    p = make_proxy('pipeline_prefetch 4\nmaximum_object_size_in_memory 64 KB\n')
    body = bytes(range(256)) * 4096 * 32  # more than the sockets between take
    pages = [origin.page(ok(body, FRESH)), origin.page(chunked(body, FRESH)), origin.page(head(f'Content-Length: {len(body)}') + body)]
    with p.connect() as c:
        ask_all(c, held, *pages)
        for page in pages:
            page.wait(1)
        assert p.get(origin.page(ok()).url).status == 200  # time enough for one that isn't held back
        assert not any(page.requests[0].over for page in pages)
        held.event.set()
        assert c.response().body == b'first'
        for _ in pages:
            assert c.response().body == body


def test_early_hints_wait_too(make_proxy, origin, held):
    p = make_proxy('pipeline_prefetch 1\n')
    more = threading.Event()
    page = origin.page([b'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n', more, ok(b'second', NEVER)])
    with p.connect() as c:
        ask_all(c, held, page)
        page.wait(1)
        held.event.set()
        assert c.response().body == b'first'
        more.set()
        r = c.response()
        assert (r.body, r.interim) == (b'second', [103])


@pytest.mark.parametrize('script', [[RESET], [CLOSE], [b'HTTP/9 what\r\n\r\n', CLOSE]])
def test_failures_are_told_in_their_turn(make_proxy, origin, held, script):
    p = make_proxy('pipeline_prefetch 2\n')
    bad, last = origin.page(script), origin.page(ok(b'last', NEVER))
    with p.connect() as c:
        ask_all(c, held, bad, last)
        last.wait(1)
        held.event.set()
        assert c.response().body == b'first'
        assert c.response().status == 502
        assert c.response().body == b'last'


def test_a_cut_one_ends_the_connection(make_proxy, origin, held):
    p = make_proxy('pipeline_prefetch 2\n')
    cut, last = origin.page([head('Transfer-Encoding: chunked'), chunk(b'begins'), CLOSE]), origin.page(ok(b'last', NEVER))
    with p.connect() as c:
        ask_all(c, held, cut, last)
        last.wait(1)
        held.event.set()
        assert c.response().body == b'first'
        with pytest.raises(Cut) as e:
            c.response()
        assert e.value.response.content == b'begins' and c.is_closed()
    assert p.logged(last.url)[0].code == 'TCP_MISS_ABORTED'


def test_the_last_one_says_close(make_proxy, origin, held):
    p = make_proxy('pipeline_prefetch 5\n')
    page, beyond = origin.page(ok(b'second', NEVER)), origin.page(ok())
    with p.connect() as c:
        c.send(request('GET', held.url) + request('GET', page.url, 'Connection: close') + request('GET', beyond.url))
        page.wait(1)
        held.event.set()
        assert [c.response().body for _ in range(2)] == [b'first', b'second']
        assert c.is_closed()
    assert beyond.count == 0


@pytest.mark.parametrize('how', ['close', 'reset'])
def test_the_client_goes(make_proxy, origin, held, how):
    p = make_proxy('pipeline_prefetch 3\nhalf_closed_clients off\nquick_abort_min 0 KB\nquick_abort_max 0 KB\n')
    never = threading.Event()
    pages = [origin.page([never, ok()]) for _ in range(2)]
    c = p.connect()
    ask_all(c, held, *pages)
    for page in pages:
        page.wait(1)
    getattr(c, how)()
    for page in (held, *pages):
        assert p.logged(page.url)[0].code == 'TCP_MISS_ABORTED'
    held.event.set()
    never.set()
    assert p.get(origin.page(ok(b'alive')).url).body == b'alive'


def test_a_new_configuration(make_proxy, origin, held):
    """Those begun are answered under the settings they came under; the port is still there."""
    p = make_proxy('pipeline_prefetch 2\n')
    page = origin.page(ok(b'second', NEVER))
    with p.connect() as c:
        ask_all(c, held, page)
        page.wait(1)
        p.k('reconfigure')
        p.wait_cache_log('Reconfigured')
        held.event.set()
        assert [c.response().body for _ in range(2)] == [b'first', b'second']


def test_the_end_of_the_process(make_proxy, origin, held):
    p = make_proxy('pipeline_prefetch 2\nshutdown_lifetime 1 second\n')
    page = origin.page(ok(b'second', NEVER))
    with p.connect() as c:
        ask_all(c, held, page)
        page.wait(1)
        p.k('shutdown')
        assert p.wait_end() == 0
