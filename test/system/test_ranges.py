"""Parts of responses: from the store, from what is still arriving, from a fetch of the whole (caching-rules section 12)."""
import re
import threading

import pytest

from client import Cut, request, soon
from origin import CLOSE, HANG, date, head, message, ok

BODY = b'0123456789A'
KEEP = 'Cache-Control: max-age=600'
LARGE = bytes(i * 7 % 251 for i in range(700_000))  # beyond what goes out with the batch


def stored(p, origin, body=BODY, *fields, **more):
    page = origin.page(ok(body, KEEP, *fields, **more))
    assert p.get(page.url).body == body
    return page


def part(p, page, spec, *fields):
    return p.get(page.url, f'Range: {spec}', *fields)


# --- R1 to R6, K01, K02: a whole response in the store

@pytest.mark.parametrize('spec, content, where', [
    ('bytes=0-1', b'01', '0-1'), ('bytes=1-', b'123456789A', '1-10'), ('bytes=-1', b'A', '10-10'), ('bytes=9-99', b'9A', '9-10'),
    ('bytes=-99', BODY, '0-10'), ('bytes=10-10', b'A', '10-10'), ('Bytes=0-0', b'0', '0-0'), ('bytes= 0-0', b'0', '0-0'),
    ('bytes=99-,2-2', b'2', '2-2'), ('bytes=-18446744073709551616', BODY, '0-10')])
def test_r1_one_range(proxy, origin, spec, content, where):
    page = stored(proxy, origin, BODY, 'ETag: "a"', 'A: 1')
    r = part(proxy, page, spec)
    assert (r.status, r.body, r.get('Content-Range')) == (206, content, f'bytes {where}/11')
    assert page.count == 1
    line = proxy.logged(page.url, 2)[1]
    assert (line.what, line.size) == ('TCP_MEM_HIT/206', len(r.raw))


def test_r2_the_fields_are_the_stored_ones(proxy, origin):
    page = stored(proxy, origin, BODY, 'ETag: "a"', 'A: 1', 'Expires: ' + date(60), 'Content-Location: /x', 'Vary: X', 'Content-Type: a/b')
    r, whole = part(proxy, page, 'bytes=0-1'), proxy.get(page.url)
    for name in ('ETag', 'A', 'Expires', 'Content-Location', 'Vary', 'Cache-Control', 'Date', 'Content-Type', 'Via'):
        assert r.get(name) == whole.get(name), name
    assert r.get('Age') is not None and r.get('Content-Length') == '2'


@pytest.mark.parametrize('spec', ['bytes=11-', 'bytes=-0', 'bytes=99-,88-90', 'bytes=9223372036854775807-'])
def test_r3_unsatisfiable(proxy, origin, spec):
    page = stored(proxy, origin)
    with proxy.connect() as c:
        r = c.get(page.url, f'Range: {spec}')
        assert (r.status, r.get('Content-Range'), r.body) == (416, 'bytes */11', b'')
        assert c.get(page.url).body == BODY
    assert page.count == 1


@pytest.mark.parametrize('spec', ['bytes=a-b', 'bytes=', 'bytes=--1', 'bytes=1-0,2-1', 'octets=0-1', 'bytes', 'bytes=0-1,x', 'bytes=0 -1'])
def test_r3_what_is_no_range_is_ignored(proxy, origin, spec):
    page = stored(proxy, origin)
    r = part(proxy, page, spec)
    assert (r.status, r.body, r.get('Content-Range')) == (200, BODY, None)


def parts_of(r):
    """A multipart body's parts as (Content-Type, Content-Range, bytes)."""
    boundary = re.fullmatch(r'multipart/byteranges; boundary=([0-9a-f]{32})', r.get('Content-Type')).group(1).encode()
    pieces = r.body.split(b'\r\n--' + boundary)
    assert pieces[0] == b'' and pieces[-1] == b'--\r\n'
    parts = []
    for piece in pieces[1:-1]:
        fields, _, content = piece.partition(b'\r\n\r\n')
        fields = dict(f.split(': ', 1) for f in fields.decode().strip().split('\r\n'))
        parts.append((fields.get('Content-Type'), fields['Content-Range'], content))
    return parts


