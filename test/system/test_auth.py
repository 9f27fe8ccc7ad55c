"""Users: who has to log in, who may, what is seen of it on the wire and in the log."""
import base64
import hashlib
import json
import os
import re
import signal
import subprocess

import pytest

from client import soon
from origin import ok
from proxy import needs

FRESH = 'Cache-Control: max-age=600'
# `secret`, hashed by others: bcrypt, SHA-512 crypt, yescrypt, apr1, SHA-1.
HASHES = {
    'ann': '$2y$05$abcdefghijklmnopqrstuuOQiyCxlgf/oeuTqixKmWdcYUh4Hjl0a',
    'bob': '$6$abcdefgh$ltjgWl6579NluT/Vi1nwEvcil.G5Nbc4NiXZaNGStk8PSwGfQv72N2CKPPrVACtLtip/cZ/1GM/O6IND4WQhG.',
    'carl': '$y$j9T$abcdefgh$IUWJt2doU4Kf6E/JP1UkAT3S5O3Q7SSA8SJirXIlEu9',
    'dora': '$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/',
    'eve': '{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=',
}
BASIC = 'auth_param basic file {dir}/users\n'
ASKED = BASIC + 'acl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all'


def token(user, password='secret'):
    pair = user if isinstance(user, bytes) else f'{user}:{password}'.encode()
    return base64.b64encode(pair).decode()


def login(user, password='secret', field='Proxy-Authorization'):
    return f'{field}: Basic {token(user, password)}'


def users(p, names=HASHES):
    p.write('users', ''.join(f'{n}:{h}\n' for n, h in HASHES.items() if n in names))


@pytest.fixture
def make(make_proxy):
    def make(conf=ASKED, names=HASHES, **options):
        p = make_proxy(conf, start=False, **options)
        users(p, names)
        return p.start()
    return make


