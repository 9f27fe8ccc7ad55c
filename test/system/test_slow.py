"""Clients that take or give bytes slowly (hostile-inputs U09): what they cost, and when they are cut."""
import os
import time

import pytest

from client import request, soon
from origin import ok
from proxy import is_sanitized

CLIENTS = 1000 if os.environ.get('LOLIGO_LONG') == '1' else 200  # the kernel's buffers are 2 MB each
LARGE = 8 << 20


def ask_slowly(p, url, n):
    """n clients that ask and read nothing."""
    clients = []
    for _ in range(n):
        clients.append(p.connect(receive_buffer=4096))
        clients[-1].send(request('GET', url))
    return clients


@pytest.mark.parametrize('fields', [('Cache-Control: no-store',), ('Cache-Control: max-age=600',)])
def test_slow_readers(make_proxy, origin, fields):
    """Each has a window of read_ahead_gap (16 KB), whatever is behind it; without progress it is cut at write_timeout."""
    p = make_proxy('workers 1\nread_ahead_gap 16 KB\nwrite_timeout 3 seconds\nread_timeout 1 minute\ncollapsed_forwarding off\n'
                   'maximum_object_size_in_memory 64 KB\n')
    page = origin.page(ok(bytes(LARGE), *fields))
    first = ask_slowly(p, page.url, 20)
    page.wait(20)
    before = p.rss()
    many = ask_slowly(p, page.url, CLIENTS)
    page.wait(20 + CLIENTS)
    cost = (p.rss() - before) * 1024 / CLIENTS
    if not is_sanitized():
        assert cost < 30 * 1024, f'{cost:.0f} bytes for each: the window, a quarter of one on its way, some 6 KB beside it'
    quick = origin.page(ok(b'quick'))
    assert p.get(quick.url).body == b'quick', 'others are served meanwhile'
    soon(lambda: p.line_count() >= 21 + CLIENTS, 'each is cut', deadline=30)
    lines = p.logged(page.url, 20 + CLIENTS)
    assert {line.code for line in lines} == {'TCP_MISS_TIMEOUT_ABORTED'} and max(line.ms for line in lines) < 20000
    assert max(line.size for line in lines) < LARGE
    for c in first + many:
        c.close()


def test_a_slow_body_ends_with_client_lifetime(make_proxy, origin):
    """A byte now and then is progress; the connection's life has an end all the same. Nothing completes it for the origin."""
    p = make_proxy('client_lifetime 2 seconds\nread_timeout 1 minute\nrequest_timeout 1 minute\n')
    page = origin.page(ok(), early=False)
    with p.connect() as c:
        c.send(request('POST', page.url, f'Content-Length: {1 << 20}'))
        began = time.monotonic()

        def is_cut():
            try:
                c.send(b'x')
            except ConnectionError:
                return True
            return False
        soon(is_cut, 'the connection is cut', pause=0.1)
    assert 1 < time.monotonic() - began < 9
    assert not page.wait_over(1).complete
    assert p.logged(page.url)[0].status in ('000', '408', '0')
