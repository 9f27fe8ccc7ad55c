"""What is stored, for how long, validated how, selected by what, and what makes it go."""
import threading

import pytest

from client import request
from origin import CLOSE, HANG, Origin, date, head, not_modified, ok
from proxy import free_port

FRESH = 'Cache-Control: max-age=600'

MISS, HIT = 'TCP_MISS/200', 'TCP_MEM_HIT/200'
OLD = f'Last-Modified: {date(-86400)}'


# -- stored or not: (name, request fields, response fields, what the second request is)
STORED = [
    ('max-age', [], ['Cache-Control: max-age=600'], HIT),
    ('max-age quoted', [], ['Cache-Control: max-age="600"'], HIT),
    ('MaX-aGe in a list', [], ['Cache-Control: foobar, MaX-AgE=600,,'], HIT),
    ('max-age on a second line', [], ['Cache-Control: foobar', 'Cache-Control: max-age=600'], HIT),
    ('huge max-age', [], ['Cache-Control: max-age=99999999999999999999'], HIT),
    ('conflicting max-age', [], ['Cache-Control: max-age=600, max-age=0'], MISS),
    ('max-age=-1', [], ['Cache-Control: max-age=-1'], MISS),
    ('max-age=0', [], ['Cache-Control: max-age=0'], MISS),
    ('s-maxage beats max-age', [], ['Cache-Control: max-age=0, s-maxage=600'], HIT),
    ('s-maxage=0', [], ['Cache-Control: max-age=600, s-maxage=0'], MISS),
    ('Expires', [], [f'Expires: {date(600)}'], HIT),
    ('Expires past', [], [f'Expires: {date(-600)}'], MISS),
    ('Expires: 0', [], ['Expires: 0'], MISS),
    ('max-age beats Expires', [], ['Cache-Control: max-age=600', 'Expires: 0'], HIT),
    ('Age used up', [], ['Cache-Control: max-age=600', 'Age: 601'], MISS),
    ('old Date', [], ['Cache-Control: max-age=600', f'Date: {date(-700)}'], MISS),
    ('heuristic', [], [OLD], HIT),
    ('nothing said', [], [], MISS),
    ('query and heuristic', ['?'], [OLD], HIT),
    ('no-store', [], ['Cache-Control: max-age=600, no-store'], MISS),
    ('No-StOrE', [], ['Cache-Control: No-StOrE', f'Expires: {date(600)}'], MISS),
    ('private', [], ['Cache-Control: private, max-age=600'], MISS),
    ('no-cache', [], ['Cache-Control: no-cache, max-age=600'], MISS),
    ('request no-store', ['Cache-Control: no-store'], ['Cache-Control: max-age=600'], MISS),
    ('Authorization', ['Authorization: Basic eDp5'], ['Cache-Control: max-age=600'], MISS),
    ('Authorization, public', ['Authorization: Basic eDp5'], ['Cache-Control: max-age=600, public'], HIT),
    ('Authorization, s-maxage', ['Authorization: Basic eDp5'], ['Cache-Control: s-maxage=600'], HIT),
    ('Set-Cookie', [], ['Cache-Control: max-age=600', 'Set-Cookie: a=b'], HIT),
    ('Cookie', ['Cookie: a=b'], ['Cache-Control: max-age=600'], HIT),
    ('Pragma: no-cache of a response', [], ['Cache-Control: max-age=600', 'Pragma: no-cache'], HIT),
    ('Vary: *', [], ['Cache-Control: max-age=600', 'Vary: *'], MISS),
]


@pytest.mark.parametrize('sent, answer, expected', [s[1:] for s in STORED], ids=[s[0] for s in STORED])
def test_stored_or_not(proxy, origin, sent, answer, expected):
    """V01, V02, V03, V06, and their like."""
    page = origin.page(ok(b'x', *answer))
    url = page.url + ('?a=b' if '?' in sent else '')
    sent = [f for f in sent if f != '?']
    # The shared daemon has Squid's recommended refresh_pattern nowhere: queries are as good as others.
    with proxy.connect() as c:
        for _ in range(2):
            assert c.get(url, *sent).body == b'x'
    assert page.count == (1 if expected == HIT else 2)
    second = proxy.codes(url.partition('?')[0] + ('?' if '?' in url else ''), 2)[1]
    if expected == HIT:
        assert second == HIT
    else:
        # Stale but stored is a refresh; without a validator the whole is fetched again.
        assert second in (MISS, 'TCP_REFRESH_MODIFIED/200')


