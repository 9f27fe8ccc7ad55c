"""Caching rules Q (directives of a request), T (stale use), Z (Authorization), E (HEAD), I (invalidation)."""
import threading

import pytest

from client import request, soon
from origin import CLOSE, RESET, Origin, date, message, not_modified, ok
from rows import ETAG, FRESH, OLD, SPENT, Row, answer, became, check, table, validating

AUTHORIZATION = 'Authorization: Basic eDp5'
LIFE = 'Cache-Control: max-age=1500'


def q(id, fields, again, want):
    return Row(id, fields, want, again=again if isinstance(again, list) else [f'Cache-Control: {again}'])


@table(
    q('Q1 with an ETag', [FRESH, ETAG], 'no-cache', 'val'),
    q('Q1 with Last-Modified', [FRESH, OLD], 'no-cache', 'val'),
    q('Q1 with neither', [FRESH], 'no-cache', 'fetch'),
    q('Q1 letter case', [FRESH, ETAG], 'x, No-Cache', 'val'),
    q('Q2 zero', [FRESH, ETAG], 'max-age=0', 'val'),
    q('Q2 zero without a validator', [FRESH], 'max-age=0', 'fetch'),
    q('Q2 one', [FRESH, 'Age: 3'], 'max-age=1', 'fetch'),
    q('Q2 aged', [LIFE, 'Age: 1800', 'Cache-Control: s-maxage=5000'], 'max-age=600', 'fetch'),
    q('Q2 large enough', [FRESH, 'Age: 100'], 'max-age=200', 'hit'),
    q('Q3 lifetime too short', [LIFE], 'min-fresh=2000', 'fetch'),
    q('Q3 too old', [LIFE, 'Age: 1000'], 'min-fresh=1000', 'fetch'),
    q('Q3 fresh enough', [LIFE, 'Age: 1000'], 'min-fresh=400', 'hit'),
    q('Q4 stale by less', [*SPENT], 'max-stale=1000', 'miss'),  # nothing stale is kept without a validator
    q('Q4 stale by less, kept', [*SPENT, ETAG], 'max-stale=1000', 'hit'),
    q('Q4 any', [*SPENT, ETAG], 'max-stale', 'hit'),
    q('Q4 stale by more', [*SPENT, ETAG], 'max-stale=5', 'val'),
    *(q(f'Q4 {d}', [f'Cache-Control: max-age=10, {d}', 'Age: 20', ETAG], 'max-stale=1000', 'val')
      for d in ('must-revalidate', 'proxy-revalidate', 's-maxage=10', 'no-cache')),
    q('Q5 no-store', [FRESH], 'no-store', 'hit'),
    q('Q7 Pragma', [FRESH, ETAG], ['Pragma: no-cache'], 'val'),
    q('Q7 Pragma beside Cache-Control', [FRESH, ETAG], ['Pragma: no-cache', 'Cache-Control: max-age=1000'], 'hit'),
    q('Q7 Pragma beside any Cache-Control', [FRESH, ETAG], ['Cache-Control: foo', 'Pragma: no-cache'], 'hit'),
    q('Q7 another Pragma', [FRESH, ETAG], ['Pragma: foo'], 'hit'),
    q('Q8 unknown', [FRESH], 'foo, bar="no-cache"', 'hit'),
    q('Q8 Cookie', [FRESH], ['Cookie: a=b'], 'hit'),
    Row('Z2 not for others', ['Cache-Control: max-age=100000'], 'fetch', first=[AUTHORIZATION]),
    Row('Z2 nor for himself', ['Cache-Control: max-age=100000'], 'fetch', first=[AUTHORIZATION], again=[AUTHORIZATION]),
    Row('Z2 nor by Expires', [f'Expires: {date(600)}'], 'fetch', first=[AUTHORIZATION]),
    *(Row(f'Z3 {d}', [f'Cache-Control: max-age=100000, {d}'], 'hit', first=[AUTHORIZATION])
      for d in ('public', 'must-revalidate', 's-maxage=1000')),
    Row('Z4 a hit for who is authorized', [FRESH], 'hit', again=[AUTHORIZATION]),
    Row('E1 fresh', [FRESH], 'hit'),
)
def test_requests(proxy, origin, row):
    check(proxy, origin, row)


