"""cache_peer: who is asked, how many connections, and what becomes of one that doesn't answer."""
import contextlib
import socket
import threading
from base64 import b64encode
from collections import Counter

import pytest

from client import Task, request, soon
from origin import HANG, Origin, message, ok
from proxy import free_port
from test_auth import HASHES
from test_intermediary import UPGRADE, echo_once


class Parent(Origin):
    """Answers everything, and keeps it."""

    def __init__(self, body, script=None, **at):
        super().__init__(**at)
        self.one = self.page(*(script or [ok(body, 'Cache-Control: no-store')]))
        self.pages = self

    def get(self, _):
        return self.one

    def line(self, options=''):
        return f'cache_peer 127.0.0.1 parent {self.port} 0 no-query {options}\n'


@pytest.fixture
def parents():
    made = []

    def make(*bodies, script=None):
        made.extend(Parent(b, script) for b in bodies)
        return made[-len(bodies):]
    yield make
    for p in made:
        with contextlib.suppress(OSError):
            p.close()


NEVER = 'never_direct allow all\n'


def bodies(p, urls, *fields):
    with p.connect() as c:
        return [c.get(u, *fields).body for u in urls]


URLS = [f'http://site{i}.test/page{i}?q={i}' for i in range(40)]


# --- who is asked

def test_carp_spreads_by_url(make_proxy, parents):
    """Always the same parent for a URL, by any worker, in the order the published hash gives."""
    a, b, c = parents(b'a', b'b', b'c')
    p = make_proxy(a.line('name=proxy1 carp') + b.line('name=proxy2 carp') + c.line('name=proxy3 carp') + NEVER)
    got = bodies(p, URLS)
    assert bodies(p, URLS) == got and set(got) == {b'a', b'b', b'c'}
    assert bodies(p, ['http://a.example/', 'http://b.example/x']) == [b'c', b'a'], 'as worked out by hand: test_carp.c'
    assert p.logged('http://a.example/')[0].hier == 'CARP/127.0.0.1'


def test_carp_weights(make_proxy, parents):
    a, b = parents(b'a', b'b')
    p = make_proxy(a.line('name=a carp weight=9') + b.line('name=b carp') + NEVER)
    got = Counter(bodies(p, [f'http://s.test/{i}' for i in range(200)]))
    assert got[b'a'] > 150 and got[b'b'] > 2


def test_carp_key(make_proxy, parents):
    a, b = parents(b'a', b'b')
    p = make_proxy(a.line('name=a carp carp-key=host') + b.line('name=b carp carp-key=host') + NEVER)
    by_host = [set(bodies(p, [f'http://site{h}.test/{i}' for i in range(10)])) for h in range(12)]
    assert all(len(s) == 1 for s in by_host) and len(set.union(*by_host)) == 2


def test_sourcehash(make_proxy, parents):
    a, b = parents(b'a', b'b')
    p = make_proxy(a.line('name=a sourcehash') + b.line('name=b sourcehash') + NEVER)
    got = set()
    for i in range(1, 13):
        with p.connect(source=f'127.0.0.{i}') as c:
            mine = {c.get(u).body for u in URLS[:5]}
            assert len(mine) == 1
            got |= mine
    assert got == {b'a', b'b'}
    assert {line.hier[:17] for line in p.lines()} == {'SOURCEHASH_PARENT'}


def test_userhash(make_proxy, parents):
    a, b = parents(b'a', b'b')
    p = make_proxy(a.line('name=a userhash') + b.line('name=b userhash') + NEVER + 'auth_param basic file {dir}/users\n'
                   'acl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all\n', start=False)
    names = [f'user{i}' for i in range(12)]
    p.write('users', ''.join(f'{n}:{HASHES["bob"]}\n' for n in names))
    p.start()
    got = set()
    for n in names:
        mine = set(bodies(p, URLS[:3], 'Proxy-Authorization: Basic ' + b64encode(f'{n}:secret'.encode()).decode()))
        assert len(mine) == 1
        got |= mine
    assert got == {b'a', b'b'}
    assert {line.hier for line in p.lines() if line.what != 'TCP_DENIED/407'} == {'USERHASH_PARENT/127.0.0.1'}


def test_round_robin_weights(make_proxy, parents):
    a, b = parents(b'a', b'b')
    p = make_proxy('workers 1\n' + a.line('name=a round-robin weight=3') + b.line('name=b weighted-round-robin') + NEVER)
    assert bodies(p, URLS[:8]) == [b'a', b'a', b'a', b'b'] * 2


