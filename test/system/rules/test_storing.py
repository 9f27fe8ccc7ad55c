"""Caching rules S: what may be stored."""
import threading

import pytest

from client import request
from origin import CLOSE, date, message, not_modified
from rows import ETAG, FRESH, OLD, SPENT, Row, answer, became, check, table, validating

STATUSES = (200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504, 599)
AUTHORIZED = ('Authorization: Basic eDp5',)


@table(
    Row('S1 neither freshness nor validator', [], 'fetch'),
    Row('S1 Expires', [f'Expires: {date(600)}'], 'hit'),
    Row('S1 max-age', [FRESH], 'hit'),
    Row('S1 s-maxage', ['Cache-Control: s-maxage=600'], 'hit'),
    Row('S1 public and Last-Modified', ['Cache-Control: public', OLD], 'hit', status=299),
    Row('S1 a validator alone', [ETAG], 'val'),
    *(Row(f'S2 {s}', ['Cache-Control: max-age=100000'], 'hit', status=s) for s in STATUSES),
    *(Row(f'S3 {s} Expires', [f'Expires: {date(-5000)}', OLD], 'miss', status=s) for s in STATUSES if s < 500),
    *(Row(f'S3 {s} Expires alone', [f'Expires: {date(-5000)}'], 'fetch', status=s) for s in STATUSES),
    Row('S7 no-store', ['Cache-Control: max-age=10000, No-StOrE', f'Expires: {date(600)}'], 'fetch'),
    Row('S7 no-store in front', ['Cache-Control: no-store, max-age=10000'], 'fetch'),
    Row('S7 no-store on another line', ['Cache-Control: max-age=10000', 'Cache-Control: no-store'], 'fetch'),
    Row('S7 no-store with a validator', ['Cache-Control: no-store', ETAG, OLD], 'fetch'),
    Row('S8 200', ['Cache-Control: max-age=3600, no-store, must-understand'], 'hit'),
    Row('S8 599', ['Cache-Control: max-age=3600, no-store, must-understand'], 'fetch', status=599),
    Row('S8 599 without no-store', ['Cache-Control: max-age=3600, must-understand'], 'fetch', status=599),
    Row('S10 private', ['Cache-Control: private, max-age=3600'], 'fetch'),
    Row('S10 PRIVATE behind', ['Cache-Control: max-age=3600, PRIVATE'], 'fetch'),
    Row('S11 no-cache', ['Cache-Control: max-age=10000, no-cache', f'Expires: {date(600)}'], 'miss'),
    Row('S11 no-cache with an ETag', ['Cache-Control: max-age=10000, no-cache', ETAG], 'val'),
    Row('S11 no-cache with Last-Modified', ['Cache-Control: no-cache', OLD], 'val'),
    Row('S13 Vary *', [FRESH, 'Vary: *'], 'fetch'),
    Row('S13 Vary * with an ETag', [FRESH, 'Vary: *', ETAG], 'miss'),
    Row('S15 no-store asked for', [FRESH], 'fetch', first=('Cache-Control: no-store',)),
    Row('S17 Set-Cookie', [FRESH, 'Set-Cookie: a=b'], 'hit'),
    Row('S17 Content-Disposition', [FRESH, 'Content-Disposition: attachment; filename="x"'], 'hit'),
    Row('S17 Cookie', [FRESH], 'hit', first=('Cookie: a=b',), again=('Cookie: a=c',)),
    Row('S17 a query', [FRESH], 'hit', query='?a=b'),
)
def test_storing(proxy, origin, row):
    first, second, _ = check(proxy, origin, row)
    if row.want == 'hit':
        assert (second.body, second.reason) == (first.body, first.reason)
        assert second.all('Set-Cookie') == first.all('Set-Cookie')


def test_s4_interim_responses_are_not_stored(proxy, origin):
    page = origin.page(lambda x: message('HTTP/1.1 103 Early Hints', ['Cache-Control: max-age=600', 'X-Early: 1']) +
                       answer(x.n, 'Cache-Control: no-store'))
    with proxy.connect() as c:
        for n in (1, 2):
            r = c.get(page.url)
            assert (r.status, r.get('N'), r.interim, r.get('X-Early')) == (200, str(n), [103], None)


def test_s5_a_304_is_no_entry(proxy, origin):
    page = origin.page(lambda x: not_modified('ETag: "x"', FRESH) if x.n == 1 else answer(x.n, 'ETag: "x"', FRESH))
    with proxy.connect() as c:
        assert c.get(page.url, 'If-None-Match: "x"').status == 304
        assert c.get(page.url).get('N') == '2'


def test_s6_a_part_is_not_the_whole(proxy, origin):
    page = origin.page(lambda x: answer(x.n, FRESH, 'Content-Range: bytes 0-1/5', status=206, body=b'he')
                       if x.n == 1 else answer(x.n, FRESH, body=b'hello'))
    with proxy.connect() as c:
        assert c.get(page.url, 'Range: bytes=0-1').status == 206
        r = c.get(page.url)
        assert (r.status, r.body) == (200, b'hello')


def test_s9_a_no_store_evicts_nothing_fresh(proxy, origin):
    page = origin.page(lambda x: answer(x.n, FRESH if x.n == 1 else 'Cache-Control: no-store'))
    with proxy.connect() as c:
        c.get(page.url)
        assert c.get(page.url, 'Cache-Control: no-cache').get('N') == '2'
        assert c.get(page.url).get('N') == '1'


@pytest.mark.parametrize('value', ['private="a", max-age=3600', 'max-age=3600, private="x, A"'])
def test_s10_private_fields(proxy, origin, value):
    page = origin.page(lambda x: answer(x.n, f'Cache-Control: {value}', 'a: 1', 'b: 2'))
    with proxy.connect() as c:
        assert c.get(page.url).get('a') == '1'
        r = c.get(page.url)
    assert (became(page, r), r.get('a'), r.get('b')) == ('hit', None, '2')


