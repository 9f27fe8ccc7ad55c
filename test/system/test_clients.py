"""Real programs at both ends: curl, ab, wrk, squidclient, the Prometheus exporter, and nginx as origin."""
import contextlib
import gzip
import os
import re
import subprocess
import time
import urllib.request

import pytest

from client import soon
from names import NameServer
from origin import DEADLINE, RESET, ok
from proxy import NAME, free_port, needs, parse_counters, wait_port

FRESH = 'Cache-Control: max-age=600'


def run(*args, **options):
    r = subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                       env={**os.environ, 'LC_ALL': 'C', 'PATH': os.environ.get('PATH', '') + ':/usr/sbin:/sbin',
                            'no_proxy': '', 'http_proxy': ''}, **options)
    assert r.returncode == 0, f'{args}: {r.returncode}\n{r.stdout}\n{r.stderr}'
    return r.stdout


def curl(p, *args):
    return run('curl', '-sS', '-m', '20', '-x', f'http://127.0.0.1:{p.port}', *args)


@needs('curl')
def test_curl(proxy, origin):
    page = origin.page(lambda x: ok(b'%s %d' % (x.request.method.encode(), len(x.request.body)), FRESH))
    assert curl(proxy, page.url) == curl(proxy, page.url) == 'GET 0'
    assert proxy.codes(page.url, 2) == ['TCP_MISS/200', 'TCP_MEM_HIT/200']
    data = proxy.write('data', 'x' * 2000000)
    post = origin.page(lambda x: ok(b'%s %d' % (x.request.method.encode(), len(x.request.body))))
    assert curl(proxy, '--data-binary', f'@{data}', post.url) == 'POST 2000000'
    assert curl(proxy, '-T', data, post.url) == 'PUT 2000000'
    assert curl(proxy, '-H', 'Transfer-Encoding: chunked', '--data-binary', f'@{data}', post.url) == 'POST 2000000'
    assert curl(proxy, '--http1.0', page.url) == 'GET 0'
    assert 'X-Squid-Error: ERR_ACCESS_DENIED' in curl(proxy, '-I', 'http://blocked.test/')
    assert curl(proxy, '-p', page.url) == 'GET 0', 'through a tunnel'


@needs('curl')
def test_curl_reads_the_counters(proxy):
    assert parse_counters(run('curl', '-sS', f'http://127.0.0.1:{proxy.port}/squid-internal-mgr/counters'))


@needs('ab')
def test_ab(make_proxy, origin):
    page = origin.page(ok(b'x' * 1024, FRESH))
    p = make_proxy()
    p.get(page.url)
    out = run('ab', '-q', '-k', '-n', '2000', '-c', '10', '-X', f'127.0.0.1:{p.port}', page.url)
    numbers = {k: int(v) for k, v in re.findall(r'^([\w -]+):\s+(\d+)', out, re.M)}
    assert (numbers['Complete requests'], numbers['Failed requests'], numbers['Keep-Alive requests']) == (2000, 0, 2000)
    assert 'Non-2xx' not in out
    assert page.count == 1
    assert p.counters()['client_http.hits'] == 2000
    soon(lambda: p.line_count() >= 2001, 'a line for each')


@needs('ab')
def test_ab_without_keep_alive(make_proxy, origin):
    page = origin.page(ok(b'x' * 1024, FRESH))
    p = make_proxy()
    out = run('ab', '-q', '-n', '500', '-c', '5', '-X', f'127.0.0.1:{p.port}', page.url)
    assert re.search(r'^Failed requests:\s+0$', out, re.M) and 'Non-2xx' not in out
    assert page.count == 1


@needs('wrk')
def test_wrk(make_proxy, origin):
    page = origin.page(ok(b'x' * 1024, FRESH))
    p = make_proxy('http_port 127.0.0.1:{port} accel defaultsite=site.test\n'
                   f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver\naccess_log none')
    out = run('wrk', '-t1', '-c10', '-d1s', f'http://127.0.0.1:{p.port}{page.path}')
    assert 'Socket errors' not in out and 'Non-2xx' not in out
    done = int(re.search(r'(\d+) requests in', out).group(1))
    assert done > 100
    assert page.count == 1
    with p.connect() as c:
        n = parse_counters(c.ask('GET', f'http://{NAME}:{p.port}/squid-internal-mgr/counters').body.decode())
    assert n['client_http.hits'] >= done - 1


@needs('squidclient')
def test_squidclient(proxy, origin):
    out = run('squidclient', '-h', '127.0.0.1', '-p', proxy.port, 'mgr:counters')
    head, _, body = out.replace('\r\n', '\n').partition('\n\n')
    assert head.startswith('HTTP/1.1 200 OK')
    assert 'client_http.requests' in parse_counters(body)
    page = origin.page(ok(b'fetched', FRESH))
    assert run('squidclient', '-h', '127.0.0.1', '-p', proxy.port, page.url).endswith('fetched')


@needs('squidclient')
def test_squidclient_with_a_password(make_proxy):
    p = make_proxy('cachemgr_passwd secret info')
    assert 'HTTP/1.1 401' in run('squidclient', '-h', '127.0.0.1', '-p', p.port, 'mgr:info')
    assert 'UP Time' in run('squidclient', '-h', '127.0.0.1', '-p', p.port, 'mgr:info@secret')


@contextlib.contextmanager
def background(*args, port, **options):
    process = subprocess.Popen([str(a) for a in args], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL,
                               env={**os.environ, 'PATH': os.environ.get('PATH', '') + ':/usr/sbin:/sbin'}, **options)
    try:
        wait_port(port)
        yield process
    finally:
        process.terminate()
        process.wait(DEADLINE)


def scrape(port):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f'http://127.0.0.1:{port}/metrics', timeout=DEADLINE) as r:
        return dict(line.rsplit(' ', 1) for line in r.read().decode().splitlines() if not line.startswith('#'))


