"""Forward proxy: what passes between client and origin, and what access.log says of it."""
import re
import threading

import pytest

from client import Client, request
from origin import CLOSE, HANG, Origin, date, head, message, ok
from proxy import NAME

FRESH = 'Cache-Control: max-age=600'


def test_miss_then_memory_hit(proxy, origin):
    page = origin.page(ok(b'stored', FRESH, 'X-Own: kept', 'Content-Type: text/plain; charset=utf-8'))
    first, second = proxy.get(page.url), proxy.get(page.url)
    assert (first.status, first.body, second.status, second.body) == (200, b'stored', 200, b'stored')
    assert page.count == 1
    assert first.get('Age') is None
    assert second.get('Age') in ('0', '1', '2')
    assert second.get('X-Own') == 'kept'
    assert second.get('Date') == first.get('Date')
    miss, hit = proxy.logged(page.url, 2)
    assert (miss.what, miss.hier, miss.type, miss.method, miss.user) == \
        ('TCP_MISS/200', 'HIER_DIRECT/127.0.0.1', 'text/plain', 'GET', '-')
    assert (hit.what, hit.hier, hit.type, hit.client) == ('TCP_MEM_HIT/200', 'HIER_NONE/-', 'text/plain', '127.0.0.1')
    assert (miss.size, hit.size) == (len(first.raw), len(second.raw))


def test_the_request_as_it_reaches_the_origin(proxy, origin):
    page = origin.page(ok())
    proxy.get(page.url + '?a=b&c', 'Host: elsewhere.example', 'User-Agent: x/1', 'Accept: a', 'Accept: b',
              'X-Odd:  two  words ')
    r = page.requests[0]
    assert (r.method, r.target, r.version) == ('GET', page.path + '?a=b&c', 'HTTP/1.1')
    assert r.get('Host') == origin.authority, 'absolute-form wins over Host'
    assert r.all('Accept') == ['a', 'b']
    assert (r.get('User-Agent'), r.get('X-Odd')) == ('x/1', 'two  words')
    assert re.fullmatch(rf'1\.1 {NAME} \(loligo.*\)', r.get('Via'))
    assert r.get('X-Forwarded-For') == '127.0.0.1'
    assert r.get('Content-Length') is None and r.get('Transfer-Encoding') is None


def test_the_query_is_not_logged_but_is_part_of_the_key(proxy, origin):
    page = origin.page(lambda x: ok(x.request.target.encode(), FRESH))
    answers = {q: proxy.get(f'{page.url}?{q}').body for q in ('a=1', 'a=1&', 'A=1', 'b=2&a=1', 'a=%31')}
    assert answers == {q: f'{page.path}?{q}'.encode() for q in answers}
    assert page.count == 5
    proxy.logged(page.url + '?', 5)


def test_via_of_the_response(proxy, origin):
    page = origin.page(ok(b'x', FRESH, 'Via: 1.0 other'))
    for _ in range(2):
        via = ', '.join(proxy.get(page.url).all('Via'))
        assert re.fullmatch(rf'1\.0 other, 1\.1 {NAME} \(loligo.*\)', via)


def test_head(proxy, origin):
    page = origin.page(ok(b'0123456789', FRESH))
    with proxy.connect() as c:
        missed = c.ask('HEAD', page.url)
        got = c.get(page.url)
        hit = c.ask('HEAD', page.url)
    assert page.requests[0].method == 'HEAD'
    for r in (missed, hit):
        assert (r.status, r.get('Content-Length'), r.body) == (200, '10', b'')
    assert got.body == b'0123456789'
    assert proxy.codes(page.url, 3) == ['TCP_MISS/200', 'TCP_MISS/200', 'TCP_MEM_HIT/200']
    assert [line.method for line in proxy.logged(page.url, 3)] == ['HEAD', 'GET', 'HEAD']


def test_keep_alive(proxy, origin):
    page = origin.page(ok(b'one', FRESH))
    with proxy.connect() as c:
        for _ in range(5):
            r = c.get(page.url)
            assert (r.body, r.get('Connection')) == (b'one', None)
        r = c.get(page.url, 'Connection: close')
        assert r.get('Connection') == 'close'
        assert c.is_closed()


