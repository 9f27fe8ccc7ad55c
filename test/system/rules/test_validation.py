"""Caching rules W: validation."""
import threading

import pytest

from client import request
from origin import date, message, not_modified
from rows import ETAG, FRESH, OLD, SPENT, answer, became, validating

TAGS = ['"x"', 'W/"x"', '"\xe4\xf6\xff"', '""', '"a, b"']
MALFORMED = ['abcdef', 'w/"x"', 'W\\"x"', 'W"x"']


@pytest.mark.parametrize('etag, modified', [*((t, None) for t in TAGS), (None, date(-86400)), (TAGS[0], date(-86400)),
                                            (None, 'Sunday, 06-Nov-94 08:49:37 GMT'), ('W/"w"', date(-5))])
def test_w1_with_what_is_stored(proxy, origin, etag, modified):
    fields = [*SPENT, *([f'ETag: {etag}'] if etag else []), *([f'Last-Modified: {modified}'] if modified else [])]
    page = origin.page(lambda x: answer(1, *fields) if x.n == 1 else not_modified(*fields[2:]))
    with proxy.connect() as c:
        c.get(page.url)
        assert became(page, c.get(page.url)) == 'val'
    asked = page.requests[1]
    assert (asked.get('If-None-Match'), asked.get('If-Modified-Since')) == (etag, modified)


def test_w2_with_the_fields_of_the_client(proxy, origin):
    page = origin.page(validating(*SPENT, ETAG, 'Vary: Abc'))
    with proxy.connect() as c:
        c.get(page.url, 'Abc: 123')
        assert became(page, c.get(page.url, 'Abc: 123', 'Other: x', 'Connection: Hop', 'Hop: y')) == 'val'
    assert [page.requests[1].get(f) for f in ('Abc', 'Other', 'Hop')] == ['123', 'x', None]


def test_w3_a_304_becomes_the_stored_200(proxy, origin):
    page = origin.page(validating(*SPENT, ETAG, 'Test-Header: old', update=[ETAG]))
    with proxy.connect() as c:
        c.get(page.url)
        r = c.get(page.url)
    assert (r.status, r.body, r.get('Test-Header')) == (200, b'body 1', 'old')


def test_w4_a_whole_answer_replaces(proxy, origin):
    page = origin.page(lambda x: answer(x.n, *(SPENT if x.n == 1 else [FRESH]), f'ETag: "{x.n}"'))
    with proxy.connect() as c:
        assert [c.get(page.url).get('N') for _ in range(3)] == ['1', '2', '2']


@pytest.mark.parametrize('more, want', [([], (200, '1')), (['Cache-Control: must-revalidate'], (503, '2'))])
def test_w5_an_error_instead(proxy, origin, more, want):
    page = origin.page(lambda x: answer(x.n, *SPENT, *more, ETAG, status=200 if x.n == 1 else 503))
    with proxy.connect() as c:
        c.get(page.url)
        r = c.get(page.url)
    assert (r.status, r.get('N')) == want


@pytest.mark.parametrize('has, says, updates', [
    (['ETag: "a"'], ['ETag: "a"'], True), (['ETag: "a"'], ['ETag: "b"'], False), (['ETag: W/"a"'], ['ETag: W/"a"'], True),
    (['ETag: W/"a"'], ['ETag: W/"b"'], False), (['ETag: W/"a"'], ['ETag: "a"'], False), (['ETag: "a"'], ['ETag: W/"a"'], True),
    ([OLD], [OLD], True), ([OLD], [f'Last-Modified: {date(-90000)}'], False), (['ETag: "a"', OLD], ['ETag: "a"'], True),
    ([OLD], [], True),
])
def test_w6_which_entry_a_304_is_for(proxy, origin, has, says, updates):
    """One that names nothing we hold updates nothing: the whole is asked for, without a condition."""
    page = origin.page(lambda x: answer(1, *SPENT, *has) if x.n == 1 else
                       not_modified(*says, FRESH) if x.request.all('If-None-Match') or x.request.all('If-Modified-Since')
                       else answer(x.n, FRESH))
    with proxy.connect() as c:
        c.get(page.url)
        n = '1' if updates else '3'
        assert [c.get(page.url).get('N') for _ in range(2)] == [n, n]


