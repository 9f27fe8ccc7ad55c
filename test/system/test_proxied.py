"""Clients behind others: the PROXY protocol of load balancers, and X-Forwarded-For of proxies that are believed."""
import shutil
import socket
import struct
import subprocess

import pytest

from client import Client, request, soon
from origin import ok
from proxy import free_port, needs, wait_port

SIGNATURE = b'\r\n\r\n\0\r\nQUIT\n'
LINE = b'PROXY TCP4 192.0.2.7 198.51.100.1 51000 8080\r\n'


def binary(client, local, cport=51000, lport=8080, extra=b''):
    six = ':' in client
    family = socket.AF_INET6 if six else socket.AF_INET
    addresses = socket.inet_pton(family, client) + socket.inet_pton(family, local) + struct.pack('!HH', cport, lport)
    return SIGNATURE + bytes([0x21, 0x21 if six else 0x11]) + struct.pack('!H', len(addresses) + len(extra)) + addresses + extra


LOCAL = SIGNATURE + b'\x20\0\0\0'

CONF = """acl balancer src 127.0.0.1
proxy_protocol_access allow balancer
acl good src 192.0.2.0/24 2001:db8::/32
acl there localip 198.51.100.1
http_access allow good
http_access allow manager
http_access deny all
forwarded_for on
"""


@pytest.fixture
def behind(make_proxy):
    """A proxy whose second port takes PROXY headers."""
    port = free_port()
    p = make_proxy(f'http_port 127.0.0.1:{{port}}\nhttp_port 127.0.0.1:{port} require-proxy-header name=lb\n{CONF}')
    p.lb = port
    return p


def ask(p, header, url, *fields):
    with Client(p.lb) as c:
        c.send_bytes(header + request('GET', url, *fields)) if p.one_by_one else c.send(header + request('GET', url, *fields))
        return c.response()


@pytest.mark.parametrize('one_by_one', [False, True])
@pytest.mark.parametrize('header, client', [
    (LINE, '192.0.2.7'),
    (b'PROXY TCP6 2001:db8::5 2001:db8::1 1 2\r\n', '2001:db8::5'),
    (binary('192.0.2.7', '198.51.100.1'), '192.0.2.7'),
    (binary('2001:db8::5', '2001:db8::1'), '2001:db8::5'),
    (binary('192.0.2.7', '198.51.100.1', extra=b'\x04\0\x03abc'), '192.0.2.7'),
])
def test_the_header_says_who_asks(behind, origin, header, client, one_by_one):
    behind.one_by_one = one_by_one
    page = origin.page(ok(b'x'))
    assert ask(behind, header, page.url).status == 200
    assert page.requests[0].get('X-Forwarded-For') == client
    assert behind.logged(page.url)[0].client == client


@pytest.mark.parametrize('header', [b'PROXY UNKNOWN\r\n', LOCAL, b'PROXY TCP4 203.0.113.9 198.51.100.1 1 2\r\n'])
def test_who_is_not_allowed(behind, origin, header):
    """The connection's own address counts where the header names none."""
    behind.one_by_one = False
    page = origin.page(ok(b'x'))
    assert ask(behind, header, page.url).status == 403
    assert behind.logged(page.url)[0].client == ('203.0.113.9' if b'203' in header else '127.0.0.1')


def test_the_local_address_is_that_of_the_balancer(make_proxy, origin):
    p = make_proxy('http_port 127.0.0.1:{port} require-proxy-header\nproxy_protocol_access allow all\n'
                   'acl there localip 198.51.100.1\nacl port localport 8080\nhttp_access allow there port\nhttp_access deny all')
    p.lb, p.one_by_one = p.port, False
    url = origin.page(ok(b'x')).url
    assert ask(p, LINE, url).status == 200
    assert ask(p, b'PROXY TCP4 192.0.2.7 198.51.100.2 51000 8080\r\n', url).status == 403
    assert ask(p, b'PROXY TCP4 192.0.2.7 198.51.100.1 51000 8081\r\n', url).status == 403


