"""Caching rules K: Cache-Status (RFC 9211)."""
from rows import ETAG, FRESH, SPENT, validating


def test_k1_off_by_default(proxy, origin):
    page = origin.page(validating(FRESH, 'Cache-Status: other; hit'))
    with proxy.connect() as c:
        for _ in range(2):
            assert c.get(page.url).all('Cache-Status') == ['other; hit']


def test_k1_a_member_behind_the_others(make_proxy, origin):
    page = origin.page(validating(FRESH, 'Cache-Status: other; hit'))
    p = make_proxy('cache_status on')
    with p.connect() as c:
        for _ in range(2):
            members = ', '.join(c.get(page.url).all('Cache-Status')).split(', ')
            assert members[0] == 'other; hit' and len(members) == 2
            assert members[1].startswith(('proxy.test;', '"proxy.test";'))


def test_k2_hit_or_forwarded(make_proxy, origin):
    page, spent = origin.page(validating(FRESH)), origin.page(validating(*SPENT, ETAG))
    varied = origin.page(validating(FRESH, 'Vary: Foo'))
    p = make_proxy('cache_status on')

    def status(url, *fields, method='GET'):
        parts = [x.strip() for x in c.ask(method, url, *fields).get('Cache-Status').split(';')]
        return parts[1:]
    with p.connect() as c:
        assert 'fwd=uri-miss' in status(page.url) and 'hit' in status(page.url)
        assert any(x.startswith('ttl=') and 590 < int(x[4:]) <= 600 for x in status(page.url))
        status(spent.url)
        assert 'fwd=stale' in status(spent.url)
        assert 'fwd=request' in status(page.url, 'Cache-Control: no-cache')
        assert 'fwd=method' in status(page.url, 'Content-Length: 0', method='POST')
        status(varied.url, 'Foo: 1')
        assert 'fwd=vary-miss' in status(varied.url, 'Foo: 2')
        first = status(origin.page(validating(FRESH)).url)
        assert 'stored' in first and 'hit' not in first


def test_k3_syntax(make_proxy, origin):
    page = origin.page(validating(FRESH))
    p = make_proxy('cache_status on\nvisible_hostname 9.test')
    with p.connect() as c:
        for _ in range(2):
            value = c.get(page.url).get('Cache-Status')
            assert value.startswith('"9.test"'), 'no token begins with a digit'


def test_k4_not_stored(make_proxy, origin):
    page = origin.page(validating(FRESH))
    p = make_proxy('cache_status on')
    with p.connect() as c:
        c.get(page.url)
        second, third = c.get(page.url).all('Cache-Status'), c.get(page.url).all('Cache-Status')
    assert len(second) == len(third) == 1 and 'fwd' not in third[0]