def test_who_has_no_login_is_asked_for_one(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make()
    r = p.get(page.url)
    assert (r.status, r.reason) == (407, 'Proxy Authentication Required')
    assert r.get('Proxy-Authenticate') == 'Basic realm="Loligo proxy-caching web server"'
    assert r.get('X-Squid-Error') == 'ERR_CACHE_ACCESS_DENIED 0'
    assert page.count == 0
    assert [(line.what, line.user) for line in p.logged(page.url)] == [('TCP_DENIED/407', '-')]


def test_every_kind_of_hash_lets_its_user_in(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make()
    for user in HASHES:
        assert p.get(page.url, login(user)).body == b'inside', user
        assert p.get(page.url, login(user, 'Secret')).status == 407, user
    lines = p.logged(page.url, 10)
    assert [line.user for line in lines] == [u for u in HASHES for _ in range(2)]
    assert [line.what for line in lines] == ['TCP_MISS/200', 'TCP_DENIED/407'] + ['TCP_MEM_HIT/200', 'TCP_DENIED/407'] * 4
    assert page.count == 1, 'Proxy-Authorization has nothing to do with the cache'
    assert page.requests[0].get('Proxy-Authorization') is None


def test_a_connection_goes_on_after_407_and_needs_no_second_hash(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make('workers 1\n' + ASKED)
    with p.connect() as c:
        assert c.get(page.url).status == 407
        assert c.get(page.url, login('ann')).status == 200
        # What is remembered is answered in the same turn as its neighbours: pipelined, in order.
        c.send(b''.join(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n{f}\r\n\r\n'.encode()
                        for f in (login('ann'), login('ann'), 'Accept: */*', login('ann'))))
        assert [c.response().status for _ in range(4)] == [200, 200, 407, 200]


def test_letter_case_of_names(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make(BASIC + 'acl some proxy_auth Ann\nhttp_access allow some\nhttp_access deny all')
    assert p.get(page.url, login('aNN')).status == 200
    q = make(BASIC + 'auth_param basic casesensitive on\nacl some proxy_auth ann Bob\nhttp_access allow some\n'
             'http_access deny all')
    assert [q.get(page.url, login(u)).status for u in ('ann', 'Ann', 'bob')] == [200, 407, 403]
    i = make(BASIC + 'auth_param basic casesensitive on\nacl some proxy_auth -i ANN\nhttp_access allow some\n'
             'http_access deny all')
    assert i.get(page.url, login('ann')).status == 200
    assert [line.user for line in p.logged(page.url)] == ['ann']


def test_names_of_a_list_and_patterns(make_proxy, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make_proxy(BASIC + 'acl some proxy_auth "{dir}/some"\nacl b proxy_auth_regex -i ^B\n'
                   'http_access allow some\nhttp_access allow b\nhttp_access deny all', start=False)
    users(p)
    p.write('some', 'ann\ncarl\n')
    p.start()
    assert [p.get(page.url, login(u)).status for u in HASHES] == [200, 200, 200, 403, 403]


def test_a_denial_by_the_user_asks_for_another(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make(BASIC + 'acl known proxy_auth REQUIRED\nacl bad proxy_auth bob\nacl good proxy_auth ann\n'
             'http_access deny bad\nhttp_access deny !good\nhttp_access allow known')
    assert p.get(page.url, login('ann')).status == 200
    for user in ('bob', 'carl'):  # by `bad`; by `!good`
        r = p.get(page.url, login(user))
        assert r.status == 407 and r.get('Proxy-Authenticate').startswith('Basic ')
    assert [line.user for line in p.logged(page.url, 3)] == ['ann', 'bob', 'carl']
    # An ACL behind it has the last word: that is no matter of who asks.
    q = make(BASIC + 'acl known proxy_auth REQUIRED\nhttp_access deny known all\nhttp_access allow all')
    r = q.get(page.url, login('ann'))
    assert (r.status, r.get('X-Squid-Error'), r.get('Proxy-Authenticate')) == (403, 'ERR_ACCESS_DENIED 0', None)


def test_rules_in_front_need_no_login(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make(BASIC + f'acl open dstdomain -n origin.test\nacl known proxy_auth REQUIRED\nhttp_access allow open\n'
             'http_access allow known\nhttp_access deny all')
    assert p.get(f'http://origin.test:{origin.port}{page.path}').status == 200
    assert p.get(page.url).status == 407


def test_addresses_and_users_are_found_out_for_one_list(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make(BASIC + 'acl near dst 127.0.0.0/8\nacl far dst 192.0.2.0/24\nacl known proxy_auth REQUIRED\n'
             'http_access deny far\nhttp_access allow known near\nhttp_access deny all')
    url = f'http://origin.test:{origin.port}{page.path}'
    assert p.get(url).status == 407
    assert p.get(url, login('carl')).status == 200


def test_accelerators_ask_by_401(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    conf = (f'http_port 127.0.0.1:{{port}} accel defaultsite=site.test\n'
            f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver%s\n' + ASKED)
    p = make(conf % '')
    r = p.get(page.path, 'Host: site.test')
    assert (r.status, r.get('WWW-Authenticate'), r.get('Proxy-Authenticate')) == (
        401, 'Basic realm="Loligo proxy-caching web server"', None)
    assert r.get('X-Squid-Error') == 'ERR_CACHE_ACCESS_DENIED 0'
    assert p.get(page.path, 'Host: site.test', login('ann')).status == 401, 'the wrong field'
    for _ in range(2):  # RFC 9111 section 3.5: nothing says that it may be shared
        assert p.get(page.path, 'Host: site.test', login('ann', field='Authorization')).status == 200
    assert page.count == 2
    assert page.requests[0].get('Authorization') is None, 'it was for the accelerator'
    q = make(conf % ' login=PASS')
    assert q.get(page.path, 'Host: site.test', login('ann', field='Authorization')).status == 200
    assert page.requests[2].get('Authorization') == f'Basic {token("ann")}'


def test_shared_responses_to_accelerated_users_are_stored(make, origin):
    page = origin.page(ok(b'inside', 'Cache-Control: public, max-age=600'))
    p = make(f'http_port 127.0.0.1:{{port}} accel defaultsite=site.test\n'
             f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver\n' + ASKED)
    for _ in range(2):
        assert p.get(page.path, 'Host: site.test', login('ann', field='Authorization')).status == 200
    assert page.count == 1
    assert p.get(page.path, 'Host: site.test').status == 401, 'what is stored is for those who may'


def test_realm_and_charset(make, origin):
    p = make(BASIC + 'auth_param basic realm The "best" proxy  of all\nauth_param basic utf8 on\n'
             'acl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all')
    r = p.get(origin.page(ok()).url)
    assert r.get('Proxy-Authenticate') == 'Basic realm="The \\"best\\" proxy  of all", charset="UTF-8"'


def test_connect_asks_too(make, origin):
    page = origin.page(ok(b'inside'))
    p = make()
    with p.connect() as c:
        c.send(f'CONNECT {origin.authority} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n'.encode())
        r = c.response()
        assert r.status == 407 and r.body and int(r.get('Content-Length')) == len(r.body)
        assert r.get('Connection') != 'close', 'the same connection is to ask again'
        c.send(f'CONNECT {origin.authority} HTTP/1.1\r\nHost: {origin.authority}\r\n{login("bob")}\r\n\r\n'.encode())
        assert c.response('CONNECT').status == 200
        assert c.get(page.path, f'Host: {origin.authority}').body == b'inside'
    lines = p.logged(origin.authority, 2)
    assert [(line.what, line.user) for line in lines] == [('TCP_DENIED/407', '-'), ('TCP_TUNNEL/200', 'bob')]


@pytest.mark.parametrize('version, fields', [('1.0', ''), ('1.1', 'Connection: close\r\n'),
                                             ('1.1', 'Content-Length: 5\r\n')])
def test_a_connect_that_ends_its_connection_is_not_waited_for(make, origin, version, fields):
    p = make()
    with p.connect() as c:
        c.send(f'CONNECT {origin.authority} HTTP/{version}\r\nHost: {origin.authority}\r\n{fields}\r\n'.encode())
        r = c.response()
        assert (r.status, r.get('Connection')) == (407, 'close') and c.is_closed()


@pytest.mark.parametrize('inside', ['GET {url} HTTP/1.1\r\nHost: x', 'GET {url} HTTP/1.1\r\nHost: x\r\nExpect: odd',
                                    'CONNECT other.test:443 HTTP/1.1\r\nHost: other.test'])
def test_what_was_meant_for_a_tunnel_is_no_request(make, origin, inside):
    """A client that doesn't wait for the 200 may send what somebody else wrote: here the next request would be in its name."""
    page = origin.page(ok(b'inside', FRESH))
    p = make(BASIC + 'acl tunnel method CONNECT\nacl known proxy_auth REQUIRED\n'
             'http_access allow !tunnel\nhttp_access allow known\nhttp_access deny all')
    connect = f'CONNECT {origin.authority} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n'
    with p.connect() as c:
        c.send((connect + inside.format(url=page.url) + '\r\n\r\n').encode())
        assert c.response().status == 407
        assert c.response().status in (400, 417)
        assert c.is_closed()
    assert page.count == 0


HOSTILE = {
    'no scheme': 'dXNlcjpwYXNz',
    'nothing': '',
    'another scheme': 'Digest username="ann"',
    'a scheme alone': 'Basic',
    'not base64': 'Basic !!!!',
    'base64 cut': 'Basic ' + token('ann')[:-1],
    'no colon': 'Basic ' + token(b'annsecret'),
    'no name': 'Basic ' + token(b':secret'),
    'a NUL behind the password': 'Basic ' + token(b'ann:secret\0'),
    'a NUL in the name': 'Basic ' + token(b'an\0n:secret'),
    'control bytes': 'Basic ' + token(b'ann:sec\r\nret'),
    'a log line in the name': 'Basic ' + token(b'x\n1 2 3 TCP_HIT/200:secret'),
    'a blank in the name': 'Basic ' + token(b'a b:secret'),
    'a very long name': 'Basic ' + token(b'a' * 4000 + b':x'),
    'a very long password': 'Basic ' + token(b'ann:' + b'x' * 20000),
    'high bytes': 'Basic ' + token(bytes(range(128, 256)) + b':x'),
    'blanks within': 'Basic ' + token('ann')[:8] + ' ' + token('ann')[8:],
}


def test_hostile_credentials_are_nobody_s(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make()
    for why, value in HOSTILE.items():
        r = p.get(page.url, f'Proxy-Authorization: {value}')
        assert (r.status, r.get('X-Squid-Error')) == (407, 'ERR_CACHE_ACCESS_DENIED 0'), why
    assert p.get(page.url, login('ann'), login('bob')).status in (400, 407), 'two of them'
    assert page.count == 0
    lines = p.lines()  # each is a line of the format
    assert len(lines) == len(HOSTILE) + 1
    assert 'secret' not in p.read('access.log') + p.read('cache.log')
    assert p.get(page.url, login('ann')).status == 200


def test_no_password_is_seen_anywhere(make, origin):
    page = origin.page(ok(b'inside'))
    p = make('log_mime_hdrs off\n' + ASKED)
    for password in ('secret', 'hunter2'):
        r = p.get(page.url, login('ann', password))
        assert password.encode() not in r.raw and token('ann', password).encode() not in r.raw
    said = p.read('access.log') + p.read('cache.log') + p.read('stderr')
    assert not re.search('hunter2|secret|' + re.escape(token('ann', 'hunter2')), said)


def test_a_changed_file_counts(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make(names=['ann', 'bob'])
    assert p.get(page.url, login('ann')).status == 200
    assert p.get(page.url, login('carl')).status == 407
    users(p, ['bob', 'carl'])
    soon(lambda: p.get(page.url, login('carl')).status == 200, 'who is new gets in')
    soon(lambda: p.get(page.url, login('ann')).status == 407, 'who is gone stays out, remembered or not')
    os.remove(p.path('users'))
    soon(lambda: p.get(page.url, login('bob')).status == 200 and "users any more" in p.read('cache.log'), 'it is missed')
    assert p.get(page.url, login('bob')).status == 200, 'a file that is gone changes nothing'


def test_what_is_remembered_takes_no_time(make_proxy, origin):
    page = origin.page(ok(b'inside', FRESH))
    # A slow hash: what is remembered is answered at once, what isn't takes its time.
    slow = subprocess.run(['htpasswd', '-nbBC', '11', 'ann', 'secret'], capture_output=True, text=True, check=False)
    if slow.returncode != 0:
        pytest.skip('htpasswd is not installed')
    p = make_proxy('workers 1\n' + ASKED, start=False)
    p.write('users', slow.stdout.strip() + '\n')
    p.start()
    for _ in range(3):
        assert p.get(page.url, login('ann')).status == 200
    times = [line.ms for line in p.lines()]
    assert times[0] > 20 and max(times[1:]) < times[0] / 2, times


def test_a_slow_hash_keeps_nobody_waiting(make_proxy, origin):
    page = origin.page(ok(b'inside', FRESH))
    slow = subprocess.run(['htpasswd', '-nbBC', '14', 'ann', 'secret'], capture_output=True, text=True, check=False)
    if slow.returncode != 0:
        pytest.skip('htpasswd is not installed')
    p = make_proxy('workers 1\nauth_param basic file {dir}/users\nauth_param basic children 1 queue-size=1\n'
                   'acl open urlpath_regex page\nacl late req_header X-Late yes\nacl known proxy_auth REQUIRED\n'
                   'http_access allow late known\nhttp_access deny late\nhttp_access allow open', start=False)
    p.write('users', slow.stdout.strip() + '\n')
    p.start()
    p.get(page.url)
    waiting = [p.connect() for _ in range(4)]
    for i, c in enumerate(waiting):
        c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\nX-Late: yes\r\n{login("ann", f"wrong{i}")}\r\n\r\n'.encode())
    with p.connect() as c:
        for _ in range(20):
            assert c.get(page.url).body == b'inside'
    statuses = sorted(c.response().status for c in waiting)
    for c in waiting:
        c.close()
    # One is being hashed, one waits, and for the rest there is no room.
    assert statuses == [407, 407, 503, 503]
    p.wait_cache_log('too many passwords wait')
    hits = [line.ms for line in p.lines() if line.code == 'TCP_MEM_HIT']
    assert len(hits) == 20 and max(hits) < 100


def test_one_login_of_many_connections_is_hashed_once(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make('workers 1\nauth_param basic children 1 queue-size=0\n' + ASKED)
    clients = [p.connect() for _ in range(20)]
    for c in clients:
        c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n{login("bob")}\r\n\r\n'.encode())
    assert {c.response().status for c in clients} == {200}
    for c in clients:
        c.close()


def test_who_leaves_while_waiting_harms_nobody(make_proxy, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make_proxy('workers 1\n' + ASKED, start=False)
    users(p)
    p.start()
    for i in range(20):
        with p.connect() as c:
            c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n{login("bob", str(i // 2))}\r\n\r\n'.encode())
            if i % 2:
                c.reset()
    soon(lambda: len(p.lines()) == 20, 'each has its line')
    assert p.get(page.url, login('bob')).status == 200


def test_max_user_ip(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    conf = ('authenticate_ip_ttl 1 hour\n' + BASIC + 'acl known proxy_auth REQUIRED\nacl many max_user_ip %s\n'
            'http_access deny many\nhttp_access allow known\nhttp_access deny all')

    def ask(p, source, user='ann'):
        with p.connect(source=source) as c:
            return c.get(page.url, login(user)).status
    p = make(conf % '-s 2')
    assert [ask(p, f'127.0.0.{n}') for n in (1, 2, 1, 3, 3, 2)] == [200, 200, 200, 403, 403, 200]
    assert ask(p, '127.0.0.3', 'bob') == 200
    q = make(conf % '2')  # lenient: the counting begins anew
    assert [ask(q, f'127.0.0.{n}') for n in (1, 2, 3, 3, 2, 1)] == [200, 200, 403, 200, 200, 403]


def test_user_in_other_lists_and_logs(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make('workers 1\nlogformat who %un %ul %>Hs\naccess_log stdio:{dir}/who.log who\n' + BASIC +
             'acl known proxy_auth REQUIRED\nacl ann proxy_auth ann\naccess_log stdio:{dir}/ann.log squid ann\n'
             'http_access allow known\nhttp_access deny all\nrequest_header_add X-User "yes" ann')
    for fields in ([], [login('bob')], [login('ann')]):
        p.get(page.url, 'Cache-Control: no-cache', *fields)
    soon(lambda: p.read('who.log') == '- - 407\nbob bob 200\nann ann 200\n', 'the users are logged')
    soon(lambda: p.read('ann.log').count('\n') == 1, 'one line')
    assert [r.get('X-User') for r in page.requests] == [None, 'yes']


def test_deny_info_of_a_login(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make(BASIC + 'acl known proxy_auth REQUIRED\ndeny_info http://help.test/ known\nhttp_access allow known\n'
             'http_access deny all')
    r = p.get(page.url)
    assert r.status == 407 and r.get('Proxy-Authenticate'), 'a redirection would hide the question'


def test_pages_name_the_user(make_proxy, origin):
    p = make_proxy('error_directory {dir}/errors\n' + BASIC + 'acl ann proxy_auth ann\nhttp_access deny !ann\nhttp_access deny ann all\n',
                   start=False)
    users(p)
    os.mkdir(p.path('errors'))
    for name in ('ERR_ACCESS_DENIED', 'ERR_CACHE_ACCESS_DENIED'):
        p.write(f'errors/{name}', 'It is (%a).')
    p.start()
    url = origin.page(ok()).url
    html = 'Accept: text/html'
    assert p.get(url, html).body == b'It is (-).'
    assert p.get(url, html, login('ann')).body == b'It is (ann).'
    assert p.get(url, html, login('<b>&')).body == b'It is (&lt;b&gt;&amp;).'


def test_auth_schemes_choose_what_is_offered(make_digest, origin):
    p = make_digest(BASIC + DIGEST + 'acl curl browser ^curl\nacl other browser ^other\nacl none browser ^none\n'
                    'auth_schemes digest,basic curl\nauth_schemes Basic other\nauth_schemes negotiate none\n' + DIGESTED[len(DIGEST):])
    url = origin.page(ok()).url

    def offered(agent):
        r = p.get(url, f'User-Agent: {agent}')
        return [c.partition(' ')[0] for c in r.all('Proxy-Authenticate')]
    assert [offered(a) for a in ('curl', 'other', 'none', 'firefox')] == [['Digest', 'Basic'], ['Basic'], [],
                                                                         ['Basic', 'Digest']]


def test_check_access_with_a_user(make, origin):
    p = make()
    url = f'http://{origin.authority}/x'
    r = p.command('-k', 'check-access', 'GET', url, '127.0.0.1', 'ann')
    assert r.returncode == 0 and ', user ann' in r.stdout and 'known: yes' in r.stdout
    r = p.command('-k', 'check-access', 'GET', url, '127.0.0.1', '--json')
    told = json.loads(r.stdout)
    assert (r.returncode, told['verdict'], told['user']) == (1, 'login', None)
    assert told['lines'][-1]['acls'] == [{'acl': 'known', 'type': 'proxy_auth', 'negated': False, 'answer': 'needs a login'}]


@needs('curl')
def test_curl_logs_in(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make()

    def curl(*args):
        r = subprocess.run(['curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', '-x', f'http://127.0.0.1:{p.port}', *args,
                            page.url], capture_output=True, text=True, timeout=20, check=False)
        return r.stdout
    assert curl('-U', 'dora:secret') == '200'
    assert curl('-U', 'dora:secret', '--proxy-anyauth') == '200'
    assert curl('-U', 'dora:wrong') == '407'


def test_reload_takes_another_file(make, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make()
    assert p.get(page.url, login('ann')).status == 200
    p.write('others', 'bob:' + HASHES['bob'] + '\n')
    p.configure(ASKED.replace('/users', '/others'))
    p.signal(signal.SIGHUP)
    soon(lambda: p.get(page.url, login('ann')).status == 407, 'who is not in the new file stays out')
    assert p.get(page.url, login('bob')).status == 200


DIGEST = 'auth_param digest file {dir}/digests\nauth_param digest realm here\n'
DIGESTED = DIGEST + 'acl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all'


def hashed(algorithm, *parts):
    return hashlib.new(algorithm, ':'.join(parts).encode()).hexdigest()


@pytest.fixture
def make_digest(make_proxy):
    def make(conf=DIGESTED, algorithms=('md5', 'sha256'), **options):
        p = make_proxy(conf, start=False, **options)
        p.write('digests', ''.join(f'{u}:here:{hashed(a, u, "here", "secret")}\n' for u in ('ann', 'bob')
                                   for a in algorithms))
        users(p)
        return p.start()
    return make


class DigestUser:
    """Answers challenges; each request says `nc` one up."""

    def __init__(self, user, password='secret', realm='here'):
        self.user, self.password, self.realm, self.nc = user, password, realm, 0

    def challenged(self, response, field='Proxy-Authenticate', which=0):
        self.challenge = dict(re.findall(r'(\w+)="?([^",]*)"?', response.all(field)[which].partition(' ')[2]))
        self.algorithm = {'MD5': 'md5', 'SHA-256': 'sha256'}[self.challenge['algorithm']]
        self.nc = 0
        return self

    def field(self, uri, method='GET', nc=None, field='Proxy-Authorization', **other):
        self.nc = nc or self.nc + 1
        nonce, nc = other.get('nonce', self.challenge['nonce']), f'{self.nc:08x}'
        ha1 = hashed(self.algorithm, self.user, self.realm, self.password)
        response = hashed(self.algorithm, ha1, nonce, nc, 'c', 'auth', hashed(self.algorithm, method, uri))
        return (f'{field}: Digest username="{self.user}", realm="{self.realm}", nonce="{nonce}", uri="{uri}", '
                f'qop=auth, nc={nc}, cnonce="c", response="{other.get("response", response)}", '
                f'algorithm={self.challenge["algorithm"]}')


def test_digest_logs_in(make_digest, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make_digest()
    r = p.get(page.url)
    assert r.status == 407
    assert re.fullmatch(r'Digest realm="here", nonce="[0-9a-f]{64}", qop="auth", algorithm=MD5, stale=false',
                        r.get('Proxy-Authenticate'))
    ann = DigestUser('ann').challenged(r)
    for uri in (page.url, page.path, page.url):  # whole URL or path: clients of proxies send either
        assert p.get(page.url, ann.field(uri)).status == 200
    r = p.get(page.url, DigestUser('ann', 'wrong').challenged(r).field(page.url))
    assert r.status == 407 and 'stale=false' in r.get('Proxy-Authenticate')
    assert p.get(page.url, DigestUser('nobody').challenged(r).field(page.url)).status == 407
    assert p.get(page.url, ann.field(page.path + 'x')).status == 407, 'for another URL'
    assert p.get(page.url, ann.field(page.url, method='POST')).status == 407, 'for another method'
    assert [line.user for line in p.logged(page.url, 8)] == ['-', 'ann', 'ann', 'ann', 'ann', 'nobody', 'ann', 'ann']
    assert page.count == 1 and page.requests[0].get('Proxy-Authorization') is None


def test_curl_opens_its_tunnel_on_the_connection_that_was_asked(make_digest, origin):
    page = origin.page(ok(b'inside'))
    p = make_digest()
    r = subprocess.run(['curl', '-sS', '--noproxy', '', '--proxytunnel', '--proxy-digest', '-U', 'ann:secret', '-w', ' %{num_connects}',
                        '-x', f'http://127.0.0.1:{p.port}', page.url], capture_output=True, text=True, timeout=60)
    assert r.stdout == 'inside 1', r.stderr
    assert [(line.what, line.user) for line in p.logged(origin.authority, 2)] == [('TCP_DENIED/407', '-'), ('TCP_TUNNEL/200', 'ann')]


def test_digest_offers_the_better_algorithm_first(make_digest, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make_digest(DIGEST + 'auth_param digest algorithm SHA-256 MD5\n' + DIGESTED[len(DIGEST):])
    r = p.get(page.url)
    assert [re.search('algorithm=([^,]*)', c).group(1) for c in r.all('Proxy-Authenticate')] == ['SHA-256', 'MD5']
    for which in (0, 1):
        assert p.get(page.url, DigestUser('bob').challenged(r, which=which).field(page.url)).status == 200
    q = make_digest(algorithms=['sha256'])
    bob = DigestUser('bob').challenged(r, which=0)
    bob.challenge['nonce'] = re.search('nonce="([^"]*)"', q.get(page.url).get('Proxy-Authenticate')).group(1)
    assert q.get(page.url, bob.field(page.url)).status == 407, "an algorithm that isn't offered"


def test_digest_says_nothing_twice(make_digest, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make_digest()
    ann = DigestUser('ann').challenged(p.get(page.url))
    said = ann.field(page.url)
    assert p.get(page.url, said).status == 200
    for _ in range(2):  # on whatever worker
        r = p.get(page.url, said)
        assert r.status == 407 and 'stale=true' in r.get('Proxy-Authenticate')
    assert p.get(page.url, ann.field(page.url, nc=9)).status == 200
    assert p.get(page.url, ann.field(page.url, nc=8)).status == 200, 'connections overtake each other'
    r = p.get(page.url, ann.field(page.url, nonce='0' * 64))
    assert r.status == 407 and 'stale=true' in r.get('Proxy-Authenticate'), 'of an older process, perhaps'
    assert p.get(page.url, ann.challenged(r).field(page.url)).status == 200


def test_digest_nonces_are_used_up(make_digest, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make_digest(DIGEST + 'auth_param digest nonce_max_count 2\nauth_param digest nonce_strictness on\n' + DIGESTED[len(DIGEST):])
    ann = DigestUser('ann').challenged(p.get(page.url))
    assert [p.get(page.url, ann.field(page.url, nc=n)).status for n in (2, 1, 2, 3)] == [407, 200, 200, 407]
    q = make_digest(DIGEST + 'auth_param digest nonce_max_duration 1 second\n' + DIGESTED[len(DIGEST):])
    ann.challenged(q.get(page.url))
    assert q.get(page.url, ann.field(page.url)).status == 200
    soon(lambda: 'stale=true' in (q.get(page.url, ann.field(page.url)).get('Proxy-Authenticate') or ''), 'it is too old')
    w = make_digest(DIGEST + 'auth_param digest check_nonce_count off\nauth_param digest post_workaround on\n' + DIGESTED[len(DIGEST):])
    ann.challenged(w.get(page.url))
    said = ann.field(page.url)
    assert [w.get(page.url, said).status for _ in range(2)] == [200, 200]
    assert w.ask('POST', page.url, said, body=b'x').status == 200


def test_digest_file_changes(make_digest, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make_digest()
    ann = DigestUser('ann').challenged(p.get(page.url))
    assert p.get(page.url, ann.field(page.url)).status == 200
    p.write('digests', f'ann:here:{hashed("md5", "ann", "here", "other")}\n')
    soon(lambda: p.get(page.url, ann.challenged(p.get(page.url)).field(page.url)).status == 407, 'the old password is wrong')
    ann.password = 'other'
    assert p.get(page.url, ann.challenged(p.get(page.url)).field(page.url)).status == 200


def test_digest_on_an_accelerator(make_digest, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make_digest(f'http_port 127.0.0.1:{{port}} accel defaultsite=site.test\n'
                    f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver\n' + DIGESTED)
    r = p.get(page.path, 'Host: site.test')
    ann = DigestUser('ann').challenged(r, 'WWW-Authenticate')
    assert p.get(page.path, 'Host: site.test', ann.field(page.path, field='Authorization')).status == 200


def test_schemes_stand_in_the_order_of_their_lines(make_digest, origin):
    page = origin.page(ok(b'inside', FRESH))
    for conf in (DIGEST + BASIC, BASIC + DIGEST):
        p = make_digest(conf + DIGESTED[len(DIGEST):])
        r = p.get(page.url)
        offered = [c.partition(' ')[0] for c in r.all('Proxy-Authenticate')]
        assert offered == (['Digest', 'Basic'] if conf.startswith(DIGEST) else ['Basic', 'Digest'])
        ann = DigestUser('ann').challenged(r, which=offered.index('Digest'))
        assert p.get(page.url, ann.field(page.url)).status == p.get(page.url, login('bob')).status == 200


@needs('curl')
def test_curl_logs_in_by_digest(make_digest, origin):
    page = origin.page(ok(b'inside', FRESH))
    conf = DIGEST + 'auth_param digest algorithm SHA-256 MD5\n' + DIGESTED[len(DIGEST):]
    p = make_digest(conf)

    def curl(url, *args):
        r = subprocess.run(['curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', '-x', f'http://127.0.0.1:{p.port}',
                            '--proxy-digest', *args, url], capture_output=True, text=True, timeout=20, check=False)
        return r.stdout
    assert curl(page.url, '-U', 'ann:secret') == '200'
    assert curl(page.url + '?a=b', '-U', 'ann:secret') == '200'
    assert curl(page.url, '-U', 'ann:wrong') == '407'
    assert curl(page.url, '-U', 'ann:secret', '-p') == '200'  # CONNECT
    assert curl(page.url, '-U', 'ann:secret', '-d', 'x') == '200'


BAD = [
    ('acl a proxy_auth REQUIRED', r'squid\.conf:1:7: error: this asks for users'),
    ('external_acl_type a %LOGIN /bin/true', r'squid\.conf:1:21: error: this asks for users'),
    ('acl a max_user_ip 1', r'squid\.conf:1:7: error: this asks for users'),
    ('auth_param basic file {dir}/missing', r"can't read '.*/missing': No such file"),
    ('auth_param basic program /usr/lib/squid/basic_ncsa_auth {dir}/missing', r"can't read '.*/missing': No such file"),
    ('auth_param basic program /bin/nothing', "can't run '/bin/nothing'"),
    ('auth_param basic key_extras %zz', 'key_extras of auth_param Basic'),
    ('auth_param digest program true', 'begins with /'),
    ('auth_param negotiate realm x', 'has no option'),
    ('auth_schemes basic,ntlm', "'ntlm' is none of"),
    ('auth_schemes basic,Basic', 'named twice'),
    ('auth_schemes basic nobody', "acl 'nobody' is not defined"),
    ('auth_param digest file {dir}/missing', r"can't read '.*/missing': No such file"),
    ('auth_param digest algorithm MD4', 'no algorithm'),
    ('auth_param digest credentialsttl 1 hour', 'has no option'),
    ('auth_param ntlm program /bin/true', 'auth_param ntlm is not supported'),
    ('auth_param basic credentalsttl 1 hour', "did you mean 'credentialsttl'"),
    ('auth_param basic children 0', 'no number from 1'),
    ('auth_param basic children 3 quue-size=3', 'no option of children'),
    ('auth_param basic casesensitive maybe', 'no switch'),
    ('auth_param basic', 'needs 3 words'),
    ('acl a proxy_auth -x ann', 'no flag'),
    ('acl a max_user_ip x', 'not a number'),
]


@pytest.mark.parametrize('line, said', BAD, ids=[b[0][:40] for b in BAD])
def test_mistakes_are_told(make_proxy, line, said):
    p = make_proxy(line, start=False)
    r = p.command('-k', 'parse')
    assert r.returncode != 0 and re.search(said, r.stderr + r.stdout), r


def test_plain_text_is_refused(make_proxy, origin):
    p = make_proxy(ASKED, start=False)
    p.write('users', 'ann:secret\nbob:' + HASHES['bob'] + '\n')
    r = p.command('-k', 'parse')
    assert r.returncode == 0 and re.search(r'users:1: warning: the password is in plain text', r.stderr + r.stdout), r
    p.start()
    page = origin.page(ok(b'inside'))
    assert [p.get(page.url, login(u)).status for u in ('ann', 'bob')] == [407, 200]


def test_ncsa_auth_is_built_in(make, origin):
    page = origin.page(ok(b'inside'))
    p = make('auth_param basic program /usr/lib/squid/basic_ncsa_auth {dir}/users\nauth_param basic children 5 startup=0 idle=1\n'
             'auth_param basic credentialsttl 2 hours\nacl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all')
    assert p.get(page.url, login('eve')).status == 200
