"""external_acl_type: helper programs that decide ACLs."""
import subprocess
from base64 import b64encode

import pytest

from client import Task, soon
from origin import ok
from test_helpers import children, program

APR1 = subprocess.run(['openssl', 'passwd', '-apr1', '-salt', 'abcdefgh', 'secret'], capture_output=True, text=True,
                      check=True).stdout.strip().split('$')[3]

# Writes what it is asked into helper.asked; answers by answer(words).
LOGGED = '''
    def asked(words):
        with open(sys.argv[0] + '.asked', 'a') as f:
            f.write(' '.join(words) + '\\n')
    '''
RULES = 'acl ext external ext {args}\nhttp_access allow ext\nhttp_access deny all\n'


@pytest.fixture
def start(make_proxy):
    def make(body, definition='ext %SRC {helper}', rules=RULES.replace(' {args}', ''), **options):
        p = make_proxy(start=False)
        path = program(p, LOGGED.replace('\n    ', '\n') + 'def answer(first, rest):\n    words = [first, *rest]\n    asked(words)\n    ' +
                       body.replace('\n', '\n    '), **options)
        p.configure(f'external_acl_type {definition.replace("{helper}", path)}\n{rules}')
        return p.start()
    return make


def asked(p):
    return p.read('helper.asked').splitlines()


@pytest.mark.parametrize('acl, statuses', [('ext_user joe', [200, 403]), ('ext_user -i JOE', [200, 403]),
                                           ('ext_user REQUIRED', [200, 200]), ('ext_user_regex ^jo', [200, 403])])
def test_the_user_it_says(start, origin, acl, statuses):
    pages = [origin.page(ok(b'x')) for _ in 'ab']
    p = start(f"return 'OK user=' + ('joe' if words[0].endswith({pages[0].path!r}) else 'jim')", 'ext %URI {helper}',
              f'acl ext external ext\nacl who {acl}\nhttp_access deny !ext\nhttp_access allow who\nhttp_access deny all\n')
    assert [p.get(page.url).status for page in pages] == statuses


@pytest.mark.parametrize('answer, status', [('OK', 200), ('ERR', 403), ('BH', 403), ('TT x', 403), ('nonsense', 403)])
def test_it_decides(start, origin, answer, status):
    page = origin.page(ok(b'x'))
    p = start(f'return {answer!r}')
    assert p.get(page.url).status == status
    assert asked(p) == ['127.0.0.1']


@pytest.mark.parametrize('answer, status', [('OK', 403), ('ERR', 200), ('BH', 403)])
def test_a_broken_program_never_lets_a_deny_line_pass(start, origin, answer, status):
    page = origin.page(ok(b'x'))
    p = start(f'return {answer!r}', rules='acl ext external ext\nhttp_access deny ext\nhttp_access allow all\n')
    assert p.get(page.url).status == status


def test_negated_and_undecided(start, origin):
    page = origin.page(ok(b'x'))
    p = start('return "BH"', rules='acl ext external ext\nhttp_access allow !ext\nhttp_access deny all\n')
    assert p.get(page.url).status == 403


def test_what_it_is_told(start, origin):
    page = origin.page(ok(b'x'))
    p = start('return "OK"', 'ext %SRC %METHOD %PROTO %DST %PORT %PATH %URI %MYADDR %MYPORT %{X-Key} %>{X-Key} %ACL %un %>rm {helper}',
              RULES.replace('{args}', 'one "two%three"').replace('"', ''))
    assert p.get(f'{page.url}?q', 'X-Key: a b').status == 200
    assert asked(p) == [f'127.0.0.1 GET http 127.0.0.1 {origin.port} {page.path}?q {page.url}?q 127.0.0.1 {p.port} a%20b a%20b ext - GET '
                        'one two%25three']


def test_data(start, origin):
    page = origin.page(ok(b'x'))
    p = start('return "OK"', 'ext %DATA %SRC {helper}', RULES.replace('{args}', 'one two'))
    assert p.get(page.url).status == 200
    q = start('return "OK"', 'ext %DATA %SRC {helper}')
    assert q.get(page.url).status == 200
    assert asked(p) == ['one two 127.0.0.1'] and asked(q) == ['- 127.0.0.1']


def test_header_injection(start, origin):
    """What a client sends stays in its word."""
    page = origin.page(ok(b'x'))
    p = start('return "OK"', 'ext %{X} %SRC {helper}')
    assert p.get(page.url, 'X: a"b\\c%0aOK\x7f\xe9').status in (200, 400)
    assert p.get(page.url, 'X: a"b\\c%0aOK\xe9').status == 200
    assert asked(p)[-1] == 'a%22b%5Cc%250aOK%E9 127.0.0.1'


