"""Caching rules N (interim responses) and X (fields in and out of the store), R (what test_ranges.py has no case for)."""
import threading

import pytest

from client import Cut, request
from origin import CLOSE, chunk, date, head, message
from rows import ETAG, FRESH, Row, answer, check, table, validating


def interim(status, *fields):
    return message(f'HTTP/1.1 {status} Interim', fields)


# -- N: interim responses

@pytest.mark.parametrize('statuses', [[100], [102], [103], [103, 103, 103], [102, 199, 103]])
def test_n1_forwarded_as_they_come(proxy, origin, statuses):
    go = threading.Event()
    page = origin.page([b''.join(interim(s, 'Link: </x>; rel=preload', 'x-field: 1') for s in statuses), go,
                        lambda x: answer(x.n, FRESH)])
    with proxy.connect() as c:
        c.send(request('GET', page.url))
        raw = b''
        while raw.count(b'\r\n\r\n') < len(statuses):
            raw += c.sock.recv(65536)
        for status, text in zip(statuses, raw.decode().split('\r\n\r\n')):
            assert text.startswith(f'HTTP/1.1 {status} ') and 'Link: </x>; rel=preload' in text and 'x-field: 1' in text
        go.set()
        assert c.response().get('N') == '1'


def test_n1_not_to_http_1_0(proxy, origin):
    page = origin.page(lambda x: interim(103, 'Link: </x>') + answer(x.n))
    with proxy.connect() as c:
        c.send(request('GET', page.url, version='HTTP/1.0'))
        r = c.response()
    assert (r.status, r.interim) == (200, [])


@pytest.mark.parametrize('status', [102, 103, 199])
def test_n2_never_stored_nor_merged(proxy, origin, status):
    """N4 too: a hit has none."""
    page = origin.page(lambda x: interim(status, 'x-field: 1', 'Cache-Control: no-store') + answer(x.n, FRESH))
    with proxy.connect() as c:
        first, second = c.get(page.url), c.get(page.url)
    assert (first.interim, second.interim, page.count) == ([status], [], 1)
    assert first.get('x-field') is None and second.get('x-field') is None
    assert first.get('Cache-Control') == second.get('Cache-Control') == 'max-age=600'


def test_n3_expect(proxy, origin):
    page = origin.page(lambda x: answer(x.n))
    with proxy.connect() as c:
        c.send(request('POST', page.url, 'Content-Length: 1', 'Expect: 100-continue'))
        assert c.sock.recv(65536).startswith(b'HTTP/1.1 100 ')
        c.send(b'x')
        r = c.response('POST')
        assert (r.status, r.interim) == (200, []), 'once'
    with proxy.connect() as c:
        assert c.ask('POST', page.url, 'Content-Length: 1', 'Expect: 200-ok', body=b'x').status == 417


def test_n4_a_hit_has_no_100(proxy, origin):
    page = origin.page(validating(FRESH))
    with proxy.connect() as c:
        c.get(page.url)
        r = c.get(page.url, 'Expect: 100-continue')
        assert (r.status, r.interim, page.count) == (200, [], 1)


# -- X: fields

STORED = ['Content-Foo: 1', 'Content-Language: de', 'Content-Encoding: x', 'Content-MD5: rL0Y20zC+Fzt72VPzMSk2A==',
          'Content-Security-Policy: default-src "self"', 'Clear-Site-Data: "cache"', 'Set-Cookie: a=b', 'Set-Cookie2: a=b', 'ETag: "x"',
          f'Expires: {date(600)}', 'X-Frame-Options: deny', 'X-Anything: 1', 'Unknown: \xe4', 'Server: x', 'Allow: GET',
          'Strict-Transport-Security: max-age=1',
          'Public-Key-Pins: x', 'Alt-Svc: clear', 'Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT', 'P3P: x',
          'Content-Location: /x', 'Warning: 199 - "x"',
          'WWW-Authenticate: Basic realm="x"', 'Authentication-Info: x', 'Location: /x', 'Retry-After: 3', 'Refresh: 3']


