"""uri_whitespace: blanks in a URL. What is forwarded, cached, judged by rules and logged is what the URL has become."""
import pytest

from origin import ok

FRESH = 'Cache-Control: max-age=600'


def send(p, url, host):
    with p.logging('GET', url.partition(' ')[0]), p.connect() as c:
        c.send(f'GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n'.encode())
        return c.response()


@pytest.mark.parametrize('word, becomes', [('strip', '?ab1c'), ('encode', '?a%20%20b%091%20c'), ('chop', '?a')])
def test_what_becomes_of_blanks(make_proxy, origin, word, becomes):
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy(f'uri_whitespace {word}\nstrip_query_terms off\n')
    for _ in range(2):
        assert send(p, page.url + '?a  b\t1 c', origin.authority).status == 200
    assert p.get(page.url + becomes).status == 200, 'and it is that in the cache'
    assert [r.target for r in page.requests] == [page.path + becomes]
    assert p.codes(page.url + becomes, 3) == ['TCP_MISS/200'] + ['TCP_MEM_HIT/200'] * 2


def test_they_are_refused_by_default(proxy, origin):
    page = origin.page(ok(b'x'))
    assert send(proxy, page.url + '?a b', origin.authority).status == 400
    assert page.count == 0


@pytest.mark.parametrize('word', ['strip', 'encode', 'chop'])
def test_rules_see_what_it_has_become(make_proxy, origin, word):
    page = origin.page(ok(b'x'))
    p = make_proxy(f'uri_whitespace {word}\nacl no urlpath_regex ^/sec.ret ^/secret ^/sec$\nhttp_access deny no\n')
    assert send(p, f'http://{origin.authority}/sec ret', origin.authority).status == 403
    for target in (f'http://{origin.authority}{page.path}\x01 b', f'http://{origin.authority}{page.path} b\x7f',
                   f'http://{origin.authority}{page.path} b HTTP/1.1\x00'):
        assert send(p, target, origin.authority).status == 400, 'other bytes stay what they are'
    with p.connect() as c:
        c.send(f'GET {page.url} b c\r\nHost: {origin.authority}\r\n\r\n'.encode())
        assert c.response().status in (400, 505), 'no version'
    assert send(p, f'http://blocked{" "}.test/x', 'x').status in (400, 503)
    assert page.count == 0