def test_r4_several_ranges(proxy, origin):
    page = stored(proxy, origin, BODY, 'Content-Type: text/x; a="b"', 'A: 1')
    r = part(proxy, page, 'bytes=-1,0-1,99-,4-4')
    assert r.status == 206 and r.get('Content-Range') is None and r.get('A') == '1'
    assert parts_of(r) == [('text/x; a="b"', 'bytes 10-10/11', b'A'), ('text/x; a="b"', 'bytes 0-1/11', b'01'),
                           ('text/x; a="b"', 'bytes 4-4/11', b'4')]
    assert len(r.all('Content-Type')) == 1
    assert proxy.logged(page.url, 2)[1].size == len(r.raw)


@pytest.mark.parametrize('spec', ['bytes=' + ','.join(f'{2 * i}-{2 * i}' for i in range(17)), 'bytes=0-9,5-99', 'bytes=0-,0-',
                                  'bytes=' + ','.join(['0-0'] * 1300)])
def test_r4_no_amplification(proxy, origin, spec):
    """K01: more parts than range_parts_max, or more bytes than the whole: the whole."""
    page = stored(proxy, origin, BODY * 5 if '32-32' in spec else BODY)
    assert part(proxy, page, spec).status == 200


def test_range_parts_max(make_proxy, origin):
    p = make_proxy('range_parts_max 2')
    page = stored(p, origin)
    assert part(p, page, 'bytes=0-0,2-2').status == 206
    assert part(p, page, 'bytes=0-0,2-2,4-4').status == 200


OLD = date(-86400)


@pytest.mark.parametrize('fields, condition, status', [
    (['ETag: "a"'], '"a"', 206), (['ETag: "a"'], '"b"', 200), (['ETag: W/"a"'], 'W/"a"', 200), (['ETag: "a"'], 'W/"a"', 200),
    (['ETag: "a"'], '"b", "a"', 200), ([f'Last-Modified: {OLD}'], OLD, 206), ([f'Last-Modified: {OLD}'], date(-86399), 200),
    ([f'Last-Modified: {date(-5)}', f'Date: {date()}'], 'same', 200), ([], '"a"', 200), ([], OLD, 200)])
def test_r5_if_range(proxy, origin, fields, condition, status):
    page = stored(proxy, origin, BODY, *fields)
    if condition == 'same':
        condition = fields[0].split(': ', 1)[1]
    assert part(proxy, page, 'bytes=0-1', f'If-Range: {condition}').status == status
    assert page.count == 1


def test_r5_other_conditions_come_first(proxy, origin):
    page = stored(proxy, origin, BODY, 'ETag: "a"')
    assert part(proxy, page, 'bytes=0-1', 'If-None-Match: "a"').status == 304
    assert part(proxy, page, 'bytes=0-1', 'If-None-Match: "b"').status == 206


def test_r6_get_only(proxy, origin):
    page = stored(proxy, origin)
    r = proxy.ask('HEAD', page.url, 'Range: bytes=0-1')
    assert (r.status, r.get('Content-Length')) == (200, '11')
    assert proxy.ask('POST', page.url, 'Range: bytes=0-1', 'Content-Length: 0').status == 200


def test_two_lines_are_no_range(proxy, origin):
    page = stored(proxy, origin)
    assert proxy.get(page.url, 'Range: bytes=0-1', 'Range: bytes=2-3').status == 200


@pytest.mark.parametrize('spec, first, last', [('bytes=0-9', 0, 9), ('bytes=300000-', 300000, 699_999), ('bytes=5-599999', 5, 599_999),
                                              ('bytes=-1', 699_999, 699_999)])
def test_parts_of_a_large_response(proxy, origin, spec, first, last):
    page = stored(proxy, origin, LARGE)
    with proxy.connect() as c:
        r = c.get(page.url, f'Range: {spec}')
        assert (r.status, r.get('Content-Range')) == (206, f'bytes {first}-{last}/700000')
        assert r.body == LARGE[first:last + 1]
        assert c.get(page.url, 'Range: bytes=1-1').body == LARGE[1:2]


def test_several_large_parts_are_the_whole(proxy, origin):
    """What would have to be copied in bulk isn't."""
    page = stored(proxy, origin, LARGE)
    assert part(proxy, page, 'bytes=0-200000,300000-500000').body == LARGE


def test_other_statuses_have_no_parts(proxy, origin):
    page = stored(proxy, origin, BODY, status='404 Not Found')
    r = part(proxy, page, 'bytes=0-1')
    assert (r.status, r.body) == (404, BODY)