@table(*(Row(f'X1 {f.partition(":")[0]}', [FRESH, f], 'hit') for f in STORED))
def test_replayed(proxy, origin, row):
    first, second, _ = check(proxy, origin, row)
    name, _, value = row.fields[1].partition(': ')
    assert first.all(name) == second.all(name) == [value]


def test_x1_lines_in_order(proxy, origin):
    page = origin.page(validating(FRESH, 'Set-Cookie: a=1', 'X-A: 1', 'Set-Cookie: b=2', 'X-a: 2', 'Set-Cookie: a=1'))
    with proxy.connect() as c:
        for _ in range(2):
            r = c.get(page.url)
            assert (r.all('Set-Cookie'), r.all('X-A')) == (['a=1', 'b=2', 'a=1'], ['1', '2'])
    assert page.count == 1


@pytest.mark.parametrize('fields', [
    ['Connection: a, b'], ['Connection: a', 'Connection: B'], ['Connection: keep-alive,A ,, b'], ['connection: a', 'CONNECTION: close, b']])
def test_x2_what_connection_names(proxy, origin, fields):
    page = origin.page(lambda x: answer(x.n, FRESH, *fields, 'a: 1', 'b: 1', 'c: 1'))
    with proxy.connect() as c:
        for _ in range(2):
            r = c.get(page.url)
            assert [r.get(n) for n in 'abc'] == [None, None, '1'] and r.get('N') == '1'


@table(*(Row(f'{row} {f.partition(":")[0]}', [FRESH, f], 'hit') for row, f in (
    ('X2', 'Keep-Alive: timeout=5'), ('X2', 'Proxy-Connection: keep-alive'), ('X2', 'TE: trailers'), ('X2', 'Upgrade: h2c'),
    ('X3', 'Proxy-Authenticate: Basic realm="x"'), ('X3', 'Proxy-Authentication-Info: x'), ('X3', 'Proxy-Authorization: Basic eDp5'))))
def test_not_replayed(proxy, origin, row):
    first, second, _ = check(proxy, origin, row)
    name = row.fields[1].partition(':')[0]
    assert second.all(name) == [] and (row.id.startswith('X3') or first.all(name) == [])


@pytest.mark.parametrize('name, value', [
    ('Cache-Control', 'max-age=600'), ('ETag', '"x"'), ('Set-Cookie', 'a=b'), ('Vary', 'Foo'), ('Age', None), ('Content-Length', None)])
def test_x4_what_connection_may_not_name(proxy, origin, name, value):
    fields = [] if value is None or name == 'Cache-Control' else [f'{name}: {value}']
    page = origin.page(lambda x: answer(x.n, FRESH, *fields, *(['Age: 7'] if name == 'Age' else []), f'Connection: {name}'))
    with proxy.connect() as c:
        for _ in range(2):
            r = c.get(page.url)
            assert (r.status, r.get('N'), r.body) == (200, '1', b'body 1')
            assert r.get(name) == value if value is not None else r.get(name) is not None or name == 'Age'


@pytest.mark.parametrize('name', ['Host', 'Content-Length'])
def test_x4_nor_in_a_request(proxy, origin, name):
    page = origin.page(lambda x: answer(x.n))
    with proxy.connect() as c:
        r = c.ask('POST', page.url, 'Content-Length: 1', f'Connection: {name}', body=b'x')
    assert r.status == 400 and page.count == 0 or page.requests[0].get(name) and page.requests[0].body == b'x'


def test_x5_more_than_announced(proxy, origin):
    page = origin.page(lambda x: message('HTTP/1.1 200 OK', ['Content-Length: 10', FRESH, f'N: {x.n}'], b'0123456789' + b'x' * 26))
    other = origin.page(lambda x: answer(x.n))
    with proxy.connect() as c:
        for _ in range(2):
            r = c.get(page.url)
            assert (r.get('N'), r.get('Content-Length'), r.body) == ('1', '10', b'0123456789')
        assert c.get(other.url).get('N') == '1'
    assert other.requests[0].connection != page.requests[0].connection


