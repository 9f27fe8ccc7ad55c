"""Error pages: their status, Squid's names in X-Squid-Error, and how they are logged."""
import json

import pytest

from client import Cut, request, soon
from names import SERVFAIL, SILENCE, NameServer
from origin import CLOSE, HANG, RESET, Origin, head, message, ok
from proxy import free_port


def error_of(response):
    return response.status, response.get('X-Squid-Error').split()[0]


def test_access_denied(proxy):
    r = proxy.get('http://blocked.test/secret?token=x')
    assert error_of(r) == (403, 'ERR_ACCESS_DENIED')
    assert r.get('Content-Type').startswith('text/html')
    assert b'token' not in r.body
    line = proxy.logged('http://blocked.test/secret?')[0]
    assert (line.what, line.hier, line.type, line.size) == ('TCP_DENIED/403', 'HIER_NONE/-', 'text/html', len(r.raw))


def test_connect_fail(proxy):
    url = f'http://127.0.0.1:{free_port()}/x'
    assert error_of(proxy.get(url)) == (503, 'ERR_CONNECT_FAIL')
    line = proxy.logged(url)[0]
    assert (line.what, line.hier) == ('TCP_MISS/503', 'HIER_DIRECT/127.0.0.1')


def test_connect_fail_tells_the_errno(proxy):
    assert proxy.get(f'http://127.0.0.1:{free_port()}/x').get('X-Squid-Error') == 'ERR_CONNECT_FAIL 111'


@pytest.fixture
def name_server():
    s = NameServer(good_test='127.0.0.1', six_test='::1', both_test=['::1', '127.0.0.1'], failing_test=SERVFAIL,
                   silent_test=SILENCE, empty_test=[])
    yield s
    s.close()


@pytest.fixture
def dns_proxy(make_proxy, name_server):
    return make_proxy(f'dns_nameservers {name_server.host}\ndns_timeout 1 second')


@pytest.mark.parametrize('name', ['missing.test', 'failing.test', 'empty.test', 'silent.test'])
def test_dns_fail(dns_proxy, name_server, name):
    url = f'http://{name}/x'
    assert error_of(dns_proxy.get(url)) == (503, 'ERR_DNS_FAIL')
    line = dns_proxy.logged(url)[0]
    assert (line.what, line.hier) == ('TCP_MISS/503', 'HIER_NONE/-')
    assert name in {n for n, _ in name_server.asked}


def test_dns_answers(dns_proxy, name_server, origin):
    page = origin.page(ok(b'found'))
    for name in ('good.test', 'both.test'):
        for _ in range(2):
            assert dns_proxy.get(f'http://{name}:{origin.port}{page.path}').body == b'found'
    asked = [n for n, _ in name_server.asked if n == 'good.test']
    assert len(asked) <= 2 * 2, 'an answer is kept for its TTL (per worker)'


def test_a_failed_lookup_is_kept(dns_proxy, name_server):
    with dns_proxy.connect() as c:
        for _ in range(3):
            c.get('http://missing.test/x')
    assert len([n for n, _ in name_server.asked if n == 'missing.test']) <= 2


def test_only_if_cached(proxy, origin):
    page = origin.page(ok(b'x', 'Cache-Control: max-age=600'))
    assert error_of(proxy.get(page.url, 'Cache-Control: only-if-cached')) == (504, 'ERR_ONLY_IF_CACHED_MISS')
    assert page.count == 0
    proxy.get(page.url)
    assert proxy.get(page.url, 'Cache-Control: only-if-cached').body == b'x'
    assert proxy.codes(page.url, 3) == ['TCP_MISS/504', 'TCP_MISS/200', 'TCP_MEM_HIT/200']


BAD = {
    b'GARBAGE\r\n\r\n': (400, 'ERR_INVALID_REQ'),
    b'GET /relative HTTP/1.1\r\nHost: x\r\n\r\n': (400, 'ERR_INVALID_URL'),
    b'GET http:// HTTP/1.1\r\nHost: x\r\n\r\n': (400, 'ERR_INVALID_URL'),
    b'GET http://x:99999/ HTTP/1.1\r\nHost: x\r\n\r\n': (400, 'ERR_INVALID_URL'),
    b'GET http://u:p@x/ HTTP/1.1\r\nHost: x\r\n\r\n': (400, 'ERR_INVALID_URL'),
    b'GET http://x/ HTTP/1.1\r\n\r\n': (400, 'ERR_INVALID_REQ'),
    b'GET http://x/ HTTP/3.0\r\nHost: x\r\n\r\n': (505, 'ERR_UNSUP_HTTPVERSION'),
    b'GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n': (501, 'ERR_UNSUP_REQ'),
    b'GET http://x/' + b'y' * 70000 + b' HTTP/1.1\r\nHost: x\r\n\r\n': (414, 'ERR_TOO_BIG'),
    b'GET http://x/ HTTP/1.1\r\nHost: x\r\nX: ' + b'y' * 70000 + b'\r\n\r\n': (431, 'ERR_TOO_BIG'),
    b'GET http://x/ HTTP/1.1\r\nHost: x\r\n' + b'X: y\r\n' * 300 + b'\r\n': (431, 'ERR_TOO_BIG'),
    b'POST http://x/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n': (501, None),
}


