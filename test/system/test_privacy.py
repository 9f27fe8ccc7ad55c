"""client_netmask and umask: what logs show, and to whom."""
import os
import signal

from client import soon
from origin import ok

FRESH = 'Cache-Control: max-age=600'


def mode(p, name):
    return os.stat(p.path(name)).st_mode & 0o777


def test_logs_show_networks(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('http_port 127.0.0.1:{port}\nhttp_port [::1]:{port}\nclient_netmask 255.255.0.0\nclient_ip_max_connections 1\n'
                   'acl one src 127.1.2.3\nhttp_access deny one\n')
    with p.connect(source='127.1.2.4') as c:
        assert c.get(page.url).status == 200
        assert page.requests[0].get('X-Forwarded-For') == '127.1.2.4', 'the next hop sees it whole'
        with p.connect(source='127.1.2.4') as again:
            assert again.is_closed()
    with p.connect(source='127.1.2.3') as c:
        assert c.get(page.url).status == 403, 'ACLs see it whole'
    with p.connect(host='::1') as c:
        assert c.get(page.url).status == 200
    soon(lambda: p.line_count() == 4, 'four lines')
    assert sorted(line.client for line in p.lines()) == ['127.1.0.0'] * 3 + ['::']
    p.wait_cache_log(r'WARNING: 127\.1\.0\.0 attempting more')


def test_the_mode_of_new_files(make_proxy, origin):
    p = make_proxy('umask 022\n')
    p.get(origin.page(ok()).url)
    assert (mode(p, 'access.log'), mode(p, 'cache.log')) == (0o644, 0o644)
    p.configure('umask 077\naccess_log stdio:{dir}/other.log squid\n')
    p.signal(signal.SIGHUP)
    soon(lambda: os.path.exists(p.path('other.log')), 'the new log is there')
    assert mode(p, 'other.log') == 0o600
    q = make_proxy('')
    assert (mode(q, 'access.log'), mode(q, 'cache.log')) == (0o640, 0o640), 'by default'
