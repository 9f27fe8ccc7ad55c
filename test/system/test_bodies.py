"""Bodies: every framing, both ways, large, streamed, and cut short."""
import hashlib
import threading

import pytest

from client import Cut, Task, request, soon
from origin import CLOSE, HANG, LAST_CHUNK, RESET, chunk, chunked, head, ok

FRESH = 'Cache-Control: max-age=600'
LARGE = hashlib.shake_256(b'loligo').digest(4 << 20)


def chunked_request(method, url, body, size, *fields):
    pieces = b''.join(chunk(body[i:i + size]) for i in range(0, len(body), size))
    return request(method, url, 'Transfer-Encoding: chunked', *fields) + pieces + LAST_CHUNK


# -- request bodies

@pytest.mark.parametrize('method', ['POST', 'PUT', 'PATCH', 'PROPFIND'])
@pytest.mark.parametrize('size', [0, 1, 5000, 300000])
def test_content_length(proxy, origin, method, size):
    page = origin.page(lambda x: ok(hashlib.sha256(x.request.body).hexdigest().encode()))
    body = LARGE[:size]
    r = proxy.ask(method, page.url, f'Content-Length: {size}', body=body)
    assert r.body.decode() == hashlib.sha256(body).hexdigest()
    sent = page.requests[0]
    assert (sent.method, sent.get('Content-Length'), sent.get('Transfer-Encoding')) == (method, str(size), None)
    assert sent.body == body
    assert proxy.codes(page.url) == ['TCP_MISS/200']


@pytest.mark.parametrize('method', ['POST', 'PUT'])
@pytest.mark.parametrize('size', [1, 7, 4096])
def test_chunked(proxy, origin, method, size):
    page = origin.page(ok(b'got it'))
    body = LARGE[:20000] if size > 1 else LARGE[:300]
    with proxy.connect() as c:
        for _ in range(2):
            c.send(chunked_request(method, page.url, body, size))
            assert c.response().body == b'got it'
    for sent in page.requests:
        assert (sent.body, sent.complete) == (body, True)
        assert (sent.get('Content-Length'), sent.get('Transfer-Encoding')) == (None, 'chunked')


def test_a_chunked_body_byte_by_byte(proxy, origin):
    """B19: extensions are skipped, trailers dropped."""
    page = origin.page(ok(b'got it'))
    with proxy.connect() as c:
        c.send_bytes(request('POST', page.url, 'Transfer-Encoding: chunked') +
                     b'1\r\nh\r\n4;a=b\r\nello\r\n0;x\r\nX-T: 1\r\n\r\n' +
                     request('POST', page.url, 'Content-Length: 2') + b'ok')
        assert [c.response().body for _ in range(2)] == [b'got it'] * 2
    assert [r.body for r in page.requests] == [b'hello', b'ok']
    assert page.requests[0].trailers == []


def test_a_body_is_streamed(proxy, origin):
    """The origin has the first part before the client has sent the second."""
    page = origin.page(ok(b'done'))
    with proxy.connect() as c:
        c.send(request('POST', page.url, 'Content-Length: 10') + b'first')
        soon(lambda: page.count and page.requests[0].body == b'first', 'the first part at the origin')
        c.send(b'secnd')
        assert c.response().body == b'done'
    assert page.requests[0].body == b'firstsecnd'


def test_100_continue(proxy, origin):
    """H07."""
    page = origin.page(ok(b'done'))
    with proxy.connect() as c:
        c.send(request('POST', page.url, 'Expect: 100-continue', 'Content-Length: 5'))
        assert c.reader.line() == 'HTTP/1.1 100 Continue'
        assert c.reader.line() == ''
        c.send(b'hello')
        r = c.response()
        assert (r.status, r.interim, r.body) == (200, [], b'done')
    assert page.requests[0].body == b'hello'


def test_100_continue_is_not_said_when_the_body_is_there(proxy, origin):
    page = origin.page(ok(b'done'))
    with proxy.connect() as c:
        c.send(request('POST', page.url, 'Expect: 100-continue', 'Content-Length: 5') + b'hello')
        assert c.response().interim in ([], [100])
    assert page.requests[0].body == b'hello'


def test_other_expectations_are_refused(proxy, origin):
    page = origin.page(ok())
    r = proxy.ask('POST', page.url, 'Expect: 200-ok', 'Content-Length: 5', body=b'hello')
    assert (r.status, page.count) == (417, 0)


