"""X-Cache and X-Cache-Lookup as Squid, Cache-Status (RFC 9211; caching-rules section 16), %Sr, and mgr:reasons."""
import re

import pytest

from client import request, soon
from origin import HANG, head, message, ok

KEEP = 'Cache-Control: max-age=600'
ON = 'cache_status on\n'


def x_cache(p, r):
    """Both, without the places, which must be ours."""
    cache, lookup = r.all('X-Cache')[-1], r.all('X-Cache-Lookup')[-1]
    assert cache.endswith(' from proxy.test') and lookup.endswith(f' from proxy.test:{p.port}')
    return cache.split()[0], lookup.split()[0]


@pytest.mark.parametrize('size', [1, 400_000])
def test_x_cache(proxy, origin, size):
    page = origin.page(ok(b'x' * size, KEEP, 'ETag: "1"'), message('HTTP/1.1 304 Not Modified', ['ETag: "1"', KEEP]))
    assert x_cache(proxy, proxy.get(page.url)) == ('MISS', 'MISS')
    assert x_cache(proxy, proxy.get(page.url)) == ('HIT', 'HIT')
    assert x_cache(proxy, proxy.get(page.url, 'If-None-Match: "1"')) == ('HIT', 'HIT')
    assert x_cache(proxy, proxy.get(page.url, 'Range: bytes=0-0')) == ('HIT', 'HIT')
    assert x_cache(proxy, proxy.get(page.url, 'Cache-Control: no-cache')) == ('HIT', 'HIT')
    assert x_cache(proxy, proxy.ask('POST', page.url, 'Content-Length: 0')) == ('MISS', 'NONE')


def test_x_cache_of_pages_made_here(proxy):
    assert x_cache(proxy, proxy.get('http://blocked.test/')) == ('MISS', 'NONE')
    assert x_cache(proxy, proxy.page('counters')) == ('MISS', 'NONE')


def test_off(make_proxy, origin):
    r = make_proxy('x_cache off').get(origin.page(ok(b'x')).url)
    assert r.get('X-Cache') is None and r.get('X-Cache-Lookup') is None and r.get('Cache-Status') is None


def test_cache_status_is_off_by_default(proxy, origin):
    assert proxy.get(origin.page(ok(b'x')).url).get('Cache-Status') is None


MEMBER = re.compile(r'"proxy\.test"(?P<parameters>(; [a-z-]+(=("[^"\\]*"|-?\d{1,15}|[a-z-]+))?)*)')


def status(r):
    """The parameters of our member, which is the last one and parses as a Structured Field."""
    m = MEMBER.fullmatch(r.all('Cache-Status')[-1])
    assert m, r.all('Cache-Status')
    values = {}
    for parameter in m.group('parameters').split('; ')[1:]:
        key, _, value = parameter.partition('=')
        values[key] = value.strip('"') or True
    return values


@pytest.fixture
def telling(make_proxy):
    return make_proxy(ON)


def test_k2_hits_and_misses(telling, origin):
    page = origin.page(ok(b'x', KEEP))
    assert status(telling.get(page.url)) == {'fwd': 'uri-miss', 'stored': True, 'detail': 'TCP_MISS: not stored'}
    s = status(telling.get(page.url))
    assert s.pop('detail') == 'TCP_MEM_HIT: fresh' and 598 <= int(s.pop('ttl')) <= 600 and s == {'hit': True}


def test_k2_a_large_hit(telling, origin):
    page = origin.page(ok(b'x' * 400_000, KEEP))
    telling.get(page.url)
    s = status(telling.get(page.url))
    assert s['hit'] is True and 598 <= int(s['ttl']) <= 600 and 'fwd' not in s


def test_k2_not_stored(telling, origin):
    assert status(telling.get(origin.page(ok(b'x', 'Cache-Control: no-store')).url)) == \
        {'fwd': 'uri-miss', 'detail': 'TCP_MISS: no-store'}


def test_k2_vary_miss(telling, origin):
    page = origin.page(ok(b'x', KEEP, 'Vary: X'))
    telling.get(page.url, 'X: 1')
    assert status(telling.get(page.url, 'X: 2'))['fwd'] == 'vary-miss'


def test_k2_stale_and_request(telling, origin):
    page = origin.page(ok(b'x', 'Cache-Control: max-age=0', 'ETag: "1"'), message('HTTP/1.1 304 Not Modified', ['ETag: "1"', KEEP]))
    telling.get(page.url)
    assert status(telling.get(page.url)) == {'fwd': 'stale', 'fwd-status': '304', 'detail': 'TCP_REFRESH_UNMODIFIED: validated'}
    assert status(telling.get(page.url, 'Cache-Control: no-cache'))['fwd'] == 'request'


