"""PURGE by URL, by prefix and by tag; soft; who may; fetches under way."""
import json
import threading

import pytest

from client import request, soon
from origin import head, message, ok

KEEP = 'Cache-Control: max-age=600'
ON = 'acl purge method PURGE\nhttp_access allow purge\n'


@pytest.fixture
def purging(make_proxy):
    return make_proxy(ON)


def purge(p, url, *fields):
    r = p.ask('PURGE', url, *fields)
    assert r.get('Content-Type') == 'application/json'
    return r.status, json.loads(r.body)['purged']


def stored(p, origin, *fields, body=b'x', name=None):
    page = origin.page(ok(body, KEEP, *fields), name=name)
    p.get(page.url)
    return page


def is_hit(p, page, *fields):
    before = page.count
    assert p.get(page.url, *fields).status == 200
    return page.count == before


def test_off_by_default(make_proxy, origin):
    p = make_proxy('')
    page = stored(p, origin)
    r = p.ask('PURGE', page.url)
    assert (r.status, r.get('X-Squid-Error')) == (403, 'ERR_ACCESS_DENIED 0')
    assert is_hit(p, page)


def test_access_lists_decide(make_proxy, origin):
    p = make_proxy('acl purge method PURGE\nacl other src 192.0.2.1\nhttp_access allow purge other\nhttp_access deny purge')
    page = stored(p, origin)
    assert p.ask('PURGE', page.url).status == 403
    assert is_hit(p, page)


@pytest.mark.parametrize('fields', [(), ('Purge-Mode: exact',), ('Purge-Mode: Exact',)])
def test_one_url_with_its_variants(purging, origin, fields):
    page = stored(purging, origin, 'Vary: Accept-Language')
    purging.get(page.url, 'Accept-Language: de')
    assert is_hit(purging, page, 'Accept-Language: de')
    assert purge(purging, page.url, *fields) == (200, 2)
    assert not is_hit(purging, page) and not is_hit(purging, page, 'Accept-Language: de')
    assert purging.codes(page.url, 6)[3] == 'TCP_MISS/200'


def test_nothing_there(purging, origin):
    assert purge(purging, origin.page(ok(b'x')).url) == (404, 0)


def test_it_never_reaches_the_origin(purging, origin):
    page = stored(purging, origin)
    purge(purging, page.url)
    assert page.count == 1


def test_by_prefix(purging, origin):
    a = [stored(purging, origin, name=f'pre/fix{i}-') for i in range(5)]
    b = stored(purging, origin, name='pre/other')
    assert purge(purging, f'http://{origin.authority}/pre/fix', 'Purge-Mode: prefix') == (200, 5)
    assert is_hit(purging, b)
    assert not any(is_hit(purging, page) for page in a)
    assert purge(purging, f'http://{origin.authority}/nothing', 'Purge-Mode: prefix') == (404, 0)
    assert purge(purging, f'http://{origin.authority}/', 'Purge-Mode: prefix')[1] >= 6
    assert purge(purging, 'http://other.test/', 'Purge-Mode: prefix') == (404, 0)


@pytest.mark.parametrize('field', ['Surrogate-Key: a b c', 'Cache-Tag: x,b, y', 'xkey: b', 'SURROGATE-KEY:  b '])
def test_by_tag(purging, origin, field):
    page, other = stored(purging, origin, field), stored(purging, origin, 'Surrogate-Key: bb B a')
    assert purge(purging, 'http://any.test/', 'Surrogate-Key: zz b') == (200, 1)
    assert not is_hit(purging, page) and is_hit(purging, other)


def test_one_variant_by_tag(purging, origin):
    page = origin.page(lambda x: ok(b'x', KEEP, 'Vary: X', f'Surrogate-Key: v{x.request.get("X")}'))
    for v in '123':
        purging.get(page.url, f'X: {v}')
    assert purge(purging, page.url, 'Surrogate-Key: v2') == (200, 1)
    assert is_hit(purging, page, 'X: 1') and is_hit(purging, page, 'X: 3') and not is_hit(purging, page, 'X: 2')
    assert purge(purging, page.url, 'Surrogate-Key: v3 v2 v1') == (200, 3)
    assert not is_hit(purging, page, 'X: 1')


