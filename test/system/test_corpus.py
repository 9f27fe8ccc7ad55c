"""Configurations in the shapes people use (test/conf/corpus): each loads, warns about just what is listed beside it, and
does on the wire what it is for: what may pass does, what must not is denied by the line that says so, what is worth
keeping is kept."""
import base64
import os
import re
import sys
import threading
import time

import pytest

from client import Client, Task, request, soon
from origin import HANG, Origin, Page, date, message, ok
from proxy import TREE, Proxy, free_port
from test_auth import HASHES, DigestUser, login, token, users
from test_peers import Parent

CORPUS = os.path.join(TREE, 'test/conf/corpus')
NAMES = sorted(f[:-5] for f in os.listdir(CORPUS) if f.endswith('.conf'))
# Where this machine has its places, and a log of what decided; behind the file's own lines, so that these keep their numbers.
PLACES = '''
workers 2
visible_hostname proxy.test
pid_filename {dir}/pid
cache_log {dir}/cache.log
hosts_file {dir}/hosts
dns_nameservers 127.0.0.1
dns_timeout 1 second
logformat decided %>Hs %Ss %rm %ru %Sl
access_log stdio:{dir}/decided.log logformat=decided
'''
FRESH = 'Cache-Control: max-age=600'


def put(origin, path, *scripts):
    """A page at just this path: configurations go by what a path looks like."""
    page = Page(origin, path, [[s] for s in scripts], False)
    origin.pages[path] = page
    return page


@pytest.fixture
def site():
    o = Origin()
    yield o
    o.close()


@pytest.fixture
def other():
    o = Origin()
    yield o
    o.close()


def read(name, suffix='.conf'):
    try:
        with open(os.path.join(CORPUS, name + suffix), encoding='ascii') as f:
            return f.read()
    except FileNotFoundError:
        return ''


def text_of(name, **given):
    today = time.localtime().tm_wday
    days = ['MTWHFAS'[(today + i) % 7] for i in range(7)]  # a test may last beyond midnight
    words = {'origin': 1, 'origin2': 2, 'port2': 3, 'origin3': 4, 'origin4': 5, 'origin5': 6,
             'days_now': ''.join(days[:2]), 'days_else': ''.join(days[2:]), **given}
    return re.sub(r'\{(\w+)\}', lambda m: str(words.get(m[1], m[0])), read(name))


# What configurations read beside themselves.
FILES = {
    'banned.list': '# sites\r\n.banned.test\r\n\r\nbad.friendly.test\r\n',
    'banned-words.list': 'gambl(e|ing)\n^http://[^/]*casino\n',
    'homework.list': '.encyclopedia.test # whatever the filter thinks of it\n',
    'filter.rules': r'^http://[^/]*/casino http://127.0.0.1/moved' + '\n' + r'^http://bets\. 302:http://house.test/blocked?u=%u' + '\n',
    'groups': 'guests: eve eve@office.test\nstaff: ann@office.test bob\nfinance: dora dora@office.test\n',
    'digest.users': 'bob:secret\ndora:secret\neve:secret\n',
    'customers.list': '127.0.0.64/26\n127.0.0.9 # by hand\n',
    'exit-fr.list': '# one a line\n.fr.test\n',
    'exit-nl.list': '127.0.0.8/29\n',
    'trackers.list': '/pixel\\.gif\n^http://track\n',
    'store-id.rules': r'http://mirror\d+\.test(?::\d+)?/([^?]*) http://files.mirrors.internal/\1' + '\n',
    'conf.d/01-net.conf': 'acl here src 127.0.0.0/8\n',
    'conf.d/02-ways.conf': 'include {dir}/conf.d/deeper/one.conf\n',
    'conf.d/deeper/one.conf': 'acl uploads method PUT\nhttp_access deny uploads\n',
    'conf.d/lists/a.acl': 'acl banned dstdomain "{dir}/banned.list"\n',
    'conf.d/lists/b.acl': 'acl banned dstdomain .more.test\n',
    'conf.d/99-last.conf': '# what the others left\nhttp_access allow here !continued\n',
}


