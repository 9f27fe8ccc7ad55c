"""Manager pages about what stands behind the proxy: peers, helper programs, delay pools."""
import re

import pytest

from origin import ok
from proxy import free_port
from test_auth import login
from test_helpers import program
from test_peers import Parent


def page(p, name):
    r = p.page(name)
    assert r.status == 200, name
    return r.body.decode()


def paragraphs(text):
    """{first line's value: {label: value}}, of "label : value" lines."""
    found = {}
    for part in text.strip().split('\n\n'):
        rows = [re.split(r'\s*:\s*', line, maxsplit=1) for line in part.splitlines() if ':' in line]
        if rows:
            found[rows[0][1]] = dict(rows)
    return found


@pytest.fixture
def parent():
    made = Parent(b'parent')
    yield made
    made.close()


def test_without_any(proxy):
    assert page(proxy, 'server_list') == 'There are no neighbors installed.\n'
    assert page(proxy, 'redirector') == 'No redirectors defined\n'
    assert page(proxy, 'delay') == 'Delay pools configured: 0\n'
    menu = page(proxy, 'menu')
    for name in ('server_list', 'carp', 'userhash', 'sourcehash', 'redirector', 'store_id', 'external_acl', 'basicauthenticator',
                 'digestauthenticator', 'negotiateauthenticator', 'delay'):
        assert re.search(rf'^ {name} *\t.*\tpublic$', menu, re.M), name
        assert page(proxy, name)


def test_server_list(make_proxy, parent):
    dead = free_port()
    p = make_proxy(parent.line('name=one login=ann:hidden weight=3')
                   + f'cache_peer 127.0.0.1 parent {dead} 0 no-query name=two connect-fail-limit=1\n'
                   'acl two dstdomain two.test\ncache_peer_access two allow two\ncache_peer_access one deny two\n'
                   'cache_peer_access one allow all\nnever_direct allow all\n')
    for _ in range(3):
        assert p.get('http://one.test/').body == b'parent'
    assert p.get('http://two.test/').status == 503
    text = page(p, 'server_list')
    one, two = (paragraphs(text)[name] for name in ('one', 'two'))
    assert (one['Host'], one['Status'], one['FETCHES'], one['Weight']) == (f'127.0.0.1/{parent.port}/0', 'Up', '3', '3')
    assert 1 <= int(one['OPEN CONNS']) <= 2 and 'Last failed connect() at' not in one
    assert (two['Status'], two['FETCHES'], two['OPEN CONNS']) == ('Down', '0', '0')
    assert re.fullmatch(r'\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT', two['Last failed connect() at'])
    assert 'hidden' not in text and 'ann' not in text


@pytest.mark.parametrize('group', ['carp', 'sourcehash'])
def test_groups(make_proxy, parent, group):
    p = make_proxy(parent.line(f'name=one {group} weight=3') + f'cache_peer localhost parent {parent.port} 0 no-query name=two {group}\n'
                   + parent.line('name=three') + 'never_direct allow all\n')
    for i in range(8):
        assert p.get(f'http://one.test/{i}').status == 200
    rows = [line.split() for line in page(p, group).splitlines()]
    assert rows[0] == ['Hostname', 'Hash', 'Multiplier', 'Factor', 'Actual']
    assert [(row[0], float(row[3])) for row in rows[1:]] == [('one', 0.75), ('two', 0.25)]
    assert sum(float(row[4]) for row in rows[1:]) == 1


def test_helpers(make_proxy, origin):
    asked = origin.page(ok(b'x', 'Cache-Control: no-store'))
    p = make_proxy(start=False)
    rewriter = program(p, 'def answer(first, rest): return "ERR"', name='rewriter')
    basic = program(p, 'def answer(first, rest): return "OK" if rest == ["secret"] else "ERR"', name='basic')
    group = program(p, 'def answer(first, rest): return "OK"', name='group')
    p.configure(f'url_rewrite_program {rewriter} -w hidden\nurl_rewrite_children 3\nauth_param basic program {basic} -w hidden\n'
                f'external_acl_type groups %DATA {group} -w hidden\nacl member external groups staff\nacl known proxy_auth REQUIRED\n'
                'acl manages url_regex /squid-internal-mgr/\nhttp_access allow manages\nhttp_access allow known member\n'
                'http_access deny all\n')
    p.start()
    for password, status in (('secret', 200), ('secret', 200), ('wrong', 407)):
        assert p.get(asked.url, login('ann', password)).status == status
    texts = {name: page(p, name) for name in ('redirector', 'basicauthenticator', 'external_acl', 'digestauthenticator', 'store_id')}
    for name, path, most, sent in (('redirector', rewriter, 3, None), ('basicauthenticator', basic, None, None),
                                   ('external_acl', group, None, None)):
        t = texts[name]
        assert f'program: {path}\n' in t and 'queue length: 0\n' in t and 'failures: 0\n' in t
        active, of = map(int, re.search(r'^number active: (\d+) of (\d+)$', t, re.M).groups())
        assert 1 <= active <= of and most in (None, of)
        n, answered = (int(re.search(rf'^{what}: (\d+)$', t, re.M)[1]) for what in ('requests sent', 'replies received'))
        assert n == answered >= 1
        assert 'hidden' not in t and 'secret' not in t
    assert re.search(r'^External ACL: groups$', texts['external_acl'], re.M)
    assert texts['store_id'] == 'No StoreId helpers defined\n'
    assert 'program:' not in texts['digestauthenticator']


def test_delay(make_proxy, origin):
    asked = origin.page(ok(b'x' * 3000, 'Cache-Control: no-store'))
    p = make_proxy('delay_pools 2\ndelay_class 1 2\ndelay_parameters 1 -1/-1 1000/9000\ndelay_access 1 allow all\n'
                   'delay_class 2 1\ndelay_parameters 2 500/4000\n')
    assert p.get(asked.url).status == 200
    text = page(p, 'delay')
    assert text.startswith('Delay pools configured: 2\n')
    first, second = (paragraphs(text)[number] for number in '12')
    assert (first['\tClass'], first['\t\tMax'], first['\t\tRestore']) == ('2', '9000', '1000')
    assert first['\tBuckets'] == '1' and '\tAggregate:\n\t\tDisabled.\n' in text
    assert (second['\tClass'], second['\t\tMax'], second['\t\tRestore']) == ('1', '4000', '500')
    assert 2000 <= int(second['\t\tCurrent']) <= 4000


def test_password(make_proxy):
    p = make_proxy('cachemgr_passwd disable server_list\ncachemgr_passwd word delay\n')
    assert p.page('server_list').status == 404 and p.page('delay').status == 401
    assert page(p, 'carp')
