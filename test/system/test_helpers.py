"""Helper programs: URL rewriters and store-ID programs, well-behaved and otherwise."""
import os
import sys
import textwrap

import pytest

from client import Task, soon
from origin import ok

KEEP = 'Cache-Control: max-age=600'

# Reads questions, as `concurrency` says; answer(url, rest) gives the text; None: nothing is said.
PROGRAM = '''#!{python}
import sys, os, time
CHANNELS = {channels}
def out(text):
    sys.stdout.write(text)
    sys.stdout.flush()
{body}
for line in sys.stdin:
    words = line.rstrip('\\n').split(' ')
    channel = words.pop(0) + ' ' if CHANNELS else ''
    text = answer(words[0], words[1:])
    if text is not None:
        out(channel + text + '\\n')
'''


def program(p, body, channels=False, name='helper'):
    path = p.write(name, PROGRAM.format(python=sys.executable, channels=channels, body=textwrap.dedent(body)))
    os.chmod(path, 0o755)
    return path


@pytest.fixture
def start(make_proxy):
    """A proxy with a rewriter whose answer() is given. {helper} in conf is its path."""
    def make(body, conf='', channels=False, directive='url_rewrite_program', **options):
        p = make_proxy(start=False)
        path = program(p, body, channels)
        p.configure(f'{directive} {path}\n' + conf.replace('{helper}', path))
        return p.start()
    return make


