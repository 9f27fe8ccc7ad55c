"""What addresses are called: srcdomain, srcdom_regex, and dstdomain and dstdom_regex about a host that is an address."""
import json

import pytest

from client import Task, soon
from names import A, PTR, SERVFAIL, SILENCE, NameServer
from origin import ok

DENY_REST = 'http_access deny all\n'


@pytest.fixture
def server():
    s = NameServer(honest_test='127.0.0.5', victim_test='192.0.2.80', failing_test=SERVFAIL)
    s.called('127.0.0.5', ['honest.test'])
    s.called('127.0.0.6', ['victim.test'])  # it says so; victim.test's owner doesn't
    s.called('127.0.0.7', SERVFAIL)
    s.called('127.0.0.8', ['a b.test', '*', 'x' * 63 + '.test'])
    s.called('127.0.0.10', ['failing.test'])
    yield s
    s.close()


@pytest.fixture
def named(make_proxy, server):
    def make(conf, **options):
        return make_proxy(f'dns_nameservers {server.host}\nhosts_file none\nworkers 1\n{conf}', **options)
    return make


def status_from(p, client, url):
    with p.connect(source=client) as c:
        return c.get(url).status


@pytest.mark.parametrize('rules, wanted', [
    ('acl x srcdomain .honest.test\nhttp_access allow x\n' + DENY_REST, {'5': 200, '6': 403, '7': 403, '8': 403, '9': 403}),
    ('acl x srcdomain victim.test\nhttp_access allow x\n' + DENY_REST, {'5': 403, '6': 403, '9': 403}),
    ('acl x srcdomain victim.test\nhttp_access deny x\n', {'5': 200, '6': 403, '7': 200, '9': 200}),
    ('acl x srcdomain victim.test failing.test\nhttp_access allow !x\n' + DENY_REST, {'5': 200, '6': 403, '7': 200, '10': 403}),
    ('acl x srcdomain honest.test\nhttp_access deny !x\n', {'5': 200, '6': 403, '7': 403, '9': 403}),
    ('acl x srcdomain none\nhttp_access deny x\n', {'5': 200, '6': 403, '7': 403, '9': 403}),
    ('acl x srcdom_regex -i ^HONEST\nhttp_access allow x\n' + DENY_REST, {'5': 200, '6': 403, '8': 403, '9': 403}),
    ('acl x srcdom_regex ^none$\nhttp_access deny x\n', {'5': 200, '9': 403}),
])
def test_clients(named, origin, rules, wanted):
    page = origin.page(ok(b'x'))
    p = named(rules)
    got = {last: status_from(p, f'127.0.0.{last}', page.url) for last in wanted}
    assert got == wanted


@pytest.mark.parametrize('rules, wanted', [
    ('acl x dstdomain .honest.test\nhttp_access allow x\n' + DENY_REST, {'5': True, '6': False, '9': False}),
    ('acl x dstdomain .victim.test\nhttp_access allow x\n' + DENY_REST, {'6': False}),
    ('acl x dstdomain .victim.test\nhttp_access deny x\n', {'5': True, '6': False, '9': True}),
    ('acl x dstdomain -n .victim.test\nhttp_access deny x\n', {'6': True}),
    ('acl x dstdomain -n .honest.test\nhttp_access allow x\n' + DENY_REST, {'5': False}),
    ('acl x dstdom_regex honest\nhttp_access allow x\n' + DENY_REST, {'5': True, '6': False}),
    ('acl x dstdom_regex victim\nhttp_access deny x\n', {'5': True, '6': False}),
    ('acl x dstdom_regex -n victim\nhttp_access deny x\n', {'6': True}),
    ('acl x dstdomain .honest.test\nmiss_access deny x\n', {'5': False, '6': True}),
])
def test_addresses_as_hosts(named, origin, rules, wanted):
    """Nobody serves there: what is let through ends with 503."""
    p = named(rules)
    for last, passes in wanted.items():
        for method, target in (('GET', f'http://127.0.0.{last}:1/'), ('CONNECT', f'127.0.0.{last}:1')):
            with p.connect() as c:
                assert c.ask(method, target, *(['Host: x'] if method == 'CONNECT' else [])).status == (503 if passes else 403), \
                    (method, last)


def test_only_who_needs_to_know_asks(named, server, origin):
    page = origin.page(ok(b'x'))
    p = named('acl first method GET\nacl x dstdomain .honest.test\nacl n dstdomain -n .honest.test\n'
              'http_access deny n\nhttp_access allow first\nhttp_access deny x\n')
    assert p.get(page.url).status == 200
    assert p.ask('HEAD', f'http://no.such.test:{origin.port}/').status == 503
    assert server.times_asked(PTR) == 0
    assert p.ask('HEAD', 'http://127.0.0.5:1/').status == 403
    assert p.ask('HEAD', 'http://127.0.0.5:1/').status == 403
    assert server.times_asked(PTR) == 1, 'and it is kept'


