"""What stands between a request and its final answer: interim responses, expectations, Max-Forwards, other protocols."""
import asyncio
import socket
import threading

import pytest

from client import request, soon
from origin import CLOSE, DEADLINE, HANG, message, ok

EARLY_HINTS = message('HTTP/1.1 103 Early Hints', ['Link: </a.css>; rel=preload', 'X-Hop: 1', 'Connection: X-Hop'])


# -- 1xx

def test_interim_responses_come_as_they_were_sent(proxy, origin):
    """Before the final one is there, with their fields, hop-by-hop ones taken out; they leave no trace in it."""
    go = threading.Event()
    page = origin.page([message('HTTP/1.1 102 Processing'), EARLY_HINTS, message('HTTP/1.1 199 Odd one'), go,
                        ok(b'done', 'Cache-Control: max-age=60')])
    with proxy.connect() as c:
        c.send(request('GET', page.url))
        assert c.reader.line() == 'HTTP/1.1 102 Processing'
        c.reader.fields()
        assert c.reader.line() == 'HTTP/1.1 103 Early Hints'
        hints = dict(c.reader.fields())
        assert hints['Link'] == '</a.css>; rel=preload' and 'X-Hop' not in hints and 'Connection' not in hints
        assert c.reader.line() == 'HTTP/1.1 199 Odd one'
        c.reader.fields()
        go.set()
        r = c.response()
        assert (r.status, r.body, r.interim, r.get('Link')) == (200, b'done', [], None)
        hit = c.ask('GET', page.url)
        assert (hit.body, hit.interim, hit.get('Link')) == (b'done', [], None)
    assert page.count == 1


def test_a_client_of_http_1_0_gets_no_interim_response(proxy, origin):
    page = origin.page([EARLY_HINTS, ok(b'done')])
    with proxy.connect() as c:
        r = c.ask('GET', page.url, version='HTTP/1.0')
        assert (r.status, r.interim, r.body) == (200, [], b'done')


def test_interim_responses_are_bounded(make_proxy, origin):
    page = origin.page([message('HTTP/1.1 102 Processing') * 3, ok(b'three')],
                       [message('HTTP/1.1 102 Processing') * 4, ok(b'four')])
    p = make_proxy('interim_responses_max 3')
    with p.connect() as c:
        r = c.ask('GET', page.url)
        assert (r.status, r.interim, r.body) == (200, [102] * 3, b'three')
        r = c.ask('GET', page.url)
        assert (r.status, r.interim) == (502, [102] * 3)


def test_interim_responses_and_then_nothing(proxy, origin):
    page = origin.page([EARLY_HINTS, CLOSE])
    with proxy.connect() as c:
        r = c.ask('GET', page.url)
        assert (r.status, r.interim) == (502, [103])


def test_interim_responses_before_a_304_and_a_validation(proxy, origin):
    page = origin.page(ok(b'v1', 'ETag: "1"', 'Cache-Control: max-age=0'),
                       [EARLY_HINTS, message('HTTP/1.1 304 Not Modified', ['ETag: "1"'])])
    with proxy.connect() as c:
        assert c.ask('GET', page.url).body == b'v1'
        r = c.ask('GET', page.url)
        assert (r.status, r.interim, r.body) == (200, [103], b'v1')


# -- Expect

def test_the_origin_says_100(proxy, origin):
    """The expectation goes to the origin, its 100 to the client, and the body after that."""
    page = origin.page([message('HTTP/1.1 100 Go on'), lambda x: x.request.get('Expect') and None, HANG], early=True)
    with proxy.connect() as c:
        c.send(request('POST', page.url, 'Expect: 100-continue', 'Content-Length: 5'))
        assert c.reader.line() == 'HTTP/1.1 100 Go on'
    assert page.wait(1).get('Expect') == '100-continue'


def test_a_final_answer_instead_of_100(proxy, origin):
    """The body is never asked for; the connection can't go on, since the client may send it or not."""
    page = origin.page(ok(b'no', status='403 Forbidden'), early=True)
    with proxy.connect() as c:
        c.send(request('POST', page.url, 'Expect: 100-continue', 'Content-Length: 5'))
        r = c.response()
        assert (r.status, r.interim, r.body) == (403, [], b'no')
        assert c.is_closed()


def test_an_origin_that_knows_no_100(make_proxy, origin):
    """It waits for the body, the client for the 100: after a while the proxy says it, once."""
    page = origin.page(ok(b'done'))
    p = make_proxy('expect_continue_timeout 50')
    with p.connect() as c:
        c.send(request('POST', page.url, 'Expect: 100-continue', 'Content-Length: 5'))
        assert c.reader.line() == 'HTTP/1.1 100 Continue'
        assert c.reader.line() == ''
        c.send(b'hello')
        r = c.response()
        assert (r.status, r.interim, r.body) == (200, [], b'done')
    assert page.requests[0].body == b'hello'