def children(p):
    """Processes that run the helper."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{pid}/cmdline', encoding='latin-1') as f:
                if p.path('helper') in f.read().split('\0'):
                    found.append(int(pid))
        except OSError:
            continue
    return found


# --- what a rewriter may answer

def test_a_rewritten_url_is_fetched_and_is_the_key(start, origin):
    other, page = origin.page(ok(b'other', KEEP)), origin.page(ok(b'asked'))
    p = start(f'def answer(url, rest): return "OK rewrite-url={other.url}" if url.endswith("{page.path}") else "ERR"')
    assert p.get(page.url).body == b'other'
    assert p.get(page.url).body == p.get(other.url).body == b'other'
    assert (page.count, other.count) == (0, 1)
    assert {line.url for line in p.logged(other.url, 3)} == {other.url}


@pytest.mark.parametrize('text', ['ERR', 'OK', 'ERR message=none', '', 'OK nothing=known'])
def test_as_it_is(start, origin, text):
    page = origin.page(ok(b'asked'))
    p = start(f'def answer(url, rest): return {text!r}')
    assert p.get(page.url).body == b'asked'


@pytest.mark.parametrize('text, status', [
    ('OK status=301 url={}', 301), ('OK status=302 url="{}"', 302), ('OK url={}', 302), ('OK status=308 url={}', 308),
    ('302:{}', 302), ('301:{} 1.2.3.4/- - GET', 301)])
def test_redirections(start, origin, text, status):
    page = origin.page(ok(b'asked'))
    text = text.replace('{}', 'http://block.test/why?x=1')
    p = start(f'def answer(url, rest): return {text!r}')
    r = p.get(page.url)
    assert (r.status, r.get('Location'), r.body, page.count) == (status, 'http://block.test/why?x=1', b'', 0)
    assert p.logged(page.url)[0].what == f'TCP_REDIRECT/{status}'


@pytest.mark.parametrize('text', ['{} 10.0.0.1/- - GET', '{}', 'OK rewrite-url="{}"'])
def test_older_answers(start, origin, text):
    other, page = origin.page(ok(b'other')), origin.page(ok(b'asked'))
    text = text.replace('{}', other.url)
    p = start(f'def answer(url, rest): return {text!r}')
    assert p.get(page.url).body == b'other'


@pytest.mark.parametrize('text', [
    'OK rewrite-url=nothing', 'OK rewrite-url=https://x.test/', 'OK rewrite-url=http://u:p@x.test/', 'OK status=200 url=http://x.test/',
    'OK status=302 url=', 'OK rewrite-url=http://x.test:99999/', 'BH message=oh', 'TT x'])
def test_bad_answers_never_pass_the_filter(start, origin, text):
    page = origin.page(ok(b'asked'))
    p = start(f'def answer(url, rest): return {text!r}')
    r = p.get(page.url)
    assert (r.status, r.get('X-Squid-Error').split()[0], page.count) == (503, 'ERR_CANNOT_FORWARD', 0)


def test_decoded_values_stay_on_one_line(start, origin):
    """%0d%0a in a value is decoded; it does not get into the head."""
    page = origin.page(ok(b'asked'))
    p = start('def answer(url, rest): return "OK status=302 url=http://x.test/%0d%0aSet-Cookie:%20a=b"')
    r = p.get(page.url)
    assert r.get('Location') == 'http://x.test/%0D%0ASet-Cookie:%20a=b' and r.get('Set-Cookie') is None


def test_what_it_is_told(start, origin):
    page = origin.page(ok(b'x'))
    p = start("""
        def answer(url, rest):
            with open(sys.argv[0] + '.asked', 'a') as f:
                f.write('|'.join([url, ' '.join(rest)]))
            return 'ERR'
        """)
    assert p.get(f'{page.url}?q=1').body == b'x'
    assert p.read('helper.asked') == f'{page.url}?q=1|127.0.0.1/127.0.0.1 - GET myip=127.0.0.1 myport={p.port}'


def test_extras(start, origin):
    page = origin.page(ok(b'x'))
    p = start('def answer(url, rest): return "OK status=302 url=http://x.test/" + "_".join(rest)',
              'url_rewrite_extras "%>rm agent=%{X-Key}>h"\n')
    assert p.get(page.url, 'X-Key: k').get('Location') == 'http://x.test/GET_agent=k'


def test_host_header(make_proxy, origin):
    for conf, host in (('', origin.authority), ('url_rewrite_host_header off\n', 'asked.test')):
        other = origin.page(ok(b'other'))
        p = make_proxy(start=False)
        p.configure(f'url_rewrite_program {program(p, f"def answer(url, rest): return {other.url!r}")}\n{conf}')
        p.start()
        assert p.get('http://asked.test/').body == b'other'
        assert other.requests[0].get('Host') == host


def test_access(start, origin):
    page, spared = origin.page(ok(b'asked')), origin.page(ok(b'spared'), name='spared')
    p = start('def answer(url, rest): return "OK status=302 url=http://x.test/"',
              'acl spared urlpath_regex ^/spared\nurl_rewrite_access deny spared\nurl_rewrite_access allow all\n')
    assert p.get(page.url).status == 302
    assert p.get(spared.url).body == b'spared'


def test_connect(start, origin):
    p = start('def answer(url, rest): return "OK rewrite-url=' + origin.authority + '" if url == "far.test:443" else "ERR"',
              f'acl SSL_ports port {origin.port}\n')
    page = origin.page(ok(b'tunnelled'))
    with p.connect() as c:
        c.send('CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\n\r\n'.encode())
        assert c.response('CONNECT').status == 200
        assert c.get(page.path, f'Host: {origin.authority}').body == b'tunnelled'


def test_a_post_waits_with_its_body(start, origin):
    other = origin.page(ok(b'other'))
    p = start(f'def answer(url, rest): time.sleep(0.2); return "OK rewrite-url={other.url}"')
    body = b'b' * 300_000
    assert p.ask('POST', 'http://asked.test/', f'Content-Length: {len(body)}', body=body).body == b'other'
    assert other.requests[0].body == body


# --- channels, numbers, queues

def test_channels_out_of_order(start, origin):
    """Three questions, answered in reverse."""
    pages = [origin.page(ok(b'%d' % i)) for i in range(3)]
    p = start('''
        waiting = []
        def answer(url, rest):
            waiting.append((channel, url))
            if len(waiting) == 3:
                for c, u in reversed(waiting):
                    out(f'{c}OK rewrite-url={u}?x\\n')
        ''', 'url_rewrite_children 1 concurrency=5\n', channels=True)
    tasks = [Task(p.get, page.url) for page in pages]
    assert [t.result().body for t in tasks] == [b'0', b'1', b'2']
    assert all(page.requests[0].target.endswith('?x') for page in pages)
    assert len(children(p)) == 1


def test_children(start, origin):
    page = origin.page(ok(b'x'))
    p = start('def answer(url, rest): return "ERR"', 'url_rewrite_children 7 startup=3 idle=1\n')
    soon(lambda: len(children(p)) == 3, 'three are started')
    assert p.get(page.url).body == b'x'
    assert len(children(p)) == 3


def test_none_runs_without_need(start):
    p = start('def answer(url, rest): return "ERR"', 'url_rewrite_children 7 startup=0 idle=0\n')
    assert children(p) == []


def test_a_full_queue(start, origin):
    page = origin.page(ok(b'x'))
    p = start('def answer(url, rest):\n    while not os.path.exists(sys.argv[0] + ".go"): time.sleep(0.01)\n    return "ERR"',
              'url_rewrite_children 1 queue-size=1\n')
    first = Task(p.get, page.url)
    soon(lambda: children(p), 'the first is asked about')
    tasks = [Task(p.get, page.url) for _ in range(4)]
    soon(lambda: sum(not t.is_alive() for t in tasks) == 3, 'one waits, three are refused')
    p.write('helper.go', '')
    assert first.result().status == 200
    assert sorted(t.result().status for t in tasks) == [200, 503, 503, 503]
    p.wait_cache_log('questions wait for 1 processes')


# --- trouble

def test_the_process_ends_while_everything_waits(make_proxy, origin):
    """Questions to a rewriter, a password check and an external ACL are under way when shutdown_lifetime is over."""
    page = origin.page(ok(b'x'))
    p = make_proxy(start=False)
    path = program(p, 'def answer(*rest): open(sys.argv[0] + ".asked", "a").write("x"); return None')
    p.configure(f'''workers 2\nshutdown_lifetime 1 second
url_rewrite_program {path}
auth_param basic program {path}
external_acl_type slow %SRC {path}
acl slow external slow
acl known proxy_auth REQUIRED
acl user req_header X-User .
acl asked req_header X-Ask .
http_access allow user known
http_access allow asked slow
http_access allow all''')
    p.start()
    fields = ('X: y', 'X-User: y\r\nProxy-Authorization: Basic YTpi', 'X-Ask: y')
    clients = [p.connect() for _ in range(3 * len(fields))]
    for i, c in enumerate(clients):
        c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n{fields[i % len(fields)]}\r\n\r\n'.encode())
    soon(lambda: len(p.read('helper.asked')) >= 3, 'all are asked')
    p.stop()
    for c in clients:
        c.close()



def test_one_that_dies_is_replaced(start, origin):
    page = origin.page(ok(b'x', KEEP))
    p = start('''
        def answer(url, rest):
            if not os.path.exists(sys.argv[0] + '.died'):
                open(sys.argv[0] + '.died', 'w')
                os._exit(3)
            return 'ERR'
        ''')
    assert p.get(page.url).body == b'x'
    p.wait_cache_log('url_rewrite_program: process \\d+ ended with status 3')


@pytest.mark.parametrize('conf, status', [('', 503), ('url_rewrite_bypass on\n', 200)])
def test_one_that_always_dies(start, origin, conf, status):
    page = origin.page(ok(b'x'))
    p = start('def answer(url, rest): os._exit(3)', conf + 'url_rewrite_children 1\n')
    assert [p.get(page.url).status for _ in range(3)] == [status] * 3
    p.wait_cache_log('failed 2 times in a row')


@pytest.mark.parametrize('conf, status', [('', 503), ('url_rewrite_bypass on\n', 200), ('url_rewrite_timeout 100 milliseconds on_timeout=bypass\n', 200),
                                          ('url_rewrite_timeout 100 milliseconds on_timeout=retry\n', 503),
                                          ('url_rewrite_timeout 100 milliseconds on_timeout=use_configured_response response="OK status=302 url=http://x.test/"\n',
                                           302)])
def test_one_that_is_stuck(start, origin, conf, status):
    page = origin.page(ok(b'x'))
    p = start('def answer(url, rest): time.sleep(60)', conf + 'url_rewrite_children 1\nhelper_timeout 100 milliseconds\n')
    assert p.get(page.url).status == status
    p.wait_cache_log('doesn\'t answer in time')


@pytest.mark.parametrize('body', ['def answer(url, rest): return "x" * 100000', 'def answer(url, rest): out("OK\\nOK\\nOK\\n")',
                                  'def answer(url, rest): os.write(1, b"\\0" * 70000)'])
def test_garbage(start, origin, body):
    page = origin.page(ok(b'x'))
    p = start(body, 'url_rewrite_children 1\n')
    assert p.get(page.url).status in (200, 503)
    assert p.get(f'{origin.page(ok(b"y")).url}', 'X: y').status in (200, 503)
    p.wait_cache_log('is replaced')


def test_what_it_says_is_in_cache_log(start, origin):
    page = origin.page(ok(b'x'))
    p = start('def answer(url, rest): sys.stderr.write("I was asked\\n"); sys.stderr.flush(); return "ERR"')
    assert p.get(page.url).body == b'x'
    p.wait_cache_log('url_rewrite_program: process \\d+: I was asked')


def test_one_that_never_stops_talking(start, origin):
    """On standard error, faster than it is read: a worker's loop is there for others too."""
    page = origin.page(ok(b'asked', KEEP))
    p = start("""
        import subprocess
        flood = [subprocess.Popen(['yes', 'x' * 400], stdout=2) for _ in range(3)]
        def answer(url, rest): return 'ERR'
        """, 'workers 1\n')
    for _ in range(100):
        assert p.get(page.url).body == b'asked'
    soon(lambda: 'xxxx' in p.read('cache.log'), 'it is heard')


