"""Hostile responses (O01 to O22 of the catalogue, and others of their kinds): whole, byte by byte and cut at every offset. The client
sees an error or a break, nothing of it is stored, and the connection to the origin isn't used again."""
import threading

import pytest

from client import Cut, request
from origin import CLOSE, HANG, date, message, ok
from proxy import Proxy, is_sanitized

DATE = f'Date: {date()}\r\n'
CC = 'Cache-Control: max-age=600\r\n'
HEAD = 'HTTP/1.1 200 OK\r\n' + DATE + CC
POISON = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nPOISON'

# id: what the origin sends, and closes
BAD = {
    'O01': HEAD + 'Content-Length: -1\r\n\r\nhello',
    'O02': HEAD + 'Content-Length: 99999999999999999999\r\n\r\nhello',
    'O03': HEAD + 'Transfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n',
    'O04': HEAD + 'Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n',
    'O05': HEAD + 'Content-Length: 100\r\n\r\n' + 'x' * 50,
    'O06': HEAD + 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n',
    'O07': HEAD.replace('200', '2OO') + 'Content-Length: 5\r\n\r\nhello',
    'O08': HEAD.replace('200', '99') + 'Content-Length: 5\r\n\r\nhello',
    'O09': 'hello, no status line',
    'O10': '',
    'O11': HEAD + 'Content-Le',
    'O13': HEAD + 'X-A: ' + 'y' * 300000 + '\r\nContent-Length: 5\r\n\r\nhello',
    'O14': HEAD + 'Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    'O18a': HEAD + 'X-A: a\0b\r\nContent-Length: 5\r\n\r\nhello',
    'O18b': HEAD + 'X-A: a\nX-B: b\r\nContent-Length: 5\r\n\r\nhello',
    'O19': HEAD + 'Content-Length : 2\r\n\r\nhi',
    'O22': 'HTTP/1.1 100 Continue\r\n\r\n',
    'Y01': HEAD + 'Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!',
    'Y02': HEAD + 'Content-Length: 5, 6\r\n\r\nhello!',
    'Y03': HEAD + 'Content-Length: +5\r\n\r\nhello',
    'Y04': HEAD + 'Content-Length: 0x5\r\n\r\nhello',
    'Y05': HEAD + 'Content-Length: 5 5\r\n\r\nhello',
    'Y06': HEAD + 'Transfer-Encoding: chunked, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    'Y07': HEAD + 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    'Y08': HEAD + 'Transfer-Encoding : chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    'Y09': HEAD + 'Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n',
    'Y10': HEAD + 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n',
    'Y11': HEAD + 'Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n',
    'Y12': HEAD + 'Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n',
    'Y13': HEAD + 'Transfer-Encoding: chunked\r\n\r\n5;' + 'a' * 70000 + '\r\nhello\r\n0\r\n\r\n',
    'Y14': HEAD + 'X-A: 1\r\n folded\r\nContent-Length: 5\r\n\r\nhello',
    'Y15': HEAD + 'no colon\r\nContent-Length: 5\r\n\r\nhello',
    'Y16': HEAD + ': empty\r\nContent-Length: 5\r\n\r\nhello',
    'Y17': HEAD + 'X\x80: a\r\nContent-Length: 5\r\n\r\nhello',
    'Y18': HEAD + 'X-A: a\rb\r\nContent-Length: 5\r\n\r\nhello',
    'Y19': HEAD.replace('HTTP/1.1', 'HTTP/2.0') + 'Content-Length: 5\r\n\r\nhello',
    'Y20': HEAD.replace('HTTP/1.1', 'http/1.1') + 'Content-Length: 5\r\n\r\nhello',
    'Y21': HEAD.replace('HTTP/1.1 200', 'HTTP/1.1  200') + 'Content-Length: 5\r\n\r\nhello',
    'Y22': HEAD.replace('HTTP/1.1 200', 'HTTP/1.1\t200') + 'Content-Length: 5\r\n\r\nhello',
    'Y23': HEAD.replace('\r\n', '\n') + 'Content-Length: 5\n\nhello',
    'Y24': '\r\n\r\n' + HEAD + 'Content-Length: 5\r\n\r\nhello',
    'Y25': HEAD + 'X: y\r\n' * 300 + 'Content-Length: 5\r\n\r\nhello',
    'Y26': HEAD + 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\n\r\n',
    'Y27': HEAD + 'Transfer-Encoding: chunked\r\n\r\n',
    'Y28': HEAD + 'Transfer-Encoding: gzip, chunked, gzip\r\nContent-Length: 5\r\n\r\nhello',
    'Y29': 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n',
    'Y30': 'HTTP/1.1 100 Continue\r\n\r\n' * 100 + HEAD + 'Content-Length: 5\r\n\r\nhello',
}


@pytest.fixture(scope='module')
def proxy_():
    p = Proxy('read_timeout 5 seconds')
    yield p
    try:
        p.stop()
    finally:
        p.remove()


