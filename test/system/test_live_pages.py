"""Manager pages about what belongs to single workers, of which each tells its part."""
import contextlib
import ctypes
import os
import re
import select
import signal
import subprocess
import threading

import pytest

from client import soon
from names import A, AAAA, NXDOMAIN, PTR, SILENCE, NameServer
from origin import CLOSE, DEADLINE, not_modified, ok
from proxy import NAME, needs
from test_auth import DIGEST, HASHES, DigestUser, hashed, login, token, users
from test_helpers import program


def page(p, name):
    r = p.page(name)
    assert r.status == 200, name
    assert r.get('Content-Type') == 'text/plain;charset=utf-8'
    return r.body.decode()


@contextlib.contextmanager
def open_pages(p):
    """Pages asked for on one connection."""
    with p.connect() as c:
        def ask(name):
            r = c.ask('GET', f'http://{NAME}:{p.port}/squid-internal-mgr/{name}')
            assert r.status == 200
            return r.body.decode()
        ask('menu')
        yield ask


def requests(text):
    """mgr:active_requests as {label: value}, several labels to a line."""
    found = []
    for part in text.split('Connection: ')[1:]:
        row = {'connection': part.splitlines()[0]}
        for line in part.splitlines()[1:]:
            line = line.strip()
            if ': ' in line:
                label, value = line.split(': ', 1)
            else:
                label, _, value = line.partition(' ')
            row[label] = value
        found.append(row)
    return found


def held(origin):
    """A page of the origin that answers when its event is set."""
    go = threading.Event()
    return origin.page([go, ok(b'x', 'Cache-Control: no-store')]), go


def test_active_requests(proxy, origin):
    (asked, go), at = held(origin), origin.authority
    with proxy.connect() as c, proxy.connect() as tunnel, proxy.connect() as idle:
        c.send(f'GET {asked.url}?secret=1 HTTP/1.1\r\nHost: {at}\r\n\r\n'.encode())
        tunnel.send(f'CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n'.encode())
        assert tunnel.response('CONNECT').status == 200
        idle.send(b'GET http://half')
        asked.wait(1)
        port, tunnel_port = (s.sock.getsockname()[1] for s in (c, tunnel))
        text = page(proxy, 'active_requests')
        rows = {row['uri']: row for row in requests(text)}
        assert set(rows) == {f'{asked.url}?', at, f'http://{NAME}:{proxy.port}/squid-internal-mgr/active_requests'}
        assert [row['entry'] for row in rows.values()].count('0x0/N/A') == 2
        row = rows[f'{asked.url}?']
        assert (row['remote'], row['local']) == (f'127.0.0.1:{port}', f'127.0.0.1:{proxy.port}')
        assert (row['nrequests'], row['logType'], row['username'], row['delay_pool']) == ('1', 'TCP_MISS', '-', '0')
        assert row['out.offset'] == '0, out.size 0'
        sent = len(f'GET {asked.url}?secret=1 HTTP/1.1\r\nHost: {at}\r\n\r\n')
        assert row['req_sz'] == str(sent) and re.fullmatch(rf'\d+, read {sent}, wrote 0', row['FD'])
        assert re.fullmatch(r'0x0/[0-9A-F]{32}', row['entry'])
        assert re.fullmatch(r'\d+\.\d{6} \(\d+\.\d{6} seconds ago\)', row['start'])
        assert rows[at]['remote'] == f'127.0.0.1:{tunnel_port}' and rows[at]['logType'] == 'TCP_TUNNEL'
        go.set()
        assert c.response().status == 200
        soon(lambda: len(requests(page(proxy, 'active_requests'))) == 2, 'the answered one is gone')


def clients(text):
    """mgr:client_list as {address: {label or tag: value}}."""
    found = {}
    for part in text.split('Address: ')[1:]:
        lines = part.split('\n\n')[0].splitlines()
        row = found[lines[0]] = {}
        for line in lines[1:]:
            if re.match(r' {8}', line):
                tag, n, share = line.split()
                row[tag] = (int(n), share)
            else:
                label, value = re.fullmatch(r' *(.*?):? +(\S+)', line).groups()
                row[label] = value
    return found


def ask_from(p, source, url, times=1):
    with p.connect(source=source) as c:
        for _ in range(times):
            assert c.ask('GET', url).status == 200