def test_w6_only_the_variant_meant(proxy, origin):
    def script(x):
        tag = f'ETag: "{x.request.get("Foo")}"'
        if tag[6:] in x.request.all('If-None-Match'):
            return not_modified(tag, FRESH, 'Vary: Foo', 'New: 1')
        return answer(x.n, *SPENT, tag, 'Vary: Foo', 'New: 0')
    page = origin.page(script)
    with proxy.connect() as c:
        c.get(page.url, 'Foo: a'), c.get(page.url, 'Foo: b')
        assert c.get(page.url, 'Foo: a').get('New') == '1'
        assert page.count == 3
        assert c.get(page.url, 'Foo: b').get('N') == '2'
        assert page.count == 4, 'the other one is as stale as before'


UPDATED = ['Cache-Control', 'Expires', 'ETag', 'Content-Type', 'Content-Location', 'Content-Encoding', 'Content-Range',
           'Content-MD5', 'Content-Security-Policy', 'X-Content-Foo', 'X-Test', 'Test-Header', 'Set-Cookie', 'Last-Modified',
           'X-Frame-Options', 'Clear-Site-Data']
VALUES = {'Cache-Control': ('max-age=1, x="old"', 'max-age=3600'), 'Expires': (date(-5), date(3600)), 'ETag': ('W/"x"', 'W/"x"'),
          'Last-Modified': (date(-90000), date(-80000)), 'Content-Type': ('text/old', 'text/new')}


@pytest.mark.parametrize('name', UPDATED)
def test_w7_what_a_304_updates(proxy, origin, name):
    old, new = VALUES.get(name, ('old', 'new'))
    base = ['Age: 50', *([] if name == 'ETag' else ['ETag: "x"']), *([] if name == 'Cache-Control' else ['Cache-Control: max-age=1'])]
    page = origin.page(
        answer(1, *base, f'{name}: {old}', f'{name}: {old}2' if name == 'Set-Cookie' else 'Stays: 1'),
        not_modified(*([] if name == 'ETag' else ['ETag: "x"']), *([] if name == 'Cache-Control' else [FRESH]), f'{name}: {new}'))
    with proxy.connect() as c:
        assert c.get(page.url).all(name)[0] == old
        for _ in range(2):
            r = c.get(page.url)
            assert (r.status, r.get('N'), r.all(name)) == (200, '1', [new])
            assert name == 'Set-Cookie' or r.get('Stays') == '1'
    assert page.count == 2


def test_w7_new_lifetimes_by_expires(proxy, origin):
    page = origin.page(answer(1, f'Expires: {date(-5)}', ETAG), not_modified(ETAG, f'Expires: {date(600)}'))
    with proxy.connect() as c:
        assert [c.get(page.url).get('N') for _ in range(4)] == ['1'] * 4
    assert page.count == 2


def test_w7_a_shorter_lifetime(proxy, origin):
    page = origin.page(answer(1, FRESH, ETAG), not_modified(ETAG, 'Cache-Control: max-age=0'))
    with proxy.connect() as c:
        c.get(page.url)
        assert c.get(page.url, 'Cache-Control: no-cache').get('N') == '1'
        c.get(page.url)
    assert page.count == 3


def test_w8_what_a_304_never_updates(proxy, origin):
    body = b'x' * 36
    page = origin.page(answer(1, *SPENT, ETAG, body=body),
                       not_modified(ETAG, FRESH, 'Content-Length: 10', 'Connection: a', 'a: 1', 'Keep-Alive: timeout=5'))
    with proxy.connect() as c:
        c.get(page.url)
        for _ in range(2):
            r = c.get(page.url)
            assert (r.status, r.get('Content-Length'), r.body) == (200, '36', body)
            assert [r.get(f) for f in ('a', 'Keep-Alive')] == [None, None]
    assert page.count == 2


def conditions(proxy, origin, fields, condition):
    page = origin.page(validating('Cache-Control: max-age=86400',  # dates of a case are made before the first test runs
                                   *fields))
    with proxy.connect() as c:
        c.get(page.url)
        r = c.get(page.url, *condition)
    assert page.count == 1
    return r


YESTERDAY, RFC850 = 'Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT'