def test_as_many_names_as_fqdncache_size(named, server, origin):
    page = origin.page(ok(b'x'))
    p = named('fqdncache_size 1\nacl x srcdomain .honest.test\nhttp_access deny x\n')
    for client in ('127.0.0.5', '127.0.0.5', '127.0.0.9', '127.0.0.5'):
        status_from(p, client, page.url)
    assert server.times_asked(PTR) == 3
    q = named('acl x srcdomain .honest.test\nhttp_access deny x\n')
    for client in ('127.0.0.5', '127.0.0.5', '127.0.0.9', '127.0.0.5'):
        status_from(q, client, page.url)
    assert server.times_asked(PTR) == 3 + 2


def test_who_waits_keeps_nobody_else_waiting(named, server, origin):
    page = origin.page(ok(b'x', 'Cache-Control: max-age=600'))
    server.called('127.0.0.11', SILENCE)
    p = named('dns_timeout 60 seconds\ndns_retransmit_interval 1 second\nacl x srcdomain .victim.test\nhttp_access deny x\n')
    assert status_from(p, '127.0.0.5', page.url) == 200
    slow = Task(status_from, p, '127.0.0.11', page.url)
    soon(lambda: ('11.0.0.127.in-addr.arpa', PTR) in server.asked, 'its name is asked for')
    assert status_from(p, '127.0.0.5', page.url) == 200
    soon(lambda: len(p.lines()) >= 2, 'two lines in access.log')
    assert [line.client for line in p.lines()] == ['127.0.0.5'] * 2, 'the slow one still waits'
    server.called('127.0.0.11', ['victim.test'])  # it is asked again
    assert slow.result() == 403


def test_a_client_that_leaves_meanwhile(named, server, origin):
    page = origin.page(ok(b'x'))
    server.called('127.0.0.11', SILENCE)
    p = named('dns_timeout 60 seconds\ndns_retransmit_interval 1 second\nacl x srcdomain .victim.test\nhttp_access deny x\n')
    with p.connect(source='127.0.0.11') as c:
        c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
        soon(lambda: ('11.0.0.127.in-addr.arpa', PTR) in server.asked, 'its name is asked for')
    server.called('127.0.0.11', ['victim.test'])
    assert status_from(p, '127.0.0.11', page.url) == 403, 'the answer to the first question, sent again'


def test_lists_that_cannot_wait_know_the_client(named, server, origin):
    page = origin.page(ok(b'x'))
    p = named('acl x srcdomain .honest.test\nhttp_reply_access deny x\n')
    assert status_from(p, '127.0.0.9', page.url) == 200
    assert status_from(p, '127.0.0.5', page.url) == 403
    assert ('honest.test', A) in server.asked


def test_a_forwarded_client_by_name(named, origin):
    page = origin.page(ok(b'x'))
    p = named('acl local src 127.0.0.1\nfollow_x_forwarded_for allow local\nacl x srcdomain .honest.test\nhttp_access deny x\n')
    assert p.get(page.url, 'X-Forwarded-For: 127.0.0.5').status == 403
    assert p.get(page.url, 'X-Forwarded-For: 127.0.0.9').status == 200
    q = named('acl x srcdomain localhost\nfollow_x_forwarded_for allow x\nacl far src 127.0.0.5\nhttp_access deny far\n')
    assert q.get(page.url, 'X-Forwarded-For: 127.0.0.5').status == 200, 'this list cannot wait, so it trusts nobody by name'


def test_the_hosts_file_answers_first(named, server, origin):
    page = origin.page(ok(b'x'))
    p = named('hosts_file {dir}/hosts\nacl x srcdomain .honest.test\nacl o dstdomain origin.test\n'
              'http_access deny x\nhttp_access allow o\n' + DENY_REST, start=False)
    p.write('hosts', '127.0.0.1 origin.test\n127.0.0.5 inner.test honest.test\n')
    p.configure(p.given.replace('hosts_file none\n', ''))
    p.start()
    assert status_from(p, '127.0.0.5', page.url) == 200, 'the first name, which is not on the list'
    assert server.times_asked(PTR) == 0


def test_check_access(named):
    p = named('hosts_file {dir}/hosts\nacl c srcdomain .inner.test\nacl x dstdomain .site.test\n'
              'http_access deny !c\nhttp_access allow x\n' + DENY_REST, start=False)
    p.write('hosts', '192.0.2.1 a.inner.test\n192.0.2.2 www.site.test\n')
    p.configure(p.given.replace('hosts_file none\n', ''))
    for host, client, allowed in [('192.0.2.2', '192.0.2.1', True), ('192.0.2.1', '192.0.2.1', False),
                                  ('192.0.2.2', '192.0.2.2', False)]:
        r = p.command('-k', 'check-access', 'GET', f'http://{host}/', client)
        assert r.returncode == (0 if allowed else 1), r.stdout
        told = json.loads(p.command('-k', 'check-access', 'GET', f'http://{host}/', client, '--json').stdout)
        assert told['verdict'] == ('allow' if allowed else 'deny')
    r = p.command('-k', 'check-access', 'GET', 'http://192.0.2.2/', '192.0.2.1')
    assert ', called a.inner.test, to what is called www.site.test\n' in r.stdout