@pytest.mark.parametrize('fields', [(), ('Purge-Mode: prefix',), ('Surrogate-Key: soft',)])
def test_soft_is_stale_and_can_be_validated(purging, origin, fields):
    page = origin.page(ok(b'x', KEEP, 'ETag: "1"', 'Surrogate-Key: soft'), message('HTTP/1.1 304 Not Modified', ['ETag: "1"', KEEP]))
    purging.get(page.url)
    assert is_hit(purging, page)
    assert purge(purging, page.url, 'Purge-Soft: 1', *fields) == (200, 1)
    assert not is_hit(purging, page)
    assert page.requests[1].get('If-None-Match') == '"1"'
    assert is_hit(purging, page)  # the validated one is fresh
    assert purging.codes(page.url, 5)[3] == 'TCP_REFRESH_UNMODIFIED/200'


def test_soft_still_serves_when_the_origin_is_gone(purging, origin):
    from origin import RESET
    page = origin.page(ok(b'old', KEEP, 'ETag: "1"'), [RESET])
    purging.get(page.url)
    purge(purging, page.url, 'Purge-Soft: 1')
    r = purging.get(page.url)
    assert (r.status, r.body) == (200, b'old')
    assert purging.codes(page.url, 3)[2] == 'TCP_REFRESH_FAIL_OLD/200'


@pytest.mark.parametrize('fields', [(), ('Purge-Mode: prefix',), ('Surrogate-Key: a',)])
def test_a_fetch_under_way_is_not_stored(purging, origin, fields):
    """I5: it may bring the old state."""
    go = threading.Event()
    page = origin.page([head(KEEP, 'Content-Length: 2', 'Surrogate-Key: a'), b'o', go, b'k'])
    with purging.connect() as c:
        c.send(request('GET', page.url))
        page.wait(1)
        purge(purging, page.url, *fields)
        go.set()
        assert c.response().body == b'ok'
    assert not is_hit(purging, page)
    assert is_hit(purging, page)


@pytest.mark.parametrize('fields', [('Purge-Mode: regex',), ('Purge-Mode: prefix', 'Surrogate-Key: a')])
def test_what_it_does_not_know(purging, origin, fields):
    page = stored(purging, origin)
    assert purging.ask('PURGE', page.url, *fields).status == 400
    assert is_hit(purging, page)


def test_thousands_by_prefix_while_hits_go_on(purging, origin):
    page = origin.page(ok(b'x', KEEP), name='many')
    for path in list(origin.pages):
        if origin.pages[path] is page:
            base = path
    with purging.connect() as c:
        for i in range(0, 3000, 50):
            c.send(b''.join(request('GET', f'{page.url}?{n}') for n in range(i, i + 50)))
            for _ in range(50):
                c.response()
    kept = stored(purging, origin)
    assert purge(purging, f'http://{origin.authority}{base}?', 'Purge-Mode: prefix') == (200, 3000)
    assert is_hit(purging, kept)
    assert soon(lambda: purge(purging, f'http://{origin.authority}{base}?', 'Purge-Mode: prefix') == (404, 0), 'none are left')


def test_in_a_reverse_proxy(make_proxy, origin):
    p = make_proxy(f'{ON}http_port 127.0.0.1:{{port}} accel vhost\ncache_peer 127.0.0.1 parent {origin.port} 0 originserver no-query')
    page = origin.page(ok(b'x', KEEP))
    with p.connect() as c:
        for method, status in (('GET', 200), ('GET', 200), ('PURGE', 200), ('PURGE', 404)):
            c.send(f'{method} {page.path} HTTP/1.1\r\nHost: site.test\r\n\r\n'.encode())
            assert c.response().status == status
    assert page.count == 1