def beside(p):
    for name, text in FILES.items():
        os.makedirs(os.path.dirname(p.path(name)), exist_ok=True)
        p.write(name, text.replace('{dir}', p.dir))
    for name in os.listdir(os.path.join(CORPUS, 'programs')):
        os.chmod(p.write(name, f'#!{sys.executable}\n' + read(f'programs/{name}', '')), 0o755)
    users(p)


@pytest.fixture
def load(make_proxy):
    """load(name, hosts): a daemon with this configuration."""
    def start(name, *hosts, **words):
        p = make_proxy(start=False, hosts=hosts)
        beside(p)
        p.text = text_of(name, **words)
        places = PLACES.replace('workers 2\n', '') if re.search('^workers ', p.text, re.M) else PLACES
        p.configure(p.text + places, raw=True)
        p.given = 'access_log'  # its own: ask() doesn't wait for a line
        p.start()
        return p
    return start


def decided(p, url, n=1):
    """The n-th [status, code, method, url, the text of the line that decided] logged for this URL."""
    found = soon(lambda: [x for x in (t.split(' ') for t in p.read('decided.log').splitlines()) if x[3] == url][n - 1:n],
                 f'{n} lines for {url}: {p.read("decided.log")[-1500:]}')[0]
    m = re.fullmatch(re.escape(p.dir) + r'/([\w./-]+):(\d+)', found[4])
    lines = m and (p.text if m[1] == 'squid.conf' else p.read(m[1])).splitlines()
    return [*found[:4], ' '.join(lines[int(m[2]) - 1].partition(' #')[0].split()) if m else found[4]]


def denied(p, method, url, by, n=1, fields=(), **options):
    with p.connect(**options) as c:
        r = c.ask(method, url, *([f'Host: {url}'] if method == 'CONNECT' else []), *fields)
    status, code, _, _, line = decided(p, url, n)
    assert (r.status, status, code, line) == (403, '403', 'TCP_DENIED', by), r.raw
    return r


def allowed(p, url, by, n=1, *fields, code='TCP_MISS', **options):
    with p.connect(**options) as c:
        r = c.get(url, *fields)
    status, got, _, _, line = decided(p, url, n)
    assert (r.status, status, got, line) == (200, '200', code, by), r.raw
    return r


def tunnels(p, authority, by):
    with p.connect() as c:
        c.send(request('CONNECT', authority, f'Host: {authority}'))
        assert c.response('CONNECT').status == 200
    assert decided(p, authority)[-1] == by


@pytest.mark.parametrize('name', NAMES)
def test_it_loads_and_warns_as_listed(name):
    p = Proxy(start=False)
    try:
        beside(p)
        p.configure(text_of(name), raw=True)
        r = p.k('parse')
        said = (r.stdout + r.stderr).replace(p.dir + '/', '')
        assert r.returncode == 0, said
        warnings = [re.sub(r'^squid\.conf:', '', t) for t in said.splitlines() if re.match(r'squid\.conf:\d+:\d+: ', t)]
        assert warnings == read(name, '.warnings').splitlines()
        assert f'0 errors, {len(warnings)} warnings' in said
    finally:
        p.remove()


def test_every_file_is_exercised():
    with open(__file__, encoding='utf-8') as f:
        loaded = set(re.findall(r"load\('([\w-]+)'", f.read()))
    assert loaded == set(NAMES)