def test_it_inherits_no_descriptors(start, origin):
    page = origin.page(ok(b'x'))
    p = start('def answer(url, rest): return "OK status=302 url=http://x.test/" + "_".join(sorted(os.listdir("/proc/self/fd")))')
    assert p.get(page.url).get('Location') == 'http://x.test/0_1_2_3'  # 3 is the listing's own


def test_the_client_leaves_meanwhile(start, origin):
    page = origin.page(ok(b'x'))
    p = start('def answer(url, rest):\n    while not os.path.exists(sys.argv[0] + ".go"): time.sleep(0.01)\n    return "ERR"')
    with p.connect() as c:
        c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
        soon(lambda: children(p), 'it is asked')
        c.reset()
    p.write('helper.go', '')
    assert p.get(page.url).body == b'x'


def test_reconfigure_and_end(start, origin):
    """Questions under way are answered by the old program; then it ends. With the proxy all end."""
    page = origin.page(ok(b'x'))
    p = start('def answer(url, rest):\n    while not os.path.exists(sys.argv[0] + ".go"): time.sleep(0.01)\n    return "ERR"',
              'url_rewrite_children 1 startup=1\n')
    task = Task(p.get, page.url)
    old = soon(lambda: children(p), 'it runs')
    p.configure(p.given.replace('startup=1', 'startup=2').replace('children 1', 'children 2'))
    assert p.k('reconfigure').returncode == 0
    soon(lambda: len(children(p)) == 3, 'the old one and two new ones run')
    p.write('helper.go', '')
    assert task.result().body == b'x'
    soon(lambda: not set(old) & set(children(p)), 'the old one ends')
    assert len(children(p)) == 2
    p.stop()
    soon(lambda: not children(p), 'all end')


