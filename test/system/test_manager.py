"""Manager pages: who gets them, in which form, and that their numbers are what happened."""
import base64
import re
import socket

import pytest

from client import request, soon
from origin import ok
from proxy import NAME, parse_counters

FRESH = 'Cache-Control: max-age=600'

# manager-pages.md section 3: names and order are what exporters and dashboards rely on.
COUNTERS = '''
sample_time client_http.requests client_http.hits client_http.errors client_http.kbytes_in client_http.kbytes_out
client_http.hit_kbytes_out server.all.requests server.all.errors server.all.kbytes_in server.all.kbytes_out
server.http.requests server.http.errors server.http.kbytes_in server.http.kbytes_out server.ftp.requests
server.ftp.errors server.ftp.kbytes_in server.ftp.kbytes_out server.other.requests server.other.errors
server.other.kbytes_in server.other.kbytes_out icp.pkts_sent icp.pkts_recv icp.queries_sent icp.replies_sent
icp.queries_recv icp.replies_recv icp.query_timeouts icp.replies_queued icp.kbytes_sent icp.kbytes_recv
icp.q_kbytes_sent icp.r_kbytes_sent icp.q_kbytes_recv icp.r_kbytes_recv icp.times_used cd.times_used cd.msgs_sent
cd.msgs_recv cd.memory cd.local_memory cd.kbytes_sent cd.kbytes_recv unlink.requests page_faults select_loops cpu_time
wall_time swap.outs swap.ins swap.files_cleaned aborted_requests
'''.split()


def raw(p, data):
    with p.connect() as c:
        c.send(data)
        return c.response()


def test_names_order_and_form(proxy):
    text = proxy.page('counters').body.decode()
    assert [line.split(' = ')[0] for line in text.splitlines()] == COUNTERS
    for line in text.splitlines()[1:]:
        name, value = line.split(' = ')
        assert re.fullmatch(r'\d+\.\d{6}' if name in ('cpu_time', 'wall_time') else r'\d+', value), line
    assert re.fullmatch(r'sample_time = \d+\.\d{6} \(\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\)',
                        text.splitlines()[0])


def test_head(proxy):
    r = proxy.page('counters')
    assert r.get('Content-Type') == 'text/plain;charset=utf-8'
    assert r.get('Expires') == r.get('Date') == r.get('Last-Modified')
    assert 'no-store' in r.get('Cache-Control')


@pytest.mark.parametrize('form', ['origin 1.1', 'origin 1.0', 'absolute', 'cache_object', 'cache_object localhost',
                                  'query'])
def test_forms(proxy, form):
    r = raw(proxy, {
        'origin 1.1': b'GET /squid-internal-mgr/counters HTTP/1.1\r\nHost: anything\r\n\r\n',
        'origin 1.0': b'GET /squid-internal-mgr/counters HTTP/1.0\r\n\r\n',
        'absolute': request('GET', f'http://{NAME}:{proxy.port}/squid-internal-mgr/counters'),
        'cache_object': b'GET cache_object://127.0.0.1/counters HTTP/1.0\r\nHost: 127.0.0.1\r\n'
                        b'User-Agent: squidclient/5.7\r\nAccept: */*\r\nConnection: close\r\n\r\n',
        'cache_object localhost': b'GET cache_object://localhost/counters HTTP/1.0\r\nHost: localhost\r\n'
                                  b'User-Agent: squidclient/3.5.12\r\nAccept: */*\r\n\r\n',
        'query': b'GET /squid-internal-mgr/counters?x=1 HTTP/1.1\r\nHost: anything\r\n\r\n',
    }[form])
    assert r.status == 200
    assert list(parse_counters(r.body.decode())) == COUNTERS


def test_keep_alive_head_and_post(proxy):
    url = f'http://{NAME}:{proxy.port}/squid-internal-mgr/menu'
    with proxy.connect() as c:
        assert b'counters' in c.get(url).body
        r = c.ask('HEAD', url)
        assert (r.status, r.body) == (200, b'')
        r = c.ask('POST', url, 'Content-Length: 0')
        assert r.status == 200 and b'counters' in r.body
        assert b'counters' in c.get(url).body


def test_logged_and_counted(make_proxy):
    p = make_proxy()
    assert raw(p, b'GET cache_object://localhost/menu HTTP/1.0\r\n\r\n').status == 200
    line, = p.logged('cache_object://localhost/menu')
    assert (line.what, line.hier, line.type) == ('TCP_MISS/200', 'HIER_NONE/-', 'text/plain')
    assert p.counters()['client_http.requests'] == 1
    p.logged(f'http://{NAME}:{p.port}/squid-internal-mgr/counters')


def test_never_stored(proxy):
    first, second = (proxy.counters()['client_http.requests'] for _ in range(2))
    assert second > first