def test_pipelined_parts(proxy, origin):
    page = stored(proxy, origin)
    with proxy.connect() as c:
        c.send(b''.join(request('GET', page.url, f'Range: bytes={i}-{i}') for i in range(11)))
        assert b''.join(c.response().body for _ in range(11)) == BODY


def test_stale_is_validated_and_then_cut(proxy, origin):
    page = origin.page(ok(BODY, 'Cache-Control: max-age=0', 'ETag: "a"'),
                       lambda x: message('HTTP/1.1 304 Not Modified', ['ETag: "a"']))
    proxy.get(page.url)
    r = part(proxy, page, 'bytes=2-3')
    assert (r.status, r.body, r.get('Content-Range')) == (206, b'23', 'bytes 2-3/11')
    assert page.requests[1].get('If-None-Match') == '"a"' and page.requests[1].get('Range') is None
    assert part(proxy, page, 'bytes=20-').status == 416


def test_stale_and_changed_is_cut_too(proxy, origin):
    page = origin.page(ok(BODY, 'Cache-Control: max-age=0', 'ETag: "a"'), ok(BODY[::-1], KEEP, 'ETag: "b"'))
    proxy.get(page.url)
    r = part(proxy, page, 'bytes=2-3')
    assert (r.status, r.body, r.get('ETag')) == (206, BODY[::-1][2:4], '"b"')
    assert proxy.get(page.url).body == BODY[::-1] and page.count == 2
    assert part(proxy, page, 'bytes=-2').body == BODY[::-1][-2:] and page.count == 2


# --- misses

def test_a_part_is_fetched_as_a_part(proxy, origin):
    page = origin.page(message('HTTP/1.1 206 Partial Content', ['Content-Range: bytes 2-3/11', 'Content-Length: 2', KEEP], b'23'))
    for n, spec in ((1, 'bytes=2-3'), (2, 'bytes=1-3')):  # the second begins before what was kept of the first
        r = part(proxy, page, spec)
        assert (r.status, r.body, page.count) == (206, b'23', n)
        assert page.requests[n - 1].get('Range') == spec


@pytest.mark.parametrize('fields', [['Content-Range: bytes 5-2/1'], ['Content-Range: */*'], ['Content-Range: bytes 0-99999999999999999999/1'],
                                    ['Content-Range: bytes 0-1/11'], []])
def test_k03_odd_parts_of_an_origin_are_never_kept(proxy, origin, fields):
    """K03 of the caching rules and of the hostile inputs."""
    page = origin.page(message('HTTP/1.1 206 Partial Content', [*fields, 'Content-Length: 2', KEEP], b'23'), ok(BODY, KEEP))
    assert part(proxy, page, 'bytes=2-3').status in (206, 502)
    assert proxy.get(page.url).body == BODY
    assert part(proxy, page, 'bytes=2-3').body == b'23'


def test_r10_a_whole_answer_to_a_part_is_stored(proxy, origin):
    page = origin.page(ok(BODY, KEEP))
    assert part(proxy, page, 'bytes=2-3').status == 200
    assert part(proxy, page, 'bytes=2-3').body == b'23'
    assert page.count == 1


def test_r11_content_range_on_a_200_is_just_a_field(proxy, origin):
    page = origin.page(ok(BODY, KEEP, 'Content-Range: bytes 0-1/2'))
    assert proxy.get(page.url).body == BODY
    assert proxy.get(page.url).get('Content-Range') == 'bytes 0-1/2' and page.count == 1


# --- range_offset_limit

@pytest.mark.parametrize('limit, spec, whole', [
    ('none', 'bytes=5-6', True), ('6 bytes', 'bytes=5-6', True), ('5 bytes', 'bytes=5-6', False), ('0', 'bytes=0-1', False),
    ('none', 'bytes=-2', True), ('6 bytes', 'bytes=-2', False), ('none', 'bytes=0-1,3-4', True), ('6 bytes', 'bytes=99-', False)])
def test_range_offset_limit(make_proxy, origin, limit, spec, whole):
    p = make_proxy(f'range_offset_limit {limit}\nquick_abort_min -1')
    page = origin.page(lambda x: ok(BODY, KEEP) if x.request.get('Range') is None else
                       message('HTTP/1.1 206 Partial Content', ['Content-Range: bytes 5-6/11', 'Content-Length: 2', KEEP], b'56'))
    r = part(p, page, spec)
    assert (page.requests[0].get('Range') is None) == whole
    if whole and ',' not in spec:
        assert (r.status, r.body) == (206, {'bytes=5-6': b'56', 'bytes=-2': b'9A'}[spec])
        soon(lambda: p.get(page.url).body == BODY and page.count == 1, 'the whole is stored')
    elif whole:
        assert (r.status, r.body) == (200, BODY)


