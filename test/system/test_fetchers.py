"""Programs that fetch packages and sources, each at both ends of a cache: apt-get, git, pip, npm, wget, curl."""
import asyncio
import base64
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import zipfile
from email.utils import formatdate, parsedate_to_datetime

import pytest

from client import request, soon
from origin import not_modified, ok
from proxy import needs

FRESH = 'Cache-Control: max-age=600'
OLD = time.time() - 864000


def run(*args, fails=False, env=None, **options):
    """stdout and stderr of a program without proxies of its own."""
    clean = {k: v for k, v in os.environ.items() if not k.lower().endswith('_proxy')}
    r = subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=100, check=False,
                       env={**clean, 'LC_ALL': 'C', **(env or {})}, **options)
    assert (r.returncode != 0) == fails, f'{args}: {r.returncode}\n{r.stdout}'
    return r.stdout


def file_page(origin, content, *fields, path=None, modified=OLD):
    """What a web server makes of a file: it answers conditions and one range."""
    etag, last = f'"{hashlib.sha256(content).hexdigest()[:16]}"', formatdate(modified, usegmt=True)
    own = (f'ETag: {etag}', f'Last-Modified: {last}', 'Accept-Ranges: bytes', *fields)

    def answer(x):
        ask = x.request.get
        since = ask('If-Modified-Since')
        if ask('If-None-Match') == etag or (ask('If-None-Match') is None and since is not None and
                                            parsedate_to_datetime(since).timestamp() >= int(modified)):
            return not_modified(*own)
        asked = re.fullmatch(r'bytes=(\d+)-(\d*)', ask('Range') or '')
        if asked and ask('If-Range') in (None, etag, last):
            first, end = int(asked[1]), int(asked[2] or len(content) - 1)
            if first >= len(content):
                return ok(b'', f'Content-Range: bytes */{len(content)}', status='416 Range Not Satisfiable')
            return ok(content[first:end + 1], f'Content-Range: bytes {first}-{end}/{len(content)}', *own,
                      status='206 Partial Content')
        return ok(content, *own)
    page = origin.page(answer)
    if path is not None:
        origin.pages[path] = page
        page.url = f'http://origin.test:{origin.port}{path}'
    return page


# --- apt-get

class Repository:
    """A flat repository of Debian packages, their index made by apt-ftparchive, and machines that install from it."""

    def __init__(self, origin, where, n=4):
        self.origin, self.where, self.base = origin, where, origin.page(ok()).path
        self.files = where / 'files'
        self.files.mkdir()
        self.pages = {}
        for i in range(n):
            tree = where / f'pkg{i}'
            (tree / 'DEBIAN').mkdir(parents=True)
            (tree / 'DEBIAN/control').write_text(
                f'Package: loligo-test{i}\nVersion: 1.0\nArchitecture: all\nMaintainer: N <n@example.com>\n'
                'Description: nothing at all\n')
            (tree / 'data').write_bytes(os.urandom(100000))
            run('dpkg-deb', '--build', '--root-owner-group', tree, self.files / f'loligo-test{i}_1.0_all.deb')
        self.index()

    def index(self, modified=OLD):
        """Anew, as after an upload at that time."""
        (self.files / 'Release').unlink(missing_ok=True)
        packages = run('apt-ftparchive', 'packages', '.', cwd=self.files)
        (self.files / 'Packages').write_text(packages)
        (self.files / 'Packages.gz').write_bytes(gzip.compress(packages.encode(), mtime=0))
        (self.files / 'Release').write_text(run('apt-ftparchive', 'release', '.', cwd=self.files))
        for f in self.files.iterdir():
            fields = [FRESH] if f.suffix == '.deb' else ['Cache-Control: max-age=0']
            self.pages[f.name] = file_page(self.origin, f.read_bytes(), *fields, path=f'{self.base}/./{f.name}',
                                           modified=modified)

    def url(self, name):
        return f'http://origin.test:{self.origin.port}{self.base}/./{name}'

    def machine(self, proxy, *more, host='origin.test'):
        """apt-get of a machine that has nothing yet."""
        root = self.where / f'machine{time.monotonic_ns()}'
        for d in ('state/lists/partial', 'cache/archives/partial', 'etc'):
            (root / d).mkdir(parents=True)
        (root / 'etc/sources.list').write_text(f'deb [trusted=yes] http://{host}:{self.origin.port}{self.base} ./\n')
        (root / 'status').touch()
        options = {'Dir::State': root / 'state', 'Dir::State::status': root / 'status', 'Dir::Cache': root / 'cache',
                   'Dir::Etc::SourceList': root / 'etc/sources.list', 'Dir::Etc::SourceParts': '/dev/null',
                   'Dir::Etc::Parts': '/dev/null', 'Dir::Etc::Main': '/dev/null', 'Dir::Etc::Preferences': '/dev/null',
                   'Dir::Etc::PreferencesParts': '/dev/null', 'Dir::Etc::TrustedParts': '/dev/null',
                   'APT::Sandbox::User': 'root', 'Acquire::http::Proxy': f'http://127.0.0.1:{proxy.port}',
                   'Acquire::Languages': 'none', 'Acquire::Retries': '0', 'Debug::NoLocking': 'true'}
        said = [x for k, v in options.items() for x in ('-o', f'{k}={v}')] + [x for m in more for x in ('-o', m)]

        def apt(*args, fails=False):
            return run('apt-get', '-q', '-y', *said, *args, cwd=root, fails=fails)
        apt.archives = root / 'cache/archives'
        return apt