def test_no_100_for_a_client_that_sends_its_body_already(make_proxy, origin):
    page = origin.page(ok(b'done'))
    p = make_proxy('expect_continue_timeout 50')
    with p.connect() as c:
        c.send(request('POST', page.url, 'Expect: 100-continue', 'Content-Length: 5') + b'he')
        soon(lambda: page.count and page.requests[0].body == b'he', 'the first part at the origin')
        c.sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            c.sock.recv(1)
        c.sock.settimeout(DEADLINE)
        c.send(b'llo')
        assert (c.response().interim, page.requests[0].body) == ([], b'hello')


def test_an_expectation_of_http_1_0_is_none(proxy, origin):
    page = origin.page(ok(b'done'))
    with proxy.connect() as c:
        c.send(request('POST', page.url, 'Expect: 100-continue', 'Content-Length: 5', version='HTTP/1.0') + b'hello')
        assert c.response().interim == []
    assert page.requests[0].get('Expect') is None


# -- Max-Forwards

def test_trace_ends_here(proxy, origin):
    page = origin.page(ok())
    with proxy.connect() as c:
        r = c.ask('TRACE', page.url, 'Max-Forwards: 0', 'X-A: b', 'Cookie: secret', 'Authorization: secret',
                  'Proxy-Authorization: secret')
        assert (r.status, r.get('Content-Type')) == (200, 'message/http')
        assert r.body.startswith(f'TRACE {page.url} HTTP/1.1\r\n'.encode()) and r.body.endswith(b'\r\n\r\n')
        assert b'X-A: b\r\n' in r.body and b'secret' not in r.body
        assert c.ask('GET', page.url).status == 200
    assert [q.method for q in page.requests] == ['GET']


def test_options_end_here(proxy, origin):
    page = origin.page(ok())
    r = proxy.ask('OPTIONS', page.url, 'Max-Forwards: 0')
    assert (r.status, r.body, page.count) == (200, b'', 0)
    assert r.lists('Allow', 'GET')


@pytest.mark.parametrize('method', ['TRACE', 'OPTIONS'])
def test_max_forwards_counts_down(proxy, origin, method):
    page = origin.page(ok(b'there'))
    with proxy.connect() as c:
        assert c.ask(method, page.url, 'Max-Forwards: 7').body == b'there'
        assert c.ask(method, page.url).body == b'there'
        assert c.ask('GET', page.url, 'Max-Forwards: 0').body == b'there'
    assert [q.get('Max-Forwards') for q in page.requests] == ['6', None, '0']


@pytest.mark.parametrize('fields', [['Max-Forwards: x'], ['Max-Forwards: -1'], ['Max-Forwards: 1', 'Max-Forwards: 0']])
def test_malformed_max_forwards(proxy, origin, fields):
    page = origin.page(ok())
    assert proxy.ask('TRACE', page.url, *fields).status == 400
    assert page.count == 0


# -- Upgrade

UPGRADE = ['Connection: Upgrade, X-Own', 'Upgrade: websocket, other/1', 'X-Own: 1', 'Sec-WebSocket-Key: x']
SWITCH = message('HTTP/1.1 101 Switching Protocols', ['Connection: upgrade', 'Upgrade: websocket', 'X-B: c'])


@pytest.fixture(scope='module')
def upgrading():
    from proxy import Proxy
    p = Proxy('acl yes url_regex .\nhttp_upgrade_request_protocols websocket allow yes\n'
              'http_upgrade_request_protocols OTHER deny all')
    yield p
    p.stop()
    p.remove()


def echo_once(exchange):
    """Behind the 101 the connection belongs to the other protocol: this one sends back what it gets."""
    sock = exchange.origin.connections[exchange.connection]
    sock.sendall(SWITCH + b'first')
    while data := sock.recv(1000):
        sock.sendall(data.upper())
    return CLOSE


