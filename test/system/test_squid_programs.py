"""Helper programs of Debian's squid and squidguard packages at work."""
import os

import pytest

from origin import ok
from proxy import needs

SQUIDS = '/usr/lib/squid'
KEEP = 'Cache-Control: max-age=600'

pytestmark = pytest.mark.skipif(not os.path.isdir(SQUIDS), reason='no programs of Squid here')


@pytest.fixture
def start(make_proxy):
    """files: name to text, in the proxy's directory, before it starts."""
    def make(conf, files):
        p = make_proxy(start=False)
        for name, text in files.items():
            p.write(name, text.replace('{dir}', p.dir))
        p.configure(conf)
        return p.start()
    return make


def test_ext_file_userip_acl(start, origin):
    page = origin.page(ok(b'x'))
    p = start(f'external_acl_type ip %SRC %{{X-User}} {SQUIDS}/ext_file_userip_acl -f {{dir}}/allowed\n'
              'acl ip external ip\nhttp_access allow ip\nhttp_access deny all\n', {'allowed': '127.0.0.1 joe\n'})
    assert p.get(page.url, 'X-User: joe').status == 200
    assert p.get(page.url, 'X-User: eve').status == 403


def test_ext_unix_group_acl(start, origin):
    """With channels."""
    page = origin.page(ok(b'x'))
    p = start(f'external_acl_type group concurrency=0 %{{X-User}} {SQUIDS}/ext_unix_group_acl -p\n'
              'acl daemons external group daemon\nhttp_access allow daemons\nhttp_access deny all\n', {})
    assert p.get(page.url, 'X-User: daemon').status == 200
    assert p.get(page.url, 'X-User: root').status == 403


def test_storeid_file_rewrite(start, origin):
    a, b = origin.page(ok(b'a', KEEP), name='mirror'), origin.page(ok(b'b', KEEP), name='mirror')
    p = start(f'store_id_program {SQUIDS}/storeid_file_rewrite {{dir}}/rules\nstore_id_children 2 startup=1\n',
              {'rules': r'^http:\/\/[^/]+\/(mirror)[0-9]+' + '\thttp://mirrors.squid.internal/$1\n'})
    assert (p.get(a.url).body, p.get(b.url).body, a.count, b.count) == (b'a', b'a', 1, 0)


@pytest.mark.parametrize('program', ['url_fake_rewrite', 'url_fake_rewrite.sh'])
def test_url_fake_rewrite(start, origin, program):
    """It leaves everything as it is."""
    page = origin.page(ok(b'x'))
    p = start(f'url_rewrite_program {SQUIDS}/{program}\nurl_rewrite_children 2 startup=1\n', {})
    assert p.get(page.url).body == b'x'


@needs('squidGuard')
def test_squidguard(start, origin):
    page, bad = origin.page(ok(b'x')), origin.page(ok(b'bad'), name='bad')
    p = start('url_rewrite_program /usr/bin/squidGuard -c {dir}/guard.conf\nurl_rewrite_children 2 startup=1\nhelper_timeout 9 seconds\n', {
        'guard.conf': 'dbhome {dir}\nlogdir {dir}\ndest bad {\n expressionlist bad.expressions\n}\n'
                      'acl {\n default {\n pass !bad all\n redirect 302:http://block.test/?u=%u\n }\n}\n',
        'bad.expressions': '/bad[0-9]+\n'})
    assert p.get(page.url).body == b'x'
    r = p.get(bad.url)
    assert (r.status, r.get('Location').split('?')[0], bad.count) == (302, 'http://block.test/', 0)
