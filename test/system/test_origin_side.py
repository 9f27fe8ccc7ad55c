"""The way to a server: tries and how many, addresses, waits, names, and which connections are used."""
import contextlib
import re
import socket
import subprocess
import threading
import time

import pytest

from client import request, soon
from names import SILENCE, NameServer
from origin import CLOSE, HANG, Origin, head, ok
from proxy import free_port, needs
from test_peers import NEVER, Parent, parents  # noqa: F401

FIN_WAIT2 = 5  # our end was acknowledged, the other side's hasn't come
UNKEPT = 'Cache-Control: no-store'


class Silent:
    """An address that takes no connection and refuses none: its queue is full."""

    def __init__(self, host='127.0.0.2', port=0):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((host, port))
        self.listener.listen(0)
        self.host, self.port = self.listener.getsockname()
        self.waiting = []
        for _ in range(8):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((self.host, self.port))
            self.waiting.append(s)

    def close(self):
        for s in (self.listener, *self.waiting):
            s.close()


@pytest.fixture
def ends():
    """What is to be closed at the end."""
    with contextlib.ExitStack() as stack:
        def keep(x):
            stack.callback(x.close)
            return x
        yield keep


@pytest.fixture
def named(make_proxy):
    """A proxy that knows many.test by these addresses, in this order."""
    def make(addresses, conf):
        p = make_proxy(conf, start=False)
        p.write('hosts', ''.join(f'{a} many.test\n' for a in addresses))
        return p.start()
    return make


# --- tries

def test_connect_retries(make_proxy):
    p = make_proxy('connect_retries 4')
    url = f'http://127.0.0.1:{free_port()}/x'
    assert p.get(url).status == 503
    assert p.logged(url)[0].ms >= 180, 'four pauses of 50 ms'


@pytest.fixture
def pair(ends):
    """Two servers at the same port of two addresses; the first answers an error first, if it is asked."""
    def make(status):
        a = ends(Parent(b'a', [ok(b'a', UNKEPT, status=f'{status} X')]))
        return a, ends(Parent(b'b', [ok(b'b', UNKEPT)], host='127.0.0.2', port=a.port))
    return make


@pytest.mark.parametrize('status, conf, method, again', [
    (403, 'retry_on_error on', 'GET', True), (500, 'retry_on_error on', 'GET', True),
    (501, 'retry_on_error on', 'HEAD', True), (503, 'retry_on_error on', 'GET', True), (502, '', 'GET', True),
    (504, '', 'GET', True), (403, '', 'GET', False), (503, '', 'GET', False), (404, 'retry_on_error on', 'GET', False),
    (503, 'retry_on_error on', 'POST', False), (502, '', 'POST', False),
    (503, 'retry_on_error on\nforward_max_tries 1', 'GET', False), (502, 'forward_max_tries 1', 'GET', False)])
def test_another_address_after_an_error(named, pair, status, conf, method, again):
    a, b = pair(status)
    p = named(['127.0.0.1', '127.0.0.2'], conf)
    body = b'x' if method == 'POST' else b''
    fields = ['Content-Length: 1'] if body else []
    with p.connect() as c:
        assert c.ask(method, f'http://many.test:{a.port}/', *fields, body=body).status == (200 if again else status)
    assert (a.one.count, b.one.count) == (1, 1 if again else 0)


def test_when_all_answer_errors_the_last_one_goes_to_the_client(named, pair):
    a, b = pair(503)
    b.one.scripts = [[ok(b'b', status='500 X')]]
    p = named(['127.0.0.1', '127.0.0.2'], 'retry_on_error on')
    r = p.get(f'http://many.test:{a.port}/')
    assert (r.status, r.body) == (500, b'b')
    assert (a.one.count, b.one.count) == (1, 1)
    p.get(f'http://many.test:{a.port}/')
    assert (a.one.count, b.one.count) == (2, 2), 'also on connections that had rested'


