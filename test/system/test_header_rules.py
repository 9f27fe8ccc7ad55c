"""request_header_access, reply_header_replace and their kin: seen by the origin and by the client."""
import pytest

from client import request, soon
from origin import message, ok

KEEP = 'Cache-Control: max-age=600'


def asked(p, origin, *fields, method='GET'):
    """What the origin gets."""
    page = origin.page(ok(b'x'))
    p.ask(method, page.url, *fields)
    return page.requests[0]


# --- requests

def test_a_field_is_taken_out_of_requests(make_proxy, origin):
    p = make_proxy('request_header_access Referer deny all\nrequest_header_access Cookie deny all')
    r = asked(p, origin, 'Referer: x', 'referer: y', 'Cookie: a=b', 'Accept: z', 'Refererx: k')
    assert r.get('Referer') is None and r.get('Cookie') is None
    assert (r.get('Accept'), r.get('Refererx')) == ('z', 'k')


def test_what_the_proxy_adds_too(make_proxy, origin):
    """The usual lines of an anonymous proxy."""
    p = make_proxy('request_header_access Via deny all\nrequest_header_access X-Forwarded-For deny all')
    r = asked(p, origin, 'X-Forwarded-For: 192.0.2.1')
    assert r.get('Via') is None and r.get('X-Forwarded-For') is None and r.get('Host')


def test_all_and_the_exceptions(make_proxy, origin):
    p = make_proxy('request_header_access Accept allow all\nrequest_header_access All deny all')
    page = origin.page(ok(b'x'))
    p.ask('POST', page.url, 'Content-Length: 4', 'Accept: z', 'User-Agent: u', 'X-Odd: 1', body=b'body')
    r = page.requests[0]
    assert {n.lower() for n, _ in r.fields} == {'host', 'accept', 'content-length'}
    assert r.body == b'body'


def test_other_are_those_nobody_knows(make_proxy, origin):
    r = asked(make_proxy('request_header_access Other deny all'), origin, 'X-Odd: 1', 'Accept: z')
    assert r.get('X-Odd') is None and r.get('Accept') == 'z'


def test_first_line_of_a_name_that_matches(make_proxy, origin):
    p = make_proxy('acl inside dstdomain origin.test\nrequest_header_access User-Agent allow inside\n'
                   'request_header_access User-Agent deny all')
    page = origin.page(ok(b'x'))
    p.get(page.url, 'User-Agent: u')
    p.get(page.url.replace('127.0.0.1', 'origin.test'), 'User-Agent: u')
    assert [r.get('User-Agent') for r in page.requests] == [None, 'u']


def test_replace(make_proxy, origin):
    p = make_proxy('request_header_access User-Agent deny all\nrequest_header_replace User-Agent Mozilla/5.0 (nobody; you know)')
    r = asked(p, origin, 'User-Agent: secret')
    assert r.all('User-Agent') == ['Mozilla/5.0 (nobody; you know)']
    assert asked(p, origin).get('User-Agent') is None  # only instead of one


def test_replace_alone_does_nothing(make_proxy, origin):
    assert asked(make_proxy('request_header_replace User-Agent x'), origin, 'User-Agent: u').get('User-Agent') == 'u'


def test_add(make_proxy, origin):
    p = make_proxy('acl post method POST\nrequest_header_add X-Tenant "a b" all\nrequest_header_add X-Client "%>a:%>rm" post\n'
                   'request_header_add X-Plain word')
    r = asked(p, origin)
    assert (r.get('X-Tenant'), r.get('X-Client'), r.get('X-Plain')) == ('a b', None, 'word')
    assert asked(p, origin, 'Content-Length: 0', method='POST').get('X-Client') == '127.0.0.1:POST'


def test_nothing_gets_out_of_an_added_value(make_proxy, origin):
    p = make_proxy('request_header_add X-Ua "%{X-In}>h"')
    r = asked(p, origin, 'X-In: a%0d%0aX-Evil:1')
    assert r.get('X-Evil') is None and r.get('X-Ua')


def test_framing_is_not_for_rules(make_proxy, origin):
    p = make_proxy('request_header_access Host deny all\nrequest_header_access Content-Length deny all\n'
                   'request_header_add Transfer-Encoding chunked\nreply_header_access Content-Length deny all')
    said = p.k('parse').stderr
    assert 'squid.conf:1:23: warning: request_header_access has no effect on Host' in said
    page = origin.page(ok(b'answer'))
    with p.connect() as c:
        c.send(request('POST', page.url, 'Content-Length: 4', body=b'body'))
        assert c.response().body == b'answer'
        assert c.get(page.url).body == b'answer'
    assert page.requests[0].body == b'body' and page.requests[0].get('Host')