@pytest.mark.parametrize('fields, condition, status', [
    pytest.param(f, c, s, id=i.replace(' ', '-')) for i, f, c, s in (
        ('W9 star', ['ETag: "x"'], ['If-None-Match: *'], 304),
        ('W9 first', ['ETag: "x"'], ['If-None-Match: "x", "a", "b"'], 304),
        ('W9 middle', ['ETag: "x"'], ['If-None-Match: "a", "x", "b"'], 304),
        ('W9 last', ['ETag: "x"'], ['If-None-Match: "a","b" , "x"'], 304),
        ('W9 two lines', ['ETag: "x"'], ['If-None-Match: "a"', 'If-None-Match: "x"'], 304),
        ('W9 none', ['ETag: "x"'], ['If-None-Match: "a", "b"'], 200),
        ('W9 part of a tag', ['ETag: "x"'], ['If-None-Match: "xx", "a\\"x"'], 200),
        ('W10 match and older', ['ETag: "x"', f'Last-Modified: {date(-100)}'],
         ['If-None-Match: "x"', f'If-Modified-Since: {date(-1000)}'], 304),
        ('W10 no match and later', ['ETag: "x"', OLD], ['If-None-Match: "y"', f'If-Modified-Since: {date()}'], 200),
        ('W11 later', [OLD], [f'If-Modified-Since: {date()}'], 304),
        ('W11 equal', [f'Last-Modified: {YESTERDAY}'], [f'If-Modified-Since: {YESTERDAY}'], 304),
        ('W11 earlier', [f'Last-Modified: {date(-10)}'], [f'If-Modified-Since: {date(-20)}'], 200),
        ('W11 RFC 850', [f'Last-Modified: {YESTERDAY}'], [f'If-Modified-Since: {RFC850}'], 304),
        ('W11 by Date', [f'Date: {date(-100)}'], [f'If-Modified-Since: {date(-200)}'], 200),
        ('W11 by Date later', [f'Date: {date(-100)}'], [f'If-Modified-Since: {date(-50)}'], 304),
        *((f'W14 {n}', [f'ETag: {t}'], [f'If-None-Match: {t}'], 304) for n, t in enumerate((*TAGS, *MALFORMED))),
        ('W14 quotes not added', ['ETag: abcdef'], ['If-None-Match: "abcdef"'], 200),
        ('W14 quotes not stripped', ['ETag: "abcdef"'], ['If-None-Match: abcdef'], 200),
        ('W17 weak of the client', ['ETag: "x"'], ['If-None-Match: W/"x"'], 304),
        ('W17 weak of the origin', ['ETag: W/"x"'], ['If-None-Match: "x"'], 304),
        ('W17 If-Range weak', ['ETag: W/"x"'], ['Range: bytes=0-0', 'If-Range: W/"x"'], 200),
        ('W17 If-Range weak of the client', ['ETag: "x"'], ['Range: bytes=0-0', 'If-Range: W/"x"'], 200),
        ('W17 If-Range strong', ['ETag: "x"'], ['Range: bytes=0-0', 'If-Range: "x"'], 206),
    )])
def test_conditions_of_the_client(proxy, origin, fields, condition, status):
    r = conditions(proxy, origin, fields, condition)
    assert r.status == status
    assert status == 200 and r.body == b'body 1' or status == 206 and r.body == b'b' or status == 304 and r.body == b''


def test_w11_by_the_time_of_reception(proxy, origin):
    page = origin.page(lambda x: message('HTTP/1.1 200 OK', ['Content-Length: 1', FRESH], b'x'))
    with proxy.connect() as c:
        c.get(page.url)
        assert c.get(page.url, f'If-Modified-Since: {date(-100)}').status == 200
        assert c.get(page.url, f'If-Modified-Since: {date(100)}').status == 304


def test_w12_fields_of_a_304(proxy, origin):
    fields = {'ETag': '"x"', 'Date': date(-7), 'Cache-Control': 'max-age=600', 'Content-Location': '/x', 'Expires': date(600),
              'Vary': 'Foo'}
    page = origin.page(validating(*(f'{k}: {v}' for k, v in fields.items()), 'Content-Type: text/x'))
    with proxy.connect() as c:
        c.get(page.url)
        r = c.get(page.url, 'If-None-Match: "x"')
        assert c.get(page.url).body == b'body 1', 'nothing of a body came'
    assert {k: r.get(k) for k in fields} == fields
    assert int(r.get('Age')) >= 7
    assert (r.status, r.get('Content-Length'), r.get('Transfer-Encoding'), r.get('Content-Type')) == (304, None, None, None)


@pytest.mark.parametrize('fields, condition', [(['ETag: "x"'], 'If-None-Match: "x"'), (['ETag: "x"'], 'If-None-Match: "y", "x"'),
                                               ([OLD], f'If-Modified-Since: {date()}')])