def test_s12_no_cache_fields(proxy, origin):
    page = origin.page(lambda x: answer(x.n, 'Cache-Control: no-cache="a", max-age=3600', 'a: 1', 'b: 2'))
    with proxy.connect() as c:
        assert c.get(page.url).get('a') == '1'
        r = c.get(page.url)
    assert (became(page, r), r.get('a'), r.get('b')) == ('hit', None, '2')


@pytest.mark.parametrize('cc', ['no-store, private="a"', 'max-age=10, private="A, b"', 'max-age=10, no-cache="a"'])
def test_s12_who_asked_gets_them(proxy, origin, cc):
    """Not stored, but sent: in an answer that only passes, and with a validation."""
    fields = [f'Cache-Control: {cc}', 'Age: 20', ETAG, 'a: 1', 'c: 3']
    page = origin.page(validating(*fields, update=fields))
    with proxy.connect() as c:
        for _ in range(2):
            r = c.get(page.url)
            assert (r.get('a'), r.get('c')) == ('1', '3')
    assert page.count == 2


def test_s12_who_waited_with_him_does_not(make_proxy, origin):
    go = threading.Event()
    page = origin.page([go, lambda x: answer(x.n, 'Cache-Control: max-age=600, private="a"', 'a: 1', 'b: 2')])
    p = make_proxy('collapsed_forwarding on')
    with p.connect() as c, p.connect() as d:
        c.send(request('GET', page.url))
        page.wait(1)
        d.send(request('GET', page.url))
        d.wait_read()
        go.set()
        first, second = c.response(), d.response()
    assert page.count == 1
    assert [first.get(n) for n in 'ab'] == ['1', '2'] and [second.get(n) for n in 'ab'] == [None, '2']


def post(c, page, *fields):
    return c.ask('POST', page.url, 'Content-Length: 1', *fields, body=b'x')


@pytest.mark.parametrize('fields', [
    [FRESH], [FRESH, 'Content-Location: /other'], [OLD, 'Content-Location: {path}'],
    [FRESH, 'Content-Location: http://other.test{path}'], [FRESH, 'Content-Location: {path}?q'],
    ['Cache-Control: no-store, max-age=600', 'Content-Location: {path}'],
])
def test_s14_other_posts(proxy, origin, fields):
    page = origin.page(lambda x: answer(x.n, *(f.replace('{path}', page.path) for f in fields)))
    with proxy.connect() as c:
        post(c, page)
        assert c.get(page.url).get('N') == '2'


def test_s14_an_error_is_no_representation(proxy, origin):
    page = origin.page(lambda x: answer(x.n, FRESH, f'Content-Location: {page.path}', status=500 if x.n == 1 else 200))
    with proxy.connect() as c:
        post(c, page)
        assert c.get(page.url).get('N') == '2'


@pytest.mark.parametrize('location', ['{path}', '{url}', '{relative}'])
def test_s14_a_post_that_says_what_it_returns(proxy, origin, location):
    page = origin.page(lambda x: answer(x.n, FRESH, 'Content-Location: ' + location.format(
        path=page.path, url=page.url, relative=page.path[1:])))
    with proxy.connect() as c:
        assert post(c, page).get('N') == '1'
        assert [c.get(page.url).body for _ in range(2)] == [b'body 1'] * 2
        assert c.ask('HEAD', page.url).get('N') == '1'
        assert post(c, page).get('N') == '2'
        assert c.get(page.url).get('N') == '2'


def test_s15_nor_is_an_update_stored(proxy, origin):
    page = origin.page(lambda x: answer(x.n, *SPENT, ETAG) if x.n == 1 else not_modified(ETAG, FRESH))
    with proxy.connect() as c:
        c.get(page.url)
        assert c.get(page.url, 'Cache-Control: no-store').get('N') == '1'
        c.get(page.url)
    assert page.count == 3


@pytest.mark.parametrize('method', ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'M-SEARCH'])
def test_s16_methods_never_stored(proxy, origin, method):
    page = origin.page(lambda x: answer(x.n, FRESH, f'Content-Location: {page.path}'))
    with proxy.connect() as c:
        for n in (1, 2):
            assert c.ask(method, page.url).get('N') == str(n)
        assert c.get(page.url).get('N') == '3'


def test_s17_store_set_cookie_off(make_proxy, origin):
    cookie, other = origin.page(validating(FRESH, 'Set-Cookie: a=b')), origin.page(validating(FRESH))
    p = make_proxy('store_set_cookie off')
    with p.connect() as c:
        assert [c.get(cookie.url).get('N') for _ in range(2)] == ['1', '2']
        assert [c.get(other.url).get('N') for _ in range(2)] == ['1', '1']


def test_s18_too_large(make_proxy, origin):
    body = bytes(range(256)) * 1024
    page = origin.page(lambda x: answer(x.n, FRESH, body=body))
    p = make_proxy('maximum_object_size_in_memory 64 KB\nmaximum_object_size 64 KB')
    with p.connect() as c:
        for n in ('1', '2'):
            r = c.get(page.url)
            assert (r.get('N'), r.body) == (n, body)


def test_s19_an_old_origin(proxy, origin):
    page = origin.page(lambda x: [message('HTTP/1.0 200 OK', [f'Date: {date()}', FRESH, f'N: {x.n}'], b'old'), CLOSE])
    with proxy.connect() as c:
        for _ in range(2):
            r = c.get(page.url)
            assert (r.version, r.get('N'), r.body) == ('HTTP/1.1', '1', b'old')