@pytest.mark.parametrize('status, expected', [
    ('200 OK', 'HIT'), ('203 Non-Authoritative', 'HIT'), ('301 Moved Permanently', 'HIT'),
    ('308 Permanent Redirect', 'HIT'),
    ('404 Not Found', 'HIT'), ('410 Gone', 'HIT'), ('302 Found', 'MISS'), ('500 Oops', 'MISS'), ('503 Busy', 'MISS'),
])
def test_statuses_and_heuristics(proxy, origin, status, expected):
    page = origin.page(ok(b'x', OLD, status=status))
    with proxy.connect() as c:
        assert [c.get(page.url).status for _ in range(2)] == [int(status[:3])] * 2
    assert proxy.codes(page.url, 2)[1] == f'TCP_{"MEM_" if expected == "HIT" else ""}{expected}/{status[:3]}'


@pytest.mark.parametrize('fields, code', [
    (['Cache-Control: no-cache'], None), (['Pragma: no-cache'], None), (['Cache-Control: max-age=0'], None),
    (['Cache-Control: max-stale=9'], HIT), (['Cache-Control: min-fresh=10'], HIT),
    (['Cache-Control: min-fresh=1000'], None),
    (['Range: bytes=0-0'], 'any'),
])
def test_request_directives_on_a_stored_response(proxy, origin, fields, code):
    page = origin.page(ok(b'first', FRESH), ok(b'second', FRESH))
    with proxy.connect() as c:
        c.get(page.url)
        r = c.get(page.url, *fields)
    if code == 'any':
        assert r.status in (200, 206)
        return
    assert r.body == (b'first' if code == HIT else b'second')
    if code == HIT:
        assert proxy.codes(page.url, 2)[1] == HIT


def test_refresh_pattern(make_proxy, origin):
    plain, keep, never = (origin.page(ok(b'x', dated=True), name=n) for n in ('plain', 'keep', 'never'))
    dynamic = origin.page(ok(b'x', OLD))
    p = make_proxy(r'''refresh_pattern -i (/cgi-bin/|\?) 0 0% 0
refresh_pattern /KEEP 1440 20% 4320
refresh_pattern -i /KEEP 1440 20% 4320
refresh_pattern . 0 20% 4320''')
    for page, count in ((plain, 2), (keep, 1), (never, 2)):
        for _ in range(2):
            p.get(page.url)
        assert page.count == count, page.path
    for _ in range(2):
        p.get(dynamic.url + '?q')
    assert dynamic.count == 2
    for _ in range(2):
        p.get(dynamic.url)
    assert dynamic.count == 3