def test_another_peer_after_an_error(make_proxy, parents):
    a, = parents(b'', script=[ok(b'a', status='503 X')])
    b, = parents(b'b')
    p = make_proxy('retry_on_error on\n' + a.line('name=a') + b.line('name=b') + NEVER)
    assert p.get('http://x.test/').body == b'b'
    assert p.logged('http://x.test/')[0].hier == 'FIRSTUP_PARENT/127.0.0.1'


@pytest.mark.parametrize('most, counts', [(1, [1, 0, 0]), (2, [1, 1, 0]), (25, [1, 1, 1])])
def test_forward_max_tries(make_proxy, parents, most, counts):
    three = [parents(b'', script=[CLOSE])[0] for _ in range(3)]
    p = make_proxy(f'forward_max_tries {most}\n' + ''.join(x.line(f'name=p{x.port}') for x in three) + NEVER)
    assert p.get('http://x.test/').status == 502
    assert [x.one.count for x in three] == counts


@pytest.mark.parametrize('most, status', [(1, 503), (2, 200)])
def test_forward_max_tries_counts_addresses(named, ends, most, status):
    a = ends(Parent(b'a'))
    p = named(['127.0.0.2', '127.0.0.1'], f'forward_max_tries {most}\nacl SSL_ports port {a.port}')
    assert p.get(f'http://many.test:{a.port}/').status == status
    with p.connect() as c:
        c.send(f'CONNECT many.test:{a.port} HTTP/1.1\r\nHost: many.test:{a.port}\r\n\r\n'.encode())
        assert c.response('CONNECT').status == status


# --- waits

def tunnel_status(p, authority):
    with p.connect() as c:
        c.send(f'CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n'.encode())
        return c.response('CONNECT').status


def test_forward_timeout(make_proxy, ends, origin):
    """The peer may be waited for half a minute, but not by one who has a second for all."""
    s = ends(Silent())
    page = origin.page(ok(b'x'))
    p = make_proxy(f'forward_timeout 1 second\ncache_peer {s.host} parent {s.port} 0 no-query\n'
                   'nonhierarchical_direct off\n')
    assert p.get(page.url).get('X-Squid-Error') == 'ERR_CONNECT_FAIL 110'
    assert tunnel_status(p, 'x.test:443') == 503
    assert page.count == 0, 'no time for another try'


def test_connect_timeout(make_proxy, ends):
    s = ends(Silent())
    p = make_proxy('connect_timeout 1 second')
    assert p.get(f'http://{s.host}:{s.port}/').status == 503
    assert tunnel_status(p, f'{s.host}:{s.port}') == 503


def test_peer_connect_timeout(make_proxy, ends, origin):
    s = ends(Silent())
    page = origin.page(ok(b'x'))
    p = make_proxy(f'peer_connect_timeout 1 second\ncache_peer {s.host} parent {s.port} 0 no-query\n')
    assert p.get(page.url).body == b'x'
    assert p.logged(page.url)[0].ms >= 900


def test_write_timeout(make_proxy, origin):
    page = origin.page([ok(b'x' * 8_000_000, UNKEPT)])
    p = make_proxy('write_timeout 1 second')
    with p.connect(receive_buffer=4096) as c:
        c.send(request('GET', page.url))
        page.wait(1)
        line, = p.logged(page.url)
        assert line.code.startswith('TCP_MISS_') and 0 < line.size < 8_000_000


@pytest.mark.parametrize('value', ['off', 'on'])
def test_half_closed_clients(make_proxy, origin, value):
    go = threading.Event()
    page = origin.page([go, ok(b'x')])
    p = make_proxy(f'half_closed_clients {value}')
    with p.connect() as c:
        c.send(request('GET', page.url))
        page.wait(1)
        c.shut()
        if value == 'off':
            assert p.codes(page.url) == ['TCP_MISS_ABORTED/000']
            assert c.is_closed()
            go.set()
        else:
            soon(lambda: c.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == FIN_WAIT2, 'its end has arrived')
            go.set()
            assert c.response().body == b'x'


# --- addresses side by side