def test_q8_range(proxy, origin):
    page = origin.page(validating(FRESH))
    with proxy.connect() as c:
        c.get(page.url)
        assert c.get(page.url, 'Range: bytes=0-0').status in (200, 206)
    assert page.count == 1


def test_q5_a_no_store_does_not_refresh(proxy, origin):
    page = origin.page(lambda x: answer(x.n, FRESH))
    with proxy.connect() as c:
        assert [c.get(page.url, 'Cache-Control: no-store').get('N') for _ in range(2)] == ['1', '2']


def test_q6_only_if_cached(proxy, origin):
    page, stored = origin.page(validating(FRESH)), origin.page(validating(FRESH))
    stale = origin.page(validating(*SPENT, ETAG))
    with proxy.connect() as c:
        c.get(stored.url), c.get(stale.url)
        assert c.get(page.url, 'Cache-Control: only-if-cached').status == 504
        assert c.get(stored.url, 'Cache-Control: only-if-cached').get('N') == '1'
        assert c.get(stale.url, 'Cache-Control: only-if-cached').status == 504
        assert c.get(stale.url, 'Cache-Control: only-if-cached, max-stale').get('N') == '1'
    assert (page.count, stored.count, stale.count) == (0, 1, 1)


def test_q9_ignore_cc(make_proxy, origin):
    page = origin.page(validating(FRESH))
    p = make_proxy(f'http_port 127.0.0.1:{{port}} accel defaultsite=site.test ignore-cc\n'
                   f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver')
    with p.connect() as c:
        for field in ('X: y', 'Cache-Control: no-cache', 'Cache-Control: max-age=0', 'Pragma: no-cache'):
            c.send(request('GET', page.path, 'Host: site.test', field))
            assert c.response().get('N') == '1'
    assert page.count == 1


# -- T: stale

SWR = ('Cache-Control: max-age=10, stale-while-revalidate=3600', 'Age: 20')


@pytest.mark.parametrize('validator', [[], [ETAG]])
def test_t1_stale_while_revalidate(proxy, origin, validator):
    """All are answered at once; one asks the origin."""
    go = threading.Event()

    def script(x):
        if x.n == 1:
            return answer(1, *SWR, *validator)
        return [go, not_modified(ETAG, FRESH, 'New: 1') if validator else answer(x.n, FRESH, 'New: 1')]
    page = origin.page(script)
    with proxy.connect() as c, proxy.connect() as d:
        c.get(page.url)
        for client in (c, d, c, d):
            assert client.get(page.url, 'If-None-Match: "other"').get('N') == '1'
        page.wait(2)
        assert page.requests[1].get('If-None-Match') == ('"x"' if validator else None), 'not with the condition of a client'
        go.set()
        page.wait_over(2)
        soon(lambda: c.get(page.url).get('New') == '1', 'what came in the background is there')
    assert page.count == 2


@pytest.mark.parametrize('directive', ['must-revalidate', 'proxy-revalidate', 's-maxage=10', 'no-cache'])
def test_t2_not_against_the_origins_word(proxy, origin, directive):
    page = origin.page(validating(f'Cache-Control: max-age=10, stale-while-revalidate=3600, {directive}', 'Age: 20', ETAG))
    with proxy.connect() as c:
        c.get(page.url)
        assert became(page, c.get(page.url)) == 'val'


def test_t2_after_the_window(proxy, origin):
    page = origin.page(validating('Cache-Control: max-age=10, stale-while-revalidate=5', 'Age: 20'))
    again = origin.page(lambda x: answer(x.n, *(SWR if x.n == 1 else ['Cache-Control: no-cache', ETAG])))
    with proxy.connect() as c:
        c.get(page.url), c.get(again.url)
        assert became(page, c.get(page.url)) == 'fetch'
        assert c.get(again.url).get('N') == '1'
        again.wait_over(2)
        soon(lambda: int(c.get(again.url).get('N')) > 1, 'the background answer governs')
        n = again.count
        c.get(again.url)
        assert again.count == n + 1


FAILURES = {'close': lambda x: CLOSE, 'reset': lambda x: RESET, **{
    str(s): lambda x, s=s: answer(x.n, status=s) for s in (500, 502, 503, 504)}}


def failing(proxy, origin, failure, fields, again=()):
    page = origin.page(answer(1, *fields), FAILURES[failure])
    with proxy.connect() as c:
        assert c.get(page.url).get('N') == '1'
        return c.get(page.url, *again)


@pytest.mark.parametrize('failure', FAILURES)
def test_t3_stale_if_error(proxy, origin, failure):
    r = failing(proxy, origin, failure, ['Cache-Control: max-age=10, stale-if-error=3600', 'Age: 20'])
    assert (r.status, r.get('N')) == (200, '1')


@pytest.mark.parametrize('failure', ['close', '503'])
def test_t3_stale_if_error_has_a_limit(proxy, origin, failure):
    r = failing(proxy, origin, failure, ['Cache-Control: max-age=10, stale-if-error=5', 'Age: 20', ETAG])
    assert (r.status >= 500, r.get('N') == '1') == (True, False)


def test_t3_nobody_listens(make_proxy):
    origin = Origin()
    page = origin.page(answer(1, 'Cache-Control: max-age=10, stale-if-error=3600', 'Age: 20'))
    p = make_proxy()
    with p.connect() as c:
        c.get(page.url)
        origin.close()
        assert c.get(page.url).get('N') == '1'


def test_t3_stale_if_error_of_the_request(make_proxy, origin):
    p = make_proxy('max_stale 5 seconds')
    page = origin.page(answer(1, *SPENT, ETAG), FAILURES['503'])
    with p.connect() as c:
        c.get(page.url)
        assert c.get(page.url).status == 503
        assert c.get(page.url, 'Cache-Control: stale-if-error=5').status == 503
    page = origin.page(answer(1, *SPENT, ETAG), FAILURES['503'])
    with p.connect() as c:
        c.get(page.url)
        r = c.get(page.url, 'Cache-Control: stale-if-error=3600')
        assert (r.status, r.get('N')) == (200, '1')


@pytest.mark.parametrize('failure', FAILURES)
def test_t4_stale_without_the_directive(proxy, origin, failure):
    r = failing(proxy, origin, failure, [*SPENT, ETAG])
    assert (r.status, r.get('N')) == (200, '1')


def test_t4_within_max_stale(make_proxy, origin):
    page = origin.page(answer(1, *SPENT, ETAG), FAILURES['close'])
    p = make_proxy('max_stale 5 seconds')
    with p.connect() as c:
        c.get(page.url)
        assert c.get(page.url).status >= 500


def test_t4_offline_mode(make_proxy, origin):
    """Nothing that is stored is validated, but what its origin wants validated."""
    page, strict = origin.page(validating(*SPENT, ETAG)), origin.page(validating('Cache-Control: no-cache', ETAG))
    p = make_proxy('offline_mode on')
    with p.connect() as c:
        c.get(page.url), c.get(strict.url)
        for fields in ([], ['Cache-Control: no-cache']):
            assert c.get(page.url, *fields).get('N') == '1'
        assert became(strict, c.get(strict.url)) == 'val'
    assert page.count == 1
    assert p.codes(page.url, 3)[1:] == ['TCP_OFFLINE_HIT/200'] * 2


@pytest.mark.parametrize('failure', ['close', '503'])
@pytest.mark.parametrize('directive', ['must-revalidate', 'proxy-revalidate', 's-maxage=10', 'no-cache'])
def test_t5_never_stale(proxy, origin, directive, failure):
    r = failing(proxy, origin, failure,
                [f'Cache-Control: max-age=10, {directive}, stale-if-error=3600', 'Age: 20', ETAG, 'Stored: 1'])
    assert r.status == (504 if failure == 'close' else 503)
    assert (r.get('Stored'), r.get('ETag')) == (None, None)


def test_t6_warning(proxy, origin):
    r = failing(proxy, origin, 'close', [*SPENT, ETAG])
    assert r.get('N') == '1' and r.all('Warning') == []
    page = origin.page(validating(FRESH, 'Warning: 199 - "x"'))
    with proxy.connect() as c:
        for _ in range(2):
            assert c.get(page.url).all('Warning') == ['199 - "x"']


def test_t7_true_age(proxy, origin):
    r = failing(proxy, origin, 'close', [*SPENT, ETAG])
    assert 20 <= int(r.get('Age')) <= 25


def test_t8_a_new_connection_is_tried_once(proxy):
    origin = Origin()
    try:
        page = origin.page(CLOSE)
        with proxy.connect() as c:
            assert c.get(page.url).status >= 500
        assert page.count == 1
    finally:
        origin.close()


@pytest.mark.parametrize('method, second', [('GET', 200), ('POST', 502)])
def test_t8_a_reused_connection(proxy, method, second):
    """It may have ended before the request came: once more for a method that can be repeated, never for another."""
    origin = Origin()
    try:
        warm, page = origin.page(ok(b'x')), origin.page(CLOSE, answer(2))
        with proxy.connect() as c:
            c.get(warm.url)
            c.send(request(method, page.url, *([] if method == 'GET' else ['Content-Length: 1']), body=b'' if method == 'GET' else b'x'))
            r = c.response()
        assert r.status == second
        assert page.count == (2 if method == 'GET' else 1)
    finally:
        origin.close()


# -- Z: Authorization

def test_z1_authorization_goes_on(make_proxy, origin):
    page = origin.page(validating())
    accel = make_proxy(f'http_port 127.0.0.1:{{port}} accel defaultsite=site.test\n'
                       f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver')
    forward = make_proxy()
    with accel.connect() as c:
        c.send(request('GET', page.path, 'Host: site.test', AUTHORIZATION, 'Proxy-Authorization: Basic eDp5'))
        c.response()
    with forward.connect() as c:
        c.get(page.url, AUTHORIZATION, 'Proxy-Authorization: Basic eDp5')
    for r in page.requests:
        assert (r.get('Authorization'), r.get('Proxy-Authorization')) == (AUTHORIZATION[15:], None)


# -- E: HEAD

def test_e1_head(proxy, origin):
    page, stale = origin.page(validating(FRESH, 'A: 1')), origin.page(validating(*SPENT))
    with proxy.connect() as c:
        c.get(page.url), c.get(stale.url)
        r = c.ask('HEAD', page.url)
        assert (r.status, r.get('A'), r.get('Content-Length'), r.body) == (200, '1', '6', b'')
        assert page.count == 1
        c.ask('HEAD', stale.url)
        assert [q.method for q in stale.requests] == ['GET', 'HEAD']


@pytest.mark.parametrize('says', [['ETag: "x"', OLD], ['ETag: "x"'], [OLD]])
def test_e2_a_head_that_agrees_updates(proxy, origin, says):
    page = origin.page(answer(1, *SPENT, *HAS, 'New: 0'),
                       lambda x: message('HTTP/1.1 200 OK', [f'Date: {date()}', 'Content-Length: 6', *says,
                                                             'Cache-Control: max-age=1000', 'New: 1']))
    with proxy.connect() as c:
        c.get(page.url)
        assert c.ask('HEAD', page.url).get('New') == '1'
        r = c.get(page.url)
        assert (r.get('New'), r.body, r.get('Cache-Control')) == ('1', b'body 1', 'max-age=1000')
    assert page.count == 2


@pytest.mark.parametrize('says', [['ETag: "y"', OLD, 'Content-Length: 6'], ['ETag: "x"', f'Last-Modified: {date(-5)}', 'Content-Length: 6'],
                                  ['ETag: "x"', OLD, 'Content-Length: 7']])
def test_e2_a_head_that_differs_makes_stale(proxy, origin, says):
    page = origin.page(answer(1, FRESH, *HAS, 'New: 0'),
                       lambda x: message('HTTP/1.1 200 OK', [f'Date: {date()}', *says, 'Cache-Control: max-age=1000', 'New: 1']),
                       answer(3, FRESH))
    with proxy.connect() as c:
        c.get(page.url)
        c.ask('HEAD', page.url, 'Cache-Control: no-cache')
        assert page.count == 2
        assert c.get(page.url).get('N') == '3'


HAS = ['ETag: "x"', OLD]


def test_e3_other_statuses_of_head(proxy, origin):
    page = origin.page(answer(1, FRESH), answer(2, FRESH, status=410, body=b''))
    with proxy.connect() as c:
        c.get(page.url)
        assert c.ask('HEAD', page.url, 'Cache-Control: no-cache').status == 410
        r = c.get(page.url)
        assert (r.status, r.get('N')) == (200, '1')


def test_e4_a_head_is_no_body(proxy, origin):
    page = origin.page(lambda x: answer(x.n, FRESH))
    with proxy.connect() as c:
        assert c.ask('HEAD', page.url).get('N') == '1'
        r = c.get(page.url)
        assert (r.get('N'), r.body) == ('2', b'body 2')


# -- I: invalidation

UNSAFE = ['POST', 'PUT', 'DELETE', 'PATCH', 'M-SEARCH']


def send(c, method, page, *fields):
    return c.ask(method, page.url, 'Content-Length: 1', *fields, body=b'x')


@pytest.mark.parametrize('status', [200, 204, 201, 303])
@pytest.mark.parametrize('method', UNSAFE)
def test_i1_unsafe_methods(proxy, origin, method, status):
    page = origin.page(lambda x: answer(x.n, FRESH, 'Vary: Foo') if x.request.method == 'GET' else answer(x.n, status=status))
    with proxy.connect() as c:
        c.get(page.url, 'Foo: 1'), c.get(page.url, 'Foo: 2')
        assert send(c, method, page).status == status
        assert [c.get(page.url, f'Foo: {f}').get('N') for f in '12'] == ['4', '5'], 'all variants'


@pytest.mark.parametrize('status', [400, 404, 500, 503])
@pytest.mark.parametrize('method', UNSAFE)
def test_i2_failures(proxy, origin, method, status):
    page = origin.page(lambda x: answer(x.n, FRESH) if x.request.method == 'GET' else answer(x.n, status=status))
    with proxy.connect() as c:
        c.get(page.url)
        assert send(c, method, page).status == status
        assert c.get(page.url).get('N') == '1'


@pytest.mark.parametrize('name', ['Location', 'Content-Location'])
@pytest.mark.parametrize('method', UNSAFE)
def test_i3_what_else_is_named(proxy, origin, method, name):
    near, far = (origin.page(lambda x: answer(x.n, FRESH)) for _ in range(2))
    by_path = origin.page(lambda x: answer(x.n, f'{name}: {near.path}', status=201))
    by_url = origin.page(lambda x: answer(x.n, f'{name}: {near.url}', status=201))
    elsewhere = origin.page(lambda x: answer(x.n, f'{name}: http://origin.test:{origin.port}{far.path}', status=201))
    with proxy.connect() as c:
        c.get(near.url), c.get(f'http://origin.test:{origin.port}{far.path}')
        send(c, method, by_path)
        assert c.get(near.url).get('N') == '2'
        send(c, method, by_url)
        assert c.get(near.url).get('N') == '3'
        send(c, method, elsewhere)
        assert c.get(f'http://origin.test:{origin.port}{far.path}').get('N') == '1', 'of another origin'


@pytest.mark.parametrize('method', ['GET', 'HEAD', 'OPTIONS', 'TRACE'])
def test_i4_safe_methods_invalidate_nothing(proxy, origin, method):
    page = origin.page(lambda x: answer(x.n, FRESH) if x.n == 1 else answer(x.n, 'Cache-Control: no-store'))
    with proxy.connect() as c:
        c.get(page.url)
        c.ask(method, page.url, *(['Cache-Control: no-cache'] if method in ('GET', 'HEAD') else []))
        assert page.count == 2
        assert c.get(page.url).get('N') == '1'


def test_i4_written_through(proxy, origin):
    go = threading.Event()
    page = origin.page([go, lambda x: answer(x.n)])
    with proxy.connect() as c:
        c.send(request('PUT', page.url, 'Content-Length: 1', body=b'x'))
        page.wait(1)
        assert c.is_open(), 'no answer before the origin gave one'
        go.set()
        assert c.response().get('N') == '1'


def test_i5_what_was_asked_for_before(proxy, origin):
    """A GET under way while a PUT succeeds may bring what was there before it: not for later."""
    go = threading.Event()
    page = origin.page(lambda x: answer(x.n, FRESH) if x.request.method == 'PUT' else
                       [go, answer(x.n, FRESH)] if x.n == 1 else answer(x.n, FRESH))
    with proxy.connect() as a, proxy.connect() as b:
        a.send(request('GET', page.url))
        page.wait(1)
        assert b.ask('PUT', page.url, 'Content-Length: 1', body=b'x').status == 200
        go.set()
        assert a.response().get('N') == '1'
        assert b.get(page.url).get('N') == '3'


def test_i6_purge_is_off(proxy, origin):
    """PURGE is for this cache alone: refused unless configured, and nothing goes."""
    page = origin.page(lambda x: answer(x.n, FRESH))
    with proxy.connect() as c:
        c.get(page.url)
        assert c.ask('PURGE', page.url).status >= 400
        assert c.get(page.url).get('N') == '1'
    assert page.count == 1