def test_cache_deny(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('acl private urlpath_regex ^/private\ncache deny private')
    private = origin.page(ok(b'x', FRESH), name='private')
    for _ in range(2):
        p.get(page.url)
        p.get(private.url)
    assert (page.count, private.count) == (1, 2)
    assert p.codes(private.url, 2) == [MISS, MISS]


def test_maximum_object_size_in_memory(make_proxy, origin):
    """Larger ones pass through complete, whatever their framing, and are not stored."""
    body = b'0123456789abcdef' * 16384  # 256 KiB
    known, unknown, small = (origin.page([ok(body, FRESH)]), origin.page([head(FRESH), body, CLOSE]),
                             origin.page(ok(body[:60000], FRESH)))
    p = make_proxy('maximum_object_size_in_memory 64 KB\nmaximum_object_size 64 KB')
    for page, count in ((known, 2), (unknown, 2), (small, 1)):
        for _ in range(2):
            assert p.get(page.url).body == body[:60000 if page is small else None]
        assert page.count == count


# -- validation

def conditional(etag=None, modified=None, body=b'first', fields=('Cache-Control: max-age=0',), updates=()):
    """304 to a request that names what is there."""
    def answer(x):
        if (etag and x.request.get('If-None-Match') == etag) or \
                (not etag and modified and x.request.get('If-Modified-Since') == modified):
            return not_modified(*updates)
        own = ([f'ETag: {etag}'] if etag else []) + ([f'Last-Modified: {modified}'] if modified else [])
        return ok(body, *own, *fields)
    return answer


@pytest.mark.parametrize('etag, modified', [
    ('"strong"', None), ('W/"weak"', None), (None, date(-86400)), ('"both"', date(-86400)), ('"\xe4\xf6"', None),
])
def test_refresh_unmodified(proxy, origin, etag, modified):
    page = origin.page(conditional(etag, modified))
    with proxy.connect() as c:
        assert [c.get(page.url).body for _ in range(2)] == [b'first'] * 2
    asked = page.requests[1]
    assert (asked.get('If-None-Match'), asked.get('If-Modified-Since')) == (etag, modified)
    line = proxy.logged(page.url, 2)[1]
    assert (line.what, line.hier) == ('TCP_REFRESH_UNMODIFIED/200', 'HIER_DIRECT/127.0.0.1')


def test_refresh_modified(proxy, origin):
    page = origin.page(ok(b'first', 'ETag: "1"', 'Cache-Control: max-age=0'), ok(b'second', 'ETag: "2"', FRESH))
    with proxy.connect() as c:
        assert [c.get(page.url).body for _ in range(3)] == [b'first', b'second', b'second']
    assert page.requests[1].get('If-None-Match') == '"1"'
    assert proxy.codes(page.url, 3) == [MISS, 'TCP_REFRESH_MODIFIED/200', HIT]


def test_a_304_updates_what_is_stored(proxy, origin):
    page = origin.page(conditional('"x"', updates=[FRESH, 'X-New: 1', 'X-Both: new', 'Content-Length: 3', 'ETag: "x"'],
                                   fields=('Cache-Control: max-age=0', 'X-Both: old', 'X-Old: 1')))
    with proxy.connect() as c:
        assert c.get(page.url).get('X-Both') == 'old'
        for _ in range(2):
            r = c.get(page.url)
            assert (r.body, r.get('Content-Length')) == (b'first', '5')
            assert [r.get(f) for f in ('X-New', 'X-Both', 'X-Old', 'Cache-Control')] == ['1', 'new', '1', 'max-age=600']
    assert page.count == 2
    assert proxy.codes(page.url, 3) == [MISS, 'TCP_REFRESH_UNMODIFIED/200', HIT]


def test_a_304_with_another_etag_freshens_nothing(proxy, origin):
    page = origin.page(ok(b'first', 'ETag: "1"', 'Cache-Control: max-age=0'), not_modified('ETag: "other"', FRESH),
                       ok(b'second', 'ETag: "2"', FRESH))
    with proxy.connect() as c:
        assert [c.get(page.url).body for _ in range(2)] == [b'first', b'second']
    assert page.requests[2].get('If-None-Match') is None


def test_must_revalidate_and_no_cache_are_validated(proxy, origin):
    page = origin.page(conditional('"x"', fields=('Cache-Control: no-cache, max-age=600',)))
    with proxy.connect() as c:
        assert [c.get(page.url).body for _ in range(3)] == [b'first'] * 3
    assert proxy.codes(page.url, 3)[1:] == ['TCP_REFRESH_UNMODIFIED/200'] * 2


@pytest.mark.parametrize('condition, code', [
    ('If-None-Match: "x"', 'TCP_INM_HIT/304'),
    ('If-None-Match: "a", "x", "b"', 'TCP_INM_HIT/304'),
    ('If-None-Match: W/"x"', 'TCP_INM_HIT/304'),
    ('If-None-Match: *', 'TCP_INM_HIT/304'),
    ('If-None-Match: "y"', HIT),
    (f'If-Modified-Since: {date()}', 'TCP_IMS_HIT/304'),
    (f'If-Modified-Since: {date(-200000)}', HIT),
    ('If-Modified-Since: yesterday', HIT),
    (f'If-None-Match: "y"\r\nIf-Modified-Since: {date()}', HIT),
])
def test_conditions_on_a_fresh_response(proxy, origin, condition, code):
    page = origin.page(ok(b'body', FRESH, 'ETag: "x"', OLD, 'Content-Type: text/x'))
    with proxy.connect() as c:
        c.get(page.url)
        r = c.get(page.url, *condition.split('\r\n'))
        again = c.get(page.url)
    assert r.status == int(code[-3:])
    assert again.body == b'body'
    if r.status == 304:
        assert (r.body, r.get('ETag'), r.get('Content-Length'), r.get('Transfer-Encoding')) == (b'', '"x"', None, None)
        assert r.get('Date') and r.get('Cache-Control') == 'max-age=600' and r.get('Age')
    assert proxy.codes(page.url, 3)[1] == code
    assert page.count == 1


def test_a_condition_on_a_stale_response(proxy, origin):
    page = origin.page(conditional('"x"'))
    with proxy.connect() as c:
        c.get(page.url)
        r = c.get(page.url, 'If-None-Match: "x"')
    assert (r.status, r.get('ETag')) == (304, '"x"')
    assert proxy.codes(page.url, 2)[1] == 'TCP_REFRESH_UNMODIFIED/304'


def test_conditions_without_a_stored_response_go_to_the_origin(proxy, origin):
    page = origin.page(not_modified('ETag: "x"'), ok(b'whole', FRESH))
    r = proxy.get(page.url, 'If-None-Match: "x"', 'If-Match: "z"')
    assert r.status == 304
    asked = page.requests[0]
    assert (asked.get('If-None-Match'), asked.get('If-Match')) == ('"x"', '"z"')
    assert proxy.get(page.url).body == b'whole'


def test_a_304_without_a_condition_is_never_stored(proxy, origin):
    page = origin.page(not_modified(FRESH), ok(b'whole', FRESH))
    assert proxy.get(page.url).status in (304, 502)
    assert proxy.get(page.url).body == b'whole'


def test_a_206_is_not_stored_as_the_whole(proxy, origin):
    page = origin.page(ok(b'he', FRESH, 'Content-Range: bytes 0-1/5', status='206 Partial Content'),
                       ok(b'hello', FRESH))
    assert proxy.get(page.url, 'Range: bytes=0-1').status == 206
    assert proxy.get(page.url).body == b'hello'


# -- stale

def test_stale_when_the_origin_is_dead(make_proxy):
    origin = Origin()
    page = origin.page(ok(b'old but here', 'Cache-Control: max-age=0', 'ETag: "x"'))
    strict = origin.page(ok(b'x', 'Cache-Control: max-age=0, must-revalidate', 'ETag: "x"'))
    p = make_proxy()
    with p.connect() as c:
        c.get(page.url), c.get(strict.url)
        origin.close()
        r = c.get(page.url)
        assert (r.status, r.body) == (200, b'old but here')
        r = c.get(strict.url)
        assert (r.status, r.get('X-Squid-Error').split()[0]) == (504, 'ERR_CONNECT_FAIL')
    assert p.codes(page.url, 2)[1] == 'TCP_REFRESH_FAIL_OLD/200'
    assert p.codes(strict.url, 2)[1] == 'TCP_REFRESH_FAIL_ERR/504'


def test_stale_when_the_origin_fails(proxy, origin):
    page = origin.page(ok(b'old', 'Cache-Control: max-age=0', 'ETag: "x"'), ok(b'sorry', status='503 Busy'))
    with proxy.connect() as c:
        assert [c.get(page.url).body for _ in range(2)] == [b'old'] * 2
    assert proxy.codes(page.url, 2)[1] == 'TCP_REFRESH_FAIL_OLD/200'


def test_max_stale_is_a_bound(make_proxy, origin):
    page = origin.page(ok(b'old', 'Cache-Control: max-age=600', 'Age: 660', 'ETag: "x"'),
                       ok(b'sorry', status='503 Busy'))
    p = make_proxy('max_stale 10 seconds')
    with p.connect() as c:
        assert [c.get(page.url).body for _ in range(2)] == [b'old', b'sorry']


# -- Vary

def test_two_variants_side_by_side(proxy, origin):
    page = origin.page(lambda x: ok(x.request.get('Accept-Language').encode(), FRESH, 'Vary: Accept-Language'))
    with proxy.connect() as c:
        for language in ('de', 'en', 'de', 'en', 'de'):
            assert c.get(page.url, f'Accept-Language: {language}').body == language.encode()
    assert page.count == 2
    assert proxy.codes(page.url, 5) == [MISS, MISS, HIT, HIT, HIT]


@pytest.mark.parametrize('vary, first, second, same', [
    ('Foo', ['Foo: 1'], ['Foo: 1'], True), ('Foo', ['Foo: 1'], ['Foo: 2'], False), ('Foo', ['Foo: 1'], [], False),
    ('Foo', [], [], True), ('Foo', [], ['Foo: 1'], False), ('Foo', ['Foo: 1'], ['Foo: 1', 'Other: x'], True),
    ('Foo, Bar', ['Foo: 1', 'Bar: 2'], ['Bar: 2', 'Foo: 1'], True),
    ('Foo, Bar', ['Foo: 1'], ['Foo: 1', 'Bar: 2'], False),
    ('foo', ['FOO: 1, 2'], ['Foo: 1', 'foo: 2'], True), ('Cookie', ['Cookie: user=1'], ['Cookie: user=2'], False),
    ('X-Tenant\r\nVary: Foo', ['X-Tenant: a'], ['X-Tenant: b'], False), ('*', [], [], False), ('Foo, *', [], [], False),
    ('', [], [], True),
])
def test_vary(proxy, origin, vary, first, second, same):
    page = origin.page(ok(b'x', FRESH, f'Vary: {vary}'))
    with proxy.connect() as c:
        c.get(page.url, *first)
        c.get(page.url, *second)
    assert page.count == (1 if same else 2)


def test_a_variant_is_validated_by_its_own_etag(proxy, origin):
    def answer(x):
        language = x.request.get('Accept-Language')
        if x.request.get('If-None-Match') and f'"{language}"' in x.request.get('If-None-Match'):
            return not_modified(f'ETag: "{language}"', 'Vary: Accept-Language')
        return ok(language.encode(), 'Cache-Control: max-age=0', 'Vary: Accept-Language', f'ETag: "{language}"')
    page = origin.page(answer)
    with proxy.connect() as c:
        for language in ('de', 'en', 'de', 'en'):
            assert c.get(page.url, f'Accept-Language: {language}').body == language.encode()
    assert proxy.codes(page.url, 4)[2:] == ['TCP_REFRESH_UNMODIFIED/200'] * 2


# -- invalidation

@pytest.mark.parametrize('method', ['POST', 'PUT', 'DELETE', 'PATCH', 'UNKNOWN'])
def test_unsafe_methods_invalidate(proxy, origin, method):
    page = origin.page(lambda x: ok(b'%d' % x.n, FRESH))
    with proxy.connect() as c:
        assert [c.get(page.url).body for _ in range(2)] == [b'1', b'1']
        c.ask(method, page.url, 'Content-Length: 1', body=b'x')
        assert [c.get(page.url).body for _ in range(2)] == [b'3', b'3']


def test_a_failed_post_invalidates_nothing(proxy, origin):
    page = origin.page(ok(b'kept', FRESH), ok(b'no', status='500 Oops'), ok(b'new', FRESH))
    with proxy.connect() as c:
        c.get(page.url)
        c.ask('POST', page.url, 'Content-Length: 1', body=b'x')
        assert c.get(page.url).body == b'kept'


def test_location_of_the_same_site_is_invalidated(proxy, origin):
    target = origin.page(lambda x: ok(b'%d' % x.n, FRESH))
    form = origin.page(ok(b'', f'Location: {target.path}', status='201 Created'))
    with proxy.connect() as c:
        c.get(target.url)
        c.ask('POST', form.url, 'Content-Length: 1', body=b'x')
        assert c.get(target.url).body == b'2'


def test_location_of_another_site_is_not(proxy, origin):
    target = origin.page(lambda x: ok(b'%d' % x.n, FRESH))
    form = origin.page(ok(b'', f'Location: {target.url}', status='201 Created'))
    with proxy.connect() as c:
        c.get(target.url)
        c.ask('POST', f'http://origin.test:{origin.port}{form.path}', 'Content-Length: 1', body=b'x')
        assert c.get(target.url).body == b'1'


def test_an_answer_to_post_is_never_used_for_get(proxy, origin):
    page = origin.page(ok(b'posted', FRESH), ok(b'got', FRESH))
    proxy.ask('POST', page.url, 'Content-Length: 1', body=b'x')
    assert proxy.get(page.url).body == b'got'


def test_a_get_with_a_body_bypasses_the_cache(proxy, origin):
    page = origin.page(lambda x: ok(b'%d' % x.n, FRESH))
    with proxy.connect() as c:
        assert c.get(page.url).body == b'1'
        assert c.ask('GET', page.url, 'Content-Length: 1', body=b'x').body == b'2'
        assert c.get(page.url).body == b'1'


# -- aborted

def test_a_miss_whose_client_left_is_finished_when_little_is_missing(make_proxy, origin):
    """quick_abort_min 16 KB: the rest is fetched and stored; V15: never stored short."""
    go = threading.Event()
    page = origin.page([head('Content-Length: 2000', FRESH), b'x' * 1000, go, b'y' * 1000], ok(b'again', FRESH))
    p = make_proxy()
    c = p.connect()
    c.send(request('GET', page.url))
    while len(c.reader.waiting) < 1000:
        c.reader.fill()
    c.reset()
    assert p.codes(page.url) == ['TCP_MISS_ABORTED/200']
    go.set()
    page.wait_over(1)
    assert p.get(page.url).body == b'x' * 1000 + b'y' * 1000
    assert page.count == 1


def test_a_miss_whose_client_left_is_ended_when_much_is_missing(make_proxy, origin):
    page = origin.page([head('Content-Length: 10000000', FRESH), b'x' * 1000, HANG], ok(b'again', FRESH))
    p = make_proxy()
    c = p.connect()
    c.send(request('GET', page.url))
    c.reader.fill()
    c.reset()
    page.wait_over(1)
    assert p.codes(page.url) == ['TCP_MISS_ABORTED/200']
    assert p.get(page.url).body == b'again'


def test_negative_ttl(make_proxy, origin):
    page = origin.page(ok(b'gone', status='404 Not Found'))
    p = make_proxy('negative_ttl 1 minute')
    for _ in range(2):
        p.get(page.url)
    assert p.codes(page.url, 2) == ['TCP_MISS/404', 'TCP_NEGATIVE_HIT/404']


def test_a_hit_on_any_worker(make_proxy, origin):
    """One store for all: whichever worker a connection lands on."""
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('workers 4')
    p.get(page.url)
    clients = [p.connect() for _ in range(16)]
    for c in clients:
        assert c.get(page.url).body == b'x'
        c.close()
    assert page.count == 1
    assert p.codes(page.url, 17) == [MISS] + [HIT] * 16


def test_dead_origin_does_not_matter_for_hits(make_proxy):
    origin = Origin()
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy()
    p.get(page.url)
    origin.close()
    assert p.get(page.url).body == b'x'
    assert p.get(f'http://127.0.0.1:{free_port()}/').status == 503


# -- lists that decide what is stored and served

def test_store_miss_deny(make_proxy, origin):
    page, other = origin.page(ok(b'x', FRESH), name='once'), origin.page(ok(b'x', FRESH))
    p = make_proxy('acl once urlpath_regex ^/once\nstore_miss deny once')
    for _ in range(2):
        p.get(page.url), p.get(other.url)
    assert (page.count, other.count) == (2, 1)


def test_send_hit_deny(make_proxy, origin):
    page, other = origin.page(ok(b'x', FRESH), name='anew'), origin.page(ok(b'x', FRESH))
    p = make_proxy('acl anew urlpath_regex ^/anew\nsend_hit deny anew')
    for _ in range(2):
        p.get(page.url), p.get(other.url)
    assert (page.count, other.count) == (2, 1)


def test_http_reply_access(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH), name='secret')
    p = make_proxy('acl secret urlpath_regex ^/secret\nhttp_reply_access deny secret')
    for _ in range(2):
        assert p.get(page.url).status == 403
    assert p.codes(page.url, 2) == ['TCP_DENIED_REPLY/403'] * 2