@pytest.mark.parametrize('line, why', [
    ('url_rewrite_program /nowhere/x', "can't run '/nowhere/x': No such file or directory"),
    ('url_rewrite_program helper', 'begins with /'), ('url_rewrite_children 0', 'a number from 1 to'),
    ('url_rewrite_children 5 idle=x', 'a number from 0 to'), ('url_rewrite_children 5 fast=1', 'is none of startup='),
    ('url_rewrite_timeout 5 seconds on_timeout=never', 'on_timeout=fail'),
    ('url_rewrite_timeout 5 seconds on_timeout=use_configured_response', 'go together')])
def test_configuration_errors(make_proxy, line, why):
    p = make_proxy(start=False)
    p.configure(line)
    r = p.k('parse')
    assert r.returncode == 1 and why in r.stderr


# --- store IDs

def test_one_key_for_many_urls(start, origin):
    a, b, c = (origin.page(ok(x, KEEP)) for x in (b'a', b'b', b'c'))
    p = start(f'def answer(url, rest): return "ERR" if url.endswith("{c.path}") else "OK store-id=http://cdn.squid.internal/x"',
              directive='store_id_program')
    assert p.get(a.url).body == b'a'
    assert p.get(b.url).body == b'a'
    assert p.get(c.url).body == b'c'
    assert (a.count, b.count, c.count) == (1, 0, 1)
    assert p.codes(b.url) == ['TCP_MEM_HIT/200']