def test_16_pipelined_hits_come_in_order(proxy, origin):
    pages = [origin.page(ok(b'page %d' % i, FRESH)) for i in range(4)]
    for p in pages:
        proxy.get(p.url)
    with proxy.connect() as c:
        c.send(b''.join(request('GET', pages[i % 4].url) for i in range(16)))
        assert [c.response().body for _ in range(16)] == [b'page %d' % (i % 4) for i in range(16)]
        assert c.is_open()
    for p in pages:
        assert proxy.codes(p.url, 5) == ['TCP_MISS/200'] + ['TCP_MEM_HIT/200'] * 4


def test_pipelined_hits_misses_and_errors_come_in_order(proxy, origin):
    hit, miss = origin.page(ok(b'hit', FRESH)), origin.page(ok(b'miss', 'Cache-Control: no-store'))
    post = origin.page(ok(b'post'))
    proxy.get(hit.url)
    with proxy.connect() as c:
        c.send(request('GET', hit.url) + request('GET', miss.url) + request('GET', hit.url) +
               request('GET', 'http://blocked.test/') + request('POST', post.url, 'Content-Length: 4', body=b'data') +
               request('GET', hit.url))
        assert [c.response().body for _ in range(3)] == [b'hit', b'miss', b'hit']
        assert c.response().status == 403
        assert [c.response().body for _ in range(2)] == [b'post', b'hit']
    assert post.requests[0].body == b'data'


