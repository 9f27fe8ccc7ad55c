"""Names: of the proxy itself (unique_hostname, hostname_aliases), and which ones hosts may have (check_hostnames)."""
import re

import pytest

from client import soon
from origin import ok
from proxy import NAME


def test_the_name_in_via(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('unique_hostname inner.test\n')
    r = p.get(page.url, f'Via: 1.1 {NAME} (loligo/0.1)')
    assert r.status == 200, 'another one of the same visible_hostname'
    assert re.search(r', 1\.1 inner\.test \(loligo', ', '.join(['', *page.requests[0].all('Via')]))
    assert re.match(r'1\.1 inner\.test \(loligo', r.get('Via'))
    r = p.get(page.url, 'Via: 1.1 inner.test (loligo/0.1)')
    assert (r.status, r.get('X-Squid-Error')) == (403, 'ERR_ACCESS_DENIED 0'), 'a loop'
    assert page.count == 1


def test_other_names_of_the_proxy(make_proxy):
    p = make_proxy('hostname_aliases first.test second.test\n', hosts=('third.test',))
    for host, status in [(NAME, 200), ('first.test', 200), ('SECOND.test.', 200), ('second.tes', 503), ('third.test', 403)]:
        r = p.get(f'http://{host}:{p.port}/squid-internal-mgr/menu')
        assert r.status == status, host
    assert p.get(f'http://first.test:{p.port + 1}/squid-internal-mgr/menu').status == 503, "another port's page"


PROPER = ['origin.test', 'ORIGIN.test.', '127.0.0.1']
IMPROPER = ['or!gin.test', "o'rigin.test", 'or~igin.test', 'a' * 64 + '.test', 'origin.' + '.'.join(['x' * 60] * 5)]


@pytest.mark.parametrize('conf, good, bad', [
    ('', PROPER + ['under_score.test'], IMPROPER),
    ('check_hostnames on\n', PROPER + ['under_score.test'], IMPROPER),
    ('check_hostnames on\nallow_underscore off\n', PROPER, IMPROPER + ['under_score.test']),
    ('allow_underscore off\n', PROPER + ['under_score.test'], IMPROPER)])
def test_host_names(make_proxy, origin, conf, good, bad):
    page = origin.page(ok(b'x'))
    p = make_proxy(conf, hosts=('under_score.test',))
    for hosts, statuses in ((good, (200, 200)), (bad, (400, 400))):
        for host in hosts:
            place = f'{host}:{origin.port}'
            assert p.get(f'http://{place}{page.path}').status == statuses[0], host
            with p.connect() as c:
                assert c.ask('CONNECT', place, f'Host: {place}').status == statuses[1], host


@pytest.mark.parametrize('strict', [False, True])
def test_host_verify_strict(make_proxy, origin, strict):
    page = origin.page(ok(b'x'))
    p = make_proxy('host_verify_strict on\n' if strict else '', hosts=('other.test',))
    port, place = origin.port, f'origin.test:{origin.port}'

    def statuses(host):
        with p.connect() as c:
            get = c.get(f'http://{place}{page.path}', f'Host: {host}')
        with p.connect() as c:
            connect = c.ask('CONNECT', place, f'Host: {host}')
        for r in (get, connect):
            assert r.status != 409 or r.get('X-Squid-Error').split()[0] == 'ERR_CONFLICT_HOST'
        if get.status == 200:
            assert page.requests[-1].get('Host') == place, 'the URL counts'
        return get.status, connect.status
    for host in (place, f'ORIGIN.test:{port}', f'origin.test.:{port}'):
        assert statuses(host) == (200, 200), host
    for host in (f'other.test:{port}', f'origin.test:{port - 1}', f'127.0.0.1:{port}', f'[::1]:{port}', 'other.test'):
        assert statuses(host) == ((409, 409) if strict else (200, 200)), host
    assert statuses('origin.test') == ((409, 200) if strict else (200, 200)), 'a tunnel has no port of its own'
    with p.connect() as c:
        c.send(f'GET http://{place}{page.path} HTTP/1.0\r\n\r\n'.encode())
        assert c.response().status == 200, 'without Host'
    if strict:
        line = soon(lambda: [x for x in p.lines() if x.status == '409'], p.read('access.log'))[0]
        assert (line.code, line.hier) == ('NONE_NONE', 'HIER_NONE/-')


def test_host_verify_strict_has_nothing_to_say_about_paths(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('http_port 127.0.0.1:{port} accel defaultsite=www.site.test no-vhost\nhost_verify_strict on\n'
                   f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver\n')
    assert p.get(page.path, 'Host: anything.test').status == 200
    assert p.get(f'http://www.site.test{page.path}', 'Host: anything.test').status == 409
    assert page.count == 1
