"""Reverse proxy: http_port accel in front of a cache_peer originserver."""
import pytest

from client import Client, request
from origin import HANG, Origin, ok
from proxy import free_port

FRESH = 'Cache-Control: max-age=600'


def accel(make_proxy, origin, port_options='defaultsite=site.test', conf=''):
    return make_proxy(f'http_port 127.0.0.1:{{port}} accel {port_options}\n'
                      f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver name=web\n{conf}')


def ask(p, path, *fields, method='GET', version='HTTP/1.1', body=b''):
    with p.connect() as c:
        return c.ask(method, path, *fields, version=version, body=body)


def test_miss_and_hit(make_proxy, origin):
    page = origin.page(ok(b'site', FRESH))
    p = accel(make_proxy, origin)
    with p.connect() as c:
        for _ in range(2):
            assert c.get(page.path, 'Host: site.test').body == b'site'
    r = page.requests[0]
    assert (page.count, r.target, r.get('Host')) == (1, page.path, 'site.test')
    miss, hit = p.logged(f'http://site.test{page.path}', 2)
    assert (miss.what, miss.hier) == ('TCP_MISS/200', 'FIRSTUP_PARENT/127.0.0.1')
    assert (hit.what, hit.hier) == ('TCP_MEM_HIT/200', 'HIER_NONE/-')


@pytest.mark.parametrize('options, host, site', [
    ('defaultsite=site.test', 'other.test', 'other.test'),
    ('defaultsite=site.test no-vhost', 'other.test', 'site.test'),
    ('vhost', 'other.test', 'other.test'),
    ('vhost', 'other.test:8080', 'other.test:8080'),
    ('defaultsite=site.test:8080 no-vhost', 'other.test', 'site.test:8080'),
])
def test_which_site(make_proxy, origin, options, host, site):
    page = origin.page(ok(b'x'))
    p = accel(make_proxy, origin, options)
    assert ask(p, page.path, f'Host: {host}').status == 200
    assert page.requests[0].get('Host') == site
    p.logged(f'http://{site}{page.path}')


def test_http_1_0_without_host_gets_the_default_site(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = accel(make_proxy, origin)
    assert ask(p, page.path, version='HTTP/1.0').body == b'x'
    assert page.requests[0].get('Host') == 'site.test'


def test_http_1_0_without_host_and_without_default_site(make_proxy, origin):
    p = accel(make_proxy, origin, 'vhost')
    assert ask(p, '/x', version='HTTP/1.0').status == 400


def test_sites_are_kept_apart(make_proxy, origin):
    page = origin.page(lambda x: ok(x.request.get('Host').encode(), FRESH))
    p = accel(make_proxy, origin)
    for _ in range(2):
        for site in ('one.test', 'two.test'):
            assert ask(p, page.path, f'Host: {site}').body == site.encode()
    assert page.count == 2


def test_absolute_form_wins_over_host(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = accel(make_proxy, origin)
    assert ask(p, f'http://abs.test{page.path}', 'Host: other.test').status == 200
    assert page.requests[0].get('Host') == 'abs.test'
    assert page.requests[0].target == page.path


def test_the_host_never_chooses_the_address(make_proxy, origin):
    """SSRF: whatever the client names, the peer is asked."""
    elsewhere = Origin()
    try:
        secret = elsewhere.page(ok(b'secret'))
        p = accel(make_proxy, origin)
        r = ask(p, secret.path, f'Host: {elsewhere.authority}')
        assert (r.status, secret.count) == (404, 0)
        assert ask(p, secret.url, f'Host: {elsewhere.authority}').status == 404
    finally:
        elsewhere.close()


def test_connect_is_refused(make_proxy, origin):
    p = accel(make_proxy, origin)
    assert ask(p, f'127.0.0.1:{origin.port}', 'Host: x', method='CONNECT').status in (400, 403, 405)


def test_posts_pass(make_proxy, origin):
    page = origin.page(ok(b'posted'))
    p = accel(make_proxy, origin)
    assert ask(p, page.path, 'Host: site.test', 'Content-Length: 4', method='POST', body=b'data').body == b'posted'
    assert page.requests[0].body == b'data'


def test_the_manager_s_path_is_the_site_s(make_proxy, origin):
    """M02: the path alone doesn't open the manager on an accelerator port."""
    p = accel(make_proxy, origin)
    r = ask(p, '/squid-internal-mgr/counters', 'Host: site.test')
    assert r.status == 404 and b'client_http' not in r.body


def test_the_second_peer_serves_when_the_first_is_down(make_proxy, origin):
    page = origin.page(ok(b'second'))
    p = make_proxy('http_port 127.0.0.1:{port} accel defaultsite=site.test\n'
                   f'cache_peer 127.0.0.1 parent {free_port()} 0 no-query originserver name=dead\n'
                   f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver name=web')
    assert ask(p, page.path, 'Host: site.test').body == b'second'
    assert p.logged(f'http://site.test{page.path}')[0].hier == 'FIRSTUP_PARENT/127.0.0.1'


def test_all_peers_down(make_proxy):
    p = make_proxy('http_port 127.0.0.1:{port} accel defaultsite=site.test\n'
                   f'cache_peer 127.0.0.1 parent {free_port()} 0 no-query originserver')
    r = ask(p, '/x', 'Host: site.test')
    assert (r.status, r.get('X-Squid-Error').split()[0]) == (503, 'ERR_CONNECT_FAIL')


def test_cache_peer_access_chooses(make_proxy, origin):
    other = Origin()
    try:
        here, there = origin.page(ok(b'one')), other.page(ok(b'two'))
        p = make_proxy('http_port 127.0.0.1:{port} accel vhost\n'
                       f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver name=one\n'
                       f'cache_peer 127.0.0.1 parent {other.port} 0 no-query originserver name=two\n'
                       'acl site2 dstdomain two.test\n'
                       'cache_peer_access two allow site2\ncache_peer_access two deny all\n'
                       'cache_peer_access one deny site2\ncache_peer_access one allow all')
        assert ask(p, here.path, 'Host: one.test').body == b'one'
        assert ask(p, there.path, 'Host: two.test').body == b'two'
    finally:
        other.close()


def test_round_robin(make_proxy, origin):
    other = Origin()
    try:
        p = make_proxy('http_port 127.0.0.1:{port} accel vhost\nworkers 1\n'
                       f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver round-robin name=one\n'
                       f'cache_peer 127.0.0.1 parent {other.port} 0 no-query originserver round-robin name=two')
        one, two = origin.page(ok(b'one')), other.page(ok(b'two'))
        other.pages[one.path], origin.pages[two.path] = two, one
        two.path, origin.pages[one.path], other.pages[one.path] = one.path, one, two
        for i in range(4):
            assert ask(p, f'{one.path}?{i}', 'Host: x.test').status == 200
        assert (one.count, two.count) == (2, 2)
        assert {line.hier for line in p.lines()} == {'ROUNDROBIN_PARENT/127.0.0.1'}
    finally:
        other.close()


def test_a_parent_proxy(make_proxy, origin):
    page = origin.page(ok(b'through two', FRESH))
    parent = make_proxy('visible_hostname parent.test')
    p = make_proxy(f'cache_peer 127.0.0.1 parent {parent.port} 0 no-query\nnever_direct allow all')
    assert p.get(page.url).body == b'through two'
    assert [v.split()[1] for v in ', '.join(page.requests[0].all('Via')).split(', ')] == ['proxy.test', 'parent.test']
    assert p.logged(page.url)[0].hier == 'FIRSTUP_PARENT/127.0.0.1'
    assert parent.logged(page.url)[0].hier == 'HIER_DIRECT/127.0.0.1'


def test_peer_login(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('http_port 127.0.0.1:{port} accel defaultsite=site.test\n'
                   f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver login=user:pass')
    assert ask(p, page.path, 'Host: site.test').status == 200
    assert page.requests[0].get('Authorization') == 'Basic dXNlcjpwYXNz'


def test_forward_and_accel_ports_side_by_side(make_proxy, origin):
    page = origin.page(ok(b'both', FRESH))
    second = free_port()
    p = make_proxy('http_port 127.0.0.1:{port}\n'
                   f'http_port 127.0.0.1:{second} accel defaultsite={origin.authority} no-vhost\n'
                   f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver')
    assert p.get(page.url).body == b'both'
    with Client(second) as c:
        assert c.get(page.path, 'Host: x').body == b'both'
    assert page.count == 1, 'one URL, one stored response'
    line = p.logged(page.url, 2)[0]
    assert line.hier == 'HIER_DIRECT/127.0.0.1', 'an origin server is not a parent of the forward proxy'


def test_ignored_reload_of_visitors(make_proxy, origin):
    """ignore-cc: visitors' Cache-Control doesn't reach past the cache."""
    page = origin.page(ok(b'x', FRESH))
    p = accel(make_proxy, origin, 'defaultsite=site.test ignore-cc')
    for _ in range(3):
        assert ask(p, page.path, 'Host: site.test', 'Cache-Control: no-cache').status == 200
    assert page.count == 1


def test_hanging_peer_does_not_stop_the_port(make_proxy, origin):
    hang, quick = origin.page([HANG]), origin.page(ok(b'quick'))
    p = accel(make_proxy, origin)
    with p.connect() as c:
        c.send(request('GET', hang.path, 'Host: site.test'))
        hang.wait(1)
        for _ in range(4):
            assert ask(p, quick.path, 'Host: site.test').body == b'quick'
        c.reset()