def test_a_request_in_two_parts_at_any_place(proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    text = request('GET', page.url, 'X-Long: ' + 'y' * 60)
    proxy.get(page.url)
    with proxy.connect() as c:
        for i in range(1, len(text)):
            c.send(text[:i])
            c.send(text[i:])
            assert c.response().status == 200
        c.send_bytes(text)
        assert c.response().body == b'x'


@pytest.mark.parametrize('part', [b'\r', b'\n', b'\r\n', b'\r\n\r', b'G', b'GET', b'GET ', b'GET http', b'\r\nGET'])
def test_a_first_piece_hangs_nobody(make_proxy, origin, part):
    """Whatever comes alone first: the worker serves others, and this client when the rest is here."""
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('workers 1')
    rest = request('GET', page.url)
    with p.connect() as c:
        c.send(part)
        c.wait_read()
        assert p.get(page.url).body == b'x'
        if not part.startswith(b'\n'):
            c.send(rest[len(part.lstrip(b'\r\n')):] if part != b'\r' else b'\n' + rest)
            if part == b'\r\n\r':
                assert c.response().status in (200, 400)
            else:
                assert c.response().body == b'x'


@pytest.mark.parametrize('size', [1, 7])
def test_each_piece_of_a_request_read_alone(make_proxy, origin, size):
    page = origin.page(ok(b'x', FRESH))
    proxy = make_proxy()
    text = b'\r\n' + request('GET', page.url, 'X-A: b') + request('GET', page.url)
    with proxy.connect() as c:
        for i in range(0, len(text), size):
            c.send(text[i:i + size])
            c.wait_read()
        assert [c.response().body for _ in range(2)] == [b'x', b'x']


def test_pipelined_requests_cut_anywhere(proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    proxy.get(page.url)
    text = request('GET', page.url) * 3
    with proxy.connect() as c:
        for i in range(0, len(text), 7):
            c.send(text[:i])
            c.send(text[i:])
            for _ in range(3):
                assert c.response().body == b'x'


def test_http_1_0_client(proxy, origin):
    page = origin.page(ok(b'ten', FRESH), ok(b'again', FRESH))
    with proxy.connect() as c:
        r = c.ask('GET', page.url, version='HTTP/1.0')
        assert (r.body, r.get('Connection'), r.get('Content-Length')) == (b'ten', 'close', '3')
        assert c.is_closed()
    with proxy.connect() as c:
        for _ in range(2):
            r = c.ask('GET', page.url, 'Connection: keep-alive', version='HTTP/1.0')
            assert (r.body, r.get('Connection').lower()) == (b'ten', 'keep-alive')
    assert re.match(r'1\.0 ', page.requests[0].get('Via'))
    assert page.requests[0].version == 'HTTP/1.1'


def test_http_1_0_client_without_host(proxy, origin):
    page = origin.page(ok())
    with proxy.connect() as c:
        c.send(f'GET {page.url} HTTP/1.0\r\n\r\n'.encode())
        assert c.response().status == 200
    assert page.requests[0].get('Host') == origin.authority


def test_http_1_0_origin(proxy, origin):
    page = origin.page([message('HTTP/1.0 200 OK', [f'Date: {date()}', FRESH], b'old server'), CLOSE])
    for _ in range(2):
        r = proxy.get(page.url)
        assert (r.version, r.body) == ('HTTP/1.1', b'old server')
    assert proxy.codes(page.url, 2) == ['TCP_MISS/200', 'TCP_MEM_HIT/200']


HOP_BY_HOP = ['Connection: X-Named, keep-alive', 'X-Named: secret', 'Keep-Alive: timeout=9',
              'Proxy-Connection: keep-alive',
              'TE: trailers, deflate', 'Upgrade: websocket', 'Proxy-Authorization: Basic eDp5', 'Trailer: X']


def test_hop_by_hop_fields_of_a_request(proxy, origin):
    page = origin.page(ok())
    proxy.get(page.url, *HOP_BY_HOP, 'X-Kept: 1')
    names = {n.lower() for n, _ in page.requests[0].fields}
    assert names == {'host', 'via', 'x-forwarded-for', 'x-kept'}


def test_hop_by_hop_fields_of_a_response(proxy, origin):
    page = origin.page(ok(b'x', FRESH, 'Connection: X-Named', 'X-Named: secret', 'Keep-Alive: timeout=9',
                          'Upgrade: h2c',
                          'Proxy-Connection: keep-alive', 'X-Kept: 1'))
    for _ in range(2):
        names = {n.lower() for n, _ in proxy.get(page.url).fields} - {'age'}
        assert names == {'date', 'content-length', 'cache-control', 'via', 'x-kept', 'x-cache', 'x-cache-lookup'}


def test_connection_cannot_name_what_the_proxy_adds(proxy, origin):
    page = origin.page(ok())
    proxy.get(page.url, 'Connection: X-Forwarded-For, Via, Host, close')
    r = page.requests[0]
    assert (r.get('X-Forwarded-For'), r.get('Host')) == ('127.0.0.1', origin.authority)
    assert NAME in r.get('Via')


@pytest.mark.parametrize('mode, sent, expected', [
    ('on', [], ['127.0.0.1']),
    ('on', ['192.0.2.7'], ['192.0.2.7, 127.0.0.1']),
    ('off', ['192.0.2.7'], ['unknown']),
    ('transparent', ['192.0.2.7'], ['192.0.2.7']),
    ('transparent', [], []),
    ('truncate', ['192.0.2.7'], ['127.0.0.1']),
    ('delete', ['192.0.2.7'], []),
])
def test_x_forwarded_for(forwarded_for_proxies, origin, mode, sent, expected):
    page = origin.page(ok())
    forwarded_for_proxies(mode).get(page.url, *[f'X-Forwarded-For: {v}' for v in sent])
    assert page.requests[0].all('X-Forwarded-For') == expected


@pytest.fixture(scope='module')
def forwarded_for_proxies():
    from proxy import Proxy
    made = {}

    def get(mode):
        if mode not in made:
            made[mode] = Proxy(f'forwarded_for {mode}\nworkers 1')
        return made[mode]
    yield get
    for p in made.values():
        p.stop()
        p.remove()


def test_via_off(make_proxy, origin):
    page = origin.page(ok())
    r = make_proxy('via off').get(page.url)
    assert page.requests[0].get('Via') is None
    assert NAME not in ', '.join(r.all('Via'))


def test_a_loop_is_seen(proxy, origin):
    page = origin.page(ok())
    r = proxy.get(page.url, f'Via: 1.1 first, 1.1 {NAME} (loligo/9)')
    assert r.status == 403
    assert r.get('X-Squid-Error').startswith('ERR_ACCESS_DENIED')
    assert page.count == 0
    assert proxy.get(page.url, f'Via: 1.1 not-{NAME}').status == 200


def test_two_proxies_that_are_each_others_parents(make_proxy, origin):
    """H10: the loop is found; nobody counts to infinity."""
    a, b = make_proxy('visible_hostname a.test', start=False), make_proxy('visible_hostname b.test', start=False)
    for p, other in ((a, b), (b, a)):
        p.configure(f'{p.given}\ncache_peer 127.0.0.1 parent {other.port} 0 no-query\nnever_direct allow all')
        p.start()
    assert a.get('http://origin.test/loop').status == 403
    a.logged('http://origin.test/loop', 2)
    b.logged('http://origin.test/loop', 1)


def test_names_come_from_the_hosts_file(proxy, origin):
    page = origin.page(ok(b'named'))
    r = proxy.get(f'http://origin.test:{origin.port}{page.path}')
    assert r.body == b'named'
    assert page.requests[0].get('Host') == f'origin.test:{origin.port}'


def test_the_url_is_made_canonical(proxy, origin):
    page = origin.page(ok(b'same', FRESH))
    for host in ('origin.test', 'ORIGIN.Test', 'origin.TEST'):
        assert proxy.get(f'http://{host}:{origin.port}{page.path}').body == b'same'
    assert page.count == 1
    proxy.logged(f'http://origin.test:{origin.port}{page.path}', 3)


def test_ipv6_origin_and_client(make_proxy):
    origin = Origin('::1')
    try:
        page = origin.page(ok(b'six', FRESH))
        p = make_proxy('http_port 127.0.0.1:{port}\nhttp_port [::1]:{port}')
        with Client(p.port, '::1') as c:
            assert c.get(page.url).body == b'six'
            assert c.get(page.url).body == b'six'
        line = p.logged(page.url, 2)[0]
        assert (line.client, line.hier) == ('::1', 'HIER_DIRECT/::1')
        assert page.requests[0].get('Host') == f'[::1]:{origin.port}'
    finally:
        origin.close()


def test_both_address_families_are_raced(make_proxy, origin):
    """The first address refuses: the other serves."""
    page = origin.page(ok(b'found'))
    p = make_proxy(start=False)
    p.write('hosts', '::1 both.test\n127.0.0.1 both.test\n')
    p.start()
    assert p.get(f'http://both.test:{origin.port}{page.path}').body == b'found'


@pytest.mark.parametrize('method', ['OPTIONS', 'DELETE', 'PATCH', 'PROPFIND', 'M-SEARCH'])
def test_other_methods_pass(proxy, origin, method):
    page = origin.page(ok(b'done', FRESH))
    for _ in range(2):
        assert proxy.ask(method, page.url).body == b'done'
    assert [r.method for r in page.requests] == [method] * 2
    assert proxy.codes(page.url, 2) == ['TCP_MISS/200'] * 2


@pytest.mark.parametrize('status', ['204 No Content', '304 Not Modified'])
def test_statuses_without_a_body(proxy, origin, status):
    page = origin.page(message(f'HTTP/1.1 {status}', [f'Date: {date()}']))
    with proxy.connect() as c:
        for _ in range(2):
            r = c.get(page.url, 'If-None-Match: "x"')
            assert (r.status, r.body, r.get('Transfer-Encoding')) == (int(status[:3]), b'', None)


def test_interim_responses_of_the_origin_do_not_end_it(proxy, origin):
    page = origin.page(b'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n' + ok(b'final'))
    r = proxy.get(page.url)
    assert (r.status, r.body) == (200, b'final')


def test_date_is_added_when_the_origin_has_none(proxy, origin):
    page = origin.page(ok(b'x', FRESH, dated=False))
    first, second = proxy.get(page.url), proxy.get(page.url)
    assert first.get('Date') is not None
    assert second.get('Date') == first.get('Date')
    assert page.count == 1


# -- connections to the origin

def test_the_origin_connection_is_used_again(proxy, origin):
    pages = [origin.page(ok(b'%d' % i)) for i in range(4)]
    with proxy.connect() as c:  # one client connection: one worker, and so one pool
        for p in pages:
            c.get(p.url)
    assert len({p.requests[0].connection for p in pages}) == 1


def test_connection_close_of_the_origin_is_heeded(proxy, origin):
    one, two = origin.page([ok(b'1', 'Connection: close'), CLOSE]), origin.page(ok(b'2'))
    with proxy.connect() as c:
        assert (c.get(one.url).body, c.get(two.url).body) == (b'1', b'2')
    assert one.requests[0].connection != two.requests[0].connection


def test_a_dead_pooled_connection_is_noticed(proxy, origin):
    one, two = origin.page(ok(b'1')), origin.page(ok(b'2'))
    with proxy.connect() as c:
        c.get(one.url)
        origin.idle_connection_ends(one.requests[0].connection)
        assert c.get(two.url).body == b'2'


def test_a_connection_that_ends_with_the_next_request_is_retried(proxy, origin):
    """The origin closes just when the second request arrives: nothing was answered, it is asked again on a new one."""
    one, two = origin.page(ok(b'1')), origin.page([CLOSE], ok(b'2'))
    with proxy.connect() as c:
        c.get(one.url)
        assert c.get(two.url).body == b'2'
    assert [r.connection == one.requests[0].connection for r in two.requests] == [True, False]
    assert proxy.codes(two.url) == ['TCP_MISS/200']


def test_a_post_is_never_sent_twice(proxy, origin):
    one, two = origin.page(ok(b'1')), origin.page([CLOSE])
    with proxy.connect() as c:
        c.get(one.url)
        r = c.ask('POST', two.url, 'Content-Length: 1', body=b'x')
        assert (r.status, r.get('X-Squid-Error').split()[0]) == (502, 'ERR_ZERO_SIZE_OBJECT')
    assert two.count == 1


def test_bytes_on_an_idle_connection_kill_it(proxy, origin):
    """O21: an answer nobody asked for is never taken for the next one."""
    one = origin.page([ok(b'1'), ok(b'POISON', FRESH)])
    two = origin.page(ok(b'2'))
    with proxy.connect() as c:
        assert c.get(one.url).body == b'1'
        origin.wait_connection_over(one.requests[0].connection)
        assert c.get(two.url).body == b'2'


def test_server_persistent_connections_off(make_proxy, origin):
    pages = [origin.page(ok(b'%d' % i)) for i in range(2)]
    p = make_proxy('server_persistent_connections off')
    with p.connect() as c:
        for page in pages:
            c.get(page.url)
            assert page.requests[0].lists('Connection', 'close')
    assert pages[0].requests[0].connection != pages[1].requests[0].connection


def test_a_client_that_half_closes_gets_its_answer(proxy, origin):
    page = origin.page(ok(b'still'))
    with proxy.connect() as c:
        c.send(request('GET', page.url))
        c.shut()
        assert c.response().body == b'still'
        assert c.is_closed()


def test_clients_that_leave_are_logged(make_proxy, origin):
    p = make_proxy()
    with p.connect() as c:
        c.send(b'GET http://origin.test/ HT')
        c.shut()
        assert c.is_closed()
    line, = p.logged('error:transaction-end-before-headers')
    assert (line.what, line.method, line.size, line.hier) == ('NONE_NONE/000', '-', 0, 'HIER_NONE/-')


def test_a_client_that_leaves_a_miss(make_proxy, origin):
    page = origin.page([head('Content-Length: 100000'), b'x' * 100, HANG])
    p = make_proxy()
    c = p.connect()
    c.send(request('GET', page.url))
    while b'xxx' not in c.reader.waiting:
        c.reader.fill()
    c.reset()
    line, = p.logged(page.url)
    assert line.what == 'TCP_MISS_ABORTED/200'
    page.wait_over(1)
    assert p.counters()['aborted_requests'] == 1


def test_slow_origins_do_not_stop_others(proxy, origin):
    """Many clients wait for a slow page; a hit on the same worker is answered meanwhile."""
    go = threading.Event()
    slow, quick = origin.page([go, ok(b'slow')]), origin.page(ok(b'quick', FRESH))
    waiting = [proxy.connect() for _ in range(4)]
    for i, c in enumerate(waiting):
        c.send(request('GET', f'{slow.url}?{i}'))
    slow.wait(4)
    for _ in range(4):
        assert proxy.get(quick.url).body == b'quick'
    go.set()
    for c in waiting:
        assert c.response().body == b'slow'
        c.close()