def test_large_upload(proxy, origin):
    page = origin.page(ok(b'done'))
    with proxy.connect() as c:
        c.send(request('PUT', page.url, f'Content-Length: {len(LARGE)}') + LARGE)
        assert c.response().body == b'done'
        c.send(chunked_request('PUT', page.url, LARGE, 65000))
        assert c.response().body == b'done'
    assert [r.body == LARGE for r in page.requests] == [True, True]


def test_an_upload_to_a_slow_origin_waits(proxy, origin):
    """Back-pressure: the proxy takes what sockets and its buffers hold, not the whole."""
    go = threading.Event()
    page = origin.page([go, CLOSE], early=True)
    before = proxy.rss()
    size = 256 << 20
    with proxy.connect() as c:
        c.send(request('PUT', page.url, f'Content-Length: {size}'))
        page.wait(1)
        c.sock.settimeout(0.5)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < size:
                sent += c.sock.send(LARGE)
        assert sent < size
    assert proxy.rss() - before < 16 << 10
    go.set()


def test_an_early_answer_ends_the_upload(proxy, origin):
    """The origin refuses before the body is there: the client gets to see that."""
    page = origin.page([ok(b'too much', status='413 Content Too Large'), CLOSE], early=True)
    with proxy.connect() as c:
        c.send(request('POST', page.url, 'Content-Length: 1000000') + b'x' * 1000)
        r = c.response()
        assert (r.status, r.body) == (413, b'too much')
        assert r.get('Connection') == 'close'


@pytest.mark.parametrize('framing, rest', [
    ('Content-Length: 10', b'hello'),
    ('Transfer-Encoding: chunked', b'5\r\nhello\r\n'),
    ('Transfer-Encoding: chunked', b'5\r\nhel'),
])
def test_a_request_body_cut_by_the_client_is_never_completed(proxy, origin, framing, rest):
    """B20, B21: the origin never sees an end, and its connection isn't used again."""
    page, other = origin.page(ok()), origin.page(ok())
    with proxy.connect() as c:
        c.send(request('POST', page.url, framing) + rest)
        page.wait(1)
    sent = page.wait_over(1)
    assert not sent.complete
    assert proxy.get(other.url).status == 200
    assert other.requests[0].connection != sent.connection


def test_request_body_max_size(make_proxy, origin):
    page = origin.page(ok(b'done'))
    p = make_proxy('request_body_max_size 10 KB')
    r = p.ask('POST', page.url, 'Content-Length: 10240', body=b'x' * 10240)
    assert r.status == 200
    with p.connect() as c:
        c.send(request('POST', page.url, 'Content-Length: 10241') + b'x' * 10241)
        r = c.response()
    assert (r.status, r.get('X-Squid-Error').split()[0]) == (413, 'ERR_TOO_BIG')
    with p.connect() as c:
        c.send(chunked_request('POST', page.url, b'x' * 20000, 4096))
        assert c.response().status == 413
    assert [r.complete for r in page.requests].count(True) == 1


# -- response bodies

@pytest.mark.parametrize('size', [0, 1, 1000, 70000])
def test_chunked_response(proxy, origin, size):
    page = origin.page(chunked(LARGE[:size], FRESH, size=999))
    with proxy.connect() as c:
        first, second = c.get(page.url), c.get(page.url)
    assert first.body == second.body == LARGE[:size]
    assert second.get('Content-Length') == str(size), 'stored whole: its length is known'
    assert page.count == 1


def test_chunked_response_to_an_http_1_0_client(proxy, origin):
    page = origin.page(chunked(b'x' * 3000))
    with proxy.connect() as c:
        r = c.ask('GET', page.url, version='HTTP/1.0')
        assert (r.body, r.get('Transfer-Encoding')) == (b'x' * 3000, None)
        assert c.is_closed()


def test_trailers_are_never_merged(proxy, origin):
    """O20."""
    page = origin.page(head('Transfer-Encoding: chunked', FRESH) +
                       b'5\r\nhello\r\n0\r\nSet-Cookie: x=y\r\nCache-Control: no-store\r\n\r\n')
    for _ in range(2):
        r = proxy.get(page.url)
        assert (r.body, r.get('Set-Cookie'), r.get('Cache-Control')) == (b'hello', None, 'max-age=600')
    assert page.count == 1


def test_close_delimited_response(proxy, origin):
    page = origin.page([head(FRESH), b'until ', b'the end', CLOSE])
    with proxy.connect() as c:
        first, second = c.get(page.url), c.get(page.url)
    assert first.body == second.body == b'until the end'
    assert (first.get('Transfer-Encoding'), second.get('Content-Length')) == ('chunked', '13')


