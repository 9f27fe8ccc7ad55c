"""What happens between a request and its answer when something else comes between: half a head, an upload both sides
talk during, a client that leaves, a reload, a stored answer that is nobody else's business."""
import os
import signal
import socket
import threading
import time

import pytest

from client import Task, request, soon
from names import NameServer
from origin import CLOSE, DEADLINE, Origin, message, not_modified, ok

FRESH = 'Cache-Control: max-age=600'


class LateNameServer(NameServer):
    """Says nothing about late.test before go."""

    def __init__(self, **names):
        self.go, self.waits = threading.Event(), threading.Event()
        super().__init__(**names)

    def answer(self, query):
        if b'\4late\4test' in query:
            self.waits.set()
            self.go.wait(DEADLINE)
        return super().answer(query)


@pytest.fixture
def name_server():
    s = LateNameServer(late_test='127.0.0.1')
    yield s
    s.go.set()
    s.close()


def descriptors(p):
    return len(os.listdir(f'/proc/{p.process.pid}/fd'))


def reload(p, conf):
    p.configure(conf)
    p.signal(signal.SIGHUP)
    p.wait_cache_log('Reconfigured')


# -- half a head

@pytest.mark.parametrize('part', [b'\r', b'\r\n\r', b'\r\n', b' ', b'G'])
def test_half_a_head_keeps_no_worker_busy(make_proxy, origin, part):
    """The only worker serves another client, sees the first one leave, and TERM ends it at once."""
    page = origin.page(ok(b'x'))
    p = make_proxy('workers 1\nshutdown_lifetime 60 seconds')
    with p.connect() as half:
        half.send(part)
        half.wait_read()
        assert p.get(page.url).body == b'x'
    began = time.monotonic()
    p.signal(signal.SIGTERM)
    assert p.wait_end() == 0
    assert time.monotonic() - began < 1


def test_resets_right_behind_half_a_head_leave_nothing_behind(make_proxy):
    p = make_proxy('http_access deny all')
    before = descriptors(p)
    clients = [p.connect() for _ in range(20)]
    for c in clients:
        assert c.get('http://origin.test/').status == 403
    p.signal(signal.SIGSTOP)  # so that it sees both at once
    for c in clients:
        c.send(b'GET http://x')
        c.reset()
    p.signal(signal.SIGCONT)
    soon(lambda: descriptors(p) <= before + 1, 'no descriptor is left behind')


# -- who may ask

@pytest.mark.parametrize('first', ['', 'acl other dst 192.0.2.0/24\nhttp_access deny other\n'],
                         ids=['at once', 'when the address is known'])
def test_rules_know_the_name_of_the_port(make_proxy, origin, first):
    page = origin.page(ok(b'x'))
    p = make_proxy('http_port 127.0.0.1:{port} name=front\nacl front myportname front\n'
                   f'{first}http_access allow front\nhttp_access deny all')
    assert p.get(page.url).body == b'x'


@pytest.mark.parametrize('hosts', [['proxy.test'], []], ids=['with an address', 'without'])
def test_manager_pages_under_a_rule_for_addresses(make_proxy, name_server, hosts):
    p = make_proxy(f'dns_nameservers {name_server.host}\nacl other dst 192.0.2.0/24\nhttp_access deny other',
                   hosts=hosts)
    r = p.page('info')
    assert r.status == 200
    assert b'Connection information' in r.body


def test_no_password_of_a_manager_url_in_the_log(make_proxy):
    """M05, for http URLs."""
    p = make_proxy('cachemgr_passwd s3cret info')
    assert p.page('info@s3cret').status == 200
    assert p.lines()[0].url.endswith('/squid-internal-mgr/info')
    assert 's3cret' not in p.read('access.log')


