"""The lists that are asked after http_access: adapted_http_access, miss_access, collapsed_forwarding_access."""
import threading

from client import request
from origin import ok
from test_helpers import program

FRESH = 'Cache-Control: max-age=600'


def test_who_may_have_something_fetched(make_proxy, origin):
    page, other, stale = origin.page(ok(b'x', FRESH)), origin.page(ok(b'x', FRESH)), \
        origin.page(ok(b'x', 'Cache-Control: max-age=0', 'ETag: "a"'))
    p = make_proxy('acl local src 127.0.0.1\nmiss_access allow local\n')
    assert p.get(page.url).status == p.get(stale.url).status == 200
    with p.connect(source='127.0.0.9') as c:
        assert c.get(page.url).status == 200, 'a hit'
        for method, url in (('GET', other.url), ('GET', stale.url), ('POST', page.url)):
            r = c.ask(method, url)
            assert (r.status, r.get('X-Squid-Error')) == (403, 'ERR_FORWARDING_DENIED 0'), (method, url)
        assert c.ask('CONNECT', origin.authority, f'Host: {origin.authority}').status == 403
    assert (page.count, other.count, stale.count) == (1, 0, 1)
    assert p.codes(other.url) == ['TCP_DENIED/403']
    line = p.logged(origin.authority)[0]
    assert (line.what, line.hier) == ('TCP_DENIED/403', 'HIER_NONE/-')


def test_misses_by_address_and_page(make_proxy, origin):
    """An ACL that needs a look-up, and deny_info for the one that refused."""
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('acl near dst 127.0.0.0/8\nmiss_access deny near\nmiss_access allow all\n'
                   'deny_info 410:ERR_NO_RELAY near\n', hosts=('near.test',))
    r = p.get(f'http://near.test:{origin.port}{page.path}')
    assert (r.status, r.get('X-Squid-Error'), page.count) == (410, 'ERR_NO_RELAY 0', 0)


def test_rules_after_rewriting(make_proxy, origin):
    page, other = origin.page(ok(b'x', FRESH)), origin.page(ok(b'other', FRESH))
    p = make_proxy('acl first url_regex ' + page.path + '\nacl second url_regex ' + other.path + '\nhttp_access deny second\n'
                   'adapted_http_access deny first\n', start=False)
    p.configure(f'url_rewrite_program {program(p, REWRITER.format(page=page, other=other))}\n' + p.given)
    p.start()
    assert p.get(page.url).body == p.get(page.url).body == b'other', 'asked as the one, served as the other'
    assert p.get(other.url).status == 403
    p.configure(p.given.replace('adapted_http_access deny first', 'adapted_http_access deny second'))
    p.stop()
    p.start()
    r = p.get(page.url)
    assert (r.status, r.get('X-Squid-Error')) == (403, 'ERR_ACCESS_DENIED 0')
    assert (page.count, other.count) == (0, 1)


REWRITER = 'def answer(url, rest): return "OK rewrite-url={other.url}" if url == "{page.url}" else "ERR"'


def test_another_place_is_no_matter_of_http_access(make_proxy, origin):
    """http_access is about what the client asks for, addresses included; adapted_http_access about where it goes then."""
    page = origin.page(ok(b'x', FRESH))
    rules = 'acl here dst 127.0.0.1\nhttp_access deny here\nhttp_access allow all\n'
    p = make_proxy(rules, start=False)
    p.write('hosts', p.read('hosts') + '127.0.0.9 asked.test\n')
    body = f'def answer(url, rest): return "OK rewrite-url={page.url}" if "asked" in url else "ERR"'
    p.configure(f'url_rewrite_program {program(p, body)}\n{rules}')
    p.start()
    assert [p.get(url).status for url in (page.url, f'http://asked.test:{origin.port}/')] == [403, 200]
    p.stop()
    p.configure(p.given + 'adapted_http_access deny here\n')
    p.start()
    assert p.get(f'http://asked.test:{origin.port}/').status == 403
    assert page.count == 1


def test_it_is_asked_where_nothing_rewrites(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('acl heads method HEAD\nadapted_http_access deny heads\n')
    assert [p.ask(m, page.url).status for m in ('GET', 'GET', 'HEAD')] == [200, 200, 403]
    assert p.codes(page.url, 3) == ['TCP_MISS/200', 'TCP_MEM_HIT/200', 'TCP_DENIED/403']


def test_who_waits_for_others(make_proxy, origin):
    go = threading.Event()
    page = origin.page([go, ok(b'x', FRESH)])
    p = make_proxy('acl alone src 127.0.0.9\ncollapsed_forwarding_access deny alone\n')
    clients = [p.connect(), p.connect(), p.connect(source='127.0.0.9'), p.connect(source='127.0.0.9')]
    clients[0].send(request('GET', page.url))
    page.wait(1)
    for c in clients[1:]:
        c.send(request('GET', page.url))
    page.wait(3)
    clients[1].wait_read()
    go.set()
    for c in clients:
        assert c.response().body == b'x'
        c.close()
    assert page.count == 3
    assert sorted(p.codes(page.url, 4)) == ['TCP_CF_HIT/200'] + ['TCP_MISS/200'] * 3