def test_client_list(make_proxy, origin):
    p = make_proxy()
    asked = origin.page(ok(b'x', 'Cache-Control: max-age=1000'))
    ask_from(p, '127.0.0.21', asked.url)
    for _ in range(5):  # each connection is some worker's
        ask_from(p, '127.0.0.21', asked.url, 2)
        ask_from(p, '127.0.0.22', asked.url)
    with p.connect(source='127.0.0.22') as c, p.connect(source='127.0.0.22') as c2:
        assert c.ask('GET', asked.url).status == c2.ask('GET', asked.url).status == 200
        text = page(p, 'client_list')
    one, two = (clients(text)[f'127.0.0.{last}'] for last in (21, 22))
    assert (one['HTTP Requests'], one['TCP_MISS'], one['TCP_MEM_HIT']) == ('11', (1, '9%'), (10, '91%'))
    assert (two['HTTP Requests'], two['TCP_MEM_HIT'], 'TCP_MISS' in two) == ('7', (7, '100%'), False)
    assert two['Currently established connections'] == '2' and one['ICP  Requests'] == '0'
    assert text.startswith('Cache Clients:\nAddress: 127.0.0.1\nName:    origin.test\n')
    assert text.endswith('TOTALS\nICP : 0 Queries, 0 Hits (  0%)\nHTTP: 18 Requests, 17 Hits ( 94%)\n')
    assert '        TCP_MEM_HIT               10  91%\n' in text
    # The page's own request is counted when it is over.
    assert clients(page(p, 'client_list'))['127.0.0.1']['HTTP Requests'] == '1'
    soon(lambda: clients(page(p, 'client_list'))['127.0.0.22']['Currently established connections'] == '0', 'they are gone')


def test_client_list_hides_what_the_log_hides(make_proxy, origin):
    p = make_proxy('client_netmask 255.255.255.0\n')
    asked = origin.page(ok(b'x', 'Cache-Control: max-age=1000'))
    for last in (21, 22, 23):
        ask_from(p, f'127.0.7.{last}', asked.url)
    ask_from(p, '127.0.8.1', asked.url)
    text = page(p, 'client_list')
    found = clients(text)
    assert {a: row['HTTP Requests'] for a, row in found.items()} == {'127.0.0.0': '0', '127.0.7.0': '3', '127.0.8.0': '1'}
    assert 'Name:' not in text
    assert all(row['remote'].startswith('127.0.0.0:') for row in requests(page(p, 'active_requests')))


def test_client_db_off(make_proxy, origin):
    p = make_proxy('client_db off\n')
    ask_from(p, '127.0.0.21', origin.page(ok(b'x')).url)
    assert page(p, 'client_list') == ('Cache Clients:\n(client_db is off: nothing is counted)\nTOTALS\nICP : 0 Queries, '
                                      '0 Hits (  0%)\nHTTP: 0 Requests, 0 Hits (  0%)\n')
    with p.connect(source='127.0.0.22') as c:
        assert c.ask('GET', origin.page(ok(b'x')).url).status == 200
        p.configure('')
        p.signal(signal.SIGHUP)
        soon(lambda: '127.0.0.22' in page(p, 'client_list'), 'connections there are count when it is switched on')
        assert c.ask('GET', origin.page(ok(b'x')).url).status == 200
        assert clients(page(p, 'client_list'))['127.0.0.22']['HTTP Requests'] == '1'


DESCRIPTOR = re.compile(r'^(?P<fd> *\d+) (?P<type>.{6}) (?P<tout> *\d+) (?P<read> *\d+)(?P<reading>[* ]) (?P<wrote> *\d+)'
                        r'(?P<writing>[* ]) (?P<remote>\S*) *(?P<what>\S.*)?$')


def descriptors(text):
    """mgr:filedescriptors as {number: row}."""
    lines = text.splitlines()
    assert lines[:3] == ['Active file descriptors:',
                         'File Type   Tout Nread  * Nwrite * Remote Address        Description',
                         '---- ------ ---- -------- -------- --------------------- ------------------------------']
    rows = {}
    for line in lines[3:]:
        row = DESCRIPTOR.match(line)
        assert row, line
        row = {k: (v or '').strip() for k, v in row.groupdict().items()}
        assert int(row['fd']) not in rows, f'told twice: {line}'
        rows[int(row['fd'])] = row
    assert list(rows) == sorted(rows)
    return rows