@pytest.fixture
def repository(origin, tmp_path):
    return Repository(origin, tmp_path)


APT = pytest.mark.skipif(not all(map(shutil.which, ('apt-get', 'apt-ftparchive', 'dpkg-deb'))),
                         reason='apt-get, apt-ftparchive (apt-utils) or dpkg-deb is not installed')


@APT
@pytest.mark.parametrize('depth', ['0', '10'])
def test_apt_get_installs_from_the_cache(make_proxy, repository, depth):
    p = make_proxy()
    names = [f'loligo-test{i}' for i in range(4)]
    for _ in range(2):
        apt = repository.machine(p, f'Acquire::http::Pipeline-Depth={depth}')
        apt('update')
        apt('install', '--download-only', *names)
        for n in names:
            assert (apt.archives / f'{n}_1.0_all.deb').read_bytes() == \
                (repository.files / f'{n}_1.0_all.deb').read_bytes()
    for n in names:
        assert sorted(p.codes(repository.url(f'{n}_1.0_all.deb'), 2)) == ['TCP_MEM_HIT/200', 'TCP_MISS/200']
        assert repository.pages[f'{n}_1.0_all.deb'].count == 1


@APT
def test_apt_get_resumes(make_proxy, repository):
    """Half of a package is there: only the rest comes, from the origin as from the cache."""
    p = make_proxy()
    name = 'loligo-test0_1.0_all.deb'
    whole = (repository.files / name).read_bytes()

    def resume():
        apt = repository.machine(p)
        apt('update')
        part = apt.archives / 'partial' / name
        part.write_bytes(whole[:40000])
        os.utime(part, (OLD, int(OLD)))
        apt('install', '--download-only', 'loligo-test0')
        assert (apt.archives / name).read_bytes() == whole
        return p.logged(repository.url(name), p.read('access.log').count(f'/{name} '))[-1]
    line = resume()
    assert line.status == '206' and line.size < 70000
    fetched = repository.machine(p)
    fetched('update')
    fetched('install', '--download-only', 'loligo-test0')
    line = resume()
    assert line.what == 'TCP_MEM_HIT/206' and line.size < 70000


@APT
def test_apt_get_update_again(make_proxy, repository):
    """Lists that it has are asked for with If-Modified-Since; a new Release reaches it."""
    p = make_proxy()
    apt = repository.machine(p)
    assert re.search(r'^Get:\d+ .* Release ', apt('update'), re.M)
    assert re.search(r'^Hit:\d+ .* Release', apt('update'), re.M)
    assert p.logged(repository.url('Release'), 2)[1].what == 'TCP_REFRESH_UNMODIFIED/304'
    p.stop()
    p.start()
    assert re.search(r'^Hit:\d+ .* Release', apt('update'), re.M), 'with an empty cache, too'
    assert p.logged(repository.url('Release'), 3)[2].what == 'TCP_MISS/304'
    (repository.files / 'loligo-test3_1.0_all.deb').unlink()
    repository.index(modified=OLD + 60)
    assert re.search(r'^Get:\d+ .* Packages ', apt('update'), re.M)
    apt('install', '--download-only', 'loligo-test2')
    assert 'Unable to locate package' in apt('install', '--download-only', 'loligo-test3', fails=True)


