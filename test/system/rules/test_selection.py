"""Caching rules V: the key, and Vary."""
import pytest

from origin import not_modified
from rows import FRESH, Row, answer, became, check, table


@pytest.mark.parametrize('first, second, want', [
    ('{url}?a=1', '{url}?a=2', 'fetch'), ('{url}?a=1', '{url}?a=1', 'hit'), ('{url}', '{url}?', 'fetch'),
    ('{url}?a=1&b=2', '{url}?b=2&a=1', 'fetch'), ('{url}', 'http://origin.test:{port}{path}', 'fetch'),
])
def test_v1_the_key(proxy, origin, first, second, want):
    page = origin.page(lambda x: answer(x.n, FRESH))
    urls = [u.format(url=page.url, port=origin.port, path=page.path) for u in (first, second)]
    with proxy.connect() as c:
        c.get(urls[0])
        assert became(page, c.get(urls[1])) == want


@pytest.mark.parametrize('first, second, same', [
    ('http://ORIGIN.test:{port}{path}', 'HTTP://origin.TEST:{port}{path}', True),
    ('{url}/a%7Eb', '{url}/a~b', True), ('{url}/a%7eb', '{url}/a%7Eb', True), ('{url}/%41', '{url}/A', True),
    ('{url}/a%2Fb', '{url}/a/b', False), ('{url}/a%2fb', '{url}/a%2Fb', True), ('{url}/a//b', '{url}/a/b', False),
    ('{url}?a%7Eb', '{url}?a~b', False), ('{url}?a%2fb', '{url}?a%2Fb', False), ('{url}/a%3Fb', '{url}/a?b', False),
    ('{url}/A', '{url}/a', False),
])
def test_v2_equivalent_uris(proxy, origin, first, second, same):
    page = origin.page(lambda x: answer(x.n, FRESH))
    urls = [u.format(url=page.url, port=origin.port, path=page.path) for u in (first, second)]
    for suffix in ('a%7Eb', 'a~b', 'a%7eb', '%41', 'A', 'a', 'a%2Fb', 'a%2fb', 'a/b', 'a//b', 'a%3Fb'):
        origin.pages[f'{page.path}/{suffix}'] = page
    with proxy.connect() as c:
        for u in urls:
            assert c.get(u, f'Host: {u.split("/")[2]}').status == 200
    assert page.count == (1 if same else 2)
    if not same and '?' not in first:
        assert page.requests[0].target != page.requests[1].target