def outcome(c, url):
    """A status, or 'cut' for a body that breaks off."""
    c.send(request('GET', url))
    try:
        return c.response().status
    except Cut:
        return 'cut'


def two_requests(p, page):
    with p.connect() as c:
        first = outcome(c, page.url)
    with p.connect() as c:
        return first, outcome(c, page.url)


@pytest.mark.parametrize('row', BAD)
def test_bad_response(proxy_, origin, row):
    data = BAD[row].encode('latin-1')
    for script in ([data, CLOSE], [*(data[i:i + 1] for i in range(len(data))), CLOSE])[:1 if len(data) > 2000 else 2]:
        page = origin.page(script)
        assert set(two_requests(proxy_, page)) <= {502, 'cut'}
        assert page.count >= 2
        assert page.requests[0].connection != page.requests[1].connection


@pytest.mark.parametrize('row', [r for r in BAD if 0 < len(BAD[r]) < 300])
def test_bad_response_cut_anywhere(proxy_, origin, row):
    data = BAD[row].encode('latin-1')
    for at in range(1, len(data), 9 if is_sanitized() else 1):
        page = origin.page([data[:at], data[at:], CLOSE])
        with proxy_.connect() as c:
            assert outcome(c, page.url) in (502, 'cut'), f'cut at {at}'


def test_the_good_ones_pass(proxy_, origin):
    """So that the rows above fail for what is wrong in them."""
    for data in (HEAD + 'Content-Length: 5\r\n\r\nhello', HEAD + 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
                 HEAD + 'X-A: \xe4\tb\r\nContent-Length:5 \r\n\r\nhello'):
        for at in range(1, len(data)):
            page = origin.page([data[:at].encode('latin-1'), data[at:].encode('latin-1')])
            with proxy_.connect() as c:
                assert c.ask('GET', page.url).body == b'hello'


def test_an_endless_row_of_100s(proxy_, origin):
    """O15."""
    page = origin.page([b'HTTP/1.1 100 Continue\r\n\r\n' * 20000, HANG])
    with proxy_.connect() as c:
        assert outcome(c, page.url) == 502


def test_304_that_nobody_asked_for(proxy_, origin):
    """O16."""
    page = origin.page(message('HTTP/1.1 304 Not Modified', ['ETag: "x"', 'Cache-Control: max-age=600']), ok(b'real'))
    with proxy_.connect() as c:
        assert outcome(c, page.url) in (304, 502)
        assert c.ask('GET', page.url).body == b'real'


def test_a_second_response_in_the_same_bytes(proxy_, origin):
    """O17: 204 has no body, whatever it says; what follows is never an answer to the next request."""
    page = origin.page(('HTTP/1.1 204 No Content\r\nContent-Length: 47\r\n\r\n' + POISON).encode())
    other = origin.page(ok(b'own'))
    for _ in range(4):
        with proxy_.connect() as c:
            assert c.ask('GET', page.url).status == 204
            assert c.ask('GET', other.url).body == b'own'


def test_surplus_bytes(proxy_, origin):
    page = origin.page(ok(b'hello') + POISON.encode())
    other = origin.page(ok(b'own', 'Cache-Control: no-store'))
    for _ in range(4):
        with proxy_.connect() as c:
            assert c.ask('GET', page.url).body == b'hello'
            assert c.ask('GET', other.url).body == b'own'


def test_bytes_on_an_idle_connection(proxy_, origin):
    """O21: an idle connection that turns readable is dead."""
    said = threading.Event()
    page = origin.page([ok(b'one', 'Cache-Control: no-store'), said, POISON.encode(), HANG], ok(b'two'))
    with proxy_.connect() as c:
        assert c.ask('GET', page.url).body == b'one'
        said.set()
        page.wait_over(1)  # the proxy has closed it
        assert c.ask('GET', page.url).body == b'two'


def test_trailers_are_not_fields(proxy_, origin):
    """O20."""
    page = origin.page((HEAD + 'Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nSet-Cookie: a\r\nContent-Length: 9\r\n'
                        'Cache-Control: no-store\r\n\r\n').encode())
    for _ in range(2):
        with proxy_.connect() as c:
            r = c.ask('GET', page.url)
            assert (r.body, r.get('Set-Cookie'), r.get('Cache-Control')) == (b'hello', None, 'max-age=600')
    assert page.count == 1


def test_unknown_transfer_coding(proxy_, origin):
    """O12, and X6 of the caching rules: the body lasts until the end of the connection, and the client sees no coding."""
    page = origin.page([(HEAD + 'Transfer-Encoding: nonsense\r\n\r\nhello').encode(), CLOSE])
    with proxy_.connect() as c:
        r = c.ask('GET', page.url)
        assert (r.status, r.body, r.get('Transfer-Encoding')) in ((200, b'hello', 'chunked'), (502, r.body, None))
