"""Names: of the proxy itself (unique_hostname, hostname_aliases), and which ones hosts may have (check_hostnames)."""
import re

import pytest

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
