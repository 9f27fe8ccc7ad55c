"""Directives whose effect no other file's subject is (test_every_directive.py says which test sees which)."""
import grp
import os
import re
import signal
import threading

import pytest

from client import Cut, request, soon
from names import NameServer
from origin import HANG, Broken, Origin, date, head, ok
from proxy import wait_port
from test_helpers import children, program

FRESH = 'Cache-Control: max-age=600'
BIG = 'X-Big: ' + 'x' * 3000


def test_request_header_max_size(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('request_header_max_size 2 KB')
    assert p.get(page.url).status == 200
    assert p.get(page.url, BIG).status == 431
    assert make_proxy('').get(page.url, BIG).status == 200
    assert page.count == 2


def test_reply_header_max_size(make_proxy, origin):
    page = origin.page(ok(b'x', BIG))
    assert make_proxy('reply_header_max_size 2 KB').get(page.url).status == 502
    assert make_proxy('').get(page.url).status == 200


def test_header_fields_max(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('header_fields_max 16')
    assert p.get(page.url, *[f'X-{i}: y' for i in range(5)]).status == 200
    assert p.get(page.url, *[f'X-{i}: y' for i in range(30)]).status == 431
    assert page.count == 1


def test_client_persistent_connections_off(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('client_persistent_connections off')
    for _ in range(2):  # a miss, a hit
        with p.connect() as c:
            r = c.get(page.url)
            assert r.status == 200 and r.all('Connection') == ['close'] and c.is_closed()


def test_httpd_suppress_version_string(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p, q = make_proxy('httpd_suppress_version_string on'), make_proxy('')
    for path in (page.url, 'http://absent.invalid/'):
        shy, open_ = p.get(path), q.get(path)
        assert not re.search(rb'(?i)loligo/\d', shy.raw)
        assert re.search(rb'(?i)loligo/\d', open_.raw)


def test_append_domain(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('append_domain .site.test', hosts=('short.site.test',))
    assert p.get(f'http://short:{origin.port}{page.path}').status == 200


@pytest.mark.parametrize('conf, asked', [
    ('', ['short']), ('dns_defnames on\n', ['short.one.test', 'short.two.test']),
    ('dns_defnames on\nappend_domain .three.test\n', ['short.three.test'])])
def test_dns_defnames(make_proxy, origin, conf, asked):
    page, server = origin.page(ok(b'x')), NameServer(short_two_test='127.0.0.1')
    try:
        p = make_proxy(f'workers 1\ndns_nameservers {server.host}\n{conf}', env={**os.environ, 'LOCALDOMAIN': 'one.test two.test'})

        def names(host):
            server.asked.clear()
            status = p.get(f'http://{host}:{origin.port}{page.path}').status
            return status, list(dict.fromkeys(name for name, _ in server.asked))
        assert names('short') == (200 if 'short.two.test' in asked else 503, asked)
        assert names('short.dotted') == (503, ['short.dotted'])
        if len(asked) > 1:
            assert names('short') == (200, []), 'kept'
            assert names('absent') == (503, ['absent.one.test', 'absent.two.test', 'absent'])
    finally:
        server.close()


@pytest.mark.parametrize('conf, size', [('', 0), ('dns_packet_max none\n', 0), ('dns_packet_max 1232 bytes\n', 1232),
                                        ('dns_packet_max 65535 bytes\n', 4096)])
def test_dns_packet_max(make_proxy, conf, size):
    server = NameServer()
    try:
        p = make_proxy(f'dns_nameservers {server.host}\n{conf}')
        assert p.get('http://absent.test/').status == 503
        assert set(server.sizes) == {size}
    finally:
        server.close()


def test_high_memory_warning(make_proxy):
    p = make_proxy('high_memory_warning 1 MB')
    p.wait_cache_log(r'WARNING: large: \d+ MB of memory in use \(limit 1 MB\)')
    q = make_proxy('high_memory_warning 100 GB')
    q.get('http://absent.invalid/')
    assert 'WARNING: large' not in q.read('cache.log')


@pytest.mark.parametrize('rule', ['', 'refresh_pattern . 0 20% 4320\n'])
@pytest.mark.parametrize('conf, fetched', [('', 2), ('vary_ignore_expire on\n', 1)])
def test_vary_ignore_expire(make_proxy, origin, rule, conf, fetched):
    now = date()
    page = origin.page(ok(b'x', f'Date: {now}', f'Expires: {now}', f'Last-Modified: {date(-86400)}', 'Vary: Accept'))
    p = make_proxy(rule + conf)
    for _ in range(2):
        assert p.get(page.url).status == 200
    assert page.count == fetched


def test_pid_filename(make_proxy):
    p = make_proxy('pid_filename {dir}/other.pid')
    assert int(p.read('other.pid')) == p.process.pid and not os.path.exists(p.path('pid'))
    assert p.k('check').returncode == 0
    p.stop()
    assert not os.path.exists(p.path('other.pid'))
    q = make_proxy('pid_filename none')
    assert not [name for name in os.listdir(q.dir) if 'pid' in name]
    assert q.k('check').returncode == 1


def test_debug_options(make_proxy):
    """Level 0: errors, and nothing else."""
    p = make_proxy('debug_options ALL,0', start=False)
    p.start(wait=False)
    wait_port(p.port)
    p.configure('debug_options ALL,0\nno_such_directive')
    p.signal(signal.SIGHUP)
    p.wait_cache_log('ERROR: reconfigure')
    assert 'serves as process' not in p.read('cache.log') and 'Reconfiguring' not in p.read('cache.log')
    q = make_proxy('debug_options ALL,1')
    q.wait_cache_log('serves as process')


def test_coredump_dir(make_proxy):
    for line, name in (('coredump_dir {dir}/cores', 'cores'), ('coredump_dir none', '')):
        p = make_proxy(line, start=False)
        os.mkdir(p.path('cores'))
        os.chmod(p.path('cores'), 0o755)
        p.start()
        assert os.path.samefile(f'/proc/{p.process.pid}/cwd', p.path(name))


@pytest.mark.skipif(os.geteuid() != 0, reason='only root changes its group')
def test_cache_effective_group(make_proxy):
    p = make_proxy('cache_effective_user nobody\ncache_effective_group daemon')
    gid = grp.getgrnam('daemon').gr_gid
    with open(f'/proc/{p.process.pid}/status', encoding='ascii') as f:
        status = f.read()
    assert re.search(rf'^Gid:\s+{gid}\s+{gid}\s+{gid}\s+{gid}$', status, re.M), status
    assert re.search(rf'^Groups:\s*{gid}\s*$', status, re.M), 'none of the user\'s own'
    q = make_proxy('cache_effective_group no-such-group', start=False)
    assert q.command('-N').returncode == 1


@pytest.mark.parametrize('conf, status', [('', 400), ('relaxed_header_parser off', 400),
                                          ('relaxed_header_parser on', 200), ('relaxed_header_parser warn', 200)])
def test_relaxed_header_parser(make_proxy, origin, conf, status):
    page = origin.page(ok(b'x'))
    p = make_proxy(conf)
    with p.connect() as c:
        c.send(f'GET {page.url} HTTP/1.1\nHost: {origin.authority}\n\n'.encode())
        assert c.response().status == status
    assert page.count == (1 if status == 200 else 0)


@pytest.mark.parametrize('conf, status', [('', 200), ('chunk_extension_max 100 bytes', 400)])
def test_chunk_extension_max(make_proxy, origin, conf, status):
    page = origin.page(ok(b'x'))
    p = make_proxy(conf)
    with p.connect() as c:
        c.send(request('POST', page.url, 'Transfer-Encoding: chunked') + b'5;e=f\r\nhello\r\n')
        c.send(b'5;' + b'e' * 200 + b'\r\nhello\r\n0\r\n\r\n')
        assert c.response().status == status
    cut = origin.page([head('Transfer-Encoding: chunked'), b'5;' + b'e' * 200 + b'\r\nhello\r\n0\r\n\r\n'])
    try:
        with p.connect() as c:
            whole = c.get(cut.url).body == b'hello'
    except (Cut, Broken):
        whole = False
    assert whole == (status == 200), 'responses likewise'


def test_client_request_buffer_max_size(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('client_request_buffer_max_size 2 KB')
    assert p.get(page.url).status == 200
    assert p.get(page.url, BIG).status == 431
    assert p.ask('POST', page.url, body=b'y' * 100_000).status == 200, 'a body passes through'
    assert page.count == 2


def threads_cpus(pid):
    """{name: processors} of a process's threads."""
    found = {}
    for tid in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{tid}/comm', encoding='ascii') as f:
            found[f.read().strip()] = os.sched_getaffinity(int(tid))
    return found


def test_cpu_affinity_map(make_proxy, origin):
    page = origin.page(ok(b'x'))
    all_ = os.sched_getaffinity(0)
    one, two = min(all_), max(all_)
    p = make_proxy(start=False)
    helper = program(p, 'def answer(url, rest): return "ERR"')
    conf = f'url_rewrite_program {helper}\nurl_rewrite_children 1\n'
    p.configure(f'{conf}cpu_affinity_map process_numbers=1,2 cores={two + 1},{one + 1}')
    p.start()
    assert p.get(page.url).status == 200
    cpus = threads_cpus(p.process.pid)
    assert (cpus['worker 0'], cpus['worker 1'], cpus['loligo']) == ({two}, {one}, all_)
    assert [os.sched_getaffinity(child) for child in children(p)] == [all_], 'a program isn\'t bound to its worker\'s'
    p.configure(f'{conf}cpu_affinity_map process_numbers=2 cores=1024')
    p.signal(signal.SIGHUP)
    p.wait_cache_log('no core 1024 for process 2')
    soon(lambda: threads_cpus(p.process.pid)['worker 0'] == all_, 'it runs anywhere again')
    assert threads_cpus(p.process.pid)['worker 1'] == all_
    assert p.get(page.url).status == 200


def test_minimum_expiry_time(make_proxy, origin):
    brief, longer = origin.page(ok(b'x', 'Cache-Control: max-age=60')), origin.page(ok(b'x', FRESH))
    p = make_proxy('minimum_expiry_time 5 minutes')
    for _ in range(2):
        p.get(brief.url), p.get(longer.url)
    assert (brief.count, longer.count) == (2, 1)


def test_server_idle_pconn_timeout(make_proxy):
    o = Origin()
    try:
        page = o.page(ok(b'x', 'Cache-Control: no-store'))
        p = make_proxy('server_idle_pconn_timeout 1 second')
        p.get(page.url)
        o.wait_connection_over(page.requests[0].connection)
    finally:
        o.close()


def test_client_lifetime(make_proxy, origin):
    page = origin.page([head('Content-Length: 100'), HANG])
    p = make_proxy('client_lifetime 1 second\nread_timeout 1 minute')
    with p.connect() as c:
        c.send(request('GET', page.url))
        page.wait(1)
        try:
            while c.sock.recv(4096):
                pass
        except ConnectionResetError:
            pass  # an end as well


def test_configuration_includes_quoted_values(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('configuration_includes_quoted_values on\nacl mine browser "^My Agent"\n'
                   'configuration_includes_quoted_values off\nhttp_access deny mine')
    assert p.get(page.url, 'User-Agent: My Agent 1').status == 403
    assert p.get(page.url, 'User-Agent: Other').status == 200


@pytest.mark.parametrize('conf, kept', [
    ('quick_abort_max 1 MB\nquick_abort_pct 40', True), ('quick_abort_max 1 MB\nquick_abort_pct 95', False),
    ('quick_abort_max 100 KB\nquick_abort_pct 40', False)])
def test_quick_abort_pct_and_max(make_proxy, origin, conf, kept):
    go = threading.Event()
    page = origin.page([head('Content-Length: 1000000', FRESH), b'x' * 600_000, go, b'x' * 400_000])
    p = make_proxy(f'{conf}\nquick_abort_min 0')
    with p.connect() as c:
        c.send(request('GET', page.url))
        n = 0
        while n < 600_000:
            n += len(c.sock.recv(65536))
        c.reset()
    soon(lambda: p.lines(), 'the client left, and that is logged')
    go.set()
    page.wait_over(1)
    p.get(page.url)
    assert page.count == (1 if kept else 2)