def test_through_a_parent(make_proxy, origin):
    parent = make_proxy('')
    p = make_proxy(f'cache_peer 127.0.0.1 parent {parent.port} 0 no-query\nnever_direct allow all\nvisible_hostname child.test\n'
                   'request_header_access Cookie deny all')
    assert asked(p, origin, 'Cookie: a').get('Cookie') is None


def test_what_the_proxy_needs_itself_stays(make_proxy, origin):
    """Its login for a peer, and its own validators; the client's go."""
    p = make_proxy(f'http_port 127.0.0.1:{{port}} accel vhost\ncache_peer 127.0.0.1 parent {origin.port} 0 originserver no-query '
                   'login=me:secret\nrequest_header_access All deny all')
    page = origin.page(ok(b'x', 'Cache-Control: max-age=0', 'ETag: "1"'), message('HTTP/1.1 304 Not Modified', ['ETag: "1"', KEEP]))
    p.get(page.url, 'If-None-Match: "2"')
    assert p.get(page.url).status == 200
    assert [r.get('If-None-Match') for r in page.requests] == [None, '"1"']
    assert asked(p, origin, 'Authorization: Basic other').all('Authorization') == ['Basic bWU6c2VjcmV0']


def test_a_parents_login_stays(make_proxy, origin):
    origin.pages['http://site.test/x'] = origin.page(ok(b'x'))
    p = make_proxy(f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query login=me:secret\nnever_direct allow all\n'
                   'request_header_access All deny all')
    p.get('http://site.test/x', 'Proxy-Authorization: Basic other')
    assert origin.pages['http://site.test/x'].requests[0].all('Proxy-Authorization') == ['Basic bWU6c2VjcmV0']


def test_range_goes_with_if_range(make_proxy, origin):
    p = make_proxy('request_header_access If-Range deny all')
    r = asked(p, origin, 'Range: bytes=0-1', 'If-Range: "1"')
    assert r.get('If-Range') is None and r.get('Range') is None
    assert asked(p, origin, 'Range: bytes=0-1').get('Range') == 'bytes=0-1'


def test_several_lines_are_replaced_by_one(make_proxy, origin):
    p = make_proxy('request_header_access Cookie deny all\nrequest_header_replace Cookie none=1')
    assert asked(p, origin, 'Cookie: a=1', 'Cookie: b=2').all('Cookie') == ['none=1']


def test_rules_know_the_route(make_proxy, origin):
    p = make_proxy('acl near dst 127.0.0.0/8\nacl direct hier_code HIER_DIRECT\nrequest_header_add X-Near "%<a" near\n'
                   'request_header_add X-Direct yes direct')
    r = asked(p, origin)
    assert (r.get('X-Near'), r.get('X-Direct')) == ('127.0.0.1', 'yes')


def test_codes_in_quotes_only(make_proxy, origin):
    p = make_proxy('request_header_add X-A %ru\nrequest_header_add X-B "%ru"')
    page = origin.page(ok(b'x'))
    p.get(page.url + '?q=1')
    assert page.requests[0].get('X-A') == '%ru' and page.requests[0].get('X-B') == page.url + '?q=1'


# --- replies


def test_multipart_keeps_its_type(make_proxy, origin):
    p = make_proxy('reply_header_access Content-Type deny all')
    page = origin.page(ok(b'0123456789', KEEP, 'Content-Type: a/b'))
    assert p.get(page.url).get('Content-Type') is None
    assert p.get(page.url, 'Range: bytes=0-0,5-5').get('Content-Type').startswith('multipart/byteranges; boundary=')


def test_interim_responses_and_what_was_not_understood(make_proxy, origin):
    p = make_proxy('reply_header_access Via deny all\nreply_header_access Server deny all')
    page = origin.page(message('HTTP/1.1 103 Early Hints', ['Link: </a>', 'Server: s']) + ok(b'x'))
    r = p.get(page.url)
    assert r.interim == [103] and b'Server' not in r.raw and b'Via' not in r.raw
    with p.connect() as c:
        c.send(b'GET / HTTP/1.1\r\nBad Field: x\r\n\r\n')
        r = c.response()
        assert r.status == 400 and r.get('Server') is None and r.get('Via') is None


REPLY = 'reply_header_access Server deny all\nreply_header_access X-Powered-By deny all\nreply_header_access Via deny all\n'