def test_what_was_sent_is_what_is_counted(make_proxy, origin):
    """Over two workers, with everything that has a counter in it."""
    p = make_proxy('acl blocked dstdomain blocked.test\nhttp_access deny blocked')
    page = origin.page(ok(b'x' * 10000, FRESH))
    sent = received = hit_bytes = lines = 0
    clients = [p.connect() for _ in range(16)]

    def ask(c, url, *fields, method='GET', body=b''):
        nonlocal sent, received, lines
        data = request(method, url, *fields, body=body)
        c.send(data)
        r = c.response(method)
        sent += len(data)
        received += len(r.raw)
        lines += 1
        soon(lambda: p.line_count() == lines, 'its line')
        return r
    for c in clients:
        for _ in range(3):
            r = ask(c, page.url)
            hit_bytes += len(r.raw) if r.get('Age') is not None else 0
    for c in clients[:5]:
        assert ask(c, 'http://blocked.test/').status == 403
    post = origin.page(ok(b'y' * 3000))
    for c in clients[5:9]:
        ask(c, post.url, 'Content-Length: 2000', method='POST', body=b'z' * 2000)
    for c in clients:
        c.close()
    n = p.counters()
    assert n['client_http.requests'] == 16 * 3 + 5 + 4
    assert n['client_http.hits'] == 16 * 3 - 1
    assert n['client_http.errors'] == 5
    assert n['server.http.requests'] == n['server.all.requests'] == 5
    assert n['server.http.errors'] == 0
    assert n['client_http.kbytes_out'] == received // 1024
    assert n['client_http.hit_kbytes_out'] == hit_bytes // 1024
    assert n['client_http.kbytes_in'] == sent // 1024
    at_origin = [r for q in (page, post) for r in q.requests]
    assert n['server.http.kbytes_out'] == sum(len(r.raw) for r in at_origin) // 1024
    assert n['server.http.kbytes_in'] in (21, 22, 23)
    assert n['cpu_time'] > 0 and n['select_loops'] > 0


def test_service_times(proxy):
    lines = proxy.page('service_times').body.decode().splitlines()
    assert lines[0].rstrip().endswith(':')
    groups = ['HTTP Requests (All)', 'Cache Misses', 'Cache Hits', 'Near Hits', 'Not-Modified Replies', 'DNS Lookups',
              'ICP Queries']
    expected = [(g, str(q)) for g in groups for q in range(5, 100, 5)]
    got = [re.fullmatch(r'\t(.+):\s+(\d+)%\s+(\d+\.\d{5})\s+(\d+\.\d{5})', line) for line in lines[1:]]
    assert all(got), lines
    assert [(m.group(1), m.group(2)) for m in got] == expected