def test_filedescriptors(proxy, origin):
    asked, go = held(origin)
    url, at = asked.url, origin.authority
    with proxy.connect() as idle, proxy.connect() as c, proxy.connect() as tunnel:
        head = f'GET {url}?secret HTTP/1.1\r\nHost: {at}\r\n\r\n'.encode()
        c.send(head)
        asked.wait(1)
        assert idle.ask('GET', origin.page(ok(b'x', 'Cache-Control: no-store')).url).status == 200
        tunnel.send(f'CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n'.encode())
        assert tunnel.response('CONNECT').status == 200
        mine = {name: f'127.0.0.1:{s.sock.getsockname()[1]}' for name, s in (('idle', idle), ('c', c), ('tunnel', tunnel))}
        rows = descriptors(page(proxy, 'filedescriptors'))
        by_remote = {row['remote']: row for row in rows.values() if row['remote']}
        one = by_remote[mine['c']]
        assert (one['type'], one['what'], one['read'], one['wrote']) == ('Socket', f'{url}?', str(len(head)), '0')
        assert 86000 < int(one['tout']) <= 86400
        rest = by_remote[mine['idle']]
        assert rest['what'] == 'Reading next request' and rest['reading'] == '*' and int(rest['read']) > 0 < int(rest['wrote'])
        assert 100 <= int(rest['tout']) <= 120
        assert by_remote[mine['tunnel']]['what'] == at
        to_origin = {row['what'] for row in rows.values() if row['remote'] == at}
        assert {f'{url}?', at} < to_origin and any(what.startswith('Idle server: ') for what in to_origin)
        listening = [row for row in rows.values() if row['what'] == 'HTTP Socket']
        assert [row['remote'] for row in listening] == [f'127.0.0.1:{proxy.port}'] * 2  # a worker's each
        assert [row['what'] for row in rows.values() if row['type'] == 'Log'] == [proxy.path('cache.log')]
        assert proxy.path('access.log') in {row['what'] for row in rows.values() if row['type'] == 'File'}
        # All there are, and no other.
        go.set()
        assert c.response().status == 200
        with open_pages(proxy) as ask:
            there = {int(fd) for fd in os.listdir(f'/proc/{proxy.child()}/fd')}
            assert set(descriptors(ask('filedescriptors'))) == there


@pytest.fixture
def names():
    made = NameServer(one_test='127.0.0.1', many_test=['127.0.0.1', '127.0.0.2', '::1'], gone_test=NXDOMAIN)
    yield made
    made.close()


def counted(text):
    return {label: int(n) for label, n in re.findall(r'^(.*?): +(\d+)$', text, re.M)}


IP_ROW = re.compile(r'^ (\S+) +([H ])([N ]) +(-?\d+) +(-?\d+) +(\d+)\( 0\)(?: +(\S+)-OK )?$|^ {58} *(\S+)-OK $')


def ip_rows(text):
    """mgr:ipcache's contents as {name: {what: value}}."""
    rows, row = {}, None
    for line in text.split('IP Cache Contents:\n\n', 1)[1].splitlines()[1:]:
        m = IP_ROW.match(line)
        assert m, line
        if m[8]:
            row['addresses'].append(m[8])
            continue
        assert m[1] not in rows
        row = rows[m[1]] = {'hosts': m[2], 'negative': m[3], 'unused': int(m[4]), 'ttl': int(m[5]), 'n': int(m[6]),
                            'addresses': [m[7]] if m[7] else []}
    return rows


def test_ipcache(make_proxy, origin, names):
    p = make_proxy(f'dns_nameservers {names.host}\nnegative_dns_ttl 1000 seconds\n', hosts=('both.test',))
    port, path = origin.port, origin.page(ok(b'x', 'Cache-Control: no-store')).url.split('/', 3)[3]
    with p.connect() as c:  # one worker's
        for host in ('one.test', 'one.test', 'many.test', '127.0.0.1', 'both.test', 'one.test'):
            assert c.ask('GET', f'http://{host}:{port}/{path}').status == 200
            # The next one asks for the name instead of taking the connection there is.
            soon(lambda: 'Idle' in page(p, 'filedescriptors'), 'the connection is kept')
            for number in list(origin.connections):
                origin.idle_connection_ends(number)
        for _ in range(2):
            assert c.ask('GET', f'http://gone.test:{port}/').status == 503
    text = page(p, 'ipcache')
    assert text.startswith('IP Cache Statistics:\nIPcache Entries Cached:  3\nIPcache Requests: ')
    n = counted(text)
    assert (n['IPcache Misses'], n['IPcache Negative Hits'], n['IPcache Numeric Hits'], n['IPcache Invalid Request']) == (3, 1, 1, 0)
    assert n['IPcache Hits'] == 3  # one.test twice, and the hosts file's
    assert n['IPcache Requests'] == 8
    assert (n['IPcache Retrieved A'], n['IPcache Retrieved AAAA'], n['IPcache Retrieved CNAME']) == (3, 1, 0)
    rows = ip_rows(text)
    one, many, gone, both = (rows[f'{name}.test'] for name in ('one', 'many', 'gone', 'both'))
    assert 30 < one['ttl'] <= 60 and (one['n'], one['addresses'], one['hosts'], one['negative']) == (1, ['127.0.0.1'], ' ', ' ')
    assert 0 <= one['unused'] < 30
    assert many['addresses'] == ['::1', '127.0.0.1', '127.0.0.2']
    assert (gone['negative'], gone['n'], gone['addresses']) == ('N', 0, []) and 900 < gone['ttl'] <= 1000
    assert (both['hosts'], both['ttl'], both['addresses']) == ('H', -1, ['127.0.0.1'])


