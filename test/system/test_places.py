"""Where it has to live: without privileges on a read-only file system, as the first process of a container, on a host
without IPv4 or without IPv6. Namespaces of the test's own (unshare), so only for root."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys

import pytest

from client import soon
from origin import DEADLINE, HANG, ok
from proxy import LOLIGO, free_port, needs

FRESH = 'Cache-Control: max-age=600'


def may_unshare():
    return os.getuid() == 0 and shutil.which('unshare') is not None and subprocess.run(
        ['unshare', '-mnpf', 'true'], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not may_unshare(), reason='no namespaces of our own: not root, or no unshare(1)')

TO_STDOUT = 'access_log stdio:/dev/stdout squid\ncache_log /dev/stderr\npid_filename none\n'


def shell(script):
    """A prefix: the script, then what stands behind."""
    return ['sh', '-ec', script + '\nexec "$@"', 'sh']


def children(pid):
    with contextlib.suppress(OSError), open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as f:
        return [int(x) for x in f.read().split()]
    return []


# --- stdout

@pytest.mark.parametrize('supervised', [False, True], ids=['-N', '--foreground'])
def test_stdout_and_stderr_are_one_file(make_proxy, origin, supervised):
    """As in "loligo -N > log 2>&1", without O_APPEND: neither log writes over the other."""
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy(TO_STDOUT, supervised=supervised, start=False)
    p.through = shell(f'exec > {p.path("out")} 2>&1')
    p.start(wait=False)
    soon(lambda: ' serves as process ' in p.read('out'), 'it serves')
    for n in range(1, 4):
        p.get(page.url)
        p.signal(signal.SIGHUP)
        soon(lambda n=n: p.read('out').count('Reconfigured') == n, 'a line of the other kind')
    soon(lambda: p.read('out').count(page.url) == 3, 'three lines')


# --- as anybody, where nothing can be written

@needs('setpriv')
@pytest.mark.parametrize('supervised', [False, True], ids=['-N', '--foreground'])
def test_unprivileged_and_read_only(make_proxy, origin, supervised):
    """The logs go to stdout and into a tmpfs; rotation and reload work, and -k check says what there is to say."""
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy(TO_STDOUT + 'access_log stdio:{dir}/logs/access.log squid\nlogfile_rotate 2\n', start=False,
                   supervised=supervised)
    os.mkdir(p.path('logs'))
    shutil.copy(LOLIGO, p.path('loligo'))  # the tree may be closed to others
    p.through = ['unshare', '-m', *shell(f'''
        mount --make-rprivate /
        mount --bind {p.dir} {p.dir}
        mount -t tmpfs -o mode=1777 none {p.path('logs')}
        mount -o remount,bind,ro {p.dir}
        mount -o remount,bind,ro /
        ! touch {p.path('touched')} /touched 2> /dev/null
        shift
        set -- setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs {p.path('loligo')} "$@"''')]
    p.start()
    assert not os.path.exists(p.path('touched'))

    def log(name):
        with contextlib.suppress(FileNotFoundError), \
                open(f'/proc/{p.process.pid}/root{p.path("logs")}/{name}', encoding='ascii') as f:
            return f.read()
        return ''
    assert p.get(page.url).body == b'x'
    soon(lambda: page.url in log('access.log') and page.url in p.read('stderr'), 'both logs have the line')
    p.signal(signal.SIGUSR1)
    soon(lambda: page.url in log('access.log.0'), 'the old log')
    p.signal(signal.SIGHUP)
    soon(lambda: 'Reconfigured' in p.read('stderr'), 'a reload')
    assert p.get(page.url).body == b'x'
    with open(f'/proc/{p.child()}/status', encoding='ascii') as f:
        assert '\nUid:\t65534\t65534\t65534\t65534\n' in f.read()


def test_no_directory_for_the_pid_file(make_proxy):
    """It says what to do."""
    p = make_proxy('pid_filename {dir}/none/pid', start=False)
    p.start(wait=False)
    assert p.wait_end() == 1
    said = p.read('stderr')
    assert p.path('none/pid') in said and 'No such file' in said and 'pid_filename names it, or is none' in said
    p.process = None


# --- as the first process of a container

@pytest.mark.parametrize('busy', [False, True], ids=['idle', 'busy'])
@pytest.mark.parametrize('supervised', [False, True], ids=['-N', '--foreground'])
def test_as_process_1(make_proxy, origin, supervised, busy):
    """TERM to it ends it with status 0, within shutdown_lifetime where a request hangs; the parent takes care of
    orphans that are left to it."""
    held = origin.page([HANG])
    p = make_proxy(TO_STDOUT + 'shutdown_lifetime 1 second\nurl_rewrite_program {dir}/helper\n'
                   'url_rewrite_children 1 startup=1\n', start=False, supervised=supervised,
                   through=['unshare', '-pf', '--mount-proc', '--kill-child'])
    # It leaves behind a grandchild that lives until its pipe is closed.
    p.write('helper', f'#!/bin/sh\n(sh -c "read x < {p.dir}/fifo; exit 7" &)\nwhile read x; do echo OK; done\n')
    os.chmod(p.path('helper'), 0o755)
    os.mkfifo(p.path('fifo'), 0o644)
    p.start()
    first, = children(p.process.pid)
    with open(f'/proc/{first}/status', encoding='ascii') as f:
        assert f'\nNSpid:\t{first}\t1\n' in f.read()
    page = origin.page(ok(b'x', FRESH))
    assert p.get(page.url).body == b'x'
    soon(lambda: page.url in p.read('stderr'), 'the line on stdout')
    if supervised:
        orphan, = soon(lambda: [c for c in children(first) if 'fifo' in command(c)], 'it is left to process 1')
        with open(p.path('fifo'), 'w', encoding='ascii') as f:
            f.write('go\n')
        soon(lambda: not os.path.exists(f'/proc/{orphan}'), 'process 1 has reaped it')
    with p.connect() as c:
        if busy:
            c.send(f'GET {held.url} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
            held.wait(1)
        os.kill(first, signal.SIGTERM)
        assert p.wait_end() == 0
    assert 'stopped' in p.read('stderr')
    p.process = None
    p.stderr.close()


def command(pid):
    with contextlib.suppress(OSError), open(f'/proc/{pid}/cmdline', encoding='latin-1') as f:
        return f.read()
    return ''


# --- a host with one kind of address

def inside(p, *args):
    """A command in the proxy's network; what it writes."""
    r = subprocess.run(['nsenter', '-t', str(p.process.pid), '-n', *map(str, args)], stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=60, check=False)
    assert r.returncode == 0, f'{args}: {r.returncode}\n{r.stdout}\n{r.stderr}'
    return r.stdout