def test_refresh_pattern_looks_at_the_store_id(start, origin):
    a, b = (origin.page(ok(name, 'Cache-Control: private')) for name in (b'a', b'b'))
    p = start(f'def answer(url, rest): return "OK store-id=http://cdn.squid.internal/x" if "{a.path}" in url else "ERR"',
              'refresh_pattern ^http://cdn\\.squid\\.internal/ 60 50% 60 override-expire ignore-private ignore-reload\n',
              directive='store_id_program')
    for page in (a, b):
        assert [p.get(page.url, 'Cache-Control: no-cache').status for _ in range(2)] == [200, 200]
    assert (a.count, b.count) == (1, 2)


def test_store_id_is_for_get_and_head(start, origin):
    page = origin.page(ok(b'x'))
    p = start('def answer(url, rest): os._exit(1)', 'store_id_bypass off\nstore_id_children 1\n', directive='store_id_program')
    assert p.ask('POST', page.url, 'Content-Length: 0').status == 200
    assert p.get(page.url).status == 503


@pytest.mark.parametrize('conf, status', [('', 200), ('store_id_bypass off\n', 503)])
def test_store_id_bypass(start, origin, conf, status):
    page = origin.page(ok(b'x'))
    p = start('def answer(url, rest): return "BH"', conf, directive='store_id_program')
    assert p.get(page.url).status == status


def test_store_id_access(start, origin):
    a, b = origin.page(ok(b'a', KEEP)), origin.page(ok(b'b', KEEP))
    p = start('def answer(url, rest): return "OK store-id=x"', f'acl b urlpath_regex ^{b.path}$\nstore_id_access deny b\n',
              directive='store_id_program')
    assert (p.get(a.url).body, p.get(b.url).body) == (b'a', b'b')


def test_store_id_extras(start, origin):
    a, b, c = (origin.page(ok(name, KEEP)) for name in (b'a', b'b', b'c'))
    p = start('def answer(url, rest): return "OK store-id=http://same.test/" + "_".join(rest)',
              'store_id_extras "%>rm key=%{X-Key}>h"\n', directive='store_id_program')
    assert [p.get(page.url, f'X-Key: {key}').body for page, key in ((a, 'k'), (b, 'k'), (c, 'other'))] == [b'a', b'a', b'c']
    assert b.count == 0, 'it has the other one\'s key'


def test_both(make_proxy, origin):
    """The store ID is asked about the rewritten URL."""
    a, b = origin.page(ok(b'a', KEEP)), origin.page(ok(b'b', KEEP))
    p = make_proxy(start=False)
    one = program(p, f'def answer(url, rest): return "OK rewrite-url={a.url}"', name='one')
    two = program(p, f'def answer(url, rest): return "OK store-id=x" if url == "{a.url}" else "ERR"', name='two')
    p.configure(f'url_rewrite_program {one}\nstore_id_program {two}\n')
    p.start()
    assert p.get(b.url).body == b'a'
    assert p.get(a.url).body == b'a'
    assert (a.count, b.count) == (1, 0)