def test_one_header_for_many_requests(behind, origin):
    page = origin.page(ok(b'x'))
    with Client(behind.lb) as c:
        c.send(LINE + request('GET', page.url) * 2)
        assert [c.response().status, c.response().status] == [200, 200]
        assert c.get(page.url).status == 200
        c.send(LINE)  # not in front of the connection
        assert c.response().status == 400


@pytest.mark.parametrize('bytes_', [
    b'GET http://origin.test/ HTTP/1.1\r\nHost: origin.test\r\n\r\n',
    b'PROXY TCP4 192.0.2.7 198.51.100.1 51000\r\n',
    b'PROXY TCP4 192.0.2.7 198.51.100.1 51000 99999\r\n',
    b'PROXY TCP4 192.0.2.7 198.51.100.1 51000 8080\n',
    SIGNATURE + b'\x21\x11\0\x04abcd',
    SIGNATURE + b'\x31\x11\0\x0c' + b'x' * 12,
    SIGNATURE + b'\x21\x11\xff\xff',
    b'PROXY ' + b'x' * 200,
])
def test_anything_else_closes_the_connection(behind, origin, bytes_):
    with Client(behind.lb) as c:
        c.send(bytes_)
        assert c.is_closed()
    behind.wait_cache_log(r'WARNING: connection from 127\.0\.0\.1 to http_port lb closed: ')
    assert behind.logged('error:transaction-end-before-headers')[0].what == 'NONE_NONE/000'
    assert ask_ok(behind, origin)


def ask_ok(p, origin):
    p.one_by_one = False
    return ask(p, LINE, origin.page(ok(b'x')).url).status == 200


def test_nobody_may_send_one_by_default(make_proxy):
    p = make_proxy('http_port 127.0.0.1:{port} require-proxy-header')
    with Client(p.port) as c:
        c.send(LINE)
        assert c.is_closed()
    p.wait_cache_log("proxy_protocol_access doesn't allow it")


def test_the_header_must_come_in_time(make_proxy):
    p = make_proxy('http_port 127.0.0.1:{port} require-proxy-header\nproxy_protocol_access allow all\n'
                   'request_start_timeout 1 second')
    with Client(p.port) as c:
        c.send(LINE[:20])
        assert c.is_closed()


def test_the_other_port_takes_none(behind):
    with Client(behind.port) as c:
        c.send(LINE)
        assert c.response().status == 400


@needs('curl')
def test_curl_sends_one(behind, origin):
    """Of its own address: that of the connection."""
    url = origin.page(ok(b'x')).url
    done = subprocess.run(['curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', '--haproxy-protocol', '-x',
                           f'http://127.0.0.1:{behind.lb}', url], capture_output=True, text=True, check=True)
    assert done.stdout == '403' and behind.logged(url)[0].client == '127.0.0.1'


@needs('nginx')
def test_nginx_as_balancer(behind, origin):
    """Its stream module speaks version 1, and says who connected to it."""
    module = '/usr/lib/nginx/modules/ngx_stream_module.so'
    try:
        open(module, 'rb').close()
    except OSError:
        pytest.skip('nginx has no stream module here')
    port = free_port()
    conf = behind.write('nginx.conf', f"""load_module {module};
daemon off; master_process off; pid {behind.path('nginx.pid')}; error_log stderr;
events {{}}
stream {{ server {{ listen 127.0.0.1:{port}; proxy_pass 127.0.0.1:{behind.lb}; proxy_protocol on; }} }}
""")
    nginx = subprocess.Popen([shutil.which('nginx', path='/usr/sbin:/usr/bin'), '-c', conf], stderr=subprocess.DEVNULL)
    try:
        wait_port(port)
        url = origin.page(ok(b'x')).url
        with Client(port) as c:
            assert c.get(url).status == 403
        assert behind.logged(url)[0].client == '127.0.0.1'
    finally:
        nginx.terminate()
        nginx.wait()


# --- follow_x_forwarded_for