@pytest.mark.parametrize('conf, status', [
    ('happy_eyeballs_connect_timeout 50\nconnect_timeout 1 minute', 200),
    ('happy_eyeballs_connect_timeout 60000\nconnect_timeout 1 second', 503),
    ('happy_eyeballs_connect_timeout 50\nhappy_eyeballs_connect_limit 0\nconnect_timeout 1 second', 503),
    ('happy_eyeballs_connect_timeout 50\nhappy_eyeballs_connect_limit 1\nconnect_timeout 1 minute', 200)])
def test_happy_eyeballs(named, ends, conf, status):
    a = ends(Parent(b'a'))
    ends(Silent('127.0.0.2', a.port))
    p = named(['127.0.0.2', '127.0.0.1'], conf)
    assert p.get(f'http://many.test:{a.port}/').status == status


def test_happy_eyeballs_gap(named, ends):
    a = ends(Parent(b'a'))
    ends(Silent('127.0.0.2', a.port))
    ends(Silent('127.0.0.3', a.port))
    p = named(['127.0.0.2', '127.0.0.3', '127.0.0.1'],
              'happy_eyeballs_connect_timeout 10\nhappy_eyeballs_connect_gap 500')
    url = f'http://many.test:{a.port}/'
    assert p.get(url).body == b'a'
    assert p.logged(url)[0].ms >= 450


# --- names

@pytest.fixture
def name_server(ends):
    return ends(NameServer(good_test='127.0.0.1', other_test='127.0.0.1', silent_test=SILENCE))


def asked(name_server, name):
    return len([n for n, kind in name_server.asked if n == name and kind == 1])


def test_dns_timeout(make_proxy, name_server):
    p = make_proxy(f'dns_nameservers {name_server.host}\ndns_timeout 2 seconds')
    assert p.get('http://silent.test/').get('X-Squid-Error').split()[0] == 'ERR_DNS_FAIL'
    assert 1500 <= p.logged('http://silent.test/')[0].ms


def test_dns_retransmit_interval(make_proxy, name_server):
    p = make_proxy(f'dns_nameservers {name_server.host}\ndns_timeout 1 minute\ndns_retransmit_interval 1 second')
    with p.connect() as c:
        c.send(request('GET', 'http://silent.test/'))
        soon(lambda: asked(name_server, 'silent.test') >= 3, 'it is asked again and again')
        c.reset()


def ask_names(make_proxy, name_server, origin, conf, names):
    page = origin.page(ok(b'x', UNKEPT))
    p = make_proxy(f'workers 1\nserver_persistent_connections off\ndns_nameservers {name_server.host}\n{conf}')
    for n in names:
        p.get(f'http://{n}.test:{origin.port}{page.path}')


@pytest.mark.parametrize('conf, times', [('positive_dns_ttl 0 seconds', 2), ('', 1)])
def test_positive_dns_ttl(make_proxy, name_server, origin, conf, times):
    ask_names(make_proxy, name_server, origin, conf, ['good', 'good'])
    assert asked(name_server, 'good.test') == times


@pytest.mark.parametrize('conf, times', [('negative_dns_ttl 0 seconds', 2), ('', 1)])
def test_negative_dns_ttl(make_proxy, name_server, origin, conf, times):
    ask_names(make_proxy, name_server, origin, conf, ['missing', 'missing'])
    assert asked(name_server, 'missing.test') == times


@pytest.mark.parametrize('conf, times', [('ipcache_size 1', 2), ('', 1)])
def test_ipcache_size(make_proxy, name_server, origin, conf, times):
    ask_names(make_proxy, name_server, origin, conf, ['good', 'other', 'good'])
    assert asked(name_server, 'good.test') == times


# --- connections