def test_k2_method_and_bypass(make_proxy, origin):
    page = origin.page(ok(b'x', KEEP))
    p = make_proxy(f'{ON}acl no urlpath_regex ^{page.path}$\ncache deny no')
    assert status(p.get(page.url))['fwd'] == 'bypass'
    assert status(p.ask('POST', origin.page(ok(b'x')).url, 'Content-Length: 0'))['fwd'] == 'method'


def test_k2_collapsed(telling, origin):
    import threading
    go = threading.Event()
    page = origin.page([head(KEEP, 'Content-Length: 2'), b'o', go, b'k'])
    with telling.connect() as a, telling.connect() as b:
        a.send(request('GET', page.url))
        page.wait(1)
        b.send(request('GET', page.url))
        soon(lambda: len(b.sock.recv(100, 2)) > 50, 'it has joined')
        go.set()
        assert status(a.response()) == {'fwd': 'uri-miss', 'stored': True, 'detail': 'TCP_MISS: not stored'}
        s = status(b.response())
        assert s['collapsed'] is True and s['fwd'] == 'uri-miss'
    assert page.count == 1


def test_k1_those_of_others_stay_in_front_and_k4_ours_is_not_stored(telling, origin):
    page = origin.page(ok(b'x', KEEP, 'Cache-Status: other; hit'))
    for _ in range(3):
        members = telling.get(page.url).all('Cache-Status')
        assert members[0] == 'other; hit' and len(members) == 2


def test_pages_made_here_have_one_too(telling):
    assert status(telling.get('http://unknown.test/')) == {'detail': 'TCP_MISS'}


def test_the_reason_of_each_is_in_the_log_and_counted(make_proxy, origin):
    p = make_proxy('logformat why %ru %Ss %Sr\naccess_log stdio:{dir}/why.log why\naccess_log stdio:{dir}/access.log squid')
    page, private = origin.page(ok(b'x', KEEP)), origin.page(ok(b'x', 'Cache-Control: private'))
    p.get(page.url)
    p.get(page.url)
    p.get(page.url)
    p.get(private.url)
    lines = soon(lambda: p.read('why.log').count('\n') == 4 and p.read('why.log').splitlines(), 'four lines')
    assert sorted(lines) == sorted([f'{page.url} TCP_MISS not%20stored', f'{page.url} TCP_MEM_HIT fresh', f'{page.url} TCP_MEM_HIT fresh',
                                    f'{private.url} TCP_MISS private'])
    counted = dict(line.rsplit(' = ', 1) for line in p.page('reasons').body.decode().splitlines())
    assert (counted['fresh'], counted['not stored'], counted['private']) == ('2', '1', '1')
    assert 'reasons' in p.page('menu').body.decode()


RULES = 'acl bad urlpath_regex bad\nhttp_access deny bad\nhttp_access allow all\n'


@pytest.mark.parametrize('on', [False, True])
def test_x_access_line(make_proxy, origin, on):
    """On every answer: denials, hits and misses, small and large, pages of the proxy's own."""
    small, large = origin.page(ok(b'x', KEEP)), origin.page(ok(b'x' * 400_000, KEEP))
    p = make_proxy(RULES + ('x_access_line on\n' if on else ''))

    def line(r):
        field = r.get('X-Access-Line')
        assert field is None or field.startswith(p.conf + ':')
        return field and int(field[len(p.conf) + 1:])
    for page in (small, small, large, large):
        assert line(p.get(page.url)) == (3 if on else None)
    assert line(p.get(small.url, 'Range: bytes=0-0')) == (3 if on else None)
    assert line(p.get(small.url, 'Range: bytes=9-')) == (3 if on else None)
    assert line(p.get('http://origin.test/bad')) == (2 if on else None)
    assert line(p.get('http://no.such.name.invalid/')) == (3 if on else None)
    assert line(p.page('menu')) == (3 if on else None)
    with p.connect() as c:
        assert c.get('nonsense', 'Host: x').get('X-Access-Line') is None, 'no rule was asked'


def test_the_line_for_some_clients(make_proxy, origin):
    """What doc/decisions/006 says."""
    page = origin.page(ok(b'x', KEEP))
    p = make_proxy(RULES + 'acl admins src 127.0.0.7\nreply_header_add X-Access-Line "%Sl" admins\n')
    for url, n in ((page.url, 3), (page.url, 3), ('http://origin.test/bad', 2)):
        for source, seen in (('127.0.0.7', f'{p.conf}:{n}'), ('127.0.0.1', None)):
            with p.connect(source=source) as c:
                assert c.get(url).get('X-Access-Line') == seen