@needs('prometheus-squid-exporter')
def test_prometheus_squid_exporter(make_proxy, origin):
    """Its metrics are the page's numbers."""
    page = origin.page(ok(b'x' * 5000, FRESH))
    p = make_proxy('acl blocked dstdomain blocked.test\nhttp_access deny blocked')
    for _ in range(7):
        p.get(page.url)
    p.get('http://blocked.test/')
    port = free_port()
    with background('prometheus-squid-exporter', '-squid-hostname', '127.0.0.1', '-squid-port', p.port,
                    '-listen', f'127.0.0.1:{port}', port=port):
        metrics = scrape(port)
    assert metrics['squid_up{host="127.0.0.1"}'] == '1'
    n = p.counters()

    compared = 0
    for name, value in n.items():
        if name.split('.')[0] not in ('client_http', 'server', 'swap'):
            continue
        key = 'squid_' + name.replace('.', '_')
        got = {k: float(v) for k, v in metrics.items() if k.partition('{')[0] in (f'{key}_total', f'{key}_kbytes_total',
                                                                                f'{key}_bytes_total')}
        assert len(got) == 1, f'{name}: {got}'
        if not name.startswith('client_http') or 'hit' in name:  # what reading the page doesn't change
            assert set(got.values()) <= {value, value * 1024}, name
        compared += 1
    assert compared == 25
    assert metrics['squid_client_http_requests_total'] == '8'
    assert metrics['squid_client_http_hits_total'] == '6'
    assert metrics['squid_client_http_errors_total'] == '1'
    assert metrics['squid_server_http_requests_total'] == '1'
    assert any(k.startswith('squid_HTTP_Requests_All_50') for k in metrics), 'service_times was read too'


@needs('prometheus-squid-exporter')
def test_every_metric_of_the_exporter_moves(make_proxy, origin):
    """Those of a disk cache and of FTP are there, and stay 0."""
    names = NameServer(named_test='127.0.0.1')
    p = make_proxy(f'dns_nameservers {names.host}')
    hit, post = origin.page(ok(b'x' * 5000, FRESH)), origin.page(ok(b'x' * 5000))
    port, nobody = free_port(), free_port()
    with background('prometheus-squid-exporter', '-squid-hostname', '127.0.0.1', '-squid-port', p.port,
                    '-listen', f'127.0.0.1:{port}', port=port):
        before = scrape(port)
        p.get(hit.url), p.get(hit.url)
        assert p.get(f'http://named.test:{origin.port}{hit.path}').status == 200
        names.close()
        p.ask('POST', post.url, 'Content-Length: 5000', body=b'x' * 5000)
        p.get(f'http://127.0.0.1:{nobody}/')
        assert p.get(origin.page([RESET]).url).status == 502
        with p.connect() as c:
            c.ask('CONNECT', origin.authority, f'Host: {origin.authority}')
            c.ask('POST', post.path, f'Host: {origin.authority}', 'Content-Length: 5000', body=b'x' * 5000)
        with p.connect() as c:
            assert c.ask('CONNECT', f'127.0.0.1:{nobody}', f'Host: 127.0.0.1:{nobody}').status == 503
        soon(lambda: sum(line.method == 'CONNECT' for line in p.lines()) == 2, 'both tunnels are over')
        after = scrape(port)
    counters = {k for k in after if k.startswith(('squid_client_http_', 'squid_server_', 'squid_swap_'))}
    assert len(counters) == 25 and counters <= set(before)
    still = {k for k in counters if float(after[k]) <= float(before[k])}
    assert still == {f'squid_{x}_total' for x in (
        'server_ftp_requests', 'server_ftp_errors', 'server_ftp_kbytes_in_kbytes', 'server_ftp_kbytes_out_kbytes',
        'swap_ins', 'swap_outs', 'swap_files_cleaned')}
    assert {k.rpartition('_')[0] for k in after if re.search(r'_\d+$', k)} == \
        {'squid_HTTP_Requests_All', 'squid_Cache_Misses', 'squid_Cache_Hits', 'squid_Near_Hits', 'squid_DNS_Lookups'}
    for median in ('squid_Cache_Misses_95', 'squid_HTTP_Requests_All_95', 'squid_DNS_Lookups_95'):
        assert float(after[median]) > 0, median