@pytest.mark.parametrize('bad', BAD, ids=lambda b: b[:24].decode())
def test_bad_requests(make_proxy, bad):
    p = make_proxy()
    with p.connect() as c:
        c.send(bad)
        r = c.response()
        status, name = BAD[bad]
        assert r.status == status
        assert name is None or r.get('X-Squid-Error').split()[0] == name
        assert r.get('Connection') == 'close'
        assert c.is_closed()
    line = soon(p.lines, 'a line in access.log')[0]
    assert line.code == 'NONE_NONE' and line.status == str(status)
    assert line.hier == 'HIER_NONE/-'
    assert 'u:p' not in p.read('access.log')
    if status in (414, 431):
        assert line.url == 'error:request-too-large'
    elif bad.startswith(b'GARBAGE'):
        assert line.url == 'error:invalid-request'


BAD_ORIGIN = {
    'closes without a byte': ([CLOSE], 502, 'ERR_ZERO_SIZE_OBJECT'),
    'resets without a byte': ([RESET], 502, None),
    'HTTP/0.9': ([b'<html>\r\n</html>\r\n', CLOSE], 502, 'ERR_INVALID_RESP'),
    'part of a status line': ([b'HTTP/1.1 200', CLOSE], 502, None),
    'status 2OO': ([message('HTTP/1.1 2OO OK', ['Content-Length: 0'])], 502, 'ERR_INVALID_RESP'),
    'status 99': ([message('HTTP/1.1 99 Low', ['Content-Length: 0'])], 502, 'ERR_INVALID_RESP'),
    'length -1': ([head('Content-Length: -1'), b'x', CLOSE], 502, 'ERR_INVALID_RESP'),
    'two lengths': ([head('Content-Length: 1', 'Content-Length: 2'), b'x', CLOSE], 502, 'ERR_INVALID_RESP'),
    'length and chunked': ([head('Content-Length: 3', 'Transfer-Encoding: chunked'), b'5\r\nhello\r\n0\r\n\r\n'], 502,
                           'ERR_INVALID_RESP'),
    'unknown coding and length': ([head('Transfer-Encoding: zip', 'Content-Length: 1'), b'x', CLOSE], 502,
                                  'ERR_INVALID_RESP'),
    'NUL in a field': ([head('X-A: a\0b', 'Content-Length: 0')], 502, 'ERR_INVALID_RESP'),
    'blank before colon': ([b'HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nhi', CLOSE], 502, 'ERR_INVALID_RESP'),
    'huge field': ([head('X-A: ' + 'y' * 300000, 'Content-Length: 0')], 502, None),
    '100 for ever': ([b'HTTP/1.1 100 Continue\r\n\r\n' * 20000, HANG], 502, None),
    '101 unasked': ([b'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n', HANG], 502, None),
}


@pytest.fixture
def new_origin():
    """One that no connection is kept to: what fails on such is asked again."""
    o = Origin()
    yield o
    o.close()


@pytest.mark.parametrize('how', BAD_ORIGIN)
def test_bad_responses(proxy, new_origin, how):
    origin = new_origin
    script, status, name = BAD_ORIGIN[how]
    page = origin.page(script, ok(b'good'))
    r = proxy.get(page.url)
    assert r.status == status
    assert name is None or r.get('X-Squid-Error').split()[0] == name
    assert proxy.codes(page.url) == ['TCP_MISS/502']
    if 'without a byte' not in how:
        assert r.get('X-Squid-Error').split()[0] != 'ERR_ZERO_SIZE_OBJECT', 'it did send something'
    assert proxy.get(page.url).body == b'good'
    assert page.requests[1].connection != page.requests[0].connection, 'that connection is not to be trusted'


def test_an_unknown_coding_is_relayed_until_close(proxy, new_origin):
    """doc/decisions/005, X6: the body, first and from the store, but not the field."""
    page = new_origin.page([head('Transfer-Encoding: zip', 'Cache-Control: max-age=600'), b'zipped', CLOSE])
    for _ in range(2):
        r = proxy.get(page.url)
        assert (r.status, r.body, r.lists('Transfer-Encoding', 'zip')) == (200, b'zipped', False)
    assert proxy.codes(page.url, 2) == ['TCP_MISS/200', 'TCP_MEM_HIT/200']


def test_a_hanging_origin(make_proxy, origin):
    page = origin.page([HANG])
    p = make_proxy('read_timeout 1 second')
    assert error_of(p.get(page.url)) == (504, 'ERR_READ_TIMEOUT')
    line = p.logged(page.url)[0]
    assert line.what in ('TCP_MISS/504', 'TCP_MISS_TIMEOUT/504')
    assert 1000 <= line.ms < 5000


