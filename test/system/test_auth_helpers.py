"""Users whose passwords and tokens helper programs judge: Basic, Digest, Negotiate."""
import os
import sys
import time

import pytest

from client import soon
from origin import ok
from test_auth import BASIC, DigestUser, login, users
from test_helpers import program

FRESH = 'Cache-Control: max-age=600'
RULES = 'acl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all\n'
# What was asked is told in a file.
TELLING = '''
def told(*words):
    with open(sys.argv[1], 'a') as f:
        f.write(' '.join(words) + '\\n')
'''


@pytest.fixture
def start(make_proxy):
    """A proxy whose auth_param SCHEME program has this answer(first word, the others)."""
    def make(scheme, body, conf='', channels=False, **options):
        p = make_proxy(start=False, **options)
        path = program(p, TELLING + body, channels)
        p.configure(f'auth_param {scheme} program {path} {p.path("asked")}\n' + conf + RULES)
        return p.start()
    return make


def asked(p):
    return p.read('asked').splitlines()


# --- Basic

BY_NAME = '''
def answer(user, rest):
    told(user, *rest)
    return 'OK' if rest[0] == 'secret' else 'BH message="no database"' if rest[0] == 'odd' else 'ERR'
'''


def test_basic_program(start, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = start('basic', BY_NAME, 'workers 1\n')
    assert p.get(page.url).status == 407 and not asked(p)
    for password, status in (('secret', 200), ('secret', 200), ('wrong', 407), ('wrong', 407), ('odd', 503)):
        r = p.get(page.url, login('Ann', password))
        assert r.status == status, password
    assert r.get('Retry-After') == '1' and r.get('Proxy-Authenticate') is None
    assert asked(p) == ['ann secret', 'ann wrong', 'ann wrong', 'ann odd'], 'what was right is remembered'
    assert [line.user for line in p.logged(page.url, 6)] == ['-'] + ['ann'] * 5


def test_words_of_a_question_are_escaped(start, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = start('basic', BY_NAME, 'auth_param basic casesensitive on\nauth_param basic utf8 on\n')
    assert p.get(page.url, login('J D%41', 'a b"c\\')).status == 407
    assert p.get(page.url, login('jörg', '~')).status == 407
    assert asked(p) == ['J%20D%2541 a%20b%22c%5c', 'j%c3%b6rg %7e']


def test_channels(start, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = start('basic', BY_NAME, 'auth_param basic children 1 concurrency=10\n', channels=True)
    clients = [p.connect() for _ in range(10)]
    for i, c in enumerate(clients):
        c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n{login(f"u{i}", "secret" if i % 2 else "no")}\r\n\r\n'.encode())
    assert [c.response().status for c in clients] == [407, 200] * 5
    for c in clients:
        c.close()


def test_key_extras_are_told_and_part_of_what_is_remembered(start, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = start('basic', BY_NAME, 'workers 1\nauth_param basic key_extras "%>a %rm"\n')
    for source in ('127.0.0.1', '127.0.0.1', '127.0.0.2'):
        with p.connect(source=source) as c:
            assert c.get(page.url, login('ann')).status == 200
    assert asked(p) == ['ann secret 127.0.0.1 GET', 'ann secret 127.0.0.2 GET']


def test_credentialsttl(start, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = start('basic', BY_NAME, 'workers 1\nauth_param basic credentialsttl 1 second\n')
    assert p.get(page.url, login('ann')).status == 200
    soon(lambda: p.get(page.url, login('ann')).status == 200 and len(asked(p)) == 2, 'it is asked again')


UNUSED = 2.5  # seconds: longer than a login lives and the sweep is away in these tests


@pytest.mark.parametrize('ttl, interval, forgotten', [('1 second', '1 second', True), ('1 hour', '1 second', False),
                                                      ('1 second', '1 hour', False)])
def test_logins_that_are_not_used_are_forgotten(start, origin, ttl, interval, forgotten):
    """authenticate_ttl, authenticate_cache_garbage_interval. Each look is a use, so that looks must lie apart."""
    page = origin.page(ok(b'inside', FRESH))
    p = start('basic', BY_NAME, f'workers 1\nauthenticate_ttl {ttl}\nauthenticate_cache_garbage_interval {interval}\n')

    def is_asked_again():
        assert p.get(page.url, login('ann')).status == 200
        return len(asked(p)) > 1
    assert not is_asked_again()
    if forgotten:
        soon(is_asked_again, 'it is asked again', pause=UNUSED)
    else:
        time.sleep(UNUSED)
        assert not is_asked_again()


@pytest.mark.parametrize('conf, questions', [('', ['ann', 'bob']),
                                             ('authenticate_cache_max 1\n', ['ann', 'bob', 'ann', 'bob'])])
def test_how_many_logins_are_remembered(start, origin, conf, questions):
    page = origin.page(ok(b'inside', FRESH))
    p = start('basic', BY_NAME, 'workers 1\n' + conf)
    for user in ('ann', 'bob') * 2:
        assert p.get(page.url, login(user)).status == 200
    assert [question.split()[0] for question in asked(p)] == questions


def test_a_program_that_dies_locks_nobody_in_or_out_for_good(start, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = start('basic', '''
def answer(user, rest):
    if user == 'kill':
        os._exit(1)
    return 'OK'
''', 'auth_param basic children 1\n')
    assert p.get(page.url, login('ann')).status == 200
    assert p.get(page.url, login('kill')).status == 503
    soon(lambda: p.get(page.url, login('bob')).status == 200, 'another one takes its place')


def test_a_reload_asks_the_new_program(start, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = start('basic', BY_NAME)
    assert p.get(page.url, login('ann')).status == 200
    path = program(p, 'def answer(user, rest): return "ERR"', name='other')
    p.configure(f'auth_param basic program {path}\n' + RULES)
    p.signal(1)
    soon(lambda: p.get(page.url, login('ann')).status == 407, 'what the old one said counts no more')


@pytest.mark.parametrize('scheme, field, first', [('basic', login('ann'), 'ann'),
                                                  ('negotiate', 'Proxy-Authorization: Negotiate one', 'YR')])
def test_who_leaves_while_a_program_thinks(start, origin, scheme, field, first):
    page = origin.page(ok(b'inside', FRESH))
    p = start(scheme, '''
def answer(word, rest):
    told(word)
    while os.path.exists(sys.argv[1] + '.wait'):
        time.sleep(0.01)
    return 'OK user=ann'
''', f'workers 1\nauth_param {scheme} children 1\n')
    p.write('asked.wait', '')
    with p.connect() as c:
        c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n{field}\r\n\r\n'.encode())
        soon(lambda: asked(p) == [first], 'it is asked')
        c.reset()
    soon(lambda: len(p.lines()) == 1, 'it has gone')
    os.remove(p.path('asked.wait'))
    assert p.get(page.url, field).status == 200


def test_the_end_comes_while_a_program_thinks(start, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = start('basic', 'def answer(user, rest):\n    told(user)\n    time.sleep(60)\n', 'shutdown_lifetime 1 second\n')
    with p.connect() as c:
        c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n{login("ann")}\r\n\r\n'.encode())
        soon(lambda: asked(p) == ['ann'], 'it is asked')
        p.stop()


def test_an_external_acl_about_the_user_asks_for_one(make_proxy, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make_proxy(start=False)
    users(p)
    path = program(p, TELLING + '''
def answer(user, rest):
    told(user)
    return 'OK' if user == 'ann' else 'ERR'
''')
    p.configure(f'workers 1\n{BASIC}external_acl_type members %LOGIN {path} {p.path("asked")}\n'
                'acl member external members\nhttp_access deny !member\nhttp_access allow all\n')
    p.start()
    assert p.get(page.url).status == 407 and not asked(p)
    assert [p.get(page.url, login(u)).status for u in ('ann', 'bob', 'ann')] == [200, 407, 200]
    assert asked(p) == ['ann', 'bob']
    assert [line.user for line in p.logged(page.url, 4)] == ['-', 'ann', 'bob', 'ann']


# --- Digest

@pytest.mark.parametrize('form', ['OK ha1="%s"', '%s'], ids=['pairs', 'bare'])
def test_digest_program(start, origin, form):
    page = origin.page(ok(b'inside', FRESH))
    p = start('digest', f'''
import hashlib
def answer(question, rest):
    told(question, *rest)
    user, realm = question[1:-1].split('":"')
    if user == 'nobody':
        return 'ERR message="no such user"'
    return {form!r} % hashlib.md5((user + ':' + realm + ':secret').encode()).hexdigest()
''', 'workers 1\nauth_param digest realm here\n')
    r = p.get(page.url)
    ann = DigestUser('ann').challenged(r)
    assert [p.get(page.url, ann.field(page.url)).status for _ in range(3)] == [200] * 3
    assert p.get(page.url, DigestUser('ann', 'no').challenged(r).field(page.url)).status == 407
    assert p.get(page.url, DigestUser('nobody').challenged(r).field(page.url)).status == 407
    assert asked(p) == ['"ann":"here"', '"nobody":"here"']


# --- Negotiate

NEGOTIATE = '''
def answer(word, rest):
    told(word, *rest)
    said = {'YR one': 'AF bW9yZQ== ann@REALM', 'YR pairs': 'OK token=bW9yZQ== user=bob@REALM', 'YR two': 'TT bW9yZQ==',
            'KK last': 'AF * carl@REALM', 'YR bare': 'AF dora', 'YR no': 'NA bW9yZQ== refused',
            'YR err': 'ERR token=bW9yZQ== message="no"', 'YR odd': 'BH gss_accept_sec_context() failed'}
    return said.get(word + ' ' + ' '.join(rest), 'BH')
'''


def token(value):
    return f'Proxy-Authorization: Negotiate {value}'


def test_a_token_is_a_connection_s(start, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = start('negotiate', NEGOTIATE, 'auth_param negotiate children 1\n')
    with p.connect() as c:
        r = c.get(page.url)
        assert (r.status, r.all('Proxy-Authenticate')) == (407, ['Negotiate'])
        assert c.get(page.url, token('one')).status == 200
        assert c.get(page.url).status == 200, 'it needs no token any more'
        assert c.get(page.url, token('no')).status == 407
        assert c.get(page.url).status == 407, 'who was refused is nobody'
    with p.connect() as c:
        assert c.get(page.url).status == 407, "another connection's"
    for value, user in (('pairs', 'bob@REALM'), ('bare', 'dora')):
        assert p.get(page.url, token(value)).status == 200
    for value in ('err', 'odd', 'unknown'):
        assert p.get(page.url, token(value)).status == 407
    soon(lambda: len(p.lines()) == 11, 'all are logged')
    users = [line.user for line in p.lines() if line.status == '200']
    assert users == ['ann@REALM', 'ann@REALM', 'bob@REALM', 'dora']


def test_a_handshake_takes_two_tokens(start, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = start('negotiate', NEGOTIATE, 'auth_param negotiate children 1\n')
    with p.connect() as c:
        r = c.get(page.url, token('two'))
        assert (r.status, r.all('Proxy-Authenticate')) == (407, ['Negotiate bW9yZQ=='])
        assert c.get(page.url, token('last')).status == 200
    assert asked(p) == ['YR two', 'KK last']


def test_hostile_tokens_ask_nobody(start, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = start('negotiate', NEGOTIATE)
    for value in ('', 'a b', 'a%0ab', 'a"', '*'):
        assert p.get(page.url, f'Proxy-Authorization: Negotiate {value}').status == 407
    assert not asked(p)


def test_keep_alive_off_ends_the_connection(start, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = start('negotiate', NEGOTIATE, 'auth_param negotiate keep_alive off\n')
    with p.connect() as c:
        r = c.get(page.url)
        assert r.status == 407 and r.get('Connection') == 'close' and c.is_closed()


def test_schemes_side_by_side(make_proxy, origin):
    page = origin.page(ok(b'inside', FRESH))
    p = make_proxy(start=False)
    basic = program(p, TELLING + BY_NAME, name='basic')
    tokens = program(p, TELLING + NEGOTIATE, name='tokens')
    p.configure(f'auth_param negotiate program {tokens} {p.path("asked")}\n'
                f'auth_param basic program {basic} {p.path("asked")}\n' + RULES)
    p.start()
    r = p.get(page.url)
    assert [c.partition(' ')[0] for c in r.all('Proxy-Authenticate')] == ['Negotiate', 'Basic']
    assert p.get(page.url, login('ann')).status == p.get(page.url, token('one')).status == 200
