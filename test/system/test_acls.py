"""ACL types whose effect is seen on the wire or in the log."""
import contextlib
import json
import re
import signal
import threading

import pytest

from client import soon
from origin import Broken, ok
from proxy import NAME, free_port

FRESH = 'Cache-Control: max-age=600'


def logged_urls(p, name):
    return [line.url for line in p.lines(name)]


def test_reply_fields_decide_misses_and_hits(make_proxy, origin):
    secret = origin.page(ok(b'secret', 'X-Class: internal', FRESH))
    public = origin.page(ok(b'public', 'X-Class: open', FRESH))
    p = make_proxy('acl internal rep_header X-Class -i ^Internal$\nhttp_reply_access deny internal')
    assert [p.get(secret.url).status for _ in range(2)] == [403, 403], 'from the origin, then from the store'
    assert p.codes(secret.url, 2) == ['TCP_DENIED_REPLY/403'] * 2
    assert [p.get(public.url).body for _ in range(2)] == [b'public'] * 2
    assert secret.count == public.count == 1


def test_media_types_of_replies(make_proxy, origin):
    page = origin.page(ok(b'x', 'Content-Type: application/x-msdownload'))
    p = make_proxy('acl exe rep_mime_type ^application/x-msdownload\nhttp_reply_access deny exe')
    assert p.get(page.url).status == 403


