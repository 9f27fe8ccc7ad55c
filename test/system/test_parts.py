"""Parts of responses: kept, served, and completed with what they lack (caching-rules R7 and R8)."""
import re
import socket
import threading

import pytest

from client import Cut, soon
from origin import CLOSE, date, head, message, ok

BODY = bytes(i * 7 % 251 for i in range(100))
KEEP, TAG = 'Cache-Control: max-age=600', 'ETag: "x"'


def part(first, last, *fields, body=BODY, whole=None, n=''):
    piece = body[first:last + 1]
    return message('HTTP/1.1 206 Partial Content',
                   [f'Content-Length: {len(piece)}', f'Content-Range: bytes {first}-{last}/{whole or len(body)}',
                    f'Date: {date()}', f'N: {n}', *(fields or (KEEP, TAG))], piece)


def get(c, page, spec=None, *fields):
    return c.get(page.url, *([f'Range: bytes={spec}'] if spec else []), *fields)


def content_range(r):
    return r.get('Content-Range')


class Ranges:
    """An origin that knows ranges: it answers what it is asked."""

    def __init__(self, *fields, body=BODY, tag='"x"'):
        self.fields, self.body, self.tag = fields or (KEEP, 'Content-Type: text/plain'), body, tag

    def __call__(self, x):
        m, fields = re.fullmatch(r'bytes=(\d*)-(\d*)', x.request.get('Range') or ''), [*self.fields, f'ETag: {self.tag}']
        if not m or x.request.get('If-Range') not in (None, self.tag):
            return ok(self.body, *fields, f'N: {x.n}')
        a, b, size = m[1], m[2], len(self.body)
        first, last = (int(a), min(int(b), size - 1) if b else size - 1) if a else (size - int(b), size - 1)
        return part(first, last, *fields, body=self.body, n=x.n)


# --- R7: kept and served

@pytest.mark.parametrize('spec, first, last', [('50-59', 50, 59), ('53-55', 53, 55), ('50-50', 50, 50), ('59-59', 59, 59)])
def test_a_part_is_served_again(proxy, origin, spec, first, last):
    page = origin.page(Ranges())
    with proxy.connect() as c:
        r = get(c, page, '50-59')
        assert (r.status, r.body, content_range(r)) == (206, BODY[50:60], 'bytes 50-59/100')
        r = get(c, page, spec)
    assert (r.status, r.body, content_range(r)) == (206, BODY[first:last + 1], f'bytes {first}-{last}/100')
    assert r.get('Content-Length') == str(len(r.body)) and r.get('N') == '1' and r.get('Age') is not None
    assert r.get('Content-Type') == 'text/plain' and page.count == 1
    assert [line.what for line in proxy.logged(page.url, 2)] == ['TCP_MISS/206', 'TCP_MEM_HIT/206']


def test_the_end_of_a_known_whole(proxy, origin):
    page = origin.page(Ranges())
    with proxy.connect() as c:
        get(c, page, '90-')
        for spec in ('-1', '99-', '95-', '-10', '90-200'):
            r = get(c, page, spec)
            assert (r.status, r.get('N'), r.body[-1:]) == (206, '1', BODY[-1:])
    assert page.count == 1


@pytest.mark.parametrize('spec', ['40-55', '55-65', '0-10', '70-80', '50-51,53-54', '-60', None])
def test_what_a_part_lacks_is_asked_for(proxy, origin, spec):
    """And it never passes for the whole."""
    page = origin.page(Ranges(tag='W/"x"'))
    with proxy.connect() as c:
        get(c, page, '50-59')
        r = get(c, page, spec)
    assert page.count == 2 and page.requests[1].get('Range') == (f'bytes={spec}' if spec else None)
    assert r.get('N') == '2' and page.requests[1].get('If-Range') is None
    assert r.body in (BODY, BODY[40:56], BODY[55:66], BODY[:11], BODY[70:81], BODY[40:])


@pytest.mark.parametrize('fields, hit', [(['If-Range: "x"'], True), (['If-Range: "y"'], False), (['If-None-Match: "x"'], False),
                                         (['Cache-Control: no-cache'], False), (['Cache-Control: only-if-cached'], True)])
def test_conditions_and_wishes(proxy, origin, fields, hit):
    page = origin.page(Ranges())
    with proxy.connect() as c:
        get(c, page, '50-59')
        get(c, page, '51-52', *fields)
    assert page.count == (1 if hit else 2)


def test_head_is_not_answered_from_a_part(proxy, origin):
    page = origin.page(Ranges(), ok(BODY, KEEP))
    with proxy.connect() as c:
        get(c, page, '50-59')
        r = c.ask('HEAD', page.url)
    assert (r.status, r.get('Content-Length'), page.count) == (200, '100', 2)


def test_a_stale_part_is_asked_for_again(proxy, origin):
    page = origin.page(Ranges('Cache-Control: max-age=0'))
    with proxy.connect() as c:
        get(c, page, '50-59')
        assert get(c, page, '51-52').get('N') == '2'