def test_w13_conditions_on_a_stale_entry(proxy, origin, fields, condition):
    page = origin.page(validating(*SPENT, *fields, update=[*fields, FRESH]))
    with proxy.connect() as c:
        c.get(page.url)
        assert c.get(page.url, condition).status == 304
        asked = page.requests[1]
        assert (asked.get('If-None-Match') or asked.get('If-Modified-Since')) == fields[0].partition(': ')[2]
        assert became(page, c.get(page.url), 2) == 'hit'


def test_w13_the_other_answer(proxy, origin):
    page = origin.page(validating(*SPENT, ETAG))
    with proxy.connect() as c:
        c.get(page.url)
        r = c.get(page.url, 'If-None-Match: "other"')
    assert (r.status, r.body, page.requests[1].get('If-None-Match')) == (200, b'body 1', '"x"')


@pytest.mark.parametrize('field', [
    'If-None-Match: "x", W/"y" ,\t"\xe4"', 'If-None-Match: *', 'If-None-Match: abc', f'If-Modified-Since: {date(-86400)}',
    'If-Modified-Since: yesterday', 'If-Match: "x"', 'If-Match: *', 'Range: bytes=0-1', 'If-Unmodified-Since: x'])
def test_w15_nothing_stored(proxy, origin, field):
    page = origin.page(lambda x: answer(x.n, FRESH))
    name, _, value = field.partition(': ')
    with proxy.connect() as c:
        c.get(page.url, field)
    assert page.requests[0].all(name) == [value]


def test_w15_if_range(proxy, origin):
    page = origin.page(lambda x: answer(x.n, FRESH))
    with proxy.connect() as c:
        c.get(page.url, 'Range: bytes=0-1', 'If-Range: "x"')
    assert (page.requests[0].get('Range'), page.requests[0].get('If-Range')) == ('bytes=0-1', '"x"')


@pytest.mark.parametrize('field', ['If-Match: "y"', f'If-Unmodified-Since: {date(-200000)}', 'If-Match: *'])
def test_w16_conditions_that_are_the_origins(proxy, origin, field):
    """Whatever is stored: it is the origin that says 412."""
    page = origin.page(lambda x: answer(x.n, FRESH, ETAG, OLD) if x.n == 1 else answer(x.n, status=412))
    name, _, value = field.partition(': ')
    with proxy.connect() as c:
        c.get(page.url)
        r = c.get(page.url, field)
        assert (r.status, page.requests[1].get(name)) == (412, value)
        assert c.get(page.url).get('N') == '1', 'what is stored stays'


@pytest.mark.parametrize('says, shared', [(FRESH, True), ('Cache-Control: private', False), ('Cache-Control: no-store', False)])
@pytest.mark.parametrize('kind', ['304', '200'])
def test_w18_waiting_on_one_validation(make_proxy, origin, kind, says, shared):
    go = threading.Event()

    def script(x):
        if x.n == 1:
            return answer(1, *SPENT, ETAG)
        if kind == '304' and x.request.get('If-None-Match') == '"x"':
            return [go, not_modified(ETAG, says)]
        return [go, answer(x.n, says)]
    page = origin.page(script)
    p = make_proxy('collapsed_forwarding on')
    with p.connect() as a, p.connect() as b:
        a.get(page.url)
        a.send(request('GET', page.url))
        page.wait(2)
        b.send(request('GET', page.url))
        b.wait_read()
        go.set()
        first, second = a.response(), b.response()
    assert (first.status, second.status) == (200, 200)
    if shared:
        assert page.count == 2 and first.get('N') == second.get('N')
    else:
        assert first.get('N') != second.get('N')


def test_w18_each_by_his_own_condition(make_proxy, origin):
    go = threading.Event()
    page = origin.page(lambda x: answer(1, *SPENT, ETAG) if x.n == 1 else [go, not_modified(ETAG, FRESH)])
    p = make_proxy('collapsed_forwarding on')
    conditions = (), ('If-None-Match: "x"',), ('If-None-Match: "other"',)
    clients = [p.connect() for _ in conditions]
    clients[0].get(page.url)
    for c, condition in zip(clients, conditions):
        c.send(request('GET', page.url, *condition))
        c.wait_read()
    page.wait(2)
    go.set()
    assert [c.response().status for c in clients] == [200, 304, 200]
    for c in clients:
        c.close()
