"""Switches with one effect each."""
from origin import not_modified, ok

FRESH = 'Cache-Control: max-age=600'


def test_refresh_all_ims(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH, 'ETag: "a"'), not_modified('ETag: "a"', FRESH))
    p = make_proxy('refresh_all_ims on\n')
    assert [p.get(page.url).status for _ in range(2)] == [200, 200]
    assert page.count == 1, 'without a condition a hit is a hit'
    assert p.get(page.url, 'If-None-Match: "a"').status == 304
    assert page.requests[1].get('If-None-Match') == '"a"'
    assert p.codes(page.url, 3) == ['TCP_MISS/200', 'TCP_MEM_HIT/200', 'TCP_REFRESH_UNMODIFIED/304']


def test_conditions_of_a_miss(make_proxy, origin):
    def answer(exchange):
        return not_modified('ETag: "a"') if exchange.request.get('If-None-Match') else ok(b'whole', FRESH, 'ETag: "a"')
    for conf, status, count in (('', 304, 2), ('cache_miss_revalidate off\n', 200, 1)):
        page = origin.page(answer)
        p = make_proxy(conf)
        assert p.get(page.url, 'If-None-Match: "a"').status == status
        assert p.get(page.url).body == b'whole'
        assert page.count == count, 'off: the first one filled the cache'
    assert p.get(page.url, 'If-None-Match: "a"').status == 304, 'from here'
    for field in ('If-Match: "a"', 'Range: bytes=1-2'):
        page = origin.page(ok(b'whole'))
        p.get(page.url, 'If-None-Match: "b"', field)
        assert page.requests[0].get('If-None-Match') == '"b"', 'other conditions go on together'


def test_bodies_of_get(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    for conf, statuses in (('', [200, 200, 200]), ('request_entities off\n', [400, 400, 200])):
        p = make_proxy(conf)
        got = [p.ask(method, page.url, 'Content-Length: 3', body=b'abc').status for method in ('GET', 'HEAD', 'POST')]
        assert got == statuses
        assert p.get(page.url, 'Content-Length: 0').status == 200


def test_connections_after_errors(make_proxy, origin):
    good = origin.page(ok(b'x'))
    missing = origin.page(ok(b'x', FRESH, status='404 Not Found'))
    for conf, stays in (('', True), ('persistent_connection_after_error off\n', False)):
        p = make_proxy(conf + 'acl no urlpath_regex ^/no\nhttp_access deny no\n')
        denied = f'http://{origin.authority}/no'
        for url in (missing.url, missing.url, denied):
            with p.connect() as c:
                assert c.get(good.url).status == 200
                r = c.get(url)
                assert r.status in (403, 404)
                assert (not r.lists('Connection', 'close'), not stays or c.is_open()) == (stays, True), (conf, url)
                assert stays or c.is_closed()
    assert missing.count == 2, 'the second time it was a hit'