def test_the_protocol_changes(upgrading, origin):
    page = origin.page(echo_once)
    with upgrading.connect() as c:
        c.send(request('GET', page.url, *UPGRADE))
        assert c.reader.line() == 'HTTP/1.1 101 Switching Protocols'
        fields = dict(c.reader.fields())
        assert fields['Upgrade'] == 'websocket' and fields['Connection'].lower() == 'upgrade' and fields['X-B'] == 'c'
        got = bytearray()
        c.reader.exactly(5, got)
        c.send(b'hello')
        c.reader.exactly(5, got)
        assert got == b'firstHELLO'
        c.shut()
        assert c.is_closed()
    q = page.requests[0]
    assert (q.get('Upgrade'), q.get('X-Own'), q.get('Connection').lower()) == ('websocket', None, 'upgrade')
    line, = upgrading.logged(page.url)
    assert (line.code, line.status) == ('TCP_TUNNEL', '101')


def test_an_origin_that_stays_with_http(upgrading, origin):
    page = origin.page(ok(b'no thanks'))
    with upgrading.connect() as c:
        for _ in range(2):
            assert c.ask('GET', page.url, *UPGRADE).body == b'no thanks'


def test_without_the_directive_upgrade_is_taken_out(proxy, origin):
    page = origin.page(ok(b'plain'), SWITCH)
    with proxy.connect() as c:
        assert c.ask('GET', page.url, *UPGRADE).body == b'plain'
        assert c.ask('GET', page.url).status == 502  # nobody asked it to switch
    assert page.requests[0].get('Upgrade') is None


@pytest.mark.parametrize('answer', [
    message('HTTP/1.1 101 Switching Protocols', ['Connection: upgrade', 'Upgrade: other/1']),
    message('HTTP/1.1 101 Switching Protocols', ['Connection: upgrade', 'Upgrade: websocket, h2c']),
    message('HTTP/1.1 101 Switching Protocols')])
def test_an_origin_that_switches_to_what_nobody_offered(upgrading, origin, answer):
    page = origin.page(answer)
    with upgrading.connect() as c:
        assert c.ask('GET', page.url, *UPGRADE).status == 502


def test_only_get_without_a_body_changes_protocol(upgrading, origin):
    page = origin.page(ok(b'x'))
    with upgrading.connect() as c:
        c.send(request('POST', page.url, *UPGRADE, 'Content-Length: 1') + b'y')
        assert c.response().body == b'x'
    assert page.requests[0].get('Upgrade') is None


def test_lines_of_one_protocol_in_two_spellings(make_proxy, origin):
    page = origin.page(ok(b'plain'))
    p = make_proxy('acl no url_regex secret\nhttp_upgrade_request_protocols WebSocket deny no\n'
                   'http_upgrade_request_protocols websocket deny all')
    assert p.ask('GET', page.url, *UPGRADE).body == b'plain'
    assert page.requests[0].get('Upgrade') is None


def test_http_reply_access_denies_a_switch(make_proxy, origin):
    """What it would keep from the client isn't asked for."""
    page = origin.page(ok(b'plain'))
    p = make_proxy('acl yes url_regex .\nhttp_upgrade_request_protocols OTHER allow yes\n'
                   'acl page url_regex page\nhttp_reply_access deny page')
    assert p.ask('GET', page.url, *UPGRADE).status == 403
    assert page.requests[0].get('Upgrade') is None


def test_a_real_websocket(upgrading):
    """Debian's python3-websockets on both sides, through the proxy as a browser does it: ws: with an absolute target."""
    websockets = pytest.importorskip('websockets')

    async def echo(ws, *_):
        async for message_ in ws:
            await ws.send(message_ * 2)

    async def talk():
        async with websockets.serve(echo, '127.0.0.1', 0) as server:
            port = server.sockets[0].getsockname()[1]
            sock = socket.create_connection(('127.0.0.1', upgrading.port))

            class Absolute(websockets.WebSocketClientProtocol):
                def write_http_request(self, path, headers):
                    super().write_http_request(f'http://127.0.0.1:{port}{path}', headers)

            async with websockets.connect(f'ws://127.0.0.1:{port}/chat', sock=sock, create_protocol=Absolute) as ws:
                for text in ('hello', 'x' * 100000):
                    await ws.send(text)
                    assert await ws.recv() == text * 2

    asyncio.run(asyncio.wait_for(talk(), DEADLINE))


# --- OPTIONS of a server as a whole (RFC 9112 section 3.2.4)

def options(p, target, host, *fields):
    with p.connect() as c:
        c.send(f'OPTIONS {target} HTTP/1.1\r\nHost: {host}\r\n{"".join(f + chr(13) + chr(10) for f in fields)}\r\n'.encode())
        return c.response()


@pytest.fixture
def server_wide(origin):
    origin.pages['*'] = origin.page(ok(b'', 'Allow: GET'))
    return origin.pages['*']