def test_a_response_is_streamed(proxy, origin):
    """The client has the first part before the origin has sent the second."""
    go = threading.Event()
    page = origin.page([head('Content-Length: 10'), b'first', go, b'secnd'])
    with proxy.connect() as c:
        c.send(request('GET', page.url))
        while not c.reader.waiting.endswith(b'first'):
            assert c.reader.fill()
        go.set()
        assert c.response().body == b'firstsecnd'


@pytest.mark.parametrize('fields', [(FRESH,), ('Cache-Control: no-store',)])
@pytest.mark.parametrize('form', ['length', 'chunked', 'close'])
def test_large_response(proxy, origin, form, fields):
    whole = {'length': [ok(LARGE, *fields)], 'chunked': [chunked(LARGE, *fields, size=70000)],
             'close': [head(*fields), LARGE, CLOSE]}[form]
    page = origin.page(whole)
    with proxy.connect() as c:
        for _ in range(2):
            assert c.get(page.url).body == LARGE
    first, second = proxy.logged(page.url, 2)
    assert first.what == 'TCP_MISS/200'
    assert second.what == ('TCP_MEM_HIT/200' if FRESH in fields else 'TCP_MISS/200')
    assert first.size > len(LARGE)
    assert page.count == (1 if FRESH in fields else 2)


def test_a_slow_client_holds_the_origin_back(proxy, origin):
    """read_ahead_gap: a response that isn't stored is buffered in bounded memory."""
    sent = []

    def pour(x):
        for _ in range(64):
            yield LARGE
            sent.append(len(LARGE))
    page = origin.page([head(f'Content-Length: {64 * len(LARGE)}', 'Cache-Control: no-store'), lambda x: Pour(pour(x))])
    before = proxy.rss()
    with proxy.connect(receive_buffer=4096) as c:
        c.send(request('GET', page.url))
        c.reader.fill()
        page.wait(1)
        stalled = Task(lambda: page.wait_over(1))
        stalled.join(0.5)  # long enough to take it all if nothing held it back
        assert stalled.is_alive() and sum(sent) < 32 * len(LARGE)
        assert proxy.rss() - before < 16 << 10
    page.wait_over(1)


class Pour(list):
    """Steps made as they are played."""

    def __init__(self, steps):
        super().__init__()
        self.steps = steps

    def __iter__(self):
        return self.steps


def test_a_slow_client_of_a_stored_response_does_not_hold_others(proxy, origin):
    page = origin.page(ok(LARGE, FRESH))
    with proxy.connect(receive_buffer=4096) as slow:
        slow.send(request('GET', page.url))
        page.wait(1)
        assert proxy.get(page.url).body == LARGE
        assert slow.response().body == LARGE
    assert page.count == 1


# -- responses cut short

CUTS = {
    'content-length': [head('Content-Length: 100000', FRESH), b'x' * 50000, CLOSE],
    'content-length, reset': [head('Content-Length: 100000', FRESH), b'x' * 50000, RESET],
    'chunked between chunks': [head('Transfer-Encoding: chunked', FRESH), chunk(b'x' * 5000), CLOSE],
    'chunked inside a chunk': [head('Transfer-Encoding: chunked', FRESH), b'1000\r\nabc', CLOSE],
    'chunked without the final CRLF': [head('Transfer-Encoding: chunked', FRESH), chunk(b'x' * 5000), b'0\r\n', CLOSE],
    'chunked, broken size': [head('Transfer-Encoding: chunked', FRESH), chunk(b'x' * 5000), b'zz\r\nhello\r\n0\r\n\r\n',
                             HANG],
    'chunked, data too long': [head('Transfer-Encoding: chunked', FRESH), b'3\r\nhello\r\n0\r\n\r\n', HANG],
}


@pytest.mark.parametrize('how', CUTS)
@pytest.mark.parametrize('version', ['HTTP/1.1', 'HTTP/1.0'])
def test_a_cut_response_is_seen_and_never_stored(proxy, origin, how, version):
    page = origin.page(CUTS[how], ok(b'whole', FRESH))
    with proxy.connect() as c:
        try:
            r = c.ask('GET', page.url, version=version)
            assert r.status == 502, 'a cut response passed for a whole one'
        except Cut as cut:
            assert cut.response.status == 200
    assert proxy.get(page.url).body == b'whole'
    assert page.count == 2
    assert proxy.codes(page.url, 2)[1] == 'TCP_MISS/200'


def test_a_cut_before_the_head_is_over(proxy, origin):
    page = origin.page([b'HTTP/1.1 200 OK\r\nContent-Le', CLOSE], ok(b'whole'))
    r = proxy.get(page.url)
    assert r.status == 502
    assert proxy.get(page.url).body == b'whole'