@pytest.mark.parametrize('coding', ['nonsense', 'gzip'])
def test_x6_codings_that_are_not_chunked(proxy, origin, coding):
    page = origin.page([lambda x: message('HTTP/1.1 200 OK', [f'Transfer-Encoding: {coding}', FRESH, f'N: {x.n}'], b'whatever'), CLOSE])
    with proxy.connect() as c:
        for _ in range(2):
            r = c.get(page.url)
            assert (r.get('N'), r.body, r.lists('Transfer-Encoding', coding)) == ('1', b'whatever', False)
    assert page.count == 1


@pytest.mark.parametrize('coding', ['chunked, nonsense', 'nonsense, chunked', 'chunked, chunked'])
def test_x6_chunked_not_alone(proxy, origin, coding):
    """Where that ends, two readers may disagree."""
    page = origin.page([message('HTTP/1.1 200 OK', [f'Transfer-Encoding: {coding}', FRESH], b'0\r\n\r\n'), CLOSE])
    with proxy.connect() as c:
        assert c.get(page.url).status == 502


def test_x7_two_framings(proxy, origin):
    page = origin.page(message('HTTP/1.1 200 OK', ['Transfer-Encoding: chunked', 'Content-Length: 5', FRESH], b'0\r\n\r\n'))
    with proxy.connect() as c:
        assert c.get(page.url).status == 502
    with proxy.connect() as c:
        c.send(request('POST', page.url, 'Transfer-Encoding: chunked', 'Content-Length: 5', body=b'0\r\n\r\n'))
        assert c.response().status == 400
        assert c.is_closed()
    assert page.count == 1


def test_x8_trailers(proxy, origin):
    page = origin.page([head('Transfer-Encoding: chunked', FRESH, 'Trailer: X-T', 'X-T: 1'), chunk(b'hello'),
                        b'0\r\nX-T: 2\r\nSet-Cookie: a=b\r\nContent-Length: 3\r\n\r\n'])
    with proxy.connect() as c:
        for _ in range(2):
            r = c.get(page.url)
            assert (r.body, r.all('X-T'), r.get('Set-Cookie')) == (b'hello', ['1'], None)
    assert page.count == 1


@pytest.mark.parametrize('status', [299, 499, 599, 600, 999])
def test_x9_any_status(proxy, origin, status):
    then = date(-5)
    page = origin.page(lambda x: answer(x.n, f'Date: {then}', 'Via: 1.0 before', status=status))
    with proxy.connect() as c:
        r = c.get(page.url)
    assert (r.status, r.reason, r.get('Date'), r.body) == (status, 'Some Phrase', then, b'body 1')
    via = [m.strip() for v in r.all('Via') for m in v.split(',')]
    assert via[0] == '1.0 before' and via[1].startswith('1.1 proxy.test')


@pytest.mark.parametrize('method', ['M-SEARCH', 'DELETE', 'FOO', 'PROPFIND'])
def test_x10_methods_unknown_to_us(proxy, origin, method):
    page = origin.page(lambda x: answer(x.n))
    with proxy.connect() as c:
        assert c.ask(method, page.url, 'Content-Length: 5', body=b'hello').status == 200
        assert c.ask(method, page.url, 'Transfer-Encoding: chunked', body=b'5\r\nhello\r\n0\r\n\r\n').status == 200
    assert [(r.method, r.body) for r in page.requests] == [(method, b'hello')] * 2