def test_container_egress(load, site):
    page = site.page(ok(b'x', FRESH))
    p = load('container-egress', 'a.packages.test', 'api.vendor.test', 'evil.test', origin=site.port)
    for n, host in enumerate(('a.packages.test', 'api.vendor.test', 'a.packages.test')):
        url = f'http://{host}:{site.port}{page.path}'
        allowed(p, url, 'http_access allow containers destinations', 1 + n // 2)
    assert page.count == 3, 'nothing is stored'
    assert not page.requests[0].all('Via') and not page.requests[0].all('X-Forwarded-For')
    tunnels(p, f'a.packages.test:{site.port}', 'http_access allow containers destinations')
    denied(p, 'GET', f'http://evil.test:{site.port}/', 'http_access deny all')
    denied(p, 'GET', 'http://a.packages.test:22/', 'http_access deny !web_ports')
    denied(p, 'CONNECT', 'a.packages.test:80', 'http_access deny CONNECT !tls_ports')
    denied(p, 'CONNECT', f'evil.test:{site.port}', 'http_access deny all')


def test_school_filter(load, site):
    page = site.page(ok(b'x', FRESH))
    p = load('school-filter', 'www.banned.test', 'bad.friendly.test', 'friendly.test', 'chess.games.test')
    where = f':{site.port}{page.path}'
    for host in ('www.banned.test', 'bad.friendly.test'):
        with p.connect() as c:
            assert c.get(f'http://{host}{where}').status == 451, 'deny_info says how'
        assert decided(p, f'http://{host}{where}')[-1] == 'http_access deny banned'
    denied(p, 'GET', f'http://friendly.test:{site.port}/Gambling', 'http_access deny banned_words')
    denied(p, 'GET', f'http://chess.games.test{where}', 'http_access deny games lessons')
    allowed(p, f'http://friendly.test{where}', 'http_access allow school')
    allowed(p, f'http://friendly.test{where}', 'http_access allow school', 2, code='TCP_MEM_HIT')
    allowed(p, f'http://chess.games.test{where}', 'http_access allow teachers_pc', 2, source='127.0.0.5')


def test_apt_cache(load, site):
    old = f'Last-Modified: {date(-3600)}'
    deb = put(site, '/pool/a_1.0_all.deb', ok(b'd' * 3_000_000, old))
    release = put(site, '/dists/stable/InRelease', ok(b'r', old),
                  message('HTTP/1.1 304 Not Modified', [f'Date: {date()}']))
    p = load('apt-cache', 'ftp.debian.test', 'elsewhere.test')
    root, rule = f'http://ftp.debian.test:{site.port}', 'http_access allow lan mirrors'
    for n, code in ((1, 'TCP_MISS'), (2, 'TCP_MEM_HIT')):
        assert len(allowed(p, root + deb.path, rule, n, code=code).body) == 3_000_000
    assert deb.count == 1, 'kept, though larger than maximum_object_size_in_memory: there is no disk'
    for n, code in ((1, 'TCP_MISS'), (2, 'TCP_REFRESH_UNMODIFIED')):
        assert allowed(p, root + release.path, rule, n, code=code).body == b'r'
    assert release.requests[1].all('If-Modified-Since')
    denied(p, 'GET', f'http://elsewhere.test:{site.port}{deb.path}', 'http_access deny all')


def test_multi_exit(load, site):
    page = site.page(ok(b'x', 'Cache-Control: no-store'))
    second = free_port()
    p = load('multi-exit', port2=second)
    fields = ('User-Agent: Mozilla/5.0', 'Referer: http://a.test/', 'From: me@a.test', 'X-Forwarded-For: 192.0.2.1')
    for n, port in enumerate((p.port, second), 1):
        with Client(port) as c:
            assert c.get(page.url, *fields).status == 200
        r = page.wait(n)
        assert r.client == f'127.0.0.1{n}'
        assert [r.all(f) for f in ('User-Agent', 'Referer', 'From', 'X-Forwarded-For', 'Via')] == \
            [['Agent/1.0'], [], [], [], []]
    denied(p, 'GET', f'{page.url}?', 'http_access deny all', source='127.0.0.9')


def test_accelerator(load, site, other):
    www, shop = put(site, '/a', ok(b'www', FRESH, 'Server: X/1')), put(other, '/a', ok(b'shop', FRESH))
    basket = put(other, '/basket', ok(b'full', FRESH))
    p = load('accelerator', origin=site.port, origin2=other.port)

    def ask(host, path, by, status=200, n=1):
        with p.connect() as c:
            r = c.get(path, f'Host: {host}')
        assert r.status == status, r.raw
        assert decided(p, f'http://{host}{path}', n)[-1] == by
        return r
    for n in (1, 2):
        r = ask('www.site.test', '/a', 'http_access allow www_site', n=n)
        assert r.body == b'www' and not r.all('Server')
        assert ask('shop.site.test', '/a', 'http_access allow shop_site', n=n).body == b'shop'
        assert ask('shop.site.test', '/basket', 'http_access allow shop_site', n=n).body == b'full'
    assert (www.count, shop.count, basket.count) == (1, 1, 2)
    ask('shop.site.test', '/admin/users', 'http_access deny admin', 403)
    ask('other.test', '/a', 'http_access deny all', 403)
    assert not site.stray and not other.stray


def test_agent_sandbox(load):
    internet, inside = Origin('127.0.0.9'), Origin()
    try:
        page = internet.page(ok(b'x'))
        p = load('agent-sandbox', origin=internet.port)
        p.write('hosts', '127.0.0.9 a.index.test models.vendor.test evil.test\n127.0.0.1 rebound.index.test\n'
                '10.1.2.3 private.index.test\n169.254.169.254 meta.index.test\n')
        p.stop()
        p.start()
        for host in ('a.index.test', 'models.vendor.test'):
            allowed(p, f'http://{host}:{internet.port}{page.path}', 'http_access allow all')
        tunnels(p, f'a.index.test:{internet.port}', 'http_access allow all')
        for host in ('rebound', 'private', 'meta'):
            denied(p, 'GET', f'http://{host}.index.test:{internet.port}/', 'http_access deny inside')
            denied(p, 'CONNECT', f'{host}.index.test:443', 'http_access deny inside')
        for authority in ('127.0.0.1', '169.254.169.254', '[::1]'):
            denied(p, 'GET', f'http://{authority}/', 'http_access deny by_address')
        denied(p, 'GET', 'http://evil.test/', 'http_access deny !may_reach')
        denied(p, 'GET', 'http://a.index.test:22/', 'http_access deny !Safe_ports')
        denied(p, 'CONNECT', 'a.index.test:80', 'http_access deny CONNECT !SSL_ports')
        assert not inside.stray
    finally:
        internet.close()
        inside.close()


def test_corporate(load, site, other):
    page, far = site.page(ok(b'intra')), Page(other, '/far', [[ok(b'far', FRESH)]], False)
    url = 'http://far.test/far'
    other.pages[url] = far  # a parent gets whole URLs
    p = load('corporate', 'wiki.intra.test', origin2=other.port)
    assert allowed(p, f'http://wiki.intra.test:{site.port}{page.path}', 'http_access allow intranet').body == b'intra'
    with p.connect() as c:
        r = c.get(url)
    assert r.status == 407 and 'realm="Office"' in r.get('Proxy-Authenticate')
    assert decided(p, url)[-1] == 'http_access allow users'
    assert allowed(p, url, 'http_access allow users', 2, login('ann')).body == b'far'
    allowed(p, url, 'http_access allow users', 3, login('bob'), code='TCP_MEM_HIT')
    assert far.count == 1 and not far.requests[0].all('Proxy-Authorization')
    denied(p, 'TRACE', 'http://far.test/trace', 'http_access deny bad_methods')


def test_home_cache(load, site):
    image, query = put(site, '/a.gif', ok(b'i')), put(site, '/cgi-bin/a', ok(b'q', f'Last-Modified: {date(-99999)}'))
    p = load('home-cache')
    for n, code in ((1, 'TCP_MISS'), (2, 'TCP_MEM_HIT')):
        allowed(p, f'http://origin.test:{site.port}{image.path}', 'http_access allow localnet', n, code=code)
    for n in (1, 2):
        with p.connect() as c:
            assert c.get(f'http://origin.test:{site.port}{query.path}').body == b'q'
    assert (image.count, query.count) == (1, 2)
    denied(p, 'CONNECT', f'origin.test:{site.port}', 'http_access deny CONNECT !SSL_ports')
    denied(p, 'GET', 'http://origin.test:25/', 'http_access deny !Safe_ports')
    assert not os.path.exists(p.path('spool'))


def test_ci_cache(load, site):
    index = put(site, '/simple/a/', ok(b'i', FRESH))
    wheel = put(site, '/a-1.0.whl', lambda x: [x.origin.go, ok(b'w' * 100_000, 'Expires: 0')])
    site.go = threading.Event()
    p = load('ci-cache', 'pypi.registry.test')
    root = f'http://pypi.registry.test:{site.port}'

    jobs = [p.connect() for _ in range(8)]
    for c in jobs:
        c.send(request('GET', root + wheel.path))
        c.wait_read()
    wheel.wait(1)
    site.go.set()
    assert [len(c.response().body) for c in jobs] == [100_000] * 8
    for c in jobs:
        c.close()
    with p.connect() as c:
        assert len(c.get(root + wheel.path, 'Cache-Control: no-cache', 'Pragma: no-cache').body) == 100_000
        part = c.get(root + wheel.path, 'Range: bytes=10-19')
    assert (part.status, len(part.body), wheel.count) == (206, 10, 1)
    allowed(p, root + index.path, 'http_access allow jobs registries')
    denied(p, 'PUT', root + '/a', 'http_access deny upload')
    denied(p, 'GET', f'http://origin.test:{site.port}/', 'http_access deny all')


def test_behind_a_balancer(load, site):
    page = put(site, '/a', ok(b'a', 'Cache-Control: no-store'))
    put(site, '/health', ok(b'well'))
    public = free_port()
    p = load('behind-balancer', origin=site.port, port2=public)

    def ask(client, host='app.site.test'):
        with Client(public) as c:
            c.send(f'PROXY TCP4 {client} 198.51.100.1 51000 80\r\n'.encode() + request('GET', '/a', f'Host: {host}'))
            return c.response().status
    assert ask('192.0.2.7') == 200
    assert page.requests[0].get('X-Forwarded-For') == '192.0.2.7'
    assert decided(p, 'http://app.site.test/a')[-1] == 'http_access allow site'
    assert ask('203.0.113.9') == 403
    assert decided(p, 'http://app.site.test/a', 2)[-1] == 'http_access deny abusers'
    assert ask('192.0.2.7', 'x.test') == 403
    assert decided(p, 'http://x.test/a')[-1] == 'http_access deny all'
    for path, status, by in (('/health', 200, 'http_access allow checks health'), ('/a', 403, 'http_access deny checks')):
        with p.connect() as c:
            assert c.get(path, 'Host: lb.test').status == status
        assert decided(p, f'http://lb.test{path}')[-1] == by
    assert page.count == 1


def test_logging(load, site):
    page, health = site.page(ok(b'x', FRESH)), put(site, '/health', ok(b'well'))
    p = load('logging', 'a.secret.test')
    url = f'{page.url}?q=1'
    with p.connect() as c:
        c.get(url, 'User-Agent: tester', 'Referer: http://r.test/')
        assert c.get(f'http://{site.authority}{health.path}').body == b'well'
    denied(p, 'GET', 'http://a.secret.test/', 'http_access deny secret')
    denied(p, 'CONNECT', 'a.test:443', 'http_access deny tunnels')
    soon(lambda: 'a.test:443' in p.read('timing.log') and 'a.test:443' in p.read('refused.log')
         and 'a.test:443' in p.read('common.log'), 'the last request is logged everywhere')
    assert re.search(rf'^\d+\.\d{{3}} +\d+ 127\.0\.0\.1 TCP_MISS/200 \d+ GET {re.escape(url)}$', p.read('timing.log'), re.M)
    assert p.read('agents.log') == '127.0.0.1 "tester" "http://r.test/"\n'
    assert re.findall(r'/403 \d+ (\S+ \S+)$', p.read('refused.log'), re.M) == \
        ['GET http://a.secret.test/', 'CONNECT a.test:443']
    assert p.read('common.log').count('\n') == 3
    assert not any('/health' in p.read(f'{f}.log') for f in ('timing', 'agents', 'refused', 'common'))


def test_school_evening(load, site):
    page, film = put(site, '/a', ok(b'x')), put(site, '/film.mp4', ok(b'f' * 60_000))
    staff = free_port()
    p = load('school-evening', *(f'{h}.test' for h in ('www.tv', 'www.chat', 'bets', 'play', 'www.encyclopedia')), port2=staff)

    def url(host, path='/a'):
        return f'http://{host}:{site.port}{path}'
    allowed(p, url('play.test'), 'http_access allow house')
    denied(p, 'GET', url('www.tv.test'), 'http_access deny tv !free_time')
    with p.connect() as c:
        r = c.get(url('www.chat.test', '/a?b'))
        assert (r.status, r.get('Location')) == \
            (302, f'http://house.test/rules?who=127.0.0.1&url=http%3A%2F%2Fwww.chat.test%3A{site.port}%2Fa%3Fb')
        assert decided(p, url('www.chat.test', '/a?'))[-1] == 'http_access deny study_time chat'
        r = c.get(url('bets.test'))
        assert (r.status, r.get('Location')) == (302, f'http://house.test/blocked?u={url("bets.test")}')
        assert c.get(url('www.encyclopedia.test', '/casino')).status == 404, 'the origin was asked: not a matter for the filter'
        assert page.count == 1
    with Client(staff) as c:
        for host in ('bets.test', 'www.tv.test', 'www.chat.test'):
            assert c.get(url(host)).status == 200
        assert decided(p, url('bets.test'), 2)[-1] == 'http_access allow in_staff_room'

        def took(c):
            began = time.monotonic()
            assert len(c.get(url('play.test', film.path)).body) == 60_000
            return time.monotonic() - began
        quick = took(c)
    with p.connect() as c:
        assert took(c) > 0.7 > quick, '10,000 bytes are there, 50,000 come in a second'


def test_office_groups(load, site):
    page = put(site, '/a', ok(b'x', 'Cache-Control: no-store'))
    p = load('office-groups', *(f'www.{h}.test' for h in ('any', 'social', 'bank', 'updates')), origin=site.port)

    def url(host):
        return f'http://www.{host}.test:{site.port}/a'

    def ticket(user):
        return 'Proxy-Authorization: Negotiate ' + base64.b64encode(f'{user}@office.test'.encode()).decode()
    allowed(p, url('updates'), 'http_access allow updates')
    with p.connect() as c:
        r = c.get(url('any'))
    assert r.status == 407 and [f.split()[0] for f in r.all('Proxy-Authenticate')] == ['Negotiate', 'Digest']
    assert decided(p, url('any'))[-1] == 'http_access deny !logged_in'
    allowed(p, url('any'), 'http_access allow staff', 2, ticket('ann'))
    bob = DigestUser('bob').challenged(r, which=1)
    allowed(p, url('any'), 'http_access allow staff', 3, bob.field(url('any')))
    denied(p, 'GET', url('social'), 'http_access deny social !finance all', fields=[ticket('ann')])
    denied(p, 'GET', url('bank'), 'http_access deny bank !finance all', fields=[bob.field(url('bank'))])
    denied(p, 'GET', url('any'), 'http_access deny guests !updates', 4, fields=[ticket('eve')])
    with p.connect() as c:
        assert c.get(url('any'), ticket('carl')).status == 403, 'in no group'
    assert decided(p, url('any'), 5)[-1] == 'http_access deny all'
    with p.connect() as c:
        dora = DigestUser('dora').challenged(c.get(url('bank')), which=1)
    allowed(p, url('bank'), 'http_access allow staff', 3, dora.field(url('bank')))
    allowed(p, url('bank'), 'http_access allow staff', 4, ticket('Dora'))
    assert [r.client[-2:] for r in page.requests] == ['22', '22', '22', '21', '21']
    assert [r.get('X-Office-User') for r in page.requests] == [None] * 3 + ['dora', 'Dora@office.test']
    soon(lambda: p.read('office.log').count('\n') == 8, 'the log has those with a name')
    assert re.search(r'^\d+\.\d{3} 127\.0\.0\.1 ann@office\.test TCP_MISS/200 GET \S+ staff$', p.read('office.log'), re.M)


def test_parent_farm(load, make_proxy):
    farm = [Parent(name.encode(), [ok(name.encode(), FRESH)]) for name in ('store-a', 'store-b', 'out-a', 'out-b')]
    old = Parent(b'old', [ok(b'old'), HANG])
    try:
        p = load('parent-farm', **{f'origin{i or ""}': f.port for i, f in zip((0, 2, 3, 4, 5), (*farm, old))})
        soon(lambda: len(farm[2].connections) == 2, 'two are kept ready')
        with p.connect() as c:
            urls = [f'http://site{i}.test/{i}' for i in range(30)]
            got = [c.get(u).body for u in urls]
            assert set(got) == {b'store-a', b'store-b'} and got.count(b'store-b') > got.count(b'store-a')
            assert [c.get(u).body for u in urls] == got and farm[0].one.count + farm[1].one.count == 30, 'each stored once'
            assert [c.get(f'http://x.test/a.php?n={i}').body for i in range(4)] == [b'out-a', b'out-b'] * 2
            assert [c.get('http://x.test/a.php?n=1').body for i in range(2)] == [b'out-a', b'out-b'], 'and not stored'
            assert c.ask('POST', 'http://x.test/cgi-bin/a', body=b'x').body == b'out-a', 'what has no answer yet goes there, too'
            assert c.get('http://q.reports.test/?a').body == b'old'
            tasks = [Task(p.get, 'http://q.reports.test/b')]
            old.one.wait(2)
            assert c.get('http://q.reports.test/c').get('X-Squid-Error').split()[0] == 'ERR_CANNOT_FORWARD', 'one at a time'
        old.close()
        assert tasks[0].result().status in (502, 503)
        p.stop()
    finally:
        for o in farm:
            o.close()
        old.closing.set()


def test_sticky_exits(load):
    exits = [Parent(name.encode()) for name in ('user-1', 'user-2', 'net-1', 'net-2')]
    listed = free_port()
    try:
        p = load('sticky-exits', port2=listed, **{f'origin{i or ""}': e.port for i, e in zip((0, 2, 3, 4), exits)})

        def through(get):
            """The same exit, whatever is asked for."""
            bodies = {get(f'http://site{i}.test/').body.decode() for i in range(6)}
            assert len(bodies) == 1
            return bodies.pop()
        with p.connect() as c:
            assert c.get('http://site.test/').status == 407
            assert decided(p, 'http://site.test/')[-1] == 'http_access allow by_login customers'
            assert {through(lambda u, who=who: c.get(u, login(who))) for who in HASHES} == {'user-1', 'user-2'}
        asked = exits[0].one.requests[0]
        assert asked.get('Proxy-Authorization') == 'Basic ' + token('exit', 'one')
        assert not asked.all('Via') and not asked.all('X-Forwarded-For')
        used = set()
        for n in range(64, 80):
            with Client(listed, source=f'127.0.0.{n}') as c:
                used.add(through(c.get))
        assert used == {'net-1', 'net-2'}
        with Client(listed, source='127.0.0.9') as c:
            assert c.get('http://listed.test/').status == 200
            assert decided(p, 'http://listed.test/')[-1] == 'http_access allow by_address known_hosts'
        with Client(listed) as c:
            assert c.get('http://unlisted.test/').status == 403
        assert decided(p, 'http://unlisted.test/')[-1] == 'http_access deny by_address'
        denied(p, 'CONNECT', 'mx.test:25', 'http_access deny mail')
        denied(p, 'GET', 'http://10.1.2.3/', 'http_access deny own_net')
    finally:
        for e in exits:
            e.close()


def test_exits_by_list(load, site):
    far = Origin('127.0.0.9')
    try:
        page, there, second = put(site, '/a', ok(b'x', 'Server: X')), put(far, '/a', ok(b'x')), free_port()
        p = load('exits-by-list', 'www.fr.test', 'www.us.test', 'abuse7.test', port2=second)
        fields = ('User-Agent: Mozilla/5.0', 'Referer: http://a.test/', 'X-Forwarded-For: 192.0.2.1', 'DNT: 1', 'Cookie: a=b',
                  'Accept-Language: fr')

        def exit_of(url, user, page=page, port=p.port):
            with Client(port) as c:
                r = c.get(url, login(user), *fields, 'Cache-Control: no-cache')
                assert r.status == 200 and not r.all('Server') and not r.all('X-Cache') and not r.all('Via')
            asked = page.requests[-1]
            assert sorted(n for n, _ in asked.fields) == \
                ['Accept-Language', 'Cache-Control', 'Cookie', 'Host']
            return asked.client
        fr, us = (f'http://www.{c}.test:{site.port}/a' for c in ('fr', 'us'))
        assert exit_of(fr, 'ann') == '127.0.0.31'
        assert exit_of(there.url, 'ann', there) == '127.0.0.32'
        assert exit_of(us, 'ann') == '127.0.0.33'
        assert exit_of(us, 'dora') == '127.0.0.34'
        assert exit_of(us, 'dora', port=second) == '127.0.0.35'
        denied(p, 'GET', f'http://abuse7.test:{site.port}/', 'http_access deny abuse')
        for url in (f'http://www.us.test:{site.port}/PIXEL.gif', 'http://tracker.test/'):
            with p.connect() as c:
                c.send(request('GET', url))
                assert c.is_closed()
            assert decided(p, url)[-1] == 'http_access deny trackers'
    finally:
        far.close()


def test_branch_proxies(load, site):
    page = put(site, '/a', ok(b'x', 'Cache-Control: no-store'))
    p = load('branch-proxies', *(f'www.{h}.test' for h in ('kiosk', 'desk', 'any')), port2=free_port())

    def url(host):
        return f'http://www.{host}.test:{site.port}/a'

    def via(branch, client):
        return {'source': f'127.0.0.{branch}', 'fields': [f'X-Forwarded-For: {client}']}
    kiosk, rest = 'http_access allow kiosk kiosk_sites any_hours', 'http_access allow desks any_hours'
    allowed(p, url('kiosk'), kiosk, 1, 'X-Forwarded-For: 10.20.9.4', source='127.0.0.5')
    denied(p, 'GET', url('any'), 'http_access deny kiosk', **via(5, '10.20.9.4'))
    allowed(p, url('any'), rest, 2, 'X-Forwarded-For: 10.20.1.1', source='127.0.0.6')
    allowed(p, url('desk'), 'http_access allow desks intranet', 1, 'X-Forwarded-For: 10.21.0.99', source='127.0.0.5')
    denied(p, 'GET', url('any'), 'http_access deny all', 3, **via(5, '10.21.0.100'))
    denied(p, 'GET', url('any'), 'http_access deny all', 4, **via(5, '10.20.1.1, 203.0.113.7'))
    denied(p, 'GET', url('any'), 'http_access deny all', 5, **via(9, '10.20.1.1'))
    denied(p, 'GET', url('any'), 'http_access deny branch_itself', 6, source='127.0.0.5')
    assert page.requests[1].get('X-Forwarded-For') == '10.20.1.1'
    soon(lambda: p.read('branch.log').count('\n') == 8, 'all are logged')
    assert [t.split()[0] for t in p.read('branch.log').splitlines()] == \
        ['10.20.9.4', '10.20.9.4', '10.20.1.1', '10.21.0.99', '10.21.0.100', '203.0.113.7', '127.0.0.9', '127.0.0.5']


def test_split_files(load, site):
    page = put(site, '/a', ok(b'x'))
    p = load('split-files', 'www.banned.test', 'www.more.test', 'www.longer.test', 'www.any.test')

    def url(host):
        return f'http://www.{host}.test:{site.port}/a'
    for host in ('banned', 'more'):
        denied(p, 'GET', url(host), 'http_access deny banned')
    denied(p, 'PUT', url('any'), 'http_access deny uploads')
    allowed(p, url('any'), 'http_access allow here !continued', 2)
    allowed(p, url('longer'), 'http_access allow here continued')
    assert [r.get('X-Sent-By') for r in page.requests] == ['loligo-1', 'loligo-1']
    p.write('conf.d/none-yet-a.conf', 'acl closed dstdomain .longer.test\nhttp_access deny closed\n')
    p.signal(1)

    def is_denied():
        with p.connect() as c:
            return c.get(url('longer')).status == 403
    soon(is_denied, 'a file that came meanwhile counts')


def test_mirrors_once(load, site, other):
    one, two = (put(o, '/a-1.rpm', ok(b'r' * 100_000, 'Cache-Control: private')) for o in (site, other))
    index = put(site, '/repomd.xml', ok(b'i', 'Cache-Control: no-store'))
    p = load('mirrors-once', 'mirror1.test', 'mirror22.test', 'else.test')
    urls = [f'http://mirror1.test:{site.port}', f'http://mirror22.test:{other.port}']
    rule = 'http_access allow room'
    with p.connect() as c:
        part = c.get(urls[0] + one.path, 'Range: bytes=50000-50009')
        assert (part.status, len(part.body)) == (206, 10)
    one.wait_over(1)

    def is_hit():
        with p.connect() as c:
            r = c.get(urls[1] + one.path, 'Cache-Control: no-cache')
        return len(r.body) == 100_000 and r.get('X-Cache') == 'HIT from proxy.test'
    soon(is_hit, 'stored as a whole; no reload')
    assert (one.count, two.count) == (1, 0) and not one.requests[0].all('Range')
    allowed(p, f'http://else.test:{other.port}{one.path}', rule)
    assert two.count == 1, 'not a mirror'
    for n in (1, 2):
        allowed(p, f'http://else.test:{site.port}{index.path}', rule, n)
