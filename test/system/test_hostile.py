"""A sample of the hostile inputs: each sent whole and byte by byte, as forward and as reverse proxy. Whatever the
answer, the origin sees no second request, and the daemon serves on."""
import time

import pytest

from client import Task, request, soon
from origin import Broken, Origin, ok
from proxy import Proxy

SMUG = 'GET {T}/SMUG{N} HTTP/1.1\r\nHost: {H}\r\n\r\n'
POST = 'POST {T}/h/{N} HTTP/1.1\r\nHost: {H}\r\n'
GET = 'GET {T}/h/{N} HTTP/1.1\r\nHost: {H}\r\n'

REFUSED, ONCE, ABORTED = 'refused', 'forwarded once', 'refused, or never complete at the origin'

# id of hostile-inputs.md: (bytes, allowed statuses, what becomes of it)
ROWS = {
    'A01': (POST + 'Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nX' + SMUG, {400}, REFUSED),
    'A02': (POST + 'Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n5c\r\n', {400}, REFUSED),
    'A04': (POST + 'Content-Length: 5\r\nContent-Length: 0\r\n\r\nhello', {400}, REFUSED),
    'A06': (POST + 'Content-Length: +5\r\n\r\nhello', {400}, REFUSED),
    'A08': (POST + 'Content-Length: \t5 \t\r\n\r\nhello', {200}, ONCE),
    'A12': (POST + 'Content-Length: 18446744073709551621\r\n\r\nhello', {400, 413}, REFUSED),
    'A15': (POST + 'Content-Length: 5\0\r\n\r\nhello', {400}, REFUSED),
    'A16': (POST + 'Transfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n' + SMUG, {400, 501}, REFUSED),
    'A19': (POST + 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n' + SMUG,
            {400, 501}, REFUSED),
    'A20': (POST + 'Transfer-Encoding:\r\n chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n' + SMUG, {400}, REFUSED),
    'A21': (POST + 'Content-Length: 4\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n' + SMUG, {400}, REFUSED),
    'A23': (POST + 'tRANSFER-eNCODING: cHuNkEd\r\n\r\n5\r\nhello\r\n0\r\n\r\n', {200}, ONCE),
    'A24': ('POST {T}/h/{N} HTTP/1.0\r\nHost: {H}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
            {400, 411, 501}, REFUSED),
    'A28': ('POST {T}/h/{N} HTTP/1.1\nHost: {H}\nContent-Length: 5\n\nhello', {400}, REFUSED),
    'B01': (POST + 'Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF1\r\nhello\r\n0\r\n\r\n', {400, 413}, ABORTED),
    'B02': (POST + 'Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n', {400}, ABORTED),
    'B06': (POST + 'Transfer-Encoding: chunked\r\n\r\n5;name=value\r\nhello\r\n0;x\r\n\r\n', {200}, ONCE),
    'B09': (POST + 'Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n', {400}, ABORTED),
    'B10': (POST + 'Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXY0\r\n\r\n', {400}, ABORTED),
    'B14': (POST + 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\n\n', {400}, ABORTED),
    'B18': (POST + 'Transfer-Encoding: chunked\r\n\r\n5;a=' + 'x' * 70000 + '\r\nhello\r\n0\r\n\r\n', {400, 413, 431},
            ABORTED),
    'C01': ('GET {T}/h/{N}\r\n\r\n', {400, 505}, REFUSED),
    'C03': ('GET  {T}/h/{N} HTTP/1.1\r\nHost: {H}\r\n\r\n', {400}, REFUSED),
    'C05': ('GET {T}/h/{N} x HTTP/1.1\r\nHost: {H}\r\n\r\n', {400}, REFUSED),
    'C09': ('GET {T}/h/{N} http/1.1\r\nHost: {H}\r\n\r\n', {400, 505}, REFUSED),
    'C11': ('GET {T}/h/{N}#frag HTTP/1.1\r\nHost: {H}\r\n\r\n', {400}, REFUSED),
    'C15': ('\r\n' + GET + '\r\n', {200}, ONCE),
    'C16': ('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', {400, 505}, REFUSED),
    'C18': ('GET * HTTP/1.1\r\nHost: {H}\r\n\r\n', {400}, REFUSED),
    'C23': ('\x80\xff' * 512 + '\r\n\r\n', {400}, REFUSED),
    'D01': ('GET {T}/h/{N} HTTP/1.1\r\n\r\n', {400}, REFUSED),
    'D02': (GET + 'Host: other.invalid\r\n\r\n', {400}, REFUSED),
    'D05': ('GET {T}/h/{N} HTTP/1.1\r\nHost: {H}/evil\r\n\r\n', {400}, REFUSED),
    'E01': (GET + 'X-A : 1\r\n\r\n', {400}, REFUSED),
    'E02': (GET + 'X-A: 1\r\n\tfolded\r\n\r\n', {400}, REFUSED),
    'E06': (GET + 'X-A: a\0b\r\n\r\n', {400}, REFUSED),
    'E07': (GET + 'X-A: a\rb\r\n\r\n', {400}, REFUSED),
    'E11': (GET + 'X-A: \xe4\xf6\xfc\r\nX-B: a\tb\r\n\r\n', {200}, ONCE),
    'U02': (GET + 'X: y\r\n' * 3000 + '\r\n', {431}, REFUSED),
    'U03': (GET + 'Connection: ' + 'a,' * 6000 + '\r\n\r\n', {200, 400, 431}, None),
}


class Either:
    """Takes any request for /h/..., and remembers."""

    def __init__(self):
        self.origin = Origin()
        self.good = self.origin.page(ok(b'healthy', 'Cache-Control: no-store'))

    def expect(self, n):
        page = self.origin.page(ok(b'through'))
        self.origin.pages[f'/h/{n}'] = page
        return page


@pytest.fixture(scope='module')
def target():
    e = Either()
    yield e
    e.origin.close()


@pytest.fixture(scope='module')
def proxies(target):
    made = {'forward': Proxy('request_timeout 3 seconds'),
            'reverse': Proxy('request_timeout 3 seconds\nhttp_port 127.0.0.1:{port} accel vhost\n'
                             f'cache_peer 127.0.0.1 parent {target.origin.port} 0 no-query originserver')}
    yield made
    for p in made.values():
        try:
            p.stop()
        finally:
            p.remove()


@pytest.mark.parametrize('how', ['whole', 'bytes'])
@pytest.mark.parametrize('mode', ['forward', 'reverse'])
@pytest.mark.parametrize('row', ROWS)
def test_row(proxies, target, row, mode, how):
    data, statuses, fate = ROWS[row]
    p, authority = proxies[mode], target.origin.authority
    n = f'{row}{mode}{how}'
    prefix = f'http://{authority}' if mode == 'forward' else ''
    data = data.replace('{T}', prefix).replace('{H}', authority).replace('{N}', n).encode('latin-1')
    page, stray = target.expect(n), len(target.origin.stray)
    with p.connect() as c:
        if how == 'whole':
            c.send(data)
        else:
            c.send_bytes(data)
        try:
            status = c.response().status
        except (Broken, ConnectionError):
            status = None
        if fate == ABORTED:
            assert status in statuses | {None}
        else:
            assert status in statuses
        if fate in (REFUSED, ABORTED):
            assert c.is_closed()
    if fate == REFUSED:
        assert page.count == 0
    elif fate == ONCE:
        assert page.count == 1 and page.requests[0].complete
        assert page.requests[0].body in (b'', b'hello')
    elif fate == ABORTED and page.count:
        assert not page.wait_over(1).complete
    # No request was smuggled, and it serves on.
    with p.connect() as c:
        path = target.good.url if mode == 'forward' else target.good.path
        assert c.get(path, f'Host: {authority}').body == b'healthy'
    assert len(target.origin.stray) == stray, target.origin.stray[stray:]
    assert p.process.poll() is None


def test_1000_pipelined_requests_while_nobody_reads(proxies, target):
    """U05."""
    page = target.origin.page(ok(b'x' * 1000, 'Cache-Control: max-age=600'))
    p = proxies['forward']
    p.get(page.url)
    before = p.rss()
    with p.connect(receive_buffer=4096) as c:
        writer = Task(c.send, request('GET', page.url) * 1000)
        writer.join(0.3)
        assert p.rss() - before < 4096
        assert all(c.response().body == b'x' * 1000 for _ in range(1000))
        writer.result()


def test_slowloris_is_timed_from_the_first_byte(proxies):
    """U08: a byte now and then doesn't prolong it."""
    p = proxies['forward']
    with p.connect() as c:
        began = time.monotonic()
        c.sock.settimeout(0.5)
        for byte in b'GET http://origin.test/ HTTP/1.1\r\nX: yyyyyyyyyyyyyyyyyyyyyyy':
            try:
                c.sock.send(bytes([byte]))
                if c.sock.recv(1) == b'':
                    break
                break  # an answer: 408
            except TimeoutError:
                continue
            except ConnectionError:
                break
        assert 2.5 < time.monotonic() - began < 6


@pytest.mark.parametrize('row', ['127.1:25', '2130706433:25', '0x7f.1:25', '[::1]:25', '[::ffff:127.0.0.1]:25',
                                 '0.0.0.0:25',
                                 '169.254.169.254:80', '127.0.0.1:25', '127.0.0.1', '127.0.0.1:0', '127.0.0.1:65536',
                                 '127.0.0.1:-443', '127.0.0.1:+443', 'http://127.0.0.1:443/', '/', '127.0.0.1:443/x'])
def test_connect_to_where_nobody_should(guarded, row):
    """J01 to J18: with to_localhost and to_linklocal denied, no spelling gets there."""
    with guarded.connect() as c:
        c.send(f'CONNECT {row} HTTP/1.1\r\nHost: {row}\r\n\r\n'.encode())
        assert c.response().status in (400, 403, 405)
        assert c.is_closed()


@pytest.fixture(scope='module')
def guarded():
    p = Proxy('acl SSL_ports port 443\nhttp_access deny CONNECT !SSL_ports\nhttp_access deny to_localhost\n'
              'http_access deny to_linklocal\nworkers 1')
    yield p
    p.stop()
    p.remove()


@pytest.mark.parametrize('host', ['127.0.0.1', '127.1', '2130706433', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0',
                                  'localhost',
                                  'origin.test'])
def test_http_to_where_nobody_should(guarded, origin, host):
    page = origin.page(ok(b'secret'))
    r = guarded.get(f'http://{host}:{origin.port}{page.path}')
    assert r.status in (400, 403, 503)
    assert page.count == 0


def test_many_connections_come_and_go(proxies, target):
    p = proxies['forward']
    clients = [p.connect() for _ in range(300)]
    for c in clients:
        c.send(b'GET ')
    for c in clients:
        c.close()
    assert p.get(target.good.url).body == b'healthy'
    soon(lambda: p.line_count() > 300, 'each has its line')
