"""Hostile requests (hostile/requests.txt): sent whole, byte by byte and cut at every offset, as to a forward and a reverse
proxy, to the parser of every kernel. Whatever the answer, the origin sees no second request, and the daemon serves on."""
import contextlib
import os
import re
import subprocess
import time

import pytest

from client import Cut, Task, request, soon
from origin import Broken, Origin, ok
from proxy import LOLIGO, Proxy, is_sanitized

NAMED = {
    'SMUG': 'GET {T}/SMUG{N} HTTP/1.1\r\nHost: {H}\r\n\r\n',
    'POST': 'POST {T}/h/{N} HTTP/1.1\r\nHost: {H}\r\n',
    'GET': 'GET {T}/h/{N} HTTP/1.1\r\nHost: {H}\r\n',
}


class Row:
    def __init__(self, line):
        self.id, self.modes, statuses, close, self.fate, self.fields, text = line.split('\t')
        self.statuses = {None if s == 'none' else int(s) for s in statuses.split('/')}
        self.closes = close == 'close'
        text = re.sub(r'\\x([0-9a-f]{2})', lambda m: chr(int(m[1], 16)), text)
        for name, byte in (('r', '\r'), ('n', '\n'), ('t', '\t'), ('0', '\0')):
            text = text.replace('\\' + name, byte)
        text = re.sub(r'\{([^{}]*)\*(\d+)\}', lambda m: m[1] * int(m[2]), text)
        self.text = re.sub(r'\{(SMUG|POST|GET)\}', lambda m: NAMED[m[1]], text)

    def bytes(self, mode, authority, n):
        prefix = f'http://{authority}' if mode == 'forward' else ''
        return self.text.replace('{T}', prefix).replace('{H}', authority).replace('{N}', n).encode('latin-1')


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'hostile', 'requests.txt')) as f:
    ROWS = {r.id: r for r in (Row(line.rstrip('\n')) for line in f if not line.startswith('#'))}

MODES = ('forward', 'reverse')


def kernels():
    """Those this machine has, the best one last."""
    said = subprocess.run([LOLIGO, '-N'], env={**os.environ, 'LOLIGO_HDRS_KERNEL': '?'}, capture_output=True,
                          text=True).stderr
    return said.partition('available:')[2].split() or ['scalar']


KERNELS = kernels()


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


def start(mode, target, kernel=None):
    conf = 'request_timeout 3 seconds\nacl bad_ports port 22 25\nhttp_access deny bad_ports\nacl tunnel method CONNECT\n' \
           'acl tls port 443\nhttp_access deny tunnel !tls\nhttp_access deny tunnel to_localhost\n'
    if mode == 'reverse':
        conf += ('http_port 127.0.0.1:{port} accel vhost\n'
                 f'cache_peer 127.0.0.1 parent {target.origin.port} 0 no-query originserver')
    return Proxy(conf, env={**os.environ, 'LOLIGO_HDRS_KERNEL': kernel} if kernel else None)


@pytest.fixture(scope='module')
def proxies(target):
    """By mode and kernel; those asked for."""
    made = {}

    def get(mode, kernel=KERNELS[-1]):
        if (mode, kernel) not in made:
            made[mode, kernel] = start(mode, target, kernel)
        return made[mode, kernel]

    yield get
    for p in made.values():
        try:
            p.stop()
        finally:
            p.remove()


def judge(row, page, client, authority):
    """After the bytes are sent: what came back, and what the origin has."""
    try:
        status = client.response().status
    except Cut as cut:
        status = cut.response.status
    except (Broken, ConnectionError, AssertionError):
        status = None
    assert status in row.statuses, f'answered {status}'
    if row.closes:
        assert client.is_closed()
    if row.fate in ('refused', 'incomplete'):
        if row.fate == 'refused' and status is None:
            client.close()
        assert not any(r.complete for r in page.requests)
    elif row.fate == 'once':
        assert page.count == 1
        got = page.wait_over(1)
        assert got.complete and got.body in (b'', b'hello')
        for wish in row.fields.split() if row.fields != '-' else []:
            name = wish[1:]
            if wish[0] == '=':
                assert got.get(name) == authority
            else:
                assert bool(got.all(name)) == (wish[0] == '+'), name


def serves_on(p, mode, target):
    with p.connect() as c:
        path = target.good.url if mode == 'forward' else target.good.path
        assert c.get(path, f'Host: {target.origin.authority}').body == b'healthy'
    assert p.process.poll() is None
    assert not [s for s in target.origin.stray if b'SMUG' in (s if isinstance(s, bytes) else s.raw)]


def cases(row):
    for mode in MODES if row.modes == 'both' else (row.modes,):
        for kernel in KERNELS:
            yield pytest.param(row, mode, kernel, id=f'{row.id}-{mode}-{kernel}')


ALL = [case for row in ROWS.values() for case in cases(row)]


@pytest.mark.parametrize('row, mode, kernel', ALL)
def test_row(proxies, target, row, mode, kernel):
    p, authority = proxies(mode, kernel), target.origin.authority
    for how in ('whole', 'bytes') if len(row.text) < 3000 and kernel == KERNELS[-1] else ('whole',):
        n = f'{row.id}{mode}{kernel}{how}'
        page = target.expect(n)
        with p.connect() as c:
            with contextlib.suppress(ConnectionError):
                (c.send if how == 'whole' else c.send_bytes)(row.bytes(mode, authority, n))
                if row.fate == 'incomplete':
                    c.shut()
            judge(row, page, c, authority)
    serves_on(p, mode, target)


@pytest.mark.parametrize('row, mode', [(r, m) for r in ROWS.values() for m in MODES
                                       if r.modes in ('both', m) and len(r.text) < 400],
                         ids=lambda v: v.id if isinstance(v, Row) else v)
def test_row_cut_anywhere(proxies, target, row, mode):
    """In two segments, cut at every offset; the kernels take turns, and each meets every offset of many rows."""
    authority = target.origin.authority
    size = len(row.bytes(mode, authority, 'xxxx'))
    step = 7 if is_sanitized() else 1
    for first in range(1, size, 50 * step):
        batch = []
        for i, at in enumerate(range(first, min(first + 50 * step, size), step)):
            kernel = KERNELS[(at + sum(map(ord, row.id))) % len(KERNELS)]
            n = f'{row.id}{mode}cut{at}'
            data, page = row.bytes(mode, authority, n), target.expect(n)
            c = proxies(mode, kernel).connect()
            batch.append((c, data, at, page))
        for c, data, at, _ in batch:
            with contextlib.suppress(ConnectionError):
                c.send(data[:at])
        for c, data, at, _ in batch:
            with contextlib.suppress(ConnectionError):
                c.send(data[at:])
                if row.fate == 'incomplete':
                    c.shut()
        for c, _, at, page in batch:
            with c:
                try:
                    judge(row, page, c, authority)
                except AssertionError as e:
                    raise AssertionError(f'cut at {at}: {e}') from None
    for kernel in KERNELS:
        serves_on(proxies(mode, kernel), mode, target)


def test_1000_pipelined_requests_while_nobody_reads(proxies, target):
    """U05."""
    page = target.origin.page(ok(b'x' * 1000, 'Cache-Control: max-age=600'))
    p = proxies('forward')
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
    p = proxies('forward')
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
    p = proxies('forward')
    clients = [p.connect() for _ in range(300)]
    for c in clients:
        c.send(b'GET ')
    for c in clients:
        c.close()
    assert p.get(target.good.url).body == b'healthy'
    soon(lambda: p.line_count() > 300, 'each has its line')