def test_range_offset_limit_unsatisfiable(make_proxy, origin):
    p = make_proxy('range_offset_limit none\nquick_abort_min -1')
    page = origin.page(ok(BODY, KEEP))
    r = part(p, page, 'bytes=20-')
    assert (r.status, r.get('Content-Range')) == (416, 'bytes */11')


def test_range_offset_limit_by_acl(make_proxy, origin):
    a, b = origin.page(ok(BODY, KEEP)), origin.page(ok(BODY, KEEP))
    p = make_proxy(f'acl a urlpath_regex ^{a.path}$\nrange_offset_limit none a\nrange_offset_limit 0')
    part(p, a, 'bytes=1-1')
    part(p, b, 'bytes=1-1')
    assert (a.requests[0].get('Range'), b.requests[0].get('Range')) == (None, 'bytes=1-1')


def test_a_whole_fetch_answers_as_soon_as_the_part_is_there(make_proxy, origin):
    p = make_proxy('range_offset_limit none\nquick_abort_min -1')
    go = threading.Event()
    page = origin.page([head(KEEP, 'Content-Length: 700000'), LARGE[:300000], go, LARGE[300000:]])
    with p.connect() as c:
        r = c.get(page.url, 'Range: bytes=200000-299999')
        assert r.status == 206 and r.body == LARGE[200000:300000]
        go.set()
        soon(lambda: p.page('counters') and c.get(page.url, 'Range: bytes=-1').body == LARGE[-1:], 'it is whole')
    assert page.count == 1


def test_a_whole_fetch_that_breaks_is_a_visible_cut(make_proxy, origin):
    p = make_proxy('range_offset_limit none')
    page = origin.page([head(KEEP, 'Content-Length: 700000'), LARGE[:300000], CLOSE])
    with pytest.raises(Cut) as cut:
        part(p, page, 'bytes=200000-499999')
    assert cut.value.response.body == LARGE[200000:300000]


# --- what is still arriving

def test_a_part_that_is_here_already_needs_no_fetch(make_proxy, origin):
    p = make_proxy('')
    go = threading.Event()
    page = origin.page([head(KEEP, 'Content-Length: 700000'), LARGE[:300000], go, LARGE[300000:]],
                       message('HTTP/1.1 206 Partial Content', ['Content-Range: bytes 600000-600001/700000', 'Content-Length: 2'], b'xy'))
    with p.connect() as c:
        c.send(request('GET', page.url))
        page.wait(1)
        soon(lambda: len(c.sock.recv(300000, 2)) > 20000, 'most of it came', pause=0.02)
        r = part(p, page, 'bytes=100-199')
        assert (r.status, r.body, r.get('Content-Range')) == (206, LARGE[100:200], 'bytes 100-199/700000')
        assert page.count == 1
        assert part(p, page, 'bytes=600000-600001').body == b'xy'  # not waited for
        assert page.count == 2
        go.set()
        assert c.response().body == LARGE
    assert p.codes(page.url, 3)[0] == 'TCP_CF_HIT/206'


def test_a_private_answer_under_way_is_not_cut_for_others(make_proxy, origin):
    p = make_proxy('')
    page = origin.page([head('Cache-Control: private', 'Content-Length: 700000'), LARGE[:300000], HANG], ok(BODY))
    with p.connect() as c:
        c.send(request('GET', page.url))
        page.wait(1)
        soon(lambda: len(c.sock.recv(300000, 2)) > 1000, 'some of it came', pause=0.02)
        assert part(p, page, 'bytes=1-2').status == 200
        assert page.count == 2
        c.reset()


def test_quick_abort_of_a_part(make_proxy, origin):
    """The client has its part and nobody wants the rest: by default a large rest isn't fetched."""
    p = make_proxy('range_offset_limit none')
    page = origin.page([head(KEEP, 'Content-Length: 700000'), LARGE[:300000], HANG])
    assert part(p, page, 'bytes=0-9').body == LARGE[:10]
    page.wait_over(1)