def test_default_comes_last(make_proxy, parents):
    a, b = parents(b'a', b'b')
    p = make_proxy(a.line('name=a default') + b.line('name=b') + 'acl a dstdomain only.a.test\ncache_peer_access b deny a\n' + NEVER)
    assert bodies(p, ['http://x.test/', 'http://only.a.test/']) == [b'b', b'a']
    assert [p.logged(u)[0].hier for u in ('http://x.test/', 'http://only.a.test/')] == ['FIRSTUP_PARENT/127.0.0.1', 'DEFAULT_PARENT/127.0.0.1']


@pytest.mark.parametrize('conf, first', [('', b'parent'), ('prefer_direct on\n', b'origin')])
def test_prefer_direct(make_proxy, parents, origin, conf, first):
    page = origin.page(ok(b'origin'))
    p = make_proxy(parents(b'parent')[0].line() + conf)
    assert p.get(page.url).body == first


@pytest.mark.parametrize('conf, first', [('', b'origin'), ('nonhierarchical_direct off\n', b'parent')])
def test_nonhierarchical_direct(make_proxy, parents, origin, conf, first):
    page = origin.page(ok(b'origin'))
    p = make_proxy(parents(b'parent')[0].line() + conf)
    assert p.ask('POST', page.url, 'Content-Length: 0').body == first
    assert p.get(page.url).body == b'parent'


# --- logins

def credentials(parent):
    return parent.one.requests[-1].get('Proxy-Authorization')


@pytest.mark.parametrize('login, sent', [('me:secret', 'Basic ' + b64encode(b'me:secret').decode()), ('PASS', 'Basic eHh4'), ('PASSTHRU', 'Basic eHh4')])
def test_login(make_proxy, parents, login, sent):
    parent, = parents(b'x')
    p = make_proxy(parent.line(f'login={login}') + NEVER)
    p.get('http://x.test/', 'Proxy-Authorization: Basic eHh4')
    assert credentials(parent) == sent
    q = make_proxy(parent.line() + NEVER)
    q.get('http://x.test/', 'Proxy-Authorization: Basic eHh4')
    assert credentials(parent) is None


def test_login_with_the_users_name(make_proxy, parents):
    parent, = parents(b'x')
    p = make_proxy(parent.line('login=*:fixed') + NEVER + 'auth_param basic file {dir}/users\nacl known proxy_auth REQUIRED\n'
                   'http_access allow known\nhttp_access deny all\n', start=False)
    p.write('users', f'bob:{HASHES["bob"]}\n')
    p.start()
    p.get('http://x.test/', 'Proxy-Authorization: Basic ' + b64encode(b'bob:secret').decode())
    assert credentials(parent) == 'Basic ' + b64encode(b'bob:fixed').decode()


def test_a_parents_challenge_passes(make_proxy, parents):
    """With login=PASS the client answers it."""
    challenge = message('HTTP/1.1 407 Who?', ['Content-Length: 0', 'Proxy-Authenticate: Basic realm="up"'])
    parent, = parents(b'', script=[challenge])
    p = make_proxy(parent.line('login=PASS') + NEVER)
    r = p.get('http://x.test/')
    assert (r.status, r.get('Proxy-Authenticate')) == (407, 'Basic realm="up"')
    q = make_proxy(parent.line() + NEVER)
    assert q.get('http://x.test/').get('Proxy-Authenticate') is None


# --- how many, and whether it answers

def test_max_conn(make_proxy, parents, origin):
    parent, other = parents(b'x', script=[HANG])[0], parents(b'other')[0]
    p = make_proxy(parent.line('name=a max-conn=2') + other.line('name=b default') + NEVER)
    tasks = [Task(p.get, f'http://x.test/{i}') for i in range(2)]
    parent.one.wait(2)
    assert p.get('http://x.test/3').body == b'other'
    assert parent.one.count == 2
    parent.close()
    for t in tasks:
        t.result()


def test_max_conn_alone(make_proxy, parents):
    parent, = parents(b'x', script=[HANG])
    p = make_proxy(parent.line('max-conn=1') + NEVER)
    task = Task(p.get, 'http://x.test/1')
    parent.one.wait(1)
    r = p.get('http://x.test/2')
    assert (r.status, r.get('X-Squid-Error').split()[0]) == (503, 'ERR_CANNOT_FORWARD')
    parent.close()
    task.result()


def test_max_conn_counts_what_rests(make_proxy, parents):
    """One connection serves one after the other."""
    parent, = parents(b'x')
    p = make_proxy('workers 1\n' + parent.line('max-conn=1') + NEVER)
    assert bodies(p, URLS[:5]) == [b'x'] * 5
    assert {r.connection for r in parent.one.requests} == {1}


def test_max_conn_with_several_workers(make_proxy, parents):
    """What rests on one of them doesn't keep the others from going there."""
    parent, = parents(b'x')
    p = make_proxy('workers 4\n' + parent.line('max-conn=2') + NEVER)
    for n in range(30):
        assert p.get(f'http://x.test/{n}').body == b'x'