@pytest.mark.parametrize('conf, same', [('', False), ('acl one method POST\nserver_pconn_for_nonretriable allow one', True)])
def test_server_pconn_for_nonretriable(make_proxy, ends, conf, same):
    o = ends(Origin())
    page = o.page(ok(b'x', UNKEPT))
    p = make_proxy(f'workers 1\n{conf}')
    p.get(page.url)
    assert p.ask('POST', page.url, 'Content-Length: 2', body=b'hi').status == 200
    p.ask('PUT', page.url, 'Content-Length: 2', body=b'hi')
    get, post, put = [r.connection for r in page.requests]
    assert (get == post) == same and put not in (get, post)
    assert page.requests[1].body == b'hi'


def test_a_risked_connection_that_was_closed(make_proxy, ends):
    """What that costs: the client learns it, nothing is sent twice."""
    o = ends(Origin())
    page = o.page([ok(b'x', UNKEPT)], [CLOSE])
    p = make_proxy('workers 1\nserver_pconn_for_nonretriable allow all')
    p.get(page.url)
    assert p.ask('POST', page.url, 'Content-Length: 2', body=b'hi').status == 502
    assert page.count == 2


@pytest.mark.parametrize('rested', [False, True])
def test_force_request_body_continuation(make_proxy, origin, rested):
    page = origin.page(ok(b'x', UNKEPT))
    p = make_proxy('workers 1\nexpect_continue_timeout 60000\nacl mine method POST\n'
                   'force_request_body_continuation allow mine\nserver_pconn_for_nonretriable allow all')
    if rested:
        p.get(page.url)
    with p.connect() as c:
        c.send(request('POST', page.url, 'Expect: 100-continue', 'Content-Length: 5'))
        assert c.reader.line() == 'HTTP/1.1 100 Continue'
        assert c.reader.line() == ''
        c.send(b'hello')
        r = c.response()
        assert (r.status, r.interim) == (200, [])
    assert page.requests[-1].body == b'hello'


def test_pconn_lifetime_of_clients(make_proxy, origin):
    """However busy it is, it ends, and says so before; one that rests ends by itself."""
    page = origin.page(ok(b'x', 'Cache-Control: max-age=600'))
    p = make_proxy('pconn_lifetime 1 second')
    with p.connect() as busy, p.connect() as resting, make_proxy().connect() as other:
        resting.get(page.url), other.get(page.url)
        assert not busy.get(page.url).lists('Connection', 'close')
        soon(lambda: busy.get(page.url).lists('Connection', 'close'), 'its last answer')
        assert busy.is_closed() and resting.is_closed()
        assert other.is_open()


def test_pconn_lifetime_of_servers(make_proxy, ends):
    o = ends(Origin())
    page = o.page(ok(b'x', UNKEPT))
    p = make_proxy('workers 1\npconn_lifetime 2 seconds')
    with p.connect() as c:
        c.get(page.url), c.get(page.url)
    assert len({r.connection for r in page.requests}) == 1
    soon(lambda: p.get(page.url) and page.requests[-1].connection != page.requests[0].connection,
         'another connection, though the first one never rested')
    o.wait_connection_over(page.requests[0].connection)


@needs('ss')
@pytest.mark.parametrize('conf, is_set', [('tcp_recv_bufsize 20 KB', True), ('', False)])
def test_tcp_recv_bufsize(make_proxy, ends, conf, is_set):
    """As the kernel tells of both connections; it counts twice what was asked for."""
    o = ends(Origin())
    page = o.page([head('Content-Length: 5'), HANG])
    p = make_proxy(conf)
    with p.connect() as c:
        c.send(request('GET', page.url))
        page.wait(1)
        told = subprocess.run(['ss', '-tnmO', 'state', 'established', f'( sport = :{p.port} or dport = :{o.port} )'],
                              capture_output=True, text=True, check=True).stdout
    sizes = re.findall(r'skmem:\(r\d+,rb(\d+),', told)
    assert len(sizes) == 2, told
    assert (set(sizes) == {'40960'}) == is_set, told


def test_max_filedescriptors(make_proxy):
    p = make_proxy('max_filedescriptors 300')
    with open(f'/proc/{p.child()}/limits', encoding='ascii') as f:
        assert re.search(r'^Max open files +300 ', f.read(), re.M)