def test_an_origin_that_hangs_in_the_middle(make_proxy, origin):
    page = origin.page([head('Content-Length: 10', 'Cache-Control: max-age=60'), b'half', HANG], ok(b'whole'))
    p = make_proxy('read_timeout 1 second')
    with pytest.raises(Cut):
        p.get(page.url)
    assert p.get(page.url).body == b'whole'


def test_a_client_that_does_not_finish_its_head(make_proxy):
    p = make_proxy('request_timeout 1 second')
    with p.connect() as c:
        c.send(b'GET http://origin.test/ HTTP/1.1\r\nX: ')
        r = c.response()
        assert (r.status, r.get('Connection')) == (408, 'close')
        assert c.is_closed()


def test_an_idle_client_is_left_to_go(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('client_idle_pconn_timeout 1 second')
    with p.connect() as c:
        c.get(page.url)
        assert c.is_closed()


def test_a_page_for_programs(proxy):
    r = proxy.get('http://blocked.test/', 'Accept: application/json')
    assert r.get('Content-Type').startswith('application/json')
    assert 'ERR_ACCESS_DENIED' in json.dumps(json.loads(r.body))


def test_head_gets_no_page(proxy):
    with proxy.connect() as c:
        r = c.ask('HEAD', 'http://blocked.test/')
        assert (r.status, r.body) == (403, b'')
        assert int(r.get('Content-Length')) > 0
        assert c.get('http://blocked.test/').status == 403


def test_nothing_from_the_url_gets_into_a_page(proxy):
    """M03."""
    r = proxy.get('http://blocked.test/<script>alert(1)</script>', "Host: \"><b>")
    assert r.status in (400, 403)
    assert b'<script>' not in r.body and b'"><b>' not in r.body


def test_a_denied_request_with_a_body_ends_the_connection(proxy):
    with proxy.connect() as c:
        c.send(request('POST', 'http://blocked.test/body', 'Content-Length: 30',
                       body=b'GET http://blocked.test/ HTTP/'))
        r = c.response()
        assert (r.status, r.get('Connection')) == (403, 'close')
        assert c.is_closed()
    proxy.logged('http://blocked.test/body')


def test_errors_keep_the_connection(proxy):
    with proxy.connect() as c:
        for _ in range(3):
            r = c.get('http://blocked.test/keep')
            assert (r.status, r.get('Connection')) == (403, None)


def test_dst_acl_and_a_name_that_changes(make_proxy, name_server, origin):
    """J22: a name is allowed for the addresses that are connected to."""
    p = make_proxy(f'dns_nameservers {name_server.host}\nacl loop dst 127.0.0.0/8 ::1\nhttp_access deny loop')
    for url in ('http://good.test/', 'http://127.0.0.1/', 'http://[::1]/', 'http://six.test/'):
        assert error_of(p.get(url)) == (403, 'ERR_ACCESS_DENIED')
        assert p.codes(url) == ['TCP_DENIED/403']


def test_an_old_connection_that_may_not_be_used_is_not_a_denial(make_proxy, name_server, origin):
    """A new one goes where the name leads now: the line that let it in is logged, not the one that spoke against the old."""
    elsewhere = Origin('127.0.0.9', origin.port)
    try:
        here = origin.page(ok(b'here'))
        elsewhere.page(ok(b'there'))
        elsewhere.pages[here.path] = next(iter(elsewhere.pages.values()))
        name_server.names['moving.test'] = '127.0.0.1'
        p = make_proxy(start=False)
        p.configure(f'dns_nameservers {name_server.host}\nworkers 1\npositive_dns_ttl 1 second\n'
                       'acl ann src 127.0.0.5\nacl old dst 127.0.0.1\nacl known dstdomain moving.test\n'
                       f'logformat rule %>Hs %Sl\naccess_log stdio:{p.path("rules")} rule\n'
                       'http_access deny ann old\nhttp_access allow known')
        p.start()
        url = f'http://moving.test:{origin.port}{here.path}'
        assert p.get(url).body == b'here'
        name_server.names['moving.test'] = '127.0.0.9'

        def goes_there():
            with p.connect(source='127.0.0.5') as c:
                return c.get(url).status == 200
        soon(goes_there, 'the name leads elsewhere')
        rules = {tuple(line.split()) for line in p.read('rules').splitlines()}
        assert len([rule for rule in rules if rule[0] == '200']) == 1, rules
    finally:
        elsewhere.close()


@pytest.mark.parametrize('bad', ['Host: a\xcfb', 'X y: z', 'Content-Length: 1\r\nContent-Length: 2'])
def test_an_error_for_head_has_no_body(proxy, bad):
    """Not for one that isn't understood, either."""
    with proxy.connect() as c:
        c.send(f'HEAD http://origin.test/ HTTP/1.1\r\n{bad}\r\n\r\n'.encode('latin-1'))
        r = c.response('HEAD')
        assert r.status == 400 and int(r.get('Content-Length')) > 0
        assert c.is_closed()