@APT
def test_apt_get_past_the_proxy(make_proxy, repository):
    p = make_proxy()
    repository.machine(p, 'Acquire::http::Proxy::127.0.0.1=DIRECT', host='127.0.0.1')('update')
    assert p.line_count() == 0
    repository.machine(p, host='127.0.0.1')('update')
    assert p.line_count() > 0


# --- git

class Git:
    """A repository behind git http-backend, which the origin runs as a web server runs CGI."""

    def __init__(self, origin, where):
        self.where, self.base = where, origin.page(ok()).path
        self.bare = where / 'served/repo.git'
        self.env = {'GIT_CONFIG_GLOBAL': '/dev/null', 'GIT_CONFIG_SYSTEM': '/dev/null', 'HOME': str(where)}
        self.git('init', '-q', '--bare', self.bare)
        self.git('-C', self.bare, 'config', 'http.receivepack', 'true')
        self.url = f'http://origin.test:{origin.port}{self.base}/repo.git'
        self.requests = []
        for name in ('info/refs', 'git-upload-pack', 'git-receive-pack', 'HEAD'):
            page = origin.page(self.cgi)
            origin.pages[f'{self.base}/repo.git/{name}'] = page

    def git(self, *args, proxy=None, **options):
        return run('git', *(('-c', f'http.proxy=http://127.0.0.1:{proxy.port}') if proxy else ()),
                   '-c', 'user.name=n', '-c', 'user.email=n@example.com', '-c', 'init.defaultBranch=main',
                   '-c', 'safe.directory=*', *args, env=self.env, **options)

    def cgi(self, x):
        r = x.request
        self.requests.append(r)
        path, _, query = r.target.partition('?')
        env = {**os.environ, **self.env, 'GIT_PROJECT_ROOT': str(self.where / 'served'), 'GIT_HTTP_EXPORT_ALL': '1',
               'PATH_INFO': path.removeprefix(self.base), 'QUERY_STRING': query, 'REQUEST_METHOD': r.method,
               'CONTENT_TYPE': r.get('Content-Type') or '', 'CONTENT_LENGTH': str(len(r.body)),
               'REMOTE_ADDR': '127.0.0.1', 'HTTP_CONTENT_ENCODING': r.get('Content-Encoding') or '',
               'GIT_PROTOCOL': r.get('Git-Protocol') or '', 'GIT_CONFIG_COUNT': '1',
               'GIT_CONFIG_KEY_0': 'safe.directory', 'GIT_CONFIG_VALUE_0': '*'}
        out = subprocess.run(['git', 'http-backend'], input=r.body, capture_output=True, env=env, timeout=60,
                             check=False).stdout
        fields, _, body = out.partition(b'\r\n\r\n')
        fields = fields.decode().split('\r\n')
        status = next((f[8:] for f in fields if f.startswith('Status: ')), '200 OK')
        return ok(body, *[f for f in fields if not f.startswith('Status: ')], status=status)


@needs('git')
@pytest.mark.parametrize('version', ['0', '2'])
def test_git(proxy, origin, tmp_path, version):
    """Push, clone, fetch; the pack that is pushed exceeds http.postBuffer and so comes in chunks."""
    g = Git(origin, tmp_path)

    def git(*args):
        return g.git('-c', f'protocol.version={version}', '-c', 'http.postBuffer=65536', *args, proxy=proxy)
    first, second = tmp_path / 'first', tmp_path / 'second'
    g.git('init', '-q', first)
    (first / 'large').write_bytes(os.urandom(1500000))
    g.git('-C', first, 'add', '.')
    g.git('-C', first, 'commit', '-qm', 'one')
    git('-C', first, 'push', '-q', g.url, 'HEAD:refs/heads/main')
    assert any(r.get('Transfer-Encoding') == 'chunked' and len(r.body) > 1500000 for r in g.requests)
    git('clone', '-q', g.url, second)
    assert (second / 'large').read_bytes() == (first / 'large').read_bytes()
    (first / 'small').write_text('small')
    g.git('-C', first, 'add', '.')
    g.git('-C', first, 'commit', '-qm', 'two')
    git('-C', first, 'push', '-q', g.url, 'HEAD:refs/heads/main')
    git('-C', second, 'pull', '-q')
    assert (second / 'small').read_text() == 'small'
    lines = [line for line in proxy.lines() if line.url.startswith(g.url)]
    assert {line.what for line in lines} == {'TCP_MISS/200'}, 'git says that nothing of this is to be kept'


# --- pip