@needs('prometheus-squid-exporter')
def test_the_exporter_has_a_login(make_proxy):
    """Its login is a user of the proxy's (Proxy-Authorization): for http_access, not for cachemgr_passwd."""
    p = make_proxy('auth_param basic file {dir}/users\nacl known proxy_auth ann\nhttp_access allow known manager\n'
                   'http_access deny manager', start=False)
    p.write('users', 'ann:' + run('openssl', 'passwd', '-6', 'secret'))
    p.start()
    for password, up in (('secret', '1'), ('wrong', '0')):
        port = free_port()
        with background('prometheus-squid-exporter', '-squid-hostname', '127.0.0.1', '-squid-port', p.port,
                        '-listen', f'127.0.0.1:{port}', '-squid-login', 'ann', '-squid-password', password, port=port):
            assert scrape(port)['squid_up{host="127.0.0.1"}'] == up


@needs('nginx')
def test_nginx_as_origin(make_proxy, tmp_path):
    os.chmod(tmp_path, 0o755)
    (tmp_path / 'www').mkdir()
    large = os.urandom(1 << 20)
    (tmp_path / 'www/large.bin').write_bytes(large)
    (tmp_path / 'www/old.txt').write_text('old ' * 1000)
    (tmp_path / 'www/new.txt').write_text('new')
    os.utime(tmp_path / 'www/old.txt', (time.time() - 864000,) * 2)
    port = free_port()
    (tmp_path / 'nginx.conf').write_text(f'''
daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log; worker_processes 1;
{"user root;" if os.getuid() == 0 else ""}
events {{ }}
http {{
  access_log {tmp_path}/access.log; types {{ text/plain txt; }}
  client_body_temp_path {tmp_path}/t1; proxy_temp_path {tmp_path}/t2; fastcgi_temp_path {tmp_path}/t3;
  uwsgi_temp_path {tmp_path}/t4; scgi_temp_path {tmp_path}/t5;
  gzip on; gzip_types text/plain; gzip_proxied any; gzip_vary on; gzip_min_length 100;
  server {{ listen 127.0.0.1:{port}; root {tmp_path}/www;
    location /moved {{ return 301 http://example.com/; }}
    location = /put {{ return 405; }} }}
}}''')
    p = make_proxy()
    base = f'http://127.0.0.1:{port}'
    with background('nginx', '-p', tmp_path, '-c', tmp_path / 'nginx.conf', port=port), p.connect() as c:
        for _ in range(2):
            assert c.get(f'{base}/old.txt').body == b'old ' * 1000
            r = c.get(f'{base}/old.txt', 'Accept-Encoding: gzip')
            assert (r.get('Content-Encoding'), gzip.decompress(r.body)) == ('gzip', b'old ' * 1000)
            assert c.get(f'{base}/new.txt').body == b'new'
            assert c.get(f'{base}/large.bin').body == large
            assert c.get(f'{base}/moved').status == 301
            assert c.get(f'{base}/missing').status == 404
            assert c.ask('HEAD', f'{base}/large.bin').get('Content-Length') == str(len(large))
            assert c.ask('POST', f'{base}/put', 'Content-Length: 3', body=b'abc').status == 405
        # A file touched: what was heuristically fresh for no time is validated, and found changed.
        (tmp_path / 'www/new.txt').write_text('newer')
        os.utime(tmp_path / 'www/new.txt', (time.time() - 5,) * 2)
        assert c.get(f'{base}/new.txt', 'Cache-Control: no-cache').body == b'newer'
    assert p.codes(f'{base}/old.txt', 4) == ['TCP_MISS/200', 'TCP_MISS/200', 'TCP_MEM_HIT/200', 'TCP_MEM_HIT/200']
    assert p.codes(f'{base}/new.txt', 3)[:2] == ['TCP_MISS/200', 'TCP_REFRESH_UNMODIFIED/200']


@pytest.mark.skipif(not os.path.exists('/proc/net/tcp6'), reason='no IPv6 here')
@needs('curl')
def test_curl_over_ipv6(make_proxy, origin):
    page = origin.page(ok(b'six', FRESH))
    p = make_proxy('http_port [::1]:{port}\nhttp_port 127.0.0.1:{port}')
    assert run('curl', '-sS', '-x', f'http://[::1]:{p.port}', page.url) == 'six'
    assert p.logged(page.url)[0].client == '::1'
