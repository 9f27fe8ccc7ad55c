"""CONNECT: bytes both ways, half-close, failure, refusal."""
import contextlib
import hashlib
import os
import resource
import socket
import threading

import pytest

from client import request, soon
from origin import DEADLINE, CLOSE, ok
from proxy import free_port

LARGE = hashlib.shake_256(b'tunnel').digest(4 << 20)


class Server:
    """Takes one connection and hands it to the test."""

    def __init__(self):
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.listener.settimeout(DEADLINE)
        self.port = self.listener.getsockname()[1]
        self.target = f'127.0.0.1:{self.port}'

    def accept(self):
        sock, _ = self.listener.accept()
        sock.settimeout(DEADLINE)
        return sock

    def close(self):
        self.listener.close()


@pytest.fixture
def server():
    s = Server()
    yield s
    s.close()


def read(sock, n):
    data = bytearray()
    while len(data) < n and (more := sock.recv(65536)):
        data += more
    return bytes(data)


def open_tunnel(proxy, server, extra=b''):
    c = proxy.connect()
    c.send(request('CONNECT', server.target, f'Host: {server.target}') + extra)
    r = c.response('CONNECT')
    assert (r.status, r.get('Content-Length'), r.get('Transfer-Encoding')) == (200, None, None)
    return c, server.accept()


def test_both_ways_and_the_log(proxy, server):
    c, s = open_tunnel(proxy, server)
    c.send(b'ping')
    assert read(s, 4) == b'ping'
    s.sendall(b'pong!')
    assert read(c.sock, 5) == b'pong!'
    s.close()
    assert c.is_closed()
    c.close()
    line, = proxy.logged(server.target)
    assert (line.what, line.method, line.hier, line.type) == ('TCP_TUNNEL/200', 'CONNECT', 'HIER_DIRECT/127.0.0.1', '-')
    assert line.size in (5, 5 + len('HTTP/1.1 200 Connection established\r\n\r\n'))


def test_bytes_that_come_with_the_head(proxy, server):
    c, s = open_tunnel(proxy, server, b'early')
    assert read(s, 5) == b'early'
    c.close()
    assert s.recv(1) == b''
    s.close()


def test_head_byte_by_byte(proxy, server):
    with proxy.connect() as c:
        c.send_bytes(request('CONNECT', server.target, f'Host: {server.target}') + b'x')
        assert c.response('CONNECT').status == 200
        s = server.accept()
        assert read(s, 1) == b'x'
        s.close()


def test_the_server_speaks_first(proxy, server):
    def greet():
        s = server.accept()
        s.sendall(b'220 ready\r\n')
        s.close()
    threading.Thread(target=greet, daemon=True).start()
    with proxy.connect() as c:
        c.send(request('CONNECT', server.target, f'Host: {server.target}'))
        assert c.response('CONNECT').status == 200
        assert c.reader.line() == '220 ready'
        assert c.is_closed()


def test_half_close_by_the_client(proxy, server):
    c, s = open_tunnel(proxy, server)
    c.send(b'all')
    c.shut()
    assert read(s, 100) == b'all', 'data, then an end'
    s.sendall(b'answer')
    s.close()
    assert read(c.sock, 100) == b'answer'


def test_half_close_by_the_server(proxy, server):
    c, s = open_tunnel(proxy, server)
    s.sendall(b'all')
    s.shutdown(socket.SHUT_WR)
    assert read(c.sock, 100) == b'all'
    c.send(b'answer')
    c.shut()
    assert read(s, 100) == b'answer'
    s.close()


def test_a_reset_ends_both_sides(proxy, server):
    c, s = open_tunnel(proxy, server)
    c.reset()
    try:
        assert s.recv(1) == b''
    except ConnectionResetError:
        pass
    s.close()
    proxy.logged(server.target)


def test_a_reset_right_behind_data(proxy, server):
    for _ in range(5):
        c, s = open_tunnel(proxy, server)
        c.send(b'x' * 1000)
        c.reset()
        s.settimeout(3)
        try:
            read(s, 1001)
        except ConnectionResetError:
            pass
        s.close()


def test_4_mb_each_way(proxy, server):
    c, s = open_tunnel(proxy, server)
    up = threading.Thread(target=lambda: (c.send(LARGE), c.shut()), daemon=True)
    down = threading.Thread(target=lambda: (s.sendall(LARGE[::-1]), s.shutdown(socket.SHUT_WR)), daemon=True)
    got = []
    reader = threading.Thread(target=lambda: got.append(read(s, len(LARGE) + 1)), daemon=True)
    for t in (up, down, reader):
        t.start()
    assert read(c.sock, len(LARGE) + 1) == LARGE[::-1]
    reader.join(DEADLINE)
    assert got == [LARGE]
    assert proxy.logged(server.target)[0].size >= len(LARGE)


def test_a_reader_that_stops_holds_the_writer_back(proxy, server):
    before = proxy.rss()
    c, s = open_tunnel(proxy, server)
    c.sock.settimeout(0.5)
    sent = 0
    with pytest.raises(TimeoutError):
        while sent < 256 << 20:
            sent += c.sock.send(LARGE)
    assert proxy.rss() - before < 8 << 10
    c.close()
    s.close()


def pipes(p):
    n = 0
    for fd in os.listdir(f'/proc/{p.process.pid}/fd'):
        with contextlib.suppress(OSError):
            n += os.readlink(f'/proc/{p.process.pid}/fd/{fd}').startswith('pipe:')
    return n


