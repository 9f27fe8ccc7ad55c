"""Limits with Squid's names: what is over them is refused or cut, and everything else goes on."""
import os
import resource

import pytest

from client import Cut, soon
from origin import HANG, chunked, ok

BIG = b'x' * 5000
KEEP = ('Cache-Control: max-age=600',)


# --- reply_body_max_size

def refused(r):
    return (r.status, r.get('X-Squid-Error')) == (403, 'ERR_TOO_BIG 0')


@pytest.mark.parametrize('limit', ['5000 bytes', '4999 bytes', '4 KB', '1 MB', 'none', '0'])
def test_reply_body_announced(make_proxy, origin, limit):
    proxy = make_proxy(f'reply_body_max_size {limit}')
    url = origin.page(ok(BIG)).url
    r = proxy.get(url)
    if limit in ('4999 bytes', '4 KB'):
        assert refused(r)
        assert proxy.logged(url)[0].what == 'TCP_DENIED_REPLY/403'
    else:
        assert (r.status, r.body) == (200, BIG)


def test_reply_body_of_unknown_length_is_cut(make_proxy, origin):
    proxy = make_proxy('reply_body_max_size 4999 bytes')
    with pytest.raises(Cut) as cut:
        proxy.get(origin.page(chunked(BIG)).url)
    assert cut.value.response.status == 200 and cut.value.response.body == BIG[:4999]
    assert proxy.get(origin.page(chunked(BIG[:4999])).url).body == BIG[:4999]


def test_reply_body_first_line_whose_acls_hold(make_proxy, origin):
    small, large = origin.page(ok(BIG)), origin.page(ok(BIG))
    proxy = make_proxy(f'acl large urlpath_regex ^{large.path}$\nreply_body_max_size none large\nreply_body_max_size 1 KB')
    assert refused(proxy.get(small.url))
    assert proxy.get(large.url).body == BIG


def test_reply_body_of_a_hit(make_proxy, origin):
    """One client may have it, another not: the store holds it for both."""
    proxy = make_proxy('acl few req_header X-Few yes\nreply_body_max_size 1 KB few')
    url = origin.page(ok(BIG, *KEEP)).url
    assert proxy.get(url).body == BIG
    assert refused(proxy.get(url, 'X-Few: yes'))
    assert proxy.get(url).body == BIG
    assert proxy.codes(url, 3) == ['TCP_MISS/200', 'TCP_DENIED_REPLY/403', 'TCP_MEM_HIT/200']


def test_reply_body_head_has_none(make_proxy, origin):
    proxy = make_proxy('reply_body_max_size 1 KB')
    r = proxy.ask('HEAD', origin.page(ok(BIG)).url)
    assert (r.status, r.get('Content-Length')) == (200, '5000')


# --- descriptors

def few(n):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n))


def in_use(p):
    return len(os.listdir(f'/proc/{p.process.pid}/fd'))


def test_a_part_of_the_descriptors_is_kept_for_servers(make_proxy, origin):
    """Clients have taken all they may; those among them still get what has to be fetched."""
    p = make_proxy(limits=few(128))
    before = in_use(p)
    clients = [p.connect() for _ in range(20)]
    # Workers have queues of their own: of more at once, any could wait behind those that the other worker took.
    soon(lambda: in_use(p) >= before + 20, 'those 20 are in')
    clients += [p.connect() for _ in range(130)]
    p.wait_cache_log('of 128 descriptors all but the 32 kept for servers are in use')
    soon(lambda: in_use(p) >= 96, 'clients have them')
    for c in clients[:20]:
        assert c.get(origin.page(ok(b'fetched')).url).body == b'fetched'
    assert in_use(p) < 128
    for c in clients:
        c.close()
    assert p.get(origin.page(ok(b'again')).url).body == b'again'


def test_resting_clients_give_way(make_proxy, origin):
    """Not those who haven't asked yet, and nobody who waits for an answer."""
    p = make_proxy(limits=few(128))
    url = origin.page(ok(b'x', *KEEP)).url
    assert p.get(url).body == b'x'
    held = origin.page([HANG])
    waiting = p.connect()
    waiting.send(f'GET {held.url} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
    held.wait(1)
    clients = [p.connect() for _ in range(60)]
    for c in clients:
        assert c.get(url).body == b'x'
    late = [p.connect() for _ in range(40)]
    assert late[-1].get(url).body == b'x'
    assert waiting.is_open()
    # Which may have been among the few there was room for: the others' turn comes with the next look.
    soon(lambda: any(not c.is_open() for c in clients), 'resting clients gave way')
    waiting.reset()
    for c in (*clients, *late):
        c.close()