def test_ipcache_lists_a_name_once(make_proxy, origin, names):
    """However many workers know it."""
    p = make_proxy(f'dns_nameservers {names.host}\n')
    url = f'http://one.test:{origin.port}/' + origin.page(ok(b'x', 'Cache-Control: no-store')).url.split('/', 3)[3]

    def both_know():
        assert p.get(url).status == 200
        return counted(page(p, 'ipcache'))['IPcache Entries Cached'] == 2
    soon(both_know, 'both workers have asked for it')
    assert len(re.findall(r'^ one\.test ', page(p, 'ipcache'), re.M)) == 1


def test_fqdncache(make_proxy, names):
    names.called('127.0.0.31', 'client.test')
    names.called('127.0.0.32', NXDOMAIN)
    p = make_proxy(f'dns_nameservers {names.host}\nnegative_dns_ttl 1000 seconds\nacl ours srcdomain .ours.test\nhttp_access deny ours\n')
    for _ in range(4):
        for last in (31, 32):
            with p.connect(source=f'127.0.0.{last}') as c:
                assert c.ask('GET', f'http://{NAME}:{p.port}/squid-internal-mgr/menu').status == 200
    text = page(p, 'fqdncache')
    n = counted(text)
    asked = names.times_asked(PTR)
    assert 2 <= asked <= 4 and (n['FQDNcache Entries Cached'], n['FQDNcache Misses']) == (asked, asked)
    assert n['FQDNcache Negative Hits'] >= 2 and n['FQDNcache Hits'] >= 2 and n['FQDNcache Requests'] >= 8
    for line in (r'Address {39}Flg TTL Cnt Hostnames', r'127\.0\.0\.31 {40}0[3-6]\d   1 client\.test',
                 r'127\.0\.0\.32 {37}N  +(1000|9\d\d)   0 ', r'127\.0\.0\.1 {39}H -001   1 origin\.test'):
        assert re.search(f'^{line}$', text, re.M), (line, text)


def test_idns(make_proxy, names):
    names.names['silent.test'] = SILENCE
    p = make_proxy(f'dns_nameservers {names.host} 127.53.9.9\ndns_timeout 30 seconds\ndns_retransmit_interval 300 seconds\n')
    assert p.get('http://gone.test/').status == 503
    with p.connect() as c:
        c.send(b'GET http://silent.test/ HTTP/1.1\r\nHost: silent.test\r\n\r\n')
        soon(lambda: names.times_asked(A) == 2 == names.times_asked(AAAA), 'it is asked for')
        text = page(p, 'idns')
        c.reset()  # else the end of the proxy would wait for the answer
    queue = re.findall(r'^0x[0-9a-f]{4} +(\d+) +(\d+) +(\d+\.\d{3}) +(\d+\.\d{3})   (\S+)$', text, re.M)
    # A header, the name, type and class.
    assert [(size, sends, name) for size, sends, _, _, name in queue] == [('29', '1', 'silent.test')] * 2
    assert all(first == last and float(first) < 30 for _, _, first, last, _ in queue)
    assert '\nDNS jumbo-grams: not working\n' in text
    servers = re.findall(r'^(\d\S+) +(\d+) +(\d+) recurse$', text, re.M)
    assert servers == [(names.host, '4', '2'), ('127.53.9.9', '0', '0')]
    assert f'{names.host:45} {4:9d} {2:9d} recurse\n' in text
    matrix = dict(re.findall(r'^ {4}(\d) +(\d+) +0 +0 : ', text, re.M))
    assert (matrix['0'], matrix['3'], matrix['2']) == ('0', '2', '0')
    assert text.index('The Queue:') < text.index('Nameservers:') < text.index('Rcode Matrix:')