def test_a_whole_replaces_its_part_not_the_other_way_round(proxy, origin):
    page = origin.page(Ranges())
    with proxy.connect() as c:
        get(c, page, '50-59')
        assert get(c, page).get('N') == '2'
        assert get(c, page, '70-80').get('N') == '2'
    other = origin.page(lambda x: ok(BODY, KEEP, TAG, 'N: 1') if x.n == 1 else part(3, 4, n=2))
    with proxy.connect() as c:
        get(c, other)
        get(c, other, '3-4', 'Cache-Control: no-cache')
        r = get(c, other)
        assert (r.status, r.body, other.count) == (200, BODY, 2)


def test_parts_vary(proxy, origin):
    page = origin.page(Ranges(KEEP, 'Vary: Foo'))
    with proxy.connect() as c:
        get(c, page, '50-59', 'Foo: 1')
        assert get(c, page, '50-59', 'Foo: 1').get('N') == '1'
        assert get(c, page, '50-59', 'Foo: 2').get('N') == '2'


@pytest.mark.parametrize('how', ['PURGE', 'POST', 'prefix'])
def test_parts_are_invalidated(make_proxy, origin, how):
    p = make_proxy('acl purge method PURGE\nhttp_access allow purge')
    page = origin.page(lambda x: ok(b'done') if x.request.method == 'POST' else Ranges()(x))
    with p.connect() as c:
        get(c, page, '50-59')
        if how == 'POST':
            c.ask('POST', page.url, 'Content-Length: 0')
        else:
            r = c.ask('PURGE', page.url, *(['Purge-Mode: prefix'] if how == 'prefix' else []))
            assert r.status == 200
        before = page.count
        get(c, page, '50-59')
    assert page.count == before + 1


# --- R8: completed

def test_a_beginning_is_completed(proxy, origin):
    page = origin.page(Ranges())
    with proxy.connect() as c:
        get(c, page, '0-39')
        r = get(c, page)
        assert (r.status, r.body, r.get('Content-Length'), content_range(r)) == (200, BODY, '100', None)
        assert (page.requests[1].get('Range'), page.requests[1].get('If-Range')) == ('bytes=40-', '"x"')
        r = get(c, page)
        assert (r.status, r.body, r.get('N')) == (200, BODY, '2')
        assert get(c, page, '30-50').body == BODY[30:51]
    assert page.count == 2


@pytest.mark.parametrize('spec, asked, first, last', [
    ('20-59', 'bytes=40-59', 20, 59), ('40-49', 'bytes=40-49', 40, 49), ('10-', 'bytes=40-', 10, 99), ('0-98', 'bytes=40-98', 0, 98)])
def test_a_part_grows(proxy, origin, spec, asked, first, last):
    page = origin.page(Ranges())
    with proxy.connect() as c:
        get(c, page, '0-39')
        r = get(c, page, spec)
        assert (r.status, r.body, content_range(r)) == (206, BODY[first:last + 1], f'bytes {first}-{last}/100')
        assert (page.requests[1].get('Range'), page.requests[1].get('If-Range')) == (asked, '"x"')
        r = get(c, page, f'0-{last}')
        assert (r.status, r.body, r.get('N'), page.count) == (206, BODY[:last + 1], '2', 2)


def test_a_part_in_the_middle_grows(proxy, origin):
    page = origin.page(Ranges())
    with proxy.connect() as c:
        for first in range(30, 70, 10):
            assert get(c, page, f'{first}-{first + 9}').body == BODY[first:first + 10]
        r = get(c, page, '30-69')
    assert (r.body, content_range(r), page.count) == (BODY[30:70], 'bytes 30-69/100', 4)


def test_the_newest_fields_win(proxy, origin):
    page = origin.page(part(0, 39, KEEP, TAG, 'Age: 100', 'A: 1', 'B: 1', 'Content-Type: text/plain'),
                       part(40, 99, 'Cache-Control: max-age=30', TAG, 'A: 2'))
    with proxy.connect() as c:
        get(c, page, '0-39')
        for r in (get(c, page), get(c, page)):
            assert (r.get('A'), r.get('B'), r.get('Cache-Control'), r.get('Content-Type')) == ('2', '1', 'max-age=30', 'text/plain')
            assert r.body == BODY and int(r.get('Age') or 0) < 10
    assert page.count == 2


def test_a_stale_beginning_is_completed(proxy, origin):
    """If-Range validates it."""
    page = origin.page(part(0, 39, 'Cache-Control: max-age=0', TAG), part(40, 99))
    with proxy.connect() as c:
        get(c, page, '0-39')
        assert get(c, page).body == BODY
        assert get(c, page).body == BODY
    assert page.requests[1].get('If-Range') == '"x"' and page.count == 2


def test_a_strong_date_will_do(proxy, origin):
    fields = KEEP, f'Last-Modified: {date(-3600)}'
    page = origin.page(part(0, 39, *fields), part(40, 99, *fields))
    with proxy.connect() as c:
        get(c, page, '0-39')
        assert get(c, page).body == BODY
    assert page.requests[1].get('If-Range') == fields[1][15:]


