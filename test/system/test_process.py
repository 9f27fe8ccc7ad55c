"""The process as its operator meets it: command line, signals, reload, rotation, supervision, privileges, memory."""
import os
import pwd
import re
import resource
import signal
import subprocess
import threading
import time

import pytest

from client import Client, Task, request, soon
from origin import DEADLINE, HANG, head, ok
from proxy import LOLIGO, Proxy, free_port, is_sanitized

FRESH = 'Cache-Control: max-age=600'
ROOT = pytest.mark.skipif(os.getuid() != 0, reason='only root can drop privileges')
PLAIN = pytest.mark.skipif(is_sanitized(), reason='a sanitizer has memory of its own')


def run(*args, env=None):
    return subprocess.run([LOLIGO, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE,
                          env={**os.environ, **(env or {})})


# -- command line

def test_version():
    r = run('-v')
    assert r.returncode == 0 and re.match(r'Loligo \d+\.\d+', r.stdout)


def test_help():
    r = run('--help')
    assert r.returncode == 0
    for option in ('-f', '-N', '-k', '-z', '-d', '-n', '--foreground', 'reconfigure', 'rotate'):
        assert option in r.stdout


def test_z_always_succeeds():
    assert run('-z').returncode == 0
    assert run('--foreground', '-z').returncode == 0


@pytest.mark.parametrize('args', [['--nonsense'], ['-k'], ['-k', 'nonsense'], ['extra'], ['-d', 'x'], ['-n', 'a b']])
def test_wrong_command_lines(args):
    r = run(*args)
    assert r.returncode == 1 and r.stderr.startswith('loligo: ') and r.stdout == ''


def test_header_parsers():
    """Each one this machine has serves and is named by mgr:info; without a choice it is the last one named."""
    wrong = run('-N', '--embedded', env={'LOLIGO_HDRS_KERNEL': 'mmx'})
    assert wrong.returncode == 1 and wrong.stdout == ''
    said = re.fullmatch(r"loligo: LOLIGO_HDRS_KERNEL: no header parser 'mmx' on this machine; available:((?: \w+)+)\n",
                        wrong.stderr)
    kernels = said[1].split()
    assert kernels[0] == 'scalar'
    unset = {name: value for name, value in os.environ.items() if name != 'LOLIGO_HDRS_KERNEL'}
    for kernel in [*kernels, None]:
        p = Proxy(env={**unset, 'LOLIGO_HDRS_KERNEL': kernel} if kernel else unset)
        try:
            assert f'\nHeader Parser: {kernel or kernels[-1]}\n' in p.page('info').body.decode()
            p.stop()
        finally:
            p.remove()


def test_k_suggests():
    assert "did you mean 'reconfigure'" in run('-k', 'reconfigur').stderr


def test_k_without_a_proxy():
    p = Proxy(start=False)
    try:
        for word in ('check', 'reconfigure', 'rotate', 'shutdown', 'interrupt'):
            r = p.k(word)
            assert (r.returncode, bool(r.stderr)) == (1, True), word
    finally:
        p.remove()


@pytest.mark.parametrize('supervised', [False, True], ids=['-N', '--foreground'])
def test_k_talks_to_a_running_proxy(make_proxy, origin, supervised):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy(supervised=supervised)
    p.get(page.url)
    assert int(p.read('pid')) == p.process.pid
    assert p.k('check').returncode == 0
    assert p.k('reconfigure').returncode == 0
    p.wait_cache_log('Reconfigured')
    assert p.k('rotate').returncode == 0
    soon(lambda: os.path.exists(p.path('access.log.0')), 'a rotated log')
    assert p.get(page.url).status == 200
    assert page.count == 1, 'a reload empties no cache'
    assert p.k('shutdown').returncode == 0
    assert p.wait_end() == 0
    assert not os.path.exists(p.path('pid'))


@pytest.mark.parametrize('word, number', [('interrupt', None), (None, signal.SIGINT), (None, signal.SIGTERM)])
@pytest.mark.parametrize('supervised', [False, True], ids=['-N', '--foreground'])
def test_ends_with_0(make_proxy, word, number, supervised):
    p = make_proxy(supervised=supervised)
    if word:
        assert p.k(word).returncode == 0
    else:
        p.signal(number)
    assert p.wait_end() == 0


def test_background_start(make_proxy, origin):
    """Without -N and --foreground the command returns when the proxy serves."""
    page = origin.page(ok(b'x'))
    p = make_proxy(start=False)
    r = run('-f', p.conf)
    assert r.returncode == 0, r.stderr
    try:
        assert p.get(page.url).status == 200
    finally:
        assert p.k('shutdown').returncode == 0
        soon(lambda: not os.path.exists(p.path('pid')), 'it ends')


def test_a_second_start_is_refused(make_proxy):
    p = make_proxy()
    r = p.command('-N')
    assert r.returncode == 1 and 'already running' in r.stderr


def test_a_port_that_is_taken(make_proxy):
    p = make_proxy()
    q = make_proxy(start=False)
    q.configure(f'http_port 127.0.0.1:{p.port}')
    q.start(wait=False)
    assert q.wait_end() == 1
    assert f'127.0.0.1:{p.port}' in q.read('stderr') + q.read('cache.log')
    q.process = None


# -- TERM

def test_term_while_idle_ends_at_once(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('shutdown_lifetime 60 seconds')
    with p.connect() as idle, p.connect() as silent:
        idle.get(page.url)
        began = time.monotonic()
        p.signal(signal.SIGTERM)
        assert p.wait_end() == 0
        assert time.monotonic() - began < 1
        assert idle.is_closed() and silent.is_closed()


def test_term_while_busy_finishes_the_request(make_proxy, origin):
    go = threading.Event()
    page = origin.page([head('Content-Length: 10'), b'first', go, b'secnd'])
    p = make_proxy('shutdown_lifetime 60 seconds')
    with p.connect() as c:
        c.send(request('GET', page.url))
        while not c.reader.waiting.endswith(b'first'):
            assert c.reader.fill()
        p.signal(signal.SIGTERM)
        p.wait_cache_log('Stopping')
        go.set()
        assert c.response().body == b'firstsecnd'
        assert c.is_closed()
    assert p.wait_end() == 0
    assert p.codes(page.url) == ['TCP_MISS/200']


def test_term_refuses_new_connections(make_proxy, origin):
    go = threading.Event()
    page = origin.page([go, ok(b'x')])
    p = make_proxy('shutdown_lifetime 60 seconds')
    with p.connect() as c:
        c.send(request('GET', page.url))
        page.wait(1)
        p.signal(signal.SIGTERM)

        def refused():
            try:
                with p.connect():
                    return False
            except ConnectionError:
                return True
        soon(refused, 'new connections are refused')
        go.set()
        r = c.response()
        assert (r.body, r.get('Connection')) == (b'x', 'close')
    assert p.wait_end() == 0


@pytest.mark.parametrize('supervised', [False, True], ids=['-N', '--foreground'])
def test_term_cuts_what_hangs(make_proxy, origin, supervised):
    page = origin.page([HANG])
    half = origin.page([head('Content-Length: 10'), b'half', HANG])
    p = make_proxy('shutdown_lifetime 1 second', supervised=supervised)
    with p.connect() as a, p.connect() as b, p.connect() as tunnel:
        a.send(request('GET', page.url))
        b.send(request('GET', half.url))
        tunnel.send(request('CONNECT', origin.authority, f'Host: {origin.authority}'))
        tunnel.response('CONNECT')
        page.wait(1), half.wait(1)
        p.signal(signal.SIGTERM)
        assert p.wait_end() == 0


# -- HUP

def test_50_reloads_under_load(make_proxy, origin):
    """Keep-alive and new connections, hits and misses: no request fails, no connection is refused."""
    p = make_proxy()
    hit, miss = origin.page(ok(b'hit', FRESH)), origin.page(ok(b'miss', 'Cache-Control: no-store'))
    p.get(hit.url)
    over = threading.Event()
    done = []

    def keep_alive():
        with p.connect() as c:
            while not over.is_set():
                assert c.get(hit.url).body == b'hit'
                assert c.get(miss.url).body == b'miss'
                done.append(2)

    def new_connections():
        while not over.is_set():
            with p.connect() as c:
                assert c.get(hit.url).body == b'hit'
                done.append(1)
    tasks = [Task(keep_alive), Task(keep_alive), Task(new_connections)]
    try:
        for i in range(50):
            p.signal(signal.SIGHUP)
            p.wait_cache_log('Reconfigured', i + 1)
    finally:
        over.set()
    for t in tasks:
        t.result()
    assert sum(done) > 50
    soon(lambda: p.line_count() == sum(done) + 1, 'a line for each request')
    assert {line.status for line in p.lines()} == {'200'}


def test_a_reload_changes_rules_for_the_next_request(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy()
    with p.connect() as c:
        assert c.get(page.url).status == 200
        p.configure(f'acl it url_regex {page.path}$\nhttp_access deny it')
        p.signal(signal.SIGHUP)
        soon(lambda: c.get(page.url).status == 403, 'the new rule is in force')


def test_a_request_in_progress_keeps_its_settings(make_proxy, origin):
    go = threading.Event()
    page = origin.page([go, ok(b'x')])
    p = make_proxy()
    with p.connect() as c:
        c.send(request('GET', page.url))
        page.wait(1)
        p.configure('acl it url_regex page\nhttp_access deny it')
        p.signal(signal.SIGHUP)
        p.wait_cache_log('Reconfigured')
        go.set()
        assert c.response().body == b'x'


@pytest.mark.parametrize('supervised', [False, True], ids=['-N', '--foreground'])
def test_a_bad_file_changes_nothing(make_proxy, origin, supervised):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy(supervised=supervised)
    with p.connect() as c:
        c.get(page.url)
        p.configure('http_access deny all\nnonsense on')
        p.signal(signal.SIGHUP)
        p.wait_cache_log(r'squid\.conf:2:1: error: .*nonsense')
        p.wait_cache_log('stays as it was|in force stays')
        assert c.get(page.url).status == 200
    assert p.get(page.url).status == 200


@pytest.mark.parametrize('supervised', [False, True], ids=['-N', '--foreground'])
def test_a_log_that_cannot_be_opened(make_proxy, origin, supervised):
    """A start serves without it; a reload leaves everything as it is, the log that is written as well."""
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('access_log stdio:{dir}/later/access.log\n', supervised=supervised)
    p.wait_cache_log(r"ERROR: can't open access log .*/later/access\.log: No such file or directory; its lines are dropped")
    assert p.get(page.url).status == 200
    q = make_proxy(supervised=supervised)
    q.configure('access_log stdio:{dir}/none/access.log\nhttp_access deny all\n')
    q.signal(signal.SIGHUP)
    q.wait_cache_log(r"ERROR: can't open access log .*/none/access\.log: No such file or directory\n")
    q.wait_cache_log('stays as it was|in force stays')
    q.given = ''
    assert [q.get(page.url).status for _ in range(2)] == [200, 200] and q.line_count() == 2


def test_ports_come_and_go(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    second = free_port()
    p = make_proxy()
    with p.connect() as old:
        assert old.get(page.url).status == 200
        p.configure(f'http_port 127.0.0.1:{second}\nhttp_port 127.0.0.1:{{port}}')
        p.signal(signal.SIGHUP)
        p.wait_cache_log('Reconfigured', 1)
        with Client(second) as c:
            assert c.get(page.url).status == 200
        assert old.get(page.url).status == 200
        p.configure(f'http_port 127.0.0.1:{second}')
        p.signal(signal.SIGHUP)
        p.wait_cache_log('Reconfigured', 2)
        assert old.is_closed(), 'its port is gone, and it was idle'
    with Client(second) as c:
        assert c.get(page.url).status == 200

    def refused():
        try:
            with p.connect():
                return False
        except ConnectionError:
            return True
    soon(refused, 'the port that went refuses')


def test_50_reloads_leave_nothing_behind(make_proxy, origin):
    p = make_proxy('acl many dstdomain ' + ' '.join(f'{i}.test' for i in range(2000)))

    def reload(n):
        p.signal(signal.SIGHUP)
        p.wait_cache_log('Reconfigured', n)
    for i in range(10):
        reload(i + 1)
    memory, fds = p.rss(), len(os.listdir(f'/proc/{p.process.pid}/fd'))
    for i in range(10, 60):
        reload(i + 1)
    soon(lambda: len(os.listdir(f'/proc/{p.process.pid}/fd')) <= fds, 'no descriptor is left behind')
    if not is_sanitized():
        assert p.rss() - memory < 2048


# -- USR1

def test_rotation_loses_no_line(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('logfile_rotate 9')
    with p.connect() as c:
        for i in range(5):
            for _ in range(100):
                c.get(page.url)
            p.signal(signal.SIGUSR1)
            soon(lambda n=i: os.path.exists(p.path(f'access.log.{n}')), 'another old log')
        c.get(page.url)
    names = ['access.log'] + [f'access.log.{i}' for i in range(5)]
    soon(lambda: sum(p.read(n).count('\n') for n in names) == 501, 'every line')
    assert {line.url for n in names for line in p.lines(n)} == {page.url}
    assert os.path.exists(p.path('cache.log.0'))


def test_rotation_with_0_reopens(make_proxy, origin):
    """What Debian's logrotate relies on."""
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('logfile_rotate 0')
    p.get(page.url)
    os.rename(p.log_path, p.path('moved'))
    p.signal(signal.SIGUSR1)
    soon(lambda: os.path.exists(p.log_path), 'the log is there again')
    p.get(page.url)
    assert (p.read('moved').count('\n'), p.line_count()) == (1, 1)
    assert not os.path.exists(p.path('access.log.0'))


def test_logfile_rotate_is_a_bound(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('logfile_rotate 2')
    for i in range(4):
        p.get(page.url + f'?{i}')
        p.signal(signal.SIGUSR1)
        soon(lambda: not p.read('access.log'), 'the new log')
    logs = sorted(n for n in os.listdir(p.dir) if n.startswith('access.log'))
    assert logs == ['access.log', 'access.log.0', 'access.log.1']


def test_a_log_that_cannot_be_written_stops_nobody(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('access_log stdio:/dev/full squid')
    with p.connect() as c:
        for _ in range(200):
            assert c.get(page.url).status == 200


# -- the parent and the child

def test_a_killed_child_is_replaced_and_no_connection_refused(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy(supervised=True)
    for _ in range(3):
        before = p.child()
        os.kill(before, signal.SIGKILL)
        with p.connect() as c:  # waits in the socket that the parent kept
            assert c.get(page.url).body == b'x'
        assert p.child() not in (None, before)
        p.wait_cache_log(f'child process {before} was ended by signal 9')
    assert p.k('check').returncode == 0


def test_the_child_ends_with_its_parent(make_proxy):
    p = make_proxy(supervised=True)
    child = p.child()
    p.process.kill()
    p.process.wait()
    soon(lambda: not os.path.exists(f'/proc/{child}'), 'the child is gone')
    p.process = None


@ROOT
@pytest.mark.parametrize('supervised', [False, True], ids=['-N', '--foreground'])
def test_privileges_are_dropped(make_proxy, origin, supervised):
    p = make_proxy('cache_effective_user proxy', supervised=supervised)
    with open(f'/proc/{p.child()}/status', encoding='ascii') as f:
        status = f.read()
    user = pwd.getpwnam('proxy')
    assert re.search(rf'^Uid:\s+{user.pw_uid}\s+{user.pw_uid}\s+{user.pw_uid}', status, re.M)
    assert re.search(rf'^Gid:\s+{user.pw_gid}\s+{user.pw_gid}\s+{user.pw_gid}', status, re.M)
    assert re.search(r'^Groups:\s*(\d+\s*)?$', status, re.M)
    assert os.stat(p.log_path).st_uid == user.pw_uid
    page = origin.page(ok(b'x'))
    assert p.get(page.url).status == 200


@ROOT
def test_a_user_that_does_not_exist(make_proxy):
    p = make_proxy('cache_effective_user nobody-of-that-name', start=False)
    p.start(wait=False)
    assert p.wait_end() == 1
    assert 'nobody-of-that-name' in p.read('stderr') + p.read('cache.log')
    p.process = None


# -- memory and descriptors

@PLAIN
def test_idle_memory(make_proxy):
    p = make_proxy('cache_mem 256 MB\nworkers 2')
    assert p.rss() <= 12 << 10


@PLAIN
def test_memory_does_not_depend_on_the_limit_of_open_files(make_proxy):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    sizes = []
    for limit in (256, min(hard, 1 << 30) if hard != resource.RLIM_INFINITY else 1 << 20):
        p = make_proxy(limits=lambda n=limit: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
        sizes.append(p.rss())
    assert abs(sizes[0] - sizes[1]) < 512, sizes


def test_more_clients_than_descriptors(make_proxy, origin):
    """U07: at the limit accepting pauses; those who are in are served; it recovers when they leave."""
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy(limits=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)))
    p.get(page.url)
    clients = [p.connect() for _ in range(200)]
    assert clients[0].get(page.url).status == 200
    with open(f'/proc/{p.process.pid}/stat', encoding='ascii') as f:
        before = sum(int(x) for x in f.read().rpartition(')')[2].split()[11:13])
    threading.Event().wait(0.5)
    with open(f'/proc/{p.process.pid}/stat', encoding='ascii') as f:
        assert sum(int(x) for x in f.read().rpartition(')')[2].split()[11:13]) - before < 20, 'it spins'
    for c in clients[:150]:
        c.close()
    assert clients[-1].get(page.url).status == 200
    for c in clients[150:]:
        c.close()


def test_500_connections_closed_by_resets(make_proxy, origin):
    """U06."""
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy()
    p.get(page.url)
    fds = len(os.listdir(f'/proc/{p.process.pid}/fd'))
    for _ in range(500):
        p.connect().reset()
    assert p.get(page.url).status == 200
    soon(lambda: len(os.listdir(f'/proc/{p.process.pid}/fd')) <= fds + 2, 'no descriptor is left behind')