def test_minimum_object_size(make_proxy, origin):
    small, large = origin.page(ok(b'x' * 100, FRESH)), origin.page(ok(b'x' * 3000, FRESH))
    p = make_proxy('minimum_object_size 2 KB')
    for _ in range(2):
        p.get(small.url), p.get(large.url)
    assert (small.count, large.count) == (2, 1)


@pytest.mark.parametrize('conf, wish, asked', [
    ('', 'Cache-Control: no-cache', True),
    ('refresh_pattern . 0 20% 4320 reload-into-ims', 'Cache-Control: no-cache', True),
    ('refresh_pattern . 0 20% 4320 ignore-reload', 'Cache-Control: no-cache', False),
    ('refresh_pattern . 0 20% 4320 ignore-reload', 'Pragma: no-cache', False),
    ('refresh_pattern . 0 20% 4320 ignore-reload', 'Cache-Control: max-age=0', False),
    ('refresh_pattern . 0 20% 4320 ignore-reload', 'Cache-Control: min-fresh=9999', True),
    ('refresh_pattern -i \\.jpg$ 0 20% 4320 ignore-reload\nrefresh_pattern . 0 20% 4320', 'Cache-Control: no-cache', True),
    ('', OLD.replace('Last-Modified', 'If-Modified-Since'), False),
    ('refresh_pattern . 0 20% 4320 refresh-ims', OLD.replace('Last-Modified', 'If-Modified-Since'), True),
    ('refresh_pattern . 0 20% 4320 refresh-ims', 'If-None-Match: "a"', False),
    ('refresh_all_ims on', OLD.replace('Last-Modified', 'If-Modified-Since'), True),
])
def test_what_counts_of_a_client_s_wishes(make_proxy, origin, conf, wish, asked):
    page = origin.page(ok(b'x', FRESH, OLD, 'ETag: "a"'), not_modified('ETag: "a"', FRESH))
    p = make_proxy(conf)
    p.get(page.url)
    p.get(page.url, wish)
    assert page.count == 1 + asked
    if asked:
        assert page.requests[1].all('If-None-Match') + page.requests[1].all('If-Modified-Since')