# --- memory

def test_answers_are_remembered(start, origin):
    page = origin.page(ok(b'x'))
    p = start('return "OK" if words[0] != "/no" else "ERR"', 'ext ttl=60 negative_ttl=0 %PATH {helper}')
    with p.connect() as c:
        assert [c.get(page.url).status for _ in range(5)] == [200] * 5
        assert len(asked(p)) == 1
    with p.connect() as c:
        assert [c.get(f'http://{origin.authority}/no').status for _ in range(3)] == [403] * 3
    assert asked(p).count('/no') == 3


@pytest.mark.parametrize('options', ['ttl=0', 'cache=0'])
def test_answers_are_not_remembered(start, origin, options):
    page = origin.page(ok(b'x'))
    p = start('return "OK"', f'ext {options} %SRC {{helper}}')
    with p.connect() as c:
        assert [c.get(page.url).status for _ in range(3)] == [200] * 3
    assert len(asked(p)) == 3


def test_the_cache_is_bounded(start, origin):
    page = origin.page(ok(b'x'))
    p = start('return "OK"', 'ext cache=2 %{X} {helper}')
    with p.connect() as c:
        for x in '123' '23' '1':
            assert c.get(page.url, f'X: {x}').status == 200
    assert asked(p) == ['1', '2', '3', '1']


def test_equal_questions_are_asked_once(start, origin):
    page = origin.page(ok(b'x'))
    p = start('while not os.path.exists(sys.argv[0] + ".go"): time.sleep(0.01)\nreturn "OK"', rules='workers 1\n' + RULES.replace(' {args}', ''))
    tasks = [Task(p.get, page.url) for _ in range(10)]
    soon(lambda: asked(p), 'it is asked')
    p.write('helper.go', '')
    assert [t.result().status for t in tasks] == [200] * 10
    assert len(asked(p)) == 1


def test_grace_asks_again_in_time(start, origin):
    page = origin.page(ok(b'x'))
    p = start('return "OK"', 'ext ttl=600 grace=100 %SRC {helper}')
    with p.connect() as c:
        assert c.get(page.url).status == 200
        assert c.get(page.url).status == 200
        soon(lambda: len(asked(p)) == 2, 'asked again behind its back')


def test_reconfigure_forgets(start, origin):
    page = origin.page(ok(b'x'))
    p = start('return "OK"')
    assert p.get(page.url).status == 200
    assert p.k('reconfigure').returncode == 0
    soon(lambda: p.get(page.url).status == 200 and len(asked(p)) >= 2, 'asked anew')


# --- what it gives

def test_pairs(start, origin):
    page = origin.page(ok(b'x'))
    p = start('return "OK user=joe tag=t1 log=\\"why not\\" message=hi x=1 password=secret"',
              rules='logformat l %un %ul %ue %et %ea %{x}note %{password}note\naccess_log stdio:{dir}/x.log l\n'
              'acl ext external ext\nacl t tag t1\nacl u tag t2\nhttp_access deny u\nhttp_access allow ext t\nhttp_access deny all\n')
    assert p.get(page.url).status == 200
    soon(lambda: p.read('x.log'), 'it is logged')
    assert p.read('x.log') == 'joe - joe t1 why%20not 1 -\n'


def test_it_outlives_the_client(start, origin):
    page = origin.page(ok(b'x'))
    p = start('while not os.path.exists(sys.argv[0] + ".go"): time.sleep(0.01)\nreturn "OK"')
    with p.connect() as c:
        c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
        soon(lambda: asked(p), 'it is asked')
        c.reset()
    p.write('helper.go', '')
    assert p.get(page.url).status == 200


def test_several_in_a_line_and_with_others(start, origin):
    page = origin.page(ok(b'x'))
    p = start('return "OK" if words[-1] in ("a", "b") else "ERR"', 'ext %SRC {helper}',
              'acl a external ext a\nacl b external ext b\nacl c external ext c\nacl either any-of c b\n'
              'acl here dst 127.0.0.1\nhttp_access allow here a either\nhttp_access deny all\n')
    assert p.get(f'http://origin.test:{origin.port}{page.path}').status == 200
    assert asked(p) == ['127.0.0.1 a', '127.0.0.1 c', '127.0.0.1 b']


