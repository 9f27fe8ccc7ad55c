"""Manager pages about what belongs to single workers, of which each tells its part."""
import re
import threading

from client import soon
from origin import ok
from proxy import NAME


def page(p, name):
    r = p.page(name)
    assert r.status == 200, name
    assert r.get('Content-Type') == 'text/plain;charset=utf-8'
    return r.body.decode()


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