def wheel(name, extra):
    data = io.BytesIO()
    with zipfile.ZipFile(data, 'w') as z:
        info = f'{name}-1.0.dist-info'
        files = {f'{name}.py': 'x = 1\n', 'blob': extra,
                 f'{info}/METADATA': f'Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n',
                 f'{info}/WHEEL': 'Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n'}
        for n, content in files.items():
            z.writestr(n, content)
        z.writestr(f'{info}/RECORD', ''.join(f'{n},,\n' for n in files))
    return data.getvalue()


PIP = pytest.mark.skipif(subprocess.run([sys.executable, '-m', 'pip', '--version'], capture_output=True,
                                        check=False).returncode != 0, reason='pip is not installed')


@PIP
def test_pip_download(proxy, origin, tmp_path):
    content = wheel('loligotest', os.urandom(200000))
    file = 'loligotest-1.0-py3-none-any.whl'
    base = origin.page(ok()).path
    package = file_page(origin, content, FRESH, path=f'{base}/{file}')
    link = f'../../{base[1:]}/{file}#sha256={hashlib.sha256(content).hexdigest()}'
    index = f'<!DOCTYPE html><html><body><a href="{link}">{file}</a></body></html>'.encode()
    file_page(origin, index, 'Cache-Control: max-age=0', 'Content-Type: text/html', path=f'{base}s/loligotest/')
    for i in (1, 2):
        run(sys.executable, '-m', 'pip', '--isolated', 'download', '--disable-pip-version-check', '--no-cache-dir',
            '--no-deps', '--proxy', f'http://127.0.0.1:{proxy.port}', '--trusted-host', 'origin.test', '--retries', '0',
            '-d', tmp_path / str(i), '-i', f'http://origin.test:{origin.port}{base}s/', 'loligotest')
        assert (tmp_path / str(i) / file).read_bytes() == content
    assert proxy.codes(package.url, 2) == ['TCP_MISS/200', 'TCP_MEM_HIT/200']
    assert package.count == 1


# --- npm

@needs('npm')
def test_npm_install(proxy, origin, tmp_path):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode='w:gz') as tar:
        about = b'{"name":"loligotest","version":"1.0.0"}'
        for name, content in (('package.json', about), ('blob', os.urandom(200000))):
            info = tarfile.TarInfo(f'package/{name}')
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    content = data.getvalue()
    base = origin.page(ok()).path
    tarball = file_page(origin, content, FRESH, 'Content-Type: application/octet-stream',
                        path=f'{base}/loligotest/-/loligotest-1.0.0.tgz')
    integrity = 'sha512-' + base64.b64encode(hashlib.sha512(content).digest()).decode()
    about = {'name': 'loligotest', 'version': '1.0.0', 'dist': {'tarball': tarball.url, 'integrity': integrity}}
    document = {'name': 'loligotest', 'dist-tags': {'latest': '1.0.0'}, 'versions': {'1.0.0': about}}
    file_page(origin, json.dumps(document).encode(), 'Cache-Control: max-age=0', 'Content-Type: application/json',
              path=f'{base}/loligotest')
    for i in (1, 2):
        where = tmp_path / str(i)
        where.mkdir()
        (where / 'package.json').write_text('{"name":"user","version":"1.0.0"}')
        run('npm', 'install', '--registry', f'http://origin.test:{origin.port}{base}/', '--proxy',
            f'http://127.0.0.1:{proxy.port}', '--noproxy', '', '--no-audit', '--no-fund', '--no-update-notifier',
            '--fetch-retries', '0', '--cache', where / 'cache', '--userconfig', '/dev/null', 'loligotest', cwd=where)
        assert (where / 'node_modules/loligotest/blob').stat().st_size == 200000
    assert proxy.codes(tarball.url, 2) == ['TCP_MISS/200', 'TCP_MEM_HIT/200']
    assert tarball.count == 1


# --- wget, curl

def wget(p, *args, **options):
    return run('wget', '--no-config', '-e', 'use_proxy=yes', '-e', f'http_proxy=http://127.0.0.1:{p.port}', '-t', '1',
               *args, **options)