def test_login_comes_first(make_proxy, origin):
    """%LOGIN: who he is has to be known."""
    page = origin.page(ok(b'x'))
    p = make_proxy(start=False)
    path = program(p, 'def answer(first, rest): return "OK" if first == "joe" else "ERR"')
    p.write('users', 'joe:$apr1$abcdefgh$' + APR1 + '\nann:$apr1$abcdefgh$' + APR1 + '\n')
    p.configure(f'auth_param basic file {p.path("users")}\nexternal_acl_type ext %LOGIN {path}\nacl ext external ext\n'
                'http_access allow ext\nhttp_access deny all\n')
    p.start()
    assert p.get(page.url).status == 407
    assert p.get(page.url, 'Proxy-Authorization: Basic ' + b64encode(b'joe:secret').decode()).status == 200
    assert p.get(page.url, 'Proxy-Authorization: Basic ' + b64encode(b'ann:secret').decode()).status == 403


def test_children(start, origin):
    p = start('return "OK"', 'ext children-max=4 children-startup=2 children-idle=1 concurrency=0 queue-size=9 %SRC {helper}')
    soon(lambda: len(children(p)) == 2, 'two are started')


@pytest.mark.parametrize('conf, why', [
    ('external_acl_type x %SRC', 'needs a program'), ('external_acl_type x %NOTHING /bin/cat', 'is no code'),
    ('external_acl_type x ttl=never %SRC /bin/cat', 'number of seconds'), ('external_acl_type x grace=200 %SRC /bin/cat', 'percentage'),
    ('external_acl_type x protocol=2.5 %SRC /bin/cat', 'Squid 3.0'), ('external_acl_type x fast=1 %SRC /bin/cat', 'is no option'),
    ('external_acl_type x %SRC /nowhere/x', "can't run"), ('acl e external y', "no external_acl_type 'y'"),
    ('external_acl_type x %SRC /bin/cat\nexternal_acl_type x %SRC /bin/cat', 'is there already')])
def test_configuration_errors(make_proxy, conf, why):
    p = make_proxy(start=False)
    p.configure(conf)
    r = p.k('parse')
    assert r.returncode == 1 and why in r.stderr


# --- a request goes on under the settings it came under

HELD = 'while not os.path.exists(sys.argv[0] + ".go"): time.sleep(0.01)\nreturn "OK"'


def rewriter(p, to):
    return program(p, f'def answer(first, rest):\n    return {to!r}\n', name='rewriter')


def meanwhile(p, page, conf):
    """What becomes of a request that waits for its program while conf comes in force."""
    task = Task(p.get, page.url)
    soon(lambda: asked(p), 'it is asked')
    p.configure(f'workers 1\n{conf}http_access allow all\n')
    assert p.k('reconfigure').returncode == 0
    soon(lambda: p.get(page.url, 'X-Probe: y').status != 403, 'the new settings are in force')
    p.write('helper.go', '')
    return task.result().status


BEFORE = 'workers 1\nacl probe req_header X-Probe .\nhttp_access deny probe\n' + RULES.replace(' {args}', '')


def test_a_rewriter_that_came_meanwhile_is_not_asked(start, origin):
    page = origin.page(ok(b'x'))
    p = start(HELD, rules=BEFORE)
    assert meanwhile(p, page, f'url_rewrite_program {rewriter(p, "ERR")}\n') == 200
    assert p.get(page.url).status == 200


def test_a_list_that_went_meanwhile_is_asked(start, origin):
    """Of what is stored, too."""
    page = origin.page(ok(b'x', 'Cache-Control: max-age=600'))
    p = start(HELD, rules=BEFORE + 'adapted_http_access deny all\n')
    assert meanwhile(p, page, '') == 403


# --- rewritten

@pytest.mark.parametrize('code, times', [('%PATH', 2), ('%SRC', 1)])
def test_a_rewritten_request_is_asked_about_anew_where_the_question_differs(make_proxy, origin, code, times):
    page, other = origin.page(ok(b'x')), origin.page(ok(b'other'))
    p = make_proxy(start=False)
    helper = program(p, LOGGED.replace('\n    ', '\n') + 'def answer(first, rest):\n    asked([first, *rest])\n'
                     f'    return "ERR" if first == {other.path!r} else "OK"\n')
    p.configure(f'external_acl_type ext {code} {helper}\nacl ext external ext\nhttp_access allow ext\nhttp_access deny all\n'
                'adapted_http_access allow ext\nadapted_http_access deny all\n'
                f'url_rewrite_program {rewriter(p, f"OK rewrite-url={other.url}")}\n')
    p.start()
    assert p.get(page.url).status == (403 if code == '%PATH' else 200)
    assert len(asked(p)) == times