@pytest.mark.parametrize('tail', ['', '?q', '/', '/?q'])
def test_options_without_a_path_becomes_an_asterisk(proxy, origin, server_wide, tail):
    origin.pages['/'] = origin.pages['/?q'] = origin.page(ok(b'x'))
    assert options(proxy, f'http://{origin.authority}{tail}', origin.authority).status == 200
    targets = [r.target for r in server_wide.requests + origin.pages['/'].requests]
    assert targets == ['*' if tail == '' else tail if tail.startswith('/') else '/' + tail]


def test_options_asterisk_through_a_reverse_proxy(make_proxy, origin, server_wide):
    p = make_proxy('http_port 127.0.0.1:{port} accel vhost\n'
                   f'cache_peer 127.0.0.1 parent {origin.port} 0 originserver no-query')
    assert options(p, '*', 'site.test').get('Allow') == 'GET'
    assert (server_wide.requests[0].target, server_wide.requests[0].get('Host')) == ('*', 'site.test')
    assert options(p, '*', 'site.test', 'Max-Forwards: 0').get('Allow') != 'GET'
    assert server_wide.count == 1


def test_options_asterisk_to_a_proxy_is_about_the_proxy(proxy, origin):
    before = len(origin.stray)
    r = options(proxy, '*', origin.authority)
    assert r.status == 200 and 'CONNECT' in r.get('Allow')
    assert len(origin.stray) == before


def test_options_through_a_parent_keeps_its_form(make_proxy, origin, server_wide):
    parent = make_proxy('')
    p = make_proxy(f'cache_peer 127.0.0.1 parent {parent.port} 0 no-query\nnever_direct allow all\nvisible_hostname child.test')
    assert options(p, f'http://{origin.authority}', origin.authority).get('Allow') == 'GET'
    assert server_wide.requests[0].target == '*'


# --- loops, old servers, parents that refuse

def test_a_request_for_our_own_port_is_a_loop(make_proxy):
    p = make_proxy('')
    for host in ('127.0.0.1', 'origin.test'):
        r = p.get(f'http://{host}:{p.port}/x')
        assert (r.status, r.get('X-Squid-Error')) == (403, 'ERR_ACCESS_DENIED 0')
        assert b'forwarding loop' in r.body
        with p.connect() as c:
            c.send(f'CONNECT {host}:{p.port} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
            assert c.response().status == 403
    assert [line.what for line in soon(lambda: len(p.lines()) == 4 and p.lines(), 'four lines')] == ['TCP_DENIED/403'] * 4


def test_a_port_on_any_address_is_ours_on_each(make_proxy):
    p = make_proxy('http_port {port}')
    for host in ('127.0.0.1', '127.9.9.9', '0.0.0.0'):
        assert p.get(f'http://{host}:{p.port}/x').status == 403


def test_the_same_port_of_another_machine_is_no_loop(make_proxy):
    """192.0.2.1 isn't ours: what is refused there is the connection."""
    p = make_proxy('connect_timeout 1 second')
    assert p.get(f'http://127.0.0.2:{p.port}/x').status == 503


def test_a_chunked_body_for_a_server_of_http_1_0(make_proxy, origin):
    p = make_proxy('workers 1')
    old = message('HTTP/1.0 200 OK', ['Content-Length: 1'], b'x')
    page = origin.page([old, CLOSE], [old, CLOSE], [ok(b'new'), CLOSE], [ok(b'new'), CLOSE])

    def post(*fields, body=b'3\r\nabc\r\n0\r\n\r\n'):
        return p.ask('POST', page.url, *fields, body=body)

    assert p.get(page.url).status == 200
    assert post('Transfer-Encoding: chunked').status == 411
    assert page.count == 1
    assert post('Content-Length: 3', body=b'abc').status == 200  # that one can be told
    assert post('Content-Length: 3', body=b'abc').body == b'new'  # it speaks HTTP/1.1 now
    assert post('Transfer-Encoding: chunked').body == b'new'


@pytest.mark.parametrize('answer, status', [('403 Forbidden', 403), ('503 Service Unavailable', 503),
                                            ('407 Proxy Authentication Required', 502), ('302 Found', 502)])
def test_a_parent_that_refuses_a_tunnel(make_proxy, origin, answer, status):
    origin.pages['origin.test:443'] = origin.page(message(f'HTTP/1.1 {answer}', ['Content-Length: 6'], b'secret'))
    p = make_proxy(f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query\nnever_direct allow all')
    with p.connect() as c:
        c.send(b'CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\n\r\n')
        r = c.response()
    assert (r.status, r.get('X-Squid-Error')) == (status, 'ERR_CANNOT_FORWARD 0')
    assert b'secret' not in r.body