def test_proxy_only_peers_are_not_stored(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    parent = make_proxy('visible_hostname parent.test')
    p = make_proxy(f'cache_peer 127.0.0.1 parent {parent.port} 0 no-query proxy-only\nnever_direct allow all')
    for _ in range(2):
        p.get(page.url)
    assert page.count == 1
    assert p.codes(page.url, 2) == [MISS, MISS]


@pytest.mark.parametrize('what, rule', [
    ('src', 'src 127.0.0.0/8'), ('src range', 'src 127.0.0.1-127.0.0.9'), ('port', 'port {port}'),
    ('method', 'method GET'),
    ('proto', 'proto HTTP'), ('url_regex', 'url_regex -i ^HTTP://ORIGIN'), ('urlpath_regex', r'urlpath_regex \.exe$'),
    ('dstdomain', 'dstdomain .test'), ('dst', 'dst 127.0.0.1'), ('any-of list', 'dstdomain a.test origin.test'),
])
def test_acl_types(make_proxy, origin, what, rule):
    page = origin.page(ok(b'x'))
    origin.pages[page.path + '.exe'] = page
    p = make_proxy(f'acl it {rule.replace("{port}", str(origin.port))}\nhttp_access deny it')
    assert p.get(f'http://origin.test:{origin.port}{page.path}.exe').status == 403
    assert page.count == 0


def test_acl_negation_and_order(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('acl get method GET\nacl here dstdomain origin.test\n'
                   'http_access allow get here\nhttp_access deny !get\n'
                   'http_access deny here')
    url = f'http://origin.test:{origin.port}{page.path}'
    assert p.get(url).status == 200
    assert p.ask('POST', url, 'Content-Length: 0').status == 403