@pytest.mark.parametrize('size', [1, 400_000])
def test_fields_of_replies_stored_or_not(make_proxy, origin, size):
    p = make_proxy(REPLY)
    page = origin.page(ok(b'x' * size, KEEP, 'Server: s', 'X-Powered-By: p', 'X-Kept: k', 'ETag: "1"'))
    for fields, status in [((), 200), ((), 200), (('Range: bytes=0-0',), 206), (('If-None-Match: "1"',), 304),
                           (('Range: bytes=0-0,-1',), 206 if size == 1 else 206), (('Range: bytes=999999-',), 416)]:
        with p.connect() as c:
            r = c.get(page.url, *fields)
            if size == 1 and fields == ('Range: bytes=0-0,-1',):
                assert r.status == 200  # the same byte twice
            else:
                assert r.status == status
            assert r.get('Server') is None and r.get('X-Powered-By') is None and r.get('Via') is None
            assert (r.get('X-Kept') == 'k') == (r.status in (200, 206))
            assert c.get(page.url).body == b'x' * size  # in step
    assert page.count == 1
    lines = soon(lambda: len(p.lines()) == 12 and p.lines(), 'twelve lines')
    assert lines[2].what == 'TCP_MEM_HIT/200' or lines[1].what == 'TCP_MEM_HIT/200'


def test_the_store_keeps_what_it_got(make_proxy, origin):
    p = make_proxy('acl plain req_header X-Plain yes\nreply_header_access X-A deny plain')
    page = origin.page(ok(b'x', KEEP, 'X-A: 1'))
    assert p.get(page.url, 'X-Plain: yes').get('X-A') is None
    assert p.get(page.url).get('X-A') == '1'
    assert p.get(page.url, 'X-Plain: yes').get('X-A') is None
    assert page.count == 1


def test_error_pages_and_manager_pages(make_proxy):
    p = make_proxy('reply_header_access Server deny all\nreply_header_access X-Squid-Error deny all\nreply_header_add X-By "loligo" all')
    r = p.get('http://unknown.test/')
    assert (r.status, r.get('Server'), r.get('X-Squid-Error'), r.get('X-By')) == (503, None, None, 'loligo')
    r = p.page('counters')
    assert (r.status, r.get('Server'), r.get('X-By')) == (200, None, 'loligo')


def test_by_the_status_and_the_reply(make_proxy, origin):
    p = make_proxy('acl gone http_status 410\nacl html rep_mime_type text/html\nreply_header_add X-Gone "%>Hs" gone\n'
                   'reply_header_access X-A deny html\nreply_header_replace X-A hidden')
    assert p.get(origin.page(ok(b'x', status='410 Gone')).url).get('X-Gone') == '410'
    r = p.get(origin.page(ok(b'x', 'Content-Type: text/html', 'X-A: 1')).url)
    assert (r.get('X-Gone'), r.get('X-A')) == (None, 'hidden')
    assert p.get(origin.page(ok(b'x', 'Content-Type: text/plain', 'X-A: 1')).url).get('X-A') == '1'


def test_chunked_and_http_1_0(make_proxy, origin):
    p = make_proxy('reply_header_access All deny all')
    page = origin.page(message('HTTP/1.1 200 OK', ['Transfer-Encoding: chunked', 'X: 1'], b'1\r\nx\r\n0\r\n\r\n'))
    with p.connect() as c:
        r = c.get(page.url)
        assert (r.body, [n.lower() for n, _ in r.fields]) == (b'x', ['transfer-encoding'])
        assert c.get(page.url).body == b'x'
    with p.connect() as c:
        c.send(request('GET', page.url, version='HTTP/1.0'))
        r = c.response()
        assert r.body == b'x' and r.by_close


@pytest.mark.parametrize('line, what', [
    ('request_header_access Bad:Name deny all', 'is no name of a field'),
    ('request_header_access Cookie deny nobody', "nobody"),
    ('request_header_access Cookie', 'needs 3 words'),
    ('request_header_add X "%{no"', 'request_header_add: '),
    ('request_header_add Range "bytes=0-1"', "can't give Range"),
    ('request_header_replace If-None-Match x', "can't give If-None-Match"),
    ('request_header_add Proxy-Authorization "Basic x"', "can't give Proxy-Authorization"),
])
def test_what_is_wrong(make_proxy, line, what):
    p = make_proxy(f'visible_hostname x\n{line}', start=False)
    done = p.k('parse')
    assert done.returncode == 1 and what in done.stderr and 'squid.conf:2:' in done.stderr