def test_random_keeps_its_share_and_its_word(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('workers 1\nacl half random 1/2\nacl never random 0\nacl always random 1.0\n'
                   'http_access deny never\nhttp_access deny !always\nhttp_access deny half')
    with p.connect() as c:
        denied = sum(c.get(page.url).status == 403 for _ in range(400))
    assert 140 < denied < 260, '6 standard deviations'
    # Asked again when the address is known, the dice must not be thrown again: half, not a quarter, get through.
    q = make_proxy('workers 1\nacl half random 1/2\nacl far dst 192.0.2.0/24\nhttp_access deny half\n'
                   'http_access deny far\ndns_nameservers 127.0.0.1', hosts=('dice.test',))
    with q.connect() as c:
        url = f'http://dice.test:{origin.port}{page.path}'
        denied = sum(c.get(url, 'Cache-Control: no-cache').status == 403 for _ in range(400))
    assert 140 < denied < 260


def test_who_was_asked_and_how_it_ended(make_proxy, origin):
    page, dead = origin.page(ok(b'x', FRESH)), f'http://127.0.0.1:{free_port()}/'
    p = make_proxy(f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver name=upstream\n'
                   'acl far url_regex -- /dead\n'
                   'acl up dstdomain up.test\ncache_peer_access upstream allow up\nnever_direct allow up\n'
                   'acl direct hier_code HIER_DIRECT\nacl parent peername upstream\nacl re peername_regex -i ^UPST\n'
                   'acl failed squid_error ERR_CONNECT_FAIL\nacl answered has response\n'
                   'access_log stdio:{dir}/direct.log squid direct\naccess_log stdio:{dir}/parent.log squid parent re\n'
                   'access_log stdio:{dir}/failed.log squid failed answered\naccess_log stdio:{dir}/access.log squid')
    up = f'http://up.test{page.path}'
    assert p.get(page.url).body == p.get(up).body == p.get(up).body == b'x'
    assert p.get(dead).status == 503
    p.logged(dead)
    for name, urls in [('failed.log', [dead]), ('direct.log', [page.url, dead]), ('parent.log', [up])]:
        soon(lambda name=name, urls=urls: sorted(logged_urls(p, name)) == sorted(urls), f'{name} has {urls}')
    assert logged_urls(p, 'parent.log') == [up], 'the hit asked nobody'


def test_peers_decide_about_replies(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy(f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver name=upstream\n'
                   'cache_peer_access upstream allow all\nnever_direct allow all\nacl parent peername upstream\nhttp_reply_access deny parent')
    assert p.get(f'http://up.test{page.path}').status == 403
    assert page.count == 1


def test_a_login_in_the_url_passes_no_rule(make_proxy, origin):
    p = make_proxy('acl login urllogin .\nhttp_access deny login\nacl mine transaction_initiator client\n'
                   'http_access allow mine\nhttp_access deny all')
    page = origin.page(ok(b'x'))
    assert p.get(page.url).status == 200
    assert p.get(page.url.replace('http://', 'http://user:word@')).status == 400
    assert page.count == 1


def occupy(p, page, n, **options):
    """n connections that have had an answer each, so that they are counted."""
    clients = [p.connect(**options) for _ in range(n)]
    for c in clients:
        assert c.get(page.url).status == 200
    return clients


def info(p, label):
    with p.connect(source='127.0.0.8') as c:
        text = c.get(f'http://{NAME}:{p.port}/squid-internal-mgr/info').body.decode()
    return int(text.split(label + ':')[1].split()[0])


def test_connections_of_one_address_are_limited(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('client_ip_max_connections 3')
    clients = occupy(p, page, 3)
    with p.connect() as one_more:
        assert one_more.is_closed()
    with p.connect(source='127.0.0.9') as other:
        assert other.get(page.url).status == 200, 'the limit is per address'
    assert clients[0].get(page.url).status == 200
    lines = p.logged('error:accept-client-connection')
    assert [(x.what, x.client) for x in lines] == [('NONE_NONE/000', '127.0.0.1')]
    p.wait_cache_log(r'WARNING: 127\.0\.0\.1 attempting more than 3 connections')
    assert info(p, 'refused (client_ip_max_connections)') == 1
    clients.pop().close()

    def is_admitted():
        with p.connect() as c:
            with contextlib.suppress(OSError, Broken):
                return c.get(page.url).status == 200
        return False
    soon(is_admitted, 'there is room again')
    for c in clients:
        c.close()


def test_maxconn(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('acl many maxconn 2\nhttp_access deny many')
    clients = occupy(p, page, 2)
    with p.connect() as third:
        assert third.get(page.url).status == 403, 'two workers count together'
        assert clients[0].get(page.url).status == 403, 'while there are three, none of them is served'
    soon(lambda: clients[0].get(page.url).status == 200, 'the third is gone')
    others = occupy(p, page, 2, source='127.0.0.9')
    for c in clients + others:
        c.close()


def test_a_reload_counts_the_connections_there_are(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('')
    clients = occupy(p, page, 3)
    p.configure('acl many maxconn 2\nhttp_access deny many')
    p.signal(signal.SIGHUP)
    soon(lambda: clients[0].get(page.url).status == 403, 'three are more than two')
    for c in clients:
        c.close()
    soon(lambda: p.get(page.url).status == 200, 'they are gone')


def test_the_limit_is_the_clients_behind_a_balancer(make_proxy, origin):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy('http_port 127.0.0.1:{port} require-proxy-header\nproxy_protocol_access allow all\n'
                   'client_ip_max_connections 1')

    def through(client):
        c = p.connect()
        c.send(b'PROXY TCP4 %s 192.0.2.1 5000 80\r\n' % client)
        return c
    with through(b'198.51.100.1') as one, through(b'198.51.100.2') as other:
        assert one.get(page.url).status == other.get(page.url).status == 200
        with through(b'198.51.100.1') as again:
            assert again.is_closed()
    assert [x.client for x in p.logged('error:accept-client-connection')] == ['198.51.100.1']


def test_check_access_says_what_the_proxy_does(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('acl listed dstdomain "{dir}/list"\nacl far dst 192.0.2.0/24\nacl post method POST\n'
                   'http_access deny listed\nhttp_access deny far\nhttp_access deny post !localhost\n'
                   'http_access deny CONNECT', hosts=('near.test', 'sub.listed.test'), start=False)
    p.write('list', '.listed.test\n')
    p.write('hosts', p.read('hosts') + '192.0.2.7 far.test\n')
    p.start()
    lines = p.read('squid.conf').splitlines()
    for method, host, wanted in [('GET', '127.0.0.1', True), ('GET', 'near.test', True), ('GET', 'SUB.listed.test.', False),
                                 ('GET', 'far.test', False), ('POST', 'near.test', True)]:
        url = f'http://{host}:{origin.port}{page.path}'
        status = p.ask(method, url).status
        r = p.command('-k', 'check-access', method, url, '127.0.0.1', '--json')
        told = json.loads(r.stdout)
        assert (status == 200, r.returncode, told['verdict']) == ((True, 0, 'allow') if wanted else (False, 1, 'deny'))
        deciding = told['lines'][-1]
        assert deciding['matches'] and deciding['line'] == told['decided_by']
        assert lines[int(told['decided_by'].rpartition(':')[2]) - 1] == deciding['text']
        assert not any(line['matches'] for line in told['lines'][:-1])
        assert told['addresses'] == ({'near.test': ['127.0.0.1'], 'far.test': ['192.0.2.7']}.get(host, []))
    r = p.command('-k', 'check-access', 'POST', f'http://near.test{page.path}', '192.0.2.9')
    assert r.returncode == 1
    assert re.search(r':\d+: http_access deny post !localhost: matches \(post: yes, localhost: no\)\ndenied by ', r.stdout)


SPELLINGS = ['127.0.0.1', '[::ffff:127.0.0.1]', '[::FFFF:7f00:1]', '[0:0:0:0:0:ffff:127.0.0.1]', '127.1', '0x7f.1',
             '0x7f000001', '2130706433', '0177.0.0.1', '127.0.0.1.', '127.000.000.001', '127.0.1', '%31%32%37.0.0.1',
             'ORIGIN.test', 'origin.TEST.', 'Origin.Test', 'origin%2Etest', 'origin.test..', '.origin.test']


@pytest.mark.parametrize('rule', ['acl x dstdomain 127.0.0.1 origin.test', 'acl x dst 127.0.0.0/8',
                                  'acl x dstdom_regex ^127\\.0\\.0\\.1$ ^origin\\.test$ ^::ffff:'])
def test_no_spelling_of_a_host_walks_around_a_deny_line(make_proxy, origin, rule):
    page = origin.page(ok(b'secret'))
    p = make_proxy(f'{rule}\nhttp_access deny x')
    for host in SPELLINGS:
        for method, target in [('GET', f'http://{host}:{origin.port}{page.path}'),
                               ('CONNECT', f'{host}:{origin.port}')]:
            with p.connect() as c:
                c.send(f'{method} {target} HTTP/1.1\r\nHost: {host}:{origin.port}\r\n\r\n'.encode())
                status = c.response(method).status
                assert status in (400, 403, 503), (method, target, status)
                assert status != 503 or rule.startswith('acl x dst '), 'a name without an address reaches nothing'
    assert page.count == 0


def test_spellings_are_one_name_for_an_allow_list(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('acl ok dstdomain -n origin.test\nhttp_access allow ok\nhttp_access deny all')
    for host, status in [('origin.test', 200), ('ORIGIN.TEST.', 200), ('127.0.0.1', 403), ('xorigin.test', 403),
                         ('origin.test.evil.test', 403)]:
        assert p.get(f'http://{host}:{origin.port}{page.path}').status == status, host


def test_annotations(make_proxy, origin):
    page, big = origin.page(ok(b'x', FRESH)), origin.page(ok(b'x'))
    p = make_proxy('logformat mine %rm %{team}note %{seen}note %{late}note\naccess_log stdio:{dir}/mine.log mine\n'
                   'acl heads method HEAD\nacl deletes method DELETE\nacl red note team red\nacl met note seen head\n'
                   'acl paint annotate_transaction team=red team+=hot\nacl mark annotate_client seen=head\n'
                   'acl gone http_status 403\nnote late "too bad" gone\nnote late twice gone\n'
                   'access_log stdio:{dir}/red.log mine red\n'
                   'http_access allow heads paint mark\nhttp_access deny deletes met\nhttp_access deny red')
    with p.connect() as c:
        assert c.ask('DELETE', big.url).status != 403, 'nobody marked the connection yet'
        assert c.ask('HEAD', page.url).status == 200
        assert c.get(page.url).status == 200, 'the first request was red, not this one'
        assert c.ask('DELETE', big.url).status == 403, 'a later request of the connection'
    with p.connect() as c:
        assert c.ask('DELETE', big.url).status != 403, 'another connection'
    soon(lambda: p.read('mine.log').count('\n') == 5, 'five lines')
    assert sorted(p.read('mine.log').splitlines()) == ['DELETE - - -', 'DELETE - - -', 'DELETE - head too%20bad,twice',
                                                       'GET - head -', 'HEAD red,hot head -']
    soon(lambda: p.read('red.log').splitlines() == ['HEAD red,hot head -'], 'the one that is red')


def test_annotations_outlive_their_client(make_proxy, origin):
    """A fetch goes on without its client, and asks lists about its annotations (store_miss) after that has gone."""
    arrived, gone = threading.Event(), threading.Event()

    def answer(exchange):
        arrived.set()
        assert gone.wait(10)
        return ok(b'x', FRESH)
    page = origin.page(answer)
    p = make_proxy('acl mark annotate_client seen=yes\nacl mine annotate_transaction team=red\nacl marked note seen yes\n'
                   'acl red note team red\nhttp_access deny !mark\nhttp_access deny !mine\n'
                   'store_miss deny !marked\nstore_miss deny !red\nquick_abort_min -1 KB')
    c = p.connect()
    c.send(f'GET {page.url} HTTP/1.1\r\nHost: {page.url.split("/")[2]}\r\n\r\n'.encode())
    assert arrived.wait(10)
    c.reset()
    p.logged(page.url)
    gone.set()
    soon(lambda: p.get(page.url).status == 200 and p.lines()[-1].code == 'TCP_MEM_HIT', 'it was stored')