OTHER = bytes(reversed(BODY))


@pytest.mark.parametrize('answer', [
    lambda: part(40, 99, KEEP, 'ETag: "y"', body=OTHER), lambda: part(40, 99, KEEP, body=OTHER),
    lambda: part(40, 99, KEEP, 'ETag: W/"x"', body=OTHER), lambda: part(41, 99, body=OTHER), lambda: part(40, 98, body=OTHER),
    lambda: part(40, 99, whole=101, body=OTHER), lambda: part(40, 99, TAG, 'Cache-Control: no-store', body=OTHER),
    lambda: message('HTTP/1.1 416 Range Not Satisfiable', ['Content-Length: 0', 'Content-Range: bytes */10'], b''),
    lambda: message('HTTP/1.1 304 Not Modified', [TAG], b'')])
def test_what_does_not_fit_is_asked_for_whole(proxy, origin, answer):
    page = origin.page(part(0, 39), lambda x: answer(), ok(OTHER, KEEP, 'ETag: "y"'))
    with proxy.connect() as c:
        get(c, page, '0-39')
        r = get(c, page)
        assert (r.status, r.body) == (200, OTHER)
        assert page.count == 3 and page.requests[2].get('Range') is None and page.requests[2].get('If-Range') is None
        assert get(c, page, '0-39').body == OTHER[:40]


@pytest.mark.parametrize('spec', [None, '20-59'])
def test_the_representation_has_changed(proxy, origin, spec):
    page = origin.page(part(0, 39), ok(OTHER, KEEP, 'ETag: "y"'))
    with proxy.connect() as c:
        get(c, page, '0-39')
        r = get(c, page, spec)
        assert (r.status, r.body) == ((206, OTHER[20:60]) if spec else (200, OTHER))
        assert get(c, page).body == OTHER
    assert page.count == 2


@pytest.mark.parametrize('status', [404, 503])
def test_an_error_is_the_answer(proxy, origin, status):
    page = origin.page(part(0, 39), ok(b'no', status=f'{status} No'))
    with proxy.connect() as c:
        get(c, page, '0-39')
        r = get(c, page)
    assert (r.status, r.body, page.count) == (status, b'no', 2)


def test_the_rest_is_cut_short(proxy, origin):
    """The client sees it, and nothing pretends to be whole."""
    page = origin.page(part(0, 39), [head('Content-Length: 60', 'Content-Range: bytes 40-99/100', TAG, KEEP, status='206 Partial Content'),
                                     BODY[40:70], CLOSE], Ranges())
    with proxy.connect() as c:
        get(c, page, '0-39')
        with pytest.raises(Cut):
            get(c, page)
    with proxy.connect() as c:
        assert get(c, page).body == BODY
    assert page.count == 3


def test_large_parts(make_proxy, origin):
    """Longer than what goes out at once, and slower to be taken."""
    body = bytes(i * 7 % 251 for i in range(1_500_000))
    p = make_proxy('maximum_object_size_in_memory 4 MB')
    page = origin.page(Ranges(body=body))
    with p.connect() as c:
        assert get(c, page, '0-999999').body == body[:1_000_000]
        assert get(c, page, '900000-1199999').body == body[900_000:1_200_000]
        assert get(c, page, '7-1199998').body == body[7:1_199_999]
        assert page.count == 2
        r = get(c, page)
        assert (r.status, r.body == body, page.requests[2].get('Range')) == (200, True, 'bytes=1200000-')
        assert get(c, page).body == body
    assert page.count == 3


def test_too_large_to_keep(make_proxy, origin):
    """The answer is right all the same."""
    body = bytes(i * 7 % 251 for i in range(300_000))
    p = make_proxy('maximum_object_size_in_memory 200 KB')
    page = origin.page(Ranges(body=body))
    with p.connect() as c:
        get(c, page, '0-99999')
        r = get(c, page)
        assert (r.status, r.body == body) == (200, True)
        r = get(c, page, '50000-299999')
        assert (r.status, r.body == body[50_000:]) == (206, True)


def test_others_read_along(proxy, origin):
    """What is being completed is shared like any fetch: who wants a part that is there already gets it."""
    go = threading.Event()
    page = origin.page(part(0, 39), [head('Content-Length: 60', 'Content-Range: bytes 40-99/100', TAG, KEEP,
                                          status='206 Partial Content'), BODY[40:70], go, BODY[70:]])
    with proxy.connect() as c, proxy.connect() as other:
        get(c, page, '0-39')
        c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
        soon(lambda: len(c.sock.recv(65536, socket.MSG_PEEK).partition(b'\r\n\r\n')[2]) >= 70, 'what the origin has sent is here')
        assert get(other, page, '30-49').body == BODY[30:50]
        go.set()
        assert c.response().body == BODY
    assert page.count == 2