@pytest.mark.parametrize('fields', [[], ['Content-Encoding: gzip', 'Content-Type: text/x; charset=y', 'Content-Range: x']])
def test_x11_nothing_is_transformed(proxy, origin, fields):
    body = bytes(range(256))
    page = origin.page(lambda x: answer(x.n, 'Cache-Control: max-age=600, no-transform', *fields, body=body))
    with proxy.connect() as c:
        for _ in range(2):
            r = c.get(page.url, 'Accept-Encoding: br')
            assert r.body == body
            assert all(r.get(f.partition(':')[0]) == f.partition(': ')[2] for f in fields)
    assert page.count == 1


def test_x12_no_bodies(proxy, origin):
    empty, page = origin.page(validating(FRESH, status=204)), origin.page(validating(FRESH, ETAG))
    with proxy.connect() as c:
        for _ in range(2):
            r = c.get(empty.url)
            assert (r.status, r.get('N'), r.get('Content-Length'), r.get('Transfer-Encoding')) == (204, '1', None, None)
        c.get(page.url)
        assert c.get(page.url, 'If-None-Match: "x"').status == 304
        assert c.ask('HEAD', page.url).status == 200
        assert c.get(page.url).body == b'body 1', 'the connection is in step'
    assert empty.count == page.count == 1


# -- R: parts

@pytest.mark.parametrize('spec', ['bytes=6-8', 'bytes=6-', 'bytes=-1', 'bytes=5-9'])
def test_r7_a_part_is_kept(proxy, origin, spec):
    page = origin.page(lambda x: answer(x.n, FRESH, ETAG, 'Content-Range: bytes 5-9/10', status=206, body=b'56789'))
    with proxy.connect() as c:
        assert c.get(page.url, 'Range: bytes=5-9').body == b'56789'
        r = c.get(page.url, f'Range: {spec}')
    assert (r.status, r.get('N'), page.count) == (206, '1', 1)
    assert r.body == {'6-8': b'678', '6-': b'6789', '-1': b'9', '5-9': b'56789'}[spec[6:]]


def test_r8_parts_are_completed(proxy, origin):
    def script(x):
        if x.n == 1:
            return answer(1, FRESH, ETAG, 'Content-Range: bytes 0-4/10', status=206, body=b'01234')
        return answer(2, FRESH, ETAG, 'Content-Range: bytes 5-9/10', status=206, body=b'56789')
    page = origin.page(script)
    with proxy.connect() as c:
        c.get(page.url, 'Range: bytes=0-4')
        r = c.get(page.url)
        assert (r.status, r.body, r.get('N')) == (200, b'0123456789', '2')
        assert (page.requests[1].get('Range'), page.requests[1].get('If-Range')) == ('bytes=5-', '"x"')


@pytest.mark.parametrize('fields', [
    ['Content-Range: bytes 0-5/10'], ['Content-Range: bytes 0-4/4'], ['Content-Range: bytes 9-13/10'],
    ['Content-Type: multipart/byteranges; boundary=x'],
    []])
def test_r9_parts_that_are_none(proxy, origin, fields):
    page = origin.page(lambda x: answer(x.n, FRESH, *fields, status=206, body=b'01234') if x.n == 1 else
                       answer(x.n, FRESH, body=b'0123456789'))
    with proxy.connect() as c:
        try:
            c.get(page.url, 'Range: bytes=0-4')
        except Cut:
            return
        assert c.get(page.url, 'Range: bytes=0-4').get('N') == '2'


@pytest.mark.parametrize('form', ['length', 'chunked'])
def test_r12_incomplete(proxy, origin, form):
    short = [head('Content-Length: 10', FRESH), b'01234', CLOSE] if form == 'length' else \
        [head('Transfer-Encoding: chunked', FRESH), chunk(b'01234'), CLOSE]
    page = origin.page(short, lambda x: answer(x.n, FRESH, body=b'0123456789'))
    with proxy.connect() as c, pytest.raises(Cut):
        c.get(page.url)
    with proxy.connect() as c:
        r = c.get(page.url)
        assert r.body == b'0123456789' and page.count == 2