def test_v2_default_port_and_empty_path(make_proxy, origin):
    """One of each spelling: what is stored under one is found under the other (the port is the origin's through a peer)."""
    page = origin.page(lambda x: answer(x.n, FRESH))
    origin.pages['http://site.test/'] = page
    p = make_proxy(f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query\nnever_direct allow all')
    for url in ('http://site.test/', 'http://site.test:80/', 'http://site.test', 'http://SITE.test:/'):
        with p.connect() as c:
            assert c.get(url).get('N') == '1', url


def test_v3_the_key_is_what_the_origin_sees(proxy, origin):
    page = origin.page(lambda x: answer(x.n, FRESH, body=x.request.get('Host').encode()))
    with proxy.connect() as c:
        r = c.get(page.url, 'Host: evil.test')
        poisoned = r.status == 200
        assert not poisoned or r.body == origin.authority.encode()
    assert proxy.get(page.url).body == origin.authority.encode()
    assert proxy.get(f'http://origin.test:{origin.port}{page.path}').body == f'origin.test:{origin.port}'.encode()


@pytest.mark.parametrize('fields', [['X-Forwarded-Host: evil.test'], ['X-Original-URL: /evil'], ['X-Rewrite-URL: /evil'],
                                    ['X-HTTP-Method-Override: DELETE'], ['Forwarded: host=evil.test']])
def test_v3_unkeyed_fields_change_neither_key_nor_target(proxy, origin, fields):
    page = origin.page(lambda x: answer(x.n, FRESH))
    with proxy.connect() as c:
        c.get(page.url, *fields)
        assert became(page, c.get(page.url)) == 'hit'
    asked = page.requests[0]
    assert (asked.method, asked.target, asked.get('Host')) == ('GET', page.path, origin.authority)


def vary(id, value, first, again, want):
    lines = value if isinstance(value, list) else [value]
    return Row(id, [FRESH, *(f'Vary: {v}' for v in lines)], want, first=first, again=again)


F1, F2, B1, B2, C1, C2 = 'Foo: 1', 'Foo: 2', 'Bar: 1', 'Bar: 2', 'Baz: 1', 'Baz: 2'


@table(
    vary('V4 equal', 'Foo', [F1], [F1], 'hit'),
    vary('V4 different', 'Foo', [F1], [F2], 'fetch'),
    vary('V4 absent then there', 'Foo', [], [F1], 'fetch'),
    vary('V4 there then absent', 'Foo', [F1], [], 'fetch'),
    vary('V4 empty is not absent', 'Foo', ['Foo:'], [], 'fetch'),
    vary('V4 two equal', 'Foo, Bar', [F1, B1], [F1, B1], 'hit'),
    vary('V4 two in another order', 'Foo, Bar', [F1, B1], [B1, F1], 'hit'),
    vary('V4 second of two differs', 'Foo, Bar', [F1, B1], [F1, B2], 'fetch'),
    vary('V4 first of two differs', 'Foo, Bar', [F1, B1], [F2, B1], 'fetch'),
    vary('V4 one of two absent', 'Foo, Bar', [F1, B1], [F1], 'fetch'),
    vary('V4 three equal', 'Foo, Bar, Baz', [F1, B1, C1], [C1, F1, B1], 'hit'),
    vary('V4 third of three differs', 'Foo, Bar, Baz', [F1, B1, C1], [F1, B1, C2], 'fetch'),
    vary('V4 three on three lines', ['Foo', 'Bar', 'Baz'], [F1, B1, C1], [F1, B1, C2], 'fetch'),
    vary('V4 all absent', 'Foo, Bar', [], [], 'hit'),
    vary('V4 letter case of a value', 'Foo', ['Foo: a'], ['Foo: A'], 'fetch'),
    vary('V4 values exchanged', 'Foo, Bar', ['Foo: 1', 'Bar: 2'], ['Foo: 2', 'Bar: 1'], 'fetch'),
    vary('V5 others', 'Foo', [F1, 'Other: 1'], [F1, 'Other: 2'], 'hit'),
    *(vary(f'V7 {n}', 'Foo', ['Foo: 1, 2'], again, 'hit') for n, again in enumerate((
        ['Foo: 1', 'Foo: 2'], ['Foo: 1,2'], ['Foo:  1, 2 '], ['Foo: 1 ,\t2']))),
    vary('V7 order counts', 'Foo', ['Foo: 1, 2'], ['Foo: 2, 1'], 'fetch'),
    vary('V7 blanks inside count', 'Foo', ['Foo: 1 2'], ['Foo: 1  2'], 'fetch'),
    vary('V7 comma in a string', 'Foo', ['Foo: "a, b"'], ['Foo: "a,b"'], 'fetch'),
    *(vary(f'V8 {n}', 'Accept-Language', ['Accept-Language: en, de'], [f'Accept-Language: {again}'], 'hit')
      for n, again in enumerate(('eN, De', ' en ,   de', 'de, en', 'DE,en'))),
    vary('V8 weights count', 'Accept-Language', ['Accept-Language: en, de;q=0.5'], ['Accept-Language: de, en;q=0.5'], 'fetch'),
    vary('V8 another language', 'Accept-Language', ['Accept-Language: en'], ['Accept-Language: de'], 'fetch'),
    *(vary(f'V9 {n}', 'Accept-Encoding', ['Accept-Encoding: gzip, br'], [f'Accept-Encoding: {again}'], want)
      for n, (again, want) in enumerate((('br,gzip', 'hit'), ('BR;q=0.5, GZIP', 'hit'), ('gzip, br, deflate;q=0', 'hit'),
                                         ('gzip', 'fetch'), ('gzip, br;q=0', 'fetch'), ('', 'fetch')))),
    Row('V10 no choice by weight', [FRESH, 'Vary: Accept-Language', 'Content-Language: de'], 'fetch',
        first=['Accept-Language: de'], again=['Accept-Language: de, en;q=0.5']),
    *(vary(f'V11 {n}', value, [], [], 'fetch') for n, value in enumerate((
        '*', '*, *', ['*', '*'], ', *', ['', '*'], '*, Foo', 'Foo, *', ['Foo', '*']))),
    vary('V15 letter case', 'fOO', ['FOO: 1'], ['foo: 1'], 'hit'),
    vary('V15 letter case, different', 'fOO', ['FOO: 1'], ['foo: 2'], 'fetch'),
    *(vary(f'V15 bad name {n}', value, [], [], 'fetch') for n, value in enumerate(('"Foo"', 'Foo Bar', 'Foo;q=1', 'F\xf6o', 'a=b'))),
)
def test_selection(proxy, origin, row):
    check(proxy, origin, row)


def test_v6_variants_side_by_side(proxy, origin):
    page = origin.page(lambda x: answer(x.n, FRESH, 'Vary: Foo'))
    with proxy.connect() as c:
        assert [c.get(page.url, f'Foo: {f}').get('N') for f in '12121'] == ['1', '2', '1', '2', '1']


def test_v12_each_by_its_own_vary_the_newest_wins(proxy, origin):
    page = origin.page(lambda x: answer(x.n, FRESH, f'Vary: {"Foo" if x.n == 1 else "Bar"}'))
    with proxy.connect() as c:
        assert c.get(page.url, F1, B2).get('N') == '1'
        assert c.get(page.url, F2, B1).get('N') == '2'
        assert c.get(page.url, F1, B2).get('N') == '1'
        assert c.get(page.url, 'Foo: 9', B1).get('N') == '2'
        assert c.get(page.url, F1, B1).get('N') == '2', 'both match: the newest'
        assert c.get(page.url, F2, B2).get('N') == '3'


def test_v13_the_tags_of_all_variants(proxy, origin):
    """A request that no variant is for may yet be answered by one: the origin knows."""
    page = origin.page(variants({'456': '123'}))
    with proxy.connect() as c:
        assert c.get(page.url, 'Foo: 123').get('N') == '1'
        assert c.get(page.url, 'Foo: 789').get('N') == '2'
        r = c.get(page.url, 'Foo: 456')
        asked = page.requests[2]
        assert sorted(t.strip() for t in asked.get('If-None-Match').split(',')) == ['"123"', '"789"']
        assert (r.status, r.get('N'), r.body) == (200, '1', b'body 1')
        assert c.get(page.url, 'Foo: 456').get('N') == '1'
        assert c.get(page.url, 'Foo: 123').get('N') == '1'
    assert page.count == 3


def variants(kept):
    """An origin that has a variant for each value of Foo, and says which with its ETag. kept: what may be validated."""
    def script(x):
        value = x.request.get('Foo')
        tag = f'ETag: "{kept.get(value, value)}"'
        if tag[6:] in ', '.join(x.request.all('If-None-Match')):
            return b''.join([b'HTTP/1.1 304 Not Modified\r\nVary: Foo\r\nCache-Control: max-age=600\r\n', tag.encode(), b'\r\n\r\n'])
        return answer(x.n, FRESH, 'Vary: Foo', tag)
    return script


def test_v13_a_tag_nobody_asked_with(proxy, origin):
    """Such a 304 says nothing: the whole is asked for."""
    page = origin.page(lambda x: not_modified('ETag: "other"') if x.request.all('If-None-Match') else
                       answer(x.n, FRESH, 'Vary: Foo', 'ETag: "1"'))
    with proxy.connect() as c:
        c.get(page.url, F1)
        r = c.get(page.url, F2)
        assert (r.status, r.get('N')) == (200, '3')
        assert [c.get(page.url, f).get('N') for f in (F1, F2)] == ['1', '3']


@pytest.mark.parametrize('fields, asked', [
    (['ETag: "1"'], '"1"'), (['ETag: W/"1"'], 'W/"1"'), (['ETag: 1'], None), (['ETag: "1'], None), ([], None),
    (['ETag: "' + 'x' * 200 + '"'], None)])
def test_v13_which_tags(proxy, origin, fields, asked):
    page = origin.page(lambda x: answer(x.n, FRESH, 'Vary: Foo', *fields))
    with proxy.connect() as c:
        c.get(page.url, F1), c.get(page.url, F2)
    assert page.requests[1].get('If-None-Match') == asked


def test_v13_not_beside_a_condition_of_the_client(proxy, origin):
    page = origin.page(lambda x: answer(x.n, FRESH, 'Vary: Foo', 'ETag: "1"'))
    with proxy.connect() as c:
        c.get(page.url, F1), c.get(page.url, F2, 'If-None-Match: "mine"')
    assert page.requests[1].get('If-None-Match') == '"mine"'


def test_v14_a_limit_of_variants(make_proxy, origin):
    page = origin.page(lambda x: answer(x.n, FRESH, 'Vary: Foo', body=x.request.get('Foo').encode()))
    p = make_proxy('vary_variants_max 4')
    with p.connect() as c:
        for f in range(8):
            assert c.get(page.url, f'Foo: {f}').body == b'%d' % f
        assert page.count == 8
        assert c.get(page.url, 'Foo: 7').get('N') == '8', 'the newest is there'
        assert c.get(page.url, 'Foo: 0').get('N') == '9', 'the oldest is not'
        assert all(c.get(page.url, f'Foo: {f}').body == b'%d' % f for f in range(8))