@needs('ip')
@needs('curl')
@pytest.mark.parametrize('family', ['IPv6', 'IPv4'])
def test_a_host_with_one_kind_of_address(make_proxy, tmp_path, family):
    """http_port with a port alone serves what there is, and its line tells; the other kind is no reason to fail."""
    six = family == 'IPv6'
    remove = 'ip addr del 127.0.0.1/8 dev lo' if six else 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6'
    own, any_port, server = free_port(), free_port(), free_port()
    here = '[::1]' if six else '127.0.0.1'
    p = make_proxy(f'http_port {here}:{own}\nhttp_port {any_port}\n',
                   through=['unshare', '-n', *shell(f'ip link set lo up\n{remove}')])
    p.wait_cache_log(rf'Accepting HTTP connections at \[::\]:{any_port}\n')
    (tmp_path / 'page').write_text('hello')
    web = subprocess.Popen(['nsenter', '-t', str(p.process.pid), '-n', sys.executable, '-m', 'http.server', str(server),
                            '--bind', here.strip('[]'), '--directory', str(tmp_path)],
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def curl(port, *args):
        return inside(p, 'curl', '-sS', '--noproxy', '', '-x', f'http://{here}:{port}', *args)
    try:
        for port in (own, any_port):
            assert curl(port, '--retry', '9', '--retry-all-errors', '--retry-delay', '1', '-f',
                        f'http://{here}:{server}/page') == 'hello'
        other = '127.0.0.1' if six else '[::1]'
        assert curl(own, '-o', '/dev/null', '-w', '%{http_code}', f'http://{other}:{server}/page') == '503'
    finally:
        web.terminate()
        web.wait(DEADLINE)


@needs('ip')
def test_an_address_this_host_does_not_have(make_proxy):
    p = make_proxy('http_port 127.0.0.1:{port}', start=False,
                   through=['unshare', '-n', *shell('ip link set lo up\nip addr del 127.0.0.1/8 dev lo')])
    p.start(wait=False)
    assert p.wait_end() == 1
    assert f'cannot listen on 127.0.0.1:{p.port}: ' in p.read('stderr') + p.read('cache.log')
    p.process = None