def test_idns_sees_repeated_queries(make_proxy, origin, names):
    names.names['late.test'] = SILENCE
    p = make_proxy(f'dns_nameservers {names.host}\ndns_timeout 30 seconds\ndns_retransmit_interval 300 milliseconds\n'
                   'dns_packet_max 1232 bytes\n')
    with p.connect() as c:
        c.send(f'GET http://late.test:{origin.port}/ HTTP/1.1\r\nHost: late.test\r\n\r\n'.encode())
        soon(lambda: names.times_asked(A) >= 2 <= names.times_asked(AAAA), 'it is asked for again')
        names.names['late.test'] = '127.0.0.1'
        assert c.response().status in (200, 404)
    text = page(p, 'idns')
    assert '\nDNS jumbo-grams: 1232 Bytes\n' in text
    (_, sent, come), = re.findall(r'^(127\.53\S+) +(\d+) +(\d+) recurse$', text, re.M)
    assert int(sent) == len(names.asked) and come == '2'
    assert not re.search(r'^0x', text, re.M), 'nothing waits'
    first, again, more = map(int, re.search(r'^ {4}0 +(\d+) +(\d+) +(\d+) : Success$', text, re.M).groups())
    assert (first, again + more) == (0, 2)


USER_ROW = re.compile(r'^(AUTH_\w+) +(\S+) +(-?\d+) +(-?\d+) (\S+)\t(\S+)$')


def test_username_cache(make_proxy, origin):
    asked = origin.page(ok(b'x', 'Cache-Control: no-store'))
    p = make_proxy('auth_param basic file {dir}/users\nauth_param basic credentialsttl 2 hours\nauthenticate_ttl 1 hour\n'
                   'acl manages url_regex /squid-internal-mgr/\nhttp_access allow manages\nacl known proxy_auth REQUIRED\n'
                   'http_access allow known\nhttp_access deny all\n', start=False)
    users(p)
    p.start()
    head = ('Type            State     Check TTL Cache TTL Username\tKey\n'
            '--------------- --------- --------- --------- ------------------------------\n')
    assert page(p, 'username_cache') == 'Cached Usernames: 0\n' + head
    for _ in range(6):  # both workers' in the end, more or less
        assert p.get(asked.url, login('eve')).status == 200
    assert p.get(asked.url, login('ann')).status == 200
    assert p.get(asked.url, login('bob', 'wrong')).status == p.get(asked.url, login('secret', 'bob')).status == 407
    text = page(p, 'username_cache')
    assert text.startswith('Cached Usernames: 2\n' + head)
    rows = [USER_ROW.match(line).groups() for line in text.splitlines()[3:]]
    assert [(kind, state, user, key) for kind, state, _, _, user, key in rows] == [('AUTH_BASIC', 'Ok', 'ann', 'ann'),
                                                                                  ('AUTH_BASIC', 'Ok', 'eve', 'eve')]
    assert all(7100 < int(check) <= 7200 and 3500 < int(cached) <= 3600 for _, _, check, cached, _, _ in rows)
    assert all(word not in text for word in ('secret', 'wrong', token('ann'), *HASHES.values()))
    with p.connect() as c:
        c.send(f'GET {held(origin)[0].url} HTTP/1.1\r\nHost: x\r\n{login("eve")}\r\n\r\n'.encode())
        soon(lambda: 'username eve\n' in page(p, 'active_requests'), 'the request has its user')
        text = page(p, 'active_requests')
        assert token('eve') not in text and 'secret' not in text
        c.reset()


def test_username_cache_of_digest(make_proxy, origin):
    asked = origin.page(ok(b'x', 'Cache-Control: no-store'))
    p = make_proxy(DIGEST + 'acl manages url_regex /squid-internal-mgr/\nhttp_access allow manages\n'
                   'acl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all\n', start=False)
    p.write('digests', ''.join(f'{u}:here:{hashed("md5", u, "here", "secret")}\n' for u in ('ann', 'bob')))
    p.start()
    for user, password, status in (('ann', 'secret', 200), ('bob', 'wrong', 407)):
        known = DigestUser(user, password).challenged(p.get(asked.url))
        assert p.get(asked.url, known.field(asked.url)).status == status
    rows = [USER_ROW.match(line).groups() for line in page(p, 'username_cache').splitlines()[3:]]
    assert [(kind, user) for kind, _, _, _, user, _ in rows] == [('AUTH_DIGEST', 'ann')]


def test_username_cache_of_connections(make_proxy, origin):
    asked = origin.page(ok(b'x', 'Cache-Control: no-store'))
    p = make_proxy(start=False)
    tokens = program(p, 'def answer(first, rest): return "OK user=ann@realm token=dG9rZW4="', name='tokens')
    p.configure(f'auth_param negotiate program {tokens}\nacl manages url_regex /squid-internal-mgr/\nhttp_access allow manages\n'
                'acl known proxy_auth REQUIRED\nhttp_access allow known\nhttp_access deny all\n')
    p.start()
    with p.connect() as c:
        assert c.ask('GET', asked.url, 'Proxy-Authorization: Negotiate c2VjcmV0').status == 200
        text = page(p, 'username_cache')
        assert USER_ROW.match(text.splitlines()[3]).groups() == ('AUTH_NEGOTIATE', 'Ok', '-1', '-1', 'ann@realm', 'ann@realm')
        assert 'c2VjcmV0' not in text and 'dG9rZW4=' not in text
    soon(lambda: page(p, 'username_cache').startswith('Cached Usernames: 0\n'), 'it goes with the connection')


