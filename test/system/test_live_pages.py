"""Manager pages about what belongs to single workers, of which each tells its part."""
import contextlib
import os
import re
import signal
import threading

from client import soon
from origin import ok
from proxy import NAME


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