def test_info(proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    proxy.get(page.url)
    text = proxy.page('info').body.decode()
    for label in ('Start Time', 'Current Time', 'Number of HTTP requests received', 'Request failure ratio',
                  'Hits as % of all requests', 'Storage Mem size', 'Storage Mem capacity', 'UP Time', 'CPU Time',
                  'Maximum Resident Size', 'Maximum number of file descriptors',
                  'Number of file desc currently in use'):
        assert re.search(rf'^\t?{re.escape(label)}:[\t ]*\S', text, re.M), label
    assert re.search(r'^\t *\d+ StoreEntries$', text, re.M)
    received = int(re.search(r'HTTP requests received:\t(\d+)', text).group(1))
    assert received >= 1


def test_menu(proxy):
    lines = proxy.page('menu').body.decode().splitlines()
    for line in lines:
        assert re.fullmatch(r' \S{1,22} *\t.{32,}\t(public|protected|hidden|disabled)', line), line
    names = [line.split()[0] for line in lines]
    for name in ('index', 'menu', 'config', 'info', 'service_times', 'counters'):
        assert name in names
    assert proxy.page('').body == proxy.page('index').body
    assert next(line for line in lines if line.split()[0] == 'config').endswith('\thidden')


def test_every_page_on_the_menu_can_be_had(proxy):
    with proxy.connect() as c:
        for line in proxy.page('menu').body.decode().splitlines():
            r = c.get(f'http://{NAME}:{proxy.port}/squid-internal-mgr/{line.split()[0]}')
            assert r.status == (404 if line.endswith('hidden') else 200), line


@pytest.mark.parametrize('page', ['nonsense', 'counters/', 'Counters', '../counters', 'config', 'counters%00'])
def test_404(proxy, page):
    r = proxy.page(page)
    assert r.status == 404
    assert r.get('X-Squid-Error').split()[0] in ('ERR_INVALID_URL', 'MGR_INDEX')


def test_without_the_slash(proxy):
    r = raw(proxy, b'GET /squid-internal-mgr HTTP/1.1\r\nHost: x\r\n\r\n')
    assert r.status in (400, 404)


def basic(password):
    return 'Authorization: Basic ' + base64.b64encode(f'any:{password}'.encode()).decode()


def test_passwords(make_proxy):
    p = make_proxy('cachemgr_passwd secret config info\ncachemgr_passwd disable menu\ncachemgr_passwd none objects')
    r = p.page('info')
    assert (r.status, r.get('X-Squid-Error'), r.get('WWW-Authenticate')) == \
        (401, 'ERR_CACHE_MGR_ACCESS_DENIED 0', 'Basic realm="info"')
    assert p.page('info', basic('wrong')).status == 401
    assert p.page('info', basic('secret')).status == 200
    assert p.page('info', basic('wrong')).status == 401, 'the right answer before is not remembered'
    assert p.page('info', basic('secret').replace('Authorization', 'Proxy-Authorization')).status == 401
    assert p.page('config', basic('secret')).status == 200
    assert p.page('menu').status == 404
    assert p.page('counters').status == 200
    assert raw(p, b'GET cache_object://localhost/info@secret HTTP/1.0\r\n\r\n').status == 200
    assert raw(p, b'GET cache_object://localhost/info@wrong HTTP/1.0\r\n\r\n').status == 401
    assert raw(p, b'GET cache_object://localhost/info HTTP/1.0\r\n\r\n').status == 401
    menu = p.page('index').body.decode()
    assert re.search(r'^ info .*\tprotected$', menu, re.M) and re.search(r'^ menu .*\tdisabled$', menu, re.M)


def test_no_password_in_any_log(make_proxy):
    """M05."""
    p = make_proxy('cachemgr_passwd s3cret info config\ncachemgr_passwd none objects')
    raw(p, b'GET cache_object://localhost/info@s3cret HTTP/1.0\r\n\r\n')
    p.page('info', basic('s3cret'))
    p.page('info?s3cret')
    config = p.page('config', basic('s3cret')).body
    p.get('http://u:s3cret@origin.test/')
    p.signal(1)
    p.wait_cache_log('Reconfigured')
    assert b's3cret' not in config
    for name in ('access.log', 'cache.log', 'stderr'):
        assert 's3cret' not in p.read(name)


def test_config_says_what_is_in_force(make_proxy):
    p = make_proxy('cachemgr_passwd none config\nread_timeout 5 minutes\nacl mine dstdomain .mine.test\n'
                   'http_access deny mine')
    text = p.page('config').body.decode()
    for expected in (r'^read_timeout 300 seconds$', r'^cache_mem \d+', r'^acl mine dstdomain \.mine\.test *$',
                     r'^ ?http_access deny mine *$', r'^workers 2$', r'^forwarded_for on$'):
        assert re.search(expected, text, re.M), expected


def test_the_manager_acl(make_proxy):
    p = make_proxy('http_access deny manager')
    assert p.page('counters').status == 403
    assert raw(p, b'GET cache_object://localhost/counters HTTP/1.0\r\n\r\n').status == 403
    assert raw(p, b'GET /squid-internal-mgr/counters HTTP/1.1\r\nHost: x\r\n\r\n').status == 403
    assert {line.what for line in p.lines()} <= {'TCP_DENIED/403'}


def test_only_from_this_machine(make_proxy):
    """The recommended minimum; 127.0.0.2 stands for somebody else."""
    p = make_proxy('acl somebody src 127.0.0.2\nhttp_access allow manager !somebody\nhttp_access deny manager')
    assert p.page('counters').status == 200
    with socket.socket() as s:
        s.bind(('127.0.0.2', 0))
        s.connect(('127.0.0.1', p.port))
        s.sendall(b'GET /squid-internal-mgr/counters HTTP/1.0\r\n\r\n')
        assert s.recv(12) == b'HTTP/1.1 403'


def test_another_host_s_page_is_that_host_s(proxy, origin):
    """M02."""
    r = proxy.get(f'http://{origin.authority}/squid-internal-mgr/counters')
    assert (r.status, r.body) == (404, b'no such page')


def test_other_names_of_this_proxy_are_no_loop(proxy):
    r = proxy.get(f'http://127.0.0.1:{proxy.port}/squid-internal-mgr/counters')
    assert r.status == 403


def test_objects(make_proxy, origin):
    page = origin.page(ok(b'x' * 867, FRESH))
    p = make_proxy()
    p.get(page.url)
    r = p.page('objects')
    assert r.status == 200 and f'GET {page.url}' in r.body.decode()


def test_averages(proxy):
    for name in ('5min', '60min'):
        text = proxy.page(name).body.decode()
        assert text.startswith('sample_start_time = ')
        assert re.search(r'^client_http\.requests = \d+\.\d{6}/sec$', text, re.M)
    assert 'Totals since cache startup' in proxy.page('utilization').body.decode()