def test_login_replaces_the_client_s_authorization(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('http_port 127.0.0.1:{port} accel defaultsite=site.test\n'
                   f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver login=user:pass')
    with p.connect() as c:
        assert c.get(page.path, 'Host: site.test', 'Authorization: Basic eDp5').status == 200
    assert page.requests[0].all('Authorization') == ['Basic dXNlcjpwYXNz']


# -- both sides talk

class Server:
    """For what Origin's scripts can't say: it takes connections and hands their sockets to the test."""

    def __init__(self, receive_buffer=None, segment=None):
        self.listener = socket.socket()
        if segment is not None:
            self.listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment)
        if receive_buffer is not None:
            self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.listener.settimeout(DEADLINE)
        self.listener.bind(('127.0.0.1', 0))
        self.listener.listen()
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        sock, _ = self.listener.accept()
        sock.settimeout(DEADLINE)
        return sock


def read_head(sock):
    """The head, and what came of the rest."""
    data = b''
    while b'\r\n\r\n' not in data:
        more = sock.recv(65536)
        assert more, f'end in the middle of a head: {data[-200:]!r}'
        data += more
    return data.split(b'\r\n\r\n', 1)


def echo(server, size):
    """Answers the bytes of a request's body as they come."""
    with server.accept() as s:
        _, data = read_head(s)
        s.sendall(message('HTTP/1.1 200 OK', [f'Content-Length: {size}']))
        while data or size:
            s.sendall(data)
            size -= len(data)
            data = s.recv(65536) if size else b''


def test_an_answer_flows_while_the_request_does(make_proxy):
    """Both ways full; as soon as the client reads, both go on."""
    body = bytes(16 << 20)
    p = make_proxy()
    with Server(receive_buffer=65536) as server, p.connect(receive_buffer=65536) as c:
        echoed = Task(echo, server, len(body))
        c.send(request('POST', f'http://127.0.0.1:{server.port}/', f'Content-Length: {len(body)}'))
        upload = Task(c.send, body)
        upload.join(0.3)  # long enough to fill whatever holds it while nobody reads
        assert len(c.response().body) == len(body)
        upload.result()
        echoed.result()


def test_an_early_refusal_reaches_a_client_that_still_sends(proxy, origin):
    page = origin.page([message('HTTP/1.1 413 Content Too Large', ['Content-Length: 5', 'Connection: close'], b'large'),
                        CLOSE], early=True)
    with proxy.connect() as c:
        c.send(request('POST', page.url, 'Content-Length: 4000000'))
        upload = Task(c.send, bytes(4000000))
        r = c.response()
        assert (r.status, r.body) == (413, b'large')
    upload.join(DEADLINE)
    assert not upload.is_alive()


def test_a_body_announced_too_large_is_not_asked_for(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('request_body_max_size 1 KB')
    with p.connect() as c:
        c.send(request('POST', page.url, 'Content-Length: 100000', 'Expect: 100-continue'))
        r = c.response()
        assert (r.status, r.interim, r.get('X-Squid-Error').split()[0]) == (413, [], 'ERR_TOO_BIG')
        assert r.get('Connection') == 'close'
    assert p.codes(page.url) == ['TCP_MISS/413']
    assert page.count == 0


def test_a_parent_that_reads_connect_slowly(make_proxy):
    """The head of our CONNECT is larger than what the socket takes at once: little, for small segments."""
    with Server(receive_buffer=2304, segment=500) as parent:
        p = make_proxy(f'cache_peer 127.0.0.1 parent {parent.port} 0 no-query\nnever_direct allow all')
        fields = [f'X-{i}: {"a" * 1000}' for i in range(55)]
        with p.connect() as c:
            c.send(request('CONNECT', 'site.test:443', 'Host: site.test:443', *fields))
            with parent.accept() as s:
                sent, _ = read_head(s)
                assert fields[-1].encode() in sent
                s.sendall(message('HTTP/1.1 200 Established'))
                assert c.response('CONNECT').status == 200


# -- clients that leave

@pytest.mark.parametrize('framing, part', [('Content-Length: 100', b'abc'),
                                           ('Transfer-Encoding: chunked', b'5\r\nabc')])
@pytest.mark.parametrize('end', ['fin', 'rst'])
def test_an_upload_the_client_breaks_off_is_logged_as_aborted(proxy, origin, framing, part, end):
    page = origin.page(ok(b'x'))
    with proxy.connect() as c:
        c.send(request('POST', page.url, framing) + part)
        page.wait(1)
        if end == 'fin':
            c.shut()
            assert c.is_closed()
        else:
            c.reset()
    line, = proxy.logged(page.url)
    assert line.code == 'TCP_MISS_ABORTED'
    assert not page.wait_over(1).complete


def test_a_client_that_leaves_after_100_continue(proxy, origin):
    """100 is what it was answered."""
    page = origin.page(ok(b'x'))
    with proxy.connect() as c:
        c.send(request('POST', page.url, 'Content-Length: 100', 'Expect: 100-continue'))
        assert c.reader.line() == 'HTTP/1.1 100 Continue'
        c.reset()
    assert proxy.codes(page.url) == ['TCP_MISS_ABORTED/100']


# -- reloads

def test_a_peer_that_moved_gets_the_next_request(make_proxy, origin):
    """No connection to where it was is used again."""
    conf = ('workers 1\nhttp_port 127.0.0.1:{port} accel defaultsite=site.test\n'
            'cache_peer 127.0.0.1 parent %d 0 no-query originserver name=web')
    moved = Origin()
    try:
        page = origin.page(ok(b'old place'))
        moved.pages[page.path] = moved.page(ok(b'new place'))
        p = make_proxy(conf % origin.port)
        with p.connect() as c:
            assert c.get(page.path, 'Host: site.test').body == b'old place'
            reload(p, conf % moved.port)
            soon(lambda: c.get(page.path, 'Host: site.test').body == b'new place', 'the new place is asked')
    finally:
        moved.close()


def test_a_reload_while_a_tunnel_s_name_is_looked_up(make_proxy, name_server):
    """The tunnel keeps the settings it was allowed by."""
    conf = (f'dns_nameservers {name_server.host}\ndns_timeout 10 seconds\n'
            'acl other dst 192.0.2.0/24\nhttp_access deny other')
    p = make_proxy(conf)
    with Server() as server, p.connect() as c:
        target = f'late.test:{server.port}'
        c.send(request('CONNECT', target, f'Host: {target}'))
        assert name_server.waits.wait(DEADLINE)
        reload(p, f'{conf}\nnever_direct allow all')
        name_server.go.set()
        assert c.response('CONNECT').status == 200
        server.accept().close()
        assert c.is_closed()
    assert p.codes(target) == ['TCP_TUNNEL/200']


# -- stored answers

@pytest.mark.parametrize('fields', [['Cache-Control: no-cache', 'ETag: "x"'], ['ETag: "x"'],
                                    ['Cache-Control: max-age=0', 'ETag: "x"']], ids=', '.join)
def test_an_answer_to_be_validated_at_every_use_is_not_shared(proxy, origin, fields):
    """RFC 9111 section 4: such are often one user's page."""
    go = threading.Event()

    def own(x):
        return ok(x.request.get('Cookie').encode(), *fields)
    page = origin.page([go, own], own)
    clients = []
    for user in ('a', 'b', 'c'):
        c = proxy.connect()
        c.send(request('GET', page.url, f'Cookie: {user}'))
        clients.append(c)
        page.wait(1)
        c.wait_read()
    go.set()
    assert [c.response().body for c in clients] == [b'a', b'b', b'c']
    for c in clients:
        c.close()


def test_a_fresh_response_outlives_an_answer_that_is_not_stored(proxy, origin):
    """S9."""
    page = origin.page(ok(b'kept', FRESH), ok(b'once', 'Cache-Control: no-store'))
    with proxy.connect() as c:
        assert c.get(page.url).body == b'kept'
        assert c.get(page.url, 'Cache-Control: no-cache').body == b'once'
        assert c.get(page.url).body == b'kept'


def test_a_stale_answer_is_logged_with_the_server_that_failed(proxy, origin):
    page = origin.page(ok(b'old', 'Cache-Control: max-age=0', 'ETag: "x"'), ok(b'sorry', status='503 Busy'))
    for _ in range(2):
        assert proxy.get(page.url).body == b'old'
    line = proxy.logged(page.url, 2)[1]
    assert (line.what, line.hier) == ('TCP_REFRESH_FAIL_OLD/200', 'HIER_DIRECT/127.0.0.1')


def test_the_type_of_what_a_304_confirms_is_logged(proxy, origin):
    page = origin.page(ok(b'x', 'Cache-Control: max-age=0', 'ETag: "x"', 'Content-Type: text/x'),
                       not_modified('ETag: "x"'))
    assert proxy.get(page.url).body == b'x'
    assert proxy.get(page.url, 'If-None-Match: "x"').status == 304
    line = proxy.logged(page.url, 2)[1]
    assert (line.what, line.type) == ('TCP_REFRESH_UNMODIFIED/304', 'text/x')