def pools(text):
    """mgr:mem as {name: columns}."""
    lines = text.split('Total Pools created')[0].splitlines()
    assert lines[0] == 'Current memory usage:' and lines[2].count('\t') == 26
    assert all(line.count('\t') == 25 for line in lines[3:])
    return {line.split('\t')[0].strip(): [cell.strip() for cell in line.split('\t')] for line in lines[3:]}


def test_mem(make_proxy, origin):
    p = make_proxy()
    asked, go = held(origin)
    with open_pages(p) as ask, p.connect() as c, p.connect() as idle:
        before = pools(ask('mem'))
        assert idle.ask('GET', origin.page(ok(b'x' * 300000, 'Cache-Control: max-age=1000')).url).status == 200
        c.send(f'GET {asked.url} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
        asked.wait(1)
        text = ask('mem')
        now = pools(text)
        go.set()
        assert c.response().status == 200
    allocated, kilobytes, share, used = 9, 10, 13, 14
    assert int(now['Client Connection'][used]) == 3
    assert int(now['Transaction'][used]) == 2 and now['Fetch'][used] == '1'
    assert before['Transaction'][used] == '1' and 'Fetch' not in before
    # 300,000 bytes and a head in blocks of the store.
    stored = {name: cells for name, cells in now.items() if name.startswith('Cache Block ')}
    assert 300000 < sum(int(cells[1]) * int(cells[used]) for cells in stored.values()) < 400000
    assert abs(sum(float(cells[share]) for name, cells in now.items() if name != 'Total') - 100) < 0.1
    total = now['Total']
    assert int(total[allocated]) == sum(int(cells[allocated]) for name, cells in now.items() if name != 'Total')
    assert abs(int(total[kilobytes]) - sum(int(cells[kilobytes]) for name, cells in now.items() if name != 'Total')) < len(now)
    shown, in_use = (int(re.search(rf'^{label}: +(\d+)', text, re.M)[1]) for label in ('Pools ever used', 'Currently in use'))
    assert shown == len(now) - 1 >= in_use


def test_pconn_and_io(make_proxy, origin):
    p = make_proxy()
    asked = origin.page(ok(b'x' * 50, 'Cache-Control: no-store'))
    others = set(origin.connections)
    with p.connect() as c:  # one worker's: one connection to the origin carries all of them
        for _ in range(3):
            assert c.ask('GET', asked.url).status == 200
        soon(lambda: '/' in page(p, 'pconn'), 'it is kept')
        idle = page(p, 'pconn')
        number, = set(origin.connections) - others
        origin.idle_connection_ends(number)
        soon(lambda: '\t3\t1\n' in page(p, 'pconn'), 'it is counted when it is closed')
        assert c.ask('GET', origin.page([ok(b'x' * 30000, 'Connection: close'), CLOSE]).url).status == 200
        soon(lambda: '\t1\t1\n' in page(p, 'pconn'), 'the other one, too')
    at = origin.authority
    head = '\n Pool 0 Stats\nserver-peers persistent connection counts:\n\n\t Requests\t Connection Count\n\t --------\t ----------------\n'
    assert idle == f'{head}\n Pool 0 Hash Table\n\t item 0:\t{at}/{at}\n'
    assert page(p, 'pconn') == f'{head}\t1\t1\n\t3\t1\n\n Pool 0 Hash Table\n'
    text = page(p, 'io')
    lines = text.splitlines()
    assert lines[0] == 'HTTP I/O' and lines[2] == 'Read Histogram:' and lines[3].startswith('    1-    1: ')
    sizes = {(int(low), int(high)): (int(n), int(share))
             for low, high, n, share in re.findall(r'^ *(\d+)- *(\d+): +(\d+) +(\d+)%$', text, re.M)}
    small = len(ok(b'x' * 50, 'Cache-Control: no-store'))
    assert sum(n for (low, high), (n, _) in sizes.items() if low <= small <= high) >= 3
    assert sum(n for n, _ in sizes.values()) == counted(text)['number of reads']
    assert sum(low * n for (low, _), (n, _) in sizes.items()) <= 3 * small + 30200 <= sum(high * n for (_, high), (n, _) in sizes.items())


def test_refresh(make_proxy, origin):
    p = make_proxy('refresh_pattern -i /IMAGES 5 20% 4320\nrefresh_pattern nothing 0 20% 4320\nrefresh_pattern . 0 20% 4320\n')
    explicit, unknown = origin.page(ok(b'x', 'Cache-Control: max-age=1000')), origin.page(ok(b'x', dated=True), name='images')
    stale = origin.page(ok(b'x', 'Cache-Control: max-age=0', 'ETag: "1"'), not_modified('ETag: "1"'))
    for url in (explicit.url, explicit.url, unknown.url, unknown.url, unknown.url, stale.url, stale.url):
        assert p.get(url).status == 200
    assert p.get(explicit.url, 'Cache-Control: no-cache').status == 200
    text = page(p, 'refresh')
    assert text.startswith('\nRefresh pattern usage:\n\n  Used      \tChecks    \t% Matches\tPattern\n')
    rows = [line.split('\t') for line in text.splitlines()[4:7]]
    # Asked of the origin: each page once, the stale one and the one with no-cache twice.
    assert [(int(used), int(checks), share.strip(), pattern) for used, checks, share, pattern in rows] == [
        (1, 5, '20.00', '-i /IMAGES'), (0, 4, '0.00', 'nothing'), (4, 4, '100.00', '.')]
    calls = dict(re.findall(r'^ *(\w+(?: \w+)?)\t +(\d+)\t *[\d.]+$', text, re.M))
    assert (calls['HTTP'], calls['ICP'], calls['On Store']) == ('5', '0', '4')
    http, stored = (dict((name, int(n)) for n, name in re.findall(r'^ *(\d+)\t *[\d.]+\t(.*)$', part, re.M))
                    for part in re.split(r'On Store histogram:', text.split('HTTP histogram:')[1]))
    assert {name: n for name, n in http.items() if n} == {
        'Fresh: expires time not reached': 3, 'Stale: expires time reached': 1, 'Stale: request has no-cache directive': 1}
    assert {name: n for name, n in stored.items() if n} == {
        'Fresh: expires time not reached': 3, 'Fresh: refresh_pattern min value': 1}
    p.signal(signal.SIGHUP)
    soon(lambda: page(p, 'refresh').splitlines()[4].split() == ['0', '0', '0.00', '-i', '/IMAGES'], 'patterns begin anew with a reload')


def test_events(proxy):
    text = page(proxy, 'events')
    assert re.match(r'Last event to run: (workerTick|statSample)\n\nOperation                \tNext Execution \tWeight\tCallback Valid\?\n', text)
    due = dict(re.findall(r'^(\S.{24})\t(\d+\.\d{3}) sec\t    1\t N/A$', text, re.M))
    due = {name.strip(): float(seconds) for name, seconds in due.items()}
    assert set(due) == {'workerTick 0', 'workerTick 1', 'statSample'}
    assert 0 <= due['workerTick 0'] <= 1 >= due['workerTick 1'] >= 0 <= due['statSample'] <= 60
    soon(lambda: 'statSample                \t' + f'{due["statSample"]:.3f}' not in page(proxy, 'events'), 'time passes')


def test_requests_begun_ahead(make_proxy, origin):
    first, second = held(origin)[0], held(origin)[0]
    p = make_proxy('pipeline_prefetch 1\n')
    with p.connect() as c:
        c.send(b''.join(f'GET {asked.url} HTTP/1.1\r\nHost: x\r\n\r\n'.encode() for asked in (first, second)))
        first.wait(1)
        second.wait(1)
        doing = {row['uri']: row['FD desc'] for row in requests(page(p, 'active_requests'))}
        assert (doing[first.url], doing[second.url]) == ('Request', 'Request behind another one')
        assert int(pools(page(p, 'mem'))['Transaction'][14]) == 3
        c.reset()


# --- whatever happens meanwhile

LIVE = ('active_requests', 'client_list', 'events', 'filedescriptors', 'fqdncache', 'idns', 'io', 'ipcache', 'mem', 'pconn', 'refresh',
        'username_cache')


def test_menu_and_passwords(make_proxy):
    p = make_proxy('cachemgr_passwd disable idns\ncachemgr_passwd word client_list mem\n')
    menu = page(p, 'menu')
    for name in LIVE:
        access = {'idns': 'disabled', 'client_list': 'protected', 'mem': 'protected'}.get(name, 'public')
        assert re.search(rf'^ {name} *\t.*\t{access}$', menu, re.M), name
    assert p.page('idns').status == 404
    assert p.page('mem').status == p.page('client_list', login('x', 'wrong', 'Authorization')).status == 401
    r = p.page('client_list', login('x', 'word', 'Authorization'))
    assert r.status == 200 and b'Cache Clients:' in r.body and b'word' not in r.body


def test_head_and_post(proxy):
    url = f'http://{NAME}:{proxy.port}/squid-internal-mgr/mem'
    r = proxy.ask('HEAD', url)
    assert r.status == 200 and int(r.get('Content-Length')) > 100 and not r.body
    assert proxy.ask('POST', url).body.startswith(b'Current memory usage:')


def test_pages_are_logged_once(make_proxy):
    p = make_proxy()
    for name in LIVE:
        page(p, name)
        line, = p.logged(f'http://{NAME}:{p.port}/squid-internal-mgr/{name}')
        assert line.what == 'TCP_MISS/200' and line.type == 'text/plain'


@needs('squidclient')
def test_squidclient_reads_them(proxy):
    for name in LIVE:
        ran = subprocess.run(['squidclient', '-h', '127.0.0.1', '-p', str(proxy.port), f'mgr:{name}'], capture_output=True, text=True,
                             timeout=DEADLINE, check=True)
        assert ran.stdout.startswith('HTTP/1.1 200 OK') and len(ran.stdout.split('\n\n', 1)[1]) > 60, name


def test_pipelined(proxy):
    with proxy.connect() as c:
        c.send(b''.join(f'GET http://{NAME}:{proxy.port}/squid-internal-mgr/{name} HTTP/1.1\r\nHost: x\r\n\r\n'.encode()
                        for name in LIVE))
        bodies = [c.response().body.decode() for _ in LIVE]
    assert bodies[1].startswith('Cache Clients:') and bodies[2].startswith('Last event') and bodies[-1].startswith('Cached Usernames:')


def test_who_leaves_and_reloads_harm_nobody(make_proxy):
    p = make_proxy()
    for i in range(10):
        left = [p.connect() for _ in range(20)]
        for k, c in enumerate(left):
            c.send(f'GET http://{NAME}:{p.port}/squid-internal-mgr/{LIVE[k % len(LIVE)]} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
        if i % 3 == 0:
            p.signal(signal.SIGHUP)
        for c in left[::2]:
            c.reset()
        for c in left[1::2]:
            assert c.response().status == 200
            c.close()
    assert 'Cache Clients:' in page(p, 'client_list')


def test_the_end_of_the_process(make_proxy):
    """TERM while pages are asked for: each is answered whole, or not at all; the fixture sees that nothing bad is said."""
    p = make_proxy('shutdown_lifetime 0 seconds\n')
    asking = [p.connect() for _ in range(40)]
    for k, c in enumerate(asking):
        c.send(f'GET http://{NAME}:{p.port}/squid-internal-mgr/{LIVE[k % len(LIVE)]} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
    p.stop()
    for c in asking:
        c.close()


class Tracer:
    """Stops one thread of a process, as a bug would: from a thread of its own, since only who has stopped it may let it go on."""
    SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000

    def __init__(self, tid):
        self.tid, self.stopped, self.go, self.error = tid, threading.Event(), threading.Event(), None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        assert self.stopped.wait(DEADLINE)
        if self.error:
            self.thread.join()
            pytest.skip(f'ptrace: {self.error}')

    def run(self):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        for request in (self.SEIZE, self.INTERRUPT):
            if libc.ptrace(request, self.tid, None, None) != 0:
                self.error = os.strerror(ctypes.get_errno())
        if not self.error:
            os.waitpid(self.tid, self.WALL)
        self.stopped.set()
        self.go.wait(DEADLINE)
        libc.ptrace(self.DETACH, self.tid, None, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.go.set()
        self.thread.join()


def thread_of(p, name):
    for tid in os.listdir(f'/proc/{p.child()}/task'):
        with open(f'/proc/{p.child()}/task/{tid}/comm', encoding='ascii') as f:
            if f.read().strip() == name:
                return int(tid)
    raise AssertionError(f'no thread {name}')


def test_a_stuck_worker_is_left_out(make_proxy):
    p = make_proxy()
    with contextlib.ExitStack() as stack:
        # A connection of the worker that goes on.
        clients = [stack.enter_context(p.connect()) for _ in range(16)]
        stack.enter_context(Tracer(thread_of(p, 'worker 1')))
        for c in clients:
            c.send(f'GET http://{NAME}:{p.port}/squid-internal-mgr/client_list HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
        ready, _, _ = select.select([c.sock for c in clients], [], [], DEADLINE)
        assert ready
        body = next(c for c in clients if c.sock in ready).response().body.decode()
    assert body.endswith('... 1 of 2 workers did not answer in time: theirs are missing\n')
    assert 'TOTALS' in body
    assert 'missing' not in page(p, 'client_list'), 'it goes on'