def test_a_dead_parent_is_left_alone_and_revives(make_proxy, parents):
    port = free_port()
    b, = parents(b'b')
    p = make_proxy('workers 1\n' + f'cache_peer 127.0.0.1 parent {port} 0 no-query name=a connect-fail-limit=2\n' +
                   b.line('name=b default') + NEVER + 'dead_peer_timeout 1 second\n')
    assert bodies(p, URLS[:4]) == [b'b'] * 4
    p.wait_cache_log('Detected DEAD Parent: a')
    a = Parent(b'a')
    a.listener.close()
    a.listener = socket.create_server(('127.0.0.1', port))
    threading.Thread(target=a.accept, daemon=True).start()
    soon(lambda: p.get('http://x.test/').body == b'a', 'it is asked again')
    p.wait_cache_log('Detected REVIVED Parent: a')
    a.close()


def test_all_dead(make_proxy, origin):
    page = origin.page(ok(b'origin'))
    peer = f'cache_peer 127.0.0.1 parent {free_port()} 0 no-query connect-fail-limit=1\n'
    p = make_proxy('workers 1\n' + peer + 'acl far dstdomain far.test\nnever_direct allow far\n')
    assert p.get(page.url).body == b'origin'
    r = p.get('http://far.test/')
    assert (r.status, r.get('X-Squid-Error').split()[0]) == (503, 'ERR_CANNOT_FORWARD')


def test_standby(make_proxy, parents):
    parent, = parents(b'x')
    p = make_proxy(parent.line('standby=3') + NEVER)
    soon(lambda: len(parent.connections) == 3, 'three are kept ready')
    assert parent.one.count == 0
    assert p.get('http://x.test/').body == b'x'
    assert len(parent.connections) == 3, 'one of them was used'


def test_connect_through_a_parent(make_proxy, origin):
    page = origin.page(ok(b'x'))
    up = make_proxy('visible_hostname up.test')
    p = make_proxy(f'cache_peer 127.0.0.1 parent {up.port} 0 no-query carp max-conn=1\n{NEVER}acl SSL_ports port {origin.port}\n')
    with p.connect() as c:
        c.send(f'CONNECT {origin.authority} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n'.encode())
        assert c.response('CONNECT').status == 200
        assert c.get(page.path, f'Host: {origin.authority}').body == b'x'
        with p.connect() as d:
            d.send(f'CONNECT {origin.authority} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n'.encode())
            assert d.response('CONNECT').status == 503, 'the one connection is in use'
    soon(lambda: p.get(page.url).status == 200, 'its place is free again')


def test_an_upgraded_connection_keeps_its_place(make_proxy, parents):
    parent, = parents(b'', script=[echo_once, ok(b'x')])
    p = make_proxy(parent.line('max-conn=1') + NEVER + 'http_upgrade_request_protocols websocket allow all\n')
    with p.connect() as c:
        c.send(request('GET', 'http://x.test/', *UPGRADE))
        assert c.reader.line().startswith('HTTP/1.1 101 ')
        assert p.get('http://x.test/2').status == 503, 'the one connection is in use'
        assert len(parent.connections) == 1
    soon(lambda: p.get('http://x.test/3').body == b'x', 'its place is free again')


@pytest.mark.parametrize('login, status', [('login=PASS', 407), ('', 502)])
def test_a_parents_challenge_of_a_tunnel(make_proxy, parents, login, status):
    parent, = parents(b'', script=[message('HTTP/1.1 407 Who?', ['Content-Length: 0', 'Proxy-Authenticate: Basic realm="up"'])])
    p = make_proxy(parent.line(login) + NEVER)
    with p.connect() as c:
        c.send(b'CONNECT x.test:443 HTTP/1.1\r\nHost: x.test:443\r\n\r\n')
        r = c.response('CONNECT')
    assert (r.status, r.get('Proxy-Authenticate')) == (status, 'Basic realm="up"' if login else None)


@pytest.mark.parametrize('options, why', [
    ('sibling', 'needs ICP'), ('multicast', 'needs ICP'), ('parent carp round-robin', 'one of the groups'), ('parent carp-key=x', 'carp-key'),
    ('parent standby=5 max-conn=2', 'more than max-conn'), ('parent login=x', 'user:password'), ('parent login=NEGOTIATE', 'NEGOTIATE'),
    ('parent ssl', 'TLS')])
def test_refused(make_proxy, options, why):
    p = make_proxy(start=False)
    kind, _, rest = options.partition(' ')
    p.configure(f'cache_peer p.test {kind} 3128 0 {rest}')
    r = p.k('parse')
    assert r.returncode == 1 and why in r.stderr