FOLLOW = """acl near src 127.0.0.1 10.0.0.0/8
follow_x_forwarded_for allow near
acl good src 192.0.2.7 2001:db8::5
http_access allow good
http_access allow manager
http_access deny all
"""


@pytest.mark.parametrize('fields, client', [
    (['192.0.2.7'], '192.0.2.7'),
    (['192.0.2.7, 10.1.2.3'], '192.0.2.7'),                     # through a second one that is believed
    (['6.6.6.6, 192.0.2.7, 10.1.2.3'], '192.0.2.7'),            # what the client made up stands further left
    (['192.0.2.7', '10.1.2.3, 10.9.9.9'], '192.0.2.7'),         # lines are one list
    (['192.0.2.7, 6.6.6.6'], '6.6.6.6'),                        # not believed: it is the client
    (['192.0.2.7:1234'], '192.0.2.7'),
    (['[2001:db8::5]:1234'], '2001:db8::5'),
    (['2001:db8::5'], '2001:db8::5'),
    (['unknown, 10.1.2.3'], '10.1.2.3'),                        # no address: what is known counts
    (['192.0.2.7, unknown'], '127.0.0.1'),
    (['192.0.2.7, '], '192.0.2.7'),
    ([''], '127.0.0.1'),
    ([], '127.0.0.1'),
    ([', '.join(['192.0.2.7'] + ['10.0.0.1'] * 63)], '192.0.2.7'),
    ([', '.join(['192.0.2.7'] + ['10.0.0.1'] * 64)], '10.0.0.1'),  # a limit on what is read
])
def test_the_client_behind_believed_proxies(make_proxy, origin, fields, client):
    p = make_proxy(FOLLOW)
    page = origin.page(ok(b'x'))
    r = p.get(page.url, *[f'X-Forwarded-For: {f}' for f in fields])
    assert r.status == (200 if client in ('192.0.2.7', '2001:db8::5') else 403)
    assert p.logged(page.url)[0].client == client
    if r.status == 200:  # passed on with the connection's own address behind it
        assert page.requests[0].get('X-Forwarded-For').endswith(', 127.0.0.1')


def test_who_is_not_believed_is_not_read(make_proxy, origin):
    p = make_proxy(FOLLOW.replace('127.0.0.1 ', ''))
    page = origin.page(ok(b'x'))
    assert p.get(page.url, 'X-Forwarded-For: 192.0.2.7').status == 403
    assert p.logged(page.url)[0].client == '127.0.0.1'


def test_nobody_is_believed_by_default(make_proxy, origin):
    p = make_proxy('acl good src 192.0.2.7\nhttp_access allow good\nhttp_access deny all')
    assert p.get(origin.page(ok(b'x')).url, 'X-Forwarded-For: 192.0.2.7').status == 403


def test_for_the_log_or_for_access_lists_only(make_proxy, origin):
    p = make_proxy(FOLLOW + 'log_uses_indirect_client off')
    url = origin.page(ok(b'x')).url
    assert p.get(url, 'X-Forwarded-For: 192.0.2.7').status == 200
    assert p.logged(url)[0].client == '127.0.0.1'
    q = make_proxy(FOLLOW + 'acl_uses_indirect_client off')
    assert q.get(url, 'X-Forwarded-For: 192.0.2.7').status == 403
    assert q.logged(url)[0].client == '192.0.2.7'


def test_each_request_of_a_connection_has_its_own(make_proxy, origin):
    p = make_proxy(FOLLOW)
    url = origin.page(ok(b'x', 'Cache-Control: max-age=60')).url
    with p.connect() as c:
        assert c.get(url, 'X-Forwarded-For: 192.0.2.7').status == 200
        assert c.get(url, 'X-Forwarded-For: 192.0.2.8').status == 403
        assert c.get(url, 'X-Forwarded-For: 192.0.2.7').status == 200
    assert [line.client for line in soon(lambda: len(p.lines()) == 3 and p.lines(), 'three lines')] == \
        ['192.0.2.7', '192.0.2.8', '192.0.2.7']