@needs('wget')
def test_wget_resumes(proxy, origin, tmp_path):
    """From the origin, then from the cache; a file that is whole is left alone; -N asks with If-Modified-Since."""
    content = os.urandom(300000)
    page = file_page(origin, content, FRESH)
    file = tmp_path / page.path[1:]
    for whole in (False, True):
        file.write_bytes(content[:100000])
        wget(proxy, '-q', '-c', page.url, cwd=tmp_path)
        assert file.read_bytes() == content
        if not whole:
            assert wget(proxy, '-q', '-O', '/dev/null', page.url) == ''
    wget(proxy, '-c', page.url, cwd=tmp_path)
    assert file.read_bytes() == content
    assert proxy.codes(page.url, 4)[2:] == ['TCP_MEM_HIT/206', 'TCP_MEM_HIT/416']
    file.unlink()
    for _ in range(2):
        wget(proxy, '-q', '-N', page.url, cwd=tmp_path)
    assert proxy.codes(page.url, 6)[4:] == ['TCP_MEM_HIT/200', 'TCP_IMS_HIT/304']


def curl(p, *args, **options):
    return run('curl', '-sS', '-m', '60', '--noproxy', '', '-x', f'http://127.0.0.1:{p.port}', *args, **options)


@needs('curl')
def test_curl_with_a_proxy_user(make_proxy, origin):
    """The name is for the proxy and no business of the origin's; a wrong one gets nowhere, through a tunnel neither."""
    page = origin.page(ok(b'inside'))
    p = make_proxy('auth_param basic file {dir}/users\nacl known proxy_auth REQUIRED\nhttp_access allow known\n'
                   'http_access deny all', start=False)
    p.write('users', 'ann:' + run('openssl', 'passwd', '-6', 'secret'))
    p.start()
    for tunnel in ((), ('-p',)):
        assert curl(p, *tunnel, '--proxy-user', 'ann:secret', page.url) == 'inside'
        curl(p, *tunnel, '-f', '--proxy-user', 'ann:wrong', page.url, fails=True)
    assert curl(p, '--proxy-anyauth', '--proxy-user', 'ann:secret', page.url) == 'inside'
    assert page.count == 3 and not any(r.all('Proxy-Authorization') for r in page.requests)
    # A tunnel, and what came through it, is one line.
    lines = soon(lambda: len(p.lines()) >= 6 and p.lines(), 'a line for each')
    assert sorted(line.what for line in lines) == ['TCP_DENIED/407'] * 3 + ['TCP_MISS/200'] * 2 + ['TCP_TUNNEL/200']
    assert {line.user for line in lines if line.status == '200'} == {'ann'}


@needs('curl')
def test_curl_with_a_proxy_header(make_proxy, origin):
    """It comes with the CONNECT, and the origin sees nothing of it."""
    page = origin.page(ok(b'x'))
    p = make_proxy('acl pass req_header X-Pass ^yes$\nacl tunnel method CONNECT\nhttp_access deny tunnel !pass')
    assert curl(p, '-p', '--proxy-header', 'X-Pass: yes', page.url) == 'x'
    curl(p, '-p', '-H', 'X-Pass: yes', page.url, fails=True)
    assert page.count == 1 and page.requests[0].get('X-Pass') is None


@needs('curl')
def test_curl_expects_100_continue_in_chunks(proxy, origin, tmp_path):
    data = tmp_path / 'data'
    data.write_bytes(os.urandom(2000000))
    page = origin.page([b'HTTP/1.1 100 Continue\r\n\r\n', lambda x: ok(b'%d' % len(x.read_body()))], early=True)
    assert curl(proxy, '-H', 'Expect: 100-continue', '-H', 'Transfer-Encoding: chunked', '--expect100-timeout', '50',
                '--data-binary', f'@{data}', page.url) == '2000000'
    assert page.requests[0].get('Expect') == '100-continue'


def tunnel(p, port):
    """The socket of a tunnel to a port of this machine."""
    c = p.connect()
    c.send(request('CONNECT', f'127.0.0.1:{port}', f'Host: 127.0.0.1:{port}'))
    assert c.response('CONNECT').status == 200 and not c.reader.waiting
    c.sock.setblocking(False)
    return c.sock


def test_websocket_in_a_tunnel(proxy):
    """As programs other than browsers open ws: through a proxy."""
    websockets = pytest.importorskip('websockets')

    async def talk():
        async def echo(ws, *_):
            async for word in ws:
                await ws.send(word[::-1])
        async with websockets.serve(echo, '127.0.0.1', 0) as server:
            port = server.sockets[0].getsockname()[1]
            loop = asyncio.get_running_loop()
            sock = await loop.run_in_executor(None, tunnel, proxy, port)
            async with websockets.connect(f'ws://127.0.0.1:{port}/', sock=sock) as ws:
                for word in ('abc', 'x' * 100000):
                    await ws.send(word)
                    assert await ws.recv() == word[::-1]
    asyncio.run(talk())