def test_bulk_goes_through_a_pipe_that_is_given_back(make_proxy, server):
    """splice(2): two descriptors for as long as it lasts; what came is what went, both when it began and after."""
    p = make_proxy('workers 1')
    before = pipes(p)
    c, s = open_tunnel(p, server)
    reader = threading.Thread(target=lambda: got.append(read(s, 16 * len(LARGE))), daemon=True)
    got = []
    reader.start()
    for _ in range(16):
        c.send(LARGE)
    reader.join(DEADLINE)
    assert hashlib.sha256(got[0]).digest() == hashlib.sha256(LARGE * 16).digest()
    assert pipes(p) == before + 2
    soon(lambda: pipes(p) == before, 'the pipe is given back')
    c.send(b'small')
    assert read(s, 5) == b'small'
    s.sendall(b'back')
    assert read(c.sock, 4) == b'back'
    c.close()
    s.close()


def test_no_pipe_when_descriptors_are_short(make_proxy, server):
    p = make_proxy('workers 1', limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
    before = pipes(p)
    c, s = open_tunnel(p, server)
    idle = [p.connect() for _ in range(60)]
    soon(lambda: len(os.listdir(f'/proc/{p.process.pid}/fd')) >= 48, 'they are taken')
    reader = threading.Thread(target=lambda: got.append(read(s, 8 * len(LARGE))), daemon=True)
    got = []
    reader.start()
    for _ in range(8):
        c.send(LARGE)
    reader.join(DEADLINE)
    assert got[0] == LARGE * 8 and pipes(p) == before
    for i in idle:
        i.close()
    c.close()
    s.close()


def test_others_have_their_turn_beside_bulk(make_proxy, server, origin):
    """A tunnel whose ends are as fast as the worker never blocks: it must stop by itself."""
    p = make_proxy('workers 1')
    url = origin.page(ok(b'x', 'Cache-Control: max-age=60')).url
    c, s = open_tunnel(p, server)
    over = threading.Event()
    threads = [threading.Thread(target=lambda: drain(s), daemon=True),
               threading.Thread(target=lambda: fill(c.sock, over), daemon=True)]
    for t in threads:
        t.start()
    for _ in range(20):
        assert p.get(url).body == b'x'
    over.set()
    for t in threads:
        t.join(DEADLINE)
    c.close()
    s.close()


def fill(sock, over):
    while not over.is_set():
        sock.sendall(LARGE)
    sock.shutdown(socket.SHUT_WR)


def drain(sock):
    buffer = bytearray(1 << 20)
    while sock.recv_into(buffer):
        pass


def test_a_name(proxy, server):
    with proxy.connect() as c:
        c.send(request('CONNECT', f'origin.test:{server.port}', f'Host: origin.test:{server.port}'))
        assert c.response('CONNECT').status == 200
        server.accept().close()
    assert proxy.codes(f'origin.test:{server.port}') == ['TCP_TUNNEL/200']


def test_connect_fails(proxy):
    target = f'127.0.0.1:{free_port()}'
    with proxy.connect() as c:
        r = c.ask('CONNECT', target, f'Host: {target}')
        assert (r.status, r.get('X-Squid-Error').split()[0]) == (503, 'ERR_CONNECT_FAIL')
        assert c.is_closed()
    line, = proxy.logged(target)
    assert (line.what, line.hier) == ('NONE_NONE/503', 'HIER_DIRECT/127.0.0.1')


def test_connect_denied(proxy):
    with proxy.connect() as c:
        c.send(request('CONNECT', 'blocked.test:443', 'Host: blocked.test:443', 'Content-Length: 80',
                       body=request('GET', 'http://blocked.test/smuggled')))
        assert c.response().status == 403
        assert c.is_closed()
    line, = proxy.logged('blocked.test:443')
    assert (line.what, line.hier) == ('TCP_DENIED/403', 'HIER_NONE/-')
    assert 'smuggled' not in proxy.read('access.log')


def test_default_rules_refuse_other_ports(make_proxy, server):
    p = make_proxy('acl SSL_ports port 443\nhttp_access deny CONNECT !SSL_ports')
    assert p.ask('CONNECT', server.target, f'Host: {server.target}').status == 403


def test_through_a_parent(make_proxy, server, origin):
    parent = make_proxy('visible_hostname parent.test')
    p = make_proxy(f'cache_peer 127.0.0.1 parent {parent.port} 0 no-query\nnever_direct allow all')
    c, s = open_tunnel(p, server)
    c.send(b'ping')
    assert read(s, 4) == b'ping'
    s.sendall(b'pong')
    s.close()
    assert read(c.sock, 100) == b'pong'
    c.close()
    assert p.logged(server.target)[0].hier == 'FIRSTUP_PARENT/127.0.0.1'
    assert parent.codes(server.target) == ['TCP_TUNNEL/200']


def test_http_through_a_tunnel(proxy, origin):
    page = origin.page([ok(b'inside'), CLOSE])
    with proxy.connect() as c:
        c.send(request('CONNECT', origin.authority, f'Host: {origin.authority}'))
        assert c.response('CONNECT').status == 200
        assert c.get(page.path, f'Host: {origin.authority}').body == b'inside'
    assert page.requests[0].get('Via') is None


def test_counters(make_proxy, server):
    p = make_proxy()
    c, s = open_tunnel(p, server)
    s.sendall(b'x' * 3000)
    s.close()
    assert len(read(c.sock, 5000)) == 3000
    c.close()
    p.logged(server.target)
    counters = p.counters()
    assert counters['server.other.requests'] == 1
    assert counters['server.all.requests'] == 1
    assert counters['server.other.kbytes_in'] in (2, 3)
    soon(lambda: p.counters()['client_http.kbytes_out'] >= 3, 'the bytes are counted')
