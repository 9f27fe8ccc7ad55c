"""Programs that read or move access.log: goaccess, calamaris, sarg, logrotate."""
import json
import os
import shutil
import subprocess
import threading

import pytest

from client import Task, soon
from origin import ok
from proxy import LOLIGO, needs

FRESH = 'Cache-Control: max-age=600'
AGENT = 'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:102.0) Gecko/20100101 Firefox/102.0'


def run(*args, stdin=subprocess.DEVNULL):
    r = subprocess.run([str(a) for a in args], stdin=stdin, capture_output=True, text=True, timeout=60, check=False,
                       env={**os.environ, 'LC_ALL': 'C', 'PATH': os.environ.get('PATH', '') + ':/usr/sbin:/sbin'})
    assert r.returncode == 0, f'{args}: {r.returncode}\n{r.stdout}\n{r.stderr}'
    return r.stdout


@pytest.fixture
def logs(make_proxy, origin):
    """A log of each usual format, and in each of them: 3 misses, 2 hits, an odd URL, a tunnel, an error."""
    p = make_proxy('access_log {dir}/squid.log squid\naccess_log {dir}/common.log common\n'
                   'access_log {dir}/combined.log combined\nacl blocked dstdomain blocked.test\n'
                   'http_access deny blocked')
    pages = [origin.page(ok(b'x' * 1000, FRESH, 'Content-Type: text/html')) for _ in range(3)]
    for page in (*pages, *pages[:2]):
        p.get(page.url, AGENT, 'Referer: http://ref.test/')
    p.get(pages[0].url + '?a="%20%22b', AGENT + '"\\')
    p.get('http://blocked.test/')
    with p.connect() as c:
        c.ask('CONNECT', origin.authority, f'Host: {origin.authority}')
    for name in ('squid.log', 'common.log', 'combined.log'):
        soon(lambda n=name: p.read(n).count('\n') == 8, f'8 lines in {name}')
    return p, pages


# goaccess's own SQUID is for lines that syslog put a date, a host and a program before; Squid's file fails it, too.
PLAIN_SQUID = ['--log-format=%x.%^ %~%L %h %^/%s %b %m %U %^', '--datetime-format=%s', '--date-format=%s',
               '--time-format=%s']


@needs('goaccess')
@pytest.mark.parametrize('name, options', [('squid.log', PLAIN_SQUID),
                                           ('common.log', ['--log-format=COMMON']),
                                           ('combined.log', ['--log-format=COMBINED'])])
def test_goaccess(logs, name, options):
    p, pages = logs
    run('goaccess', p.path(name), *options, '--no-global-config', '--no-progress', '-o', p.path('report.json'))
    with open(p.path('report.json'), encoding='utf-8') as f:
        report = json.load(f)
    general = report['general']
    assert (general['total_requests'], general['valid_requests'], general['failed_requests']) == (8, 8, 0)
    hits = {row['data']: row['hits']['count'] for row in report['requests']['data']}
    assert hits[pages[1].url] == 2
    statuses = {item['data'][:3]: item['hits']['count']
                for row in report['status_codes']['data'] for item in row['items']}
    assert statuses == {'200': 7, '403': 1}
    if name == 'combined.log':
        assert any('Firefox' in item['data'] for row in report['browsers']['data'] for item in row.get('items', []))


@needs('calamaris')
def test_calamaris(logs):
    """It knows every code of the log, and which of them are hits."""
    p, _ = logs
    with open(p.path('squid.log'), encoding='ascii') as f:
        report = run('calamaris', '-a', stdin=f)
    rows = {line[:40].split('  ')[0].strip(): line.split() for line in report.splitlines() if line.strip()}
    assert rows['lines parsed:'][-1] == '8' and rows['invalid lines:'][-1] == '0'
    tags = {line.split()[0]: line.split()[1] for line in report.splitlines() if line.startswith(' TCP_')}
    assert tags.items() >= {'TCP_MEM_HIT': '2', 'TCP_MISS': '4', 'TCP_TUNNEL': '1', 'TCP_DENIED': '1'}.items()
    assert 'unknown' not in report.lower()


@needs('sarg')
def test_sarg(logs):
    p, _ = logs
    p.write('sarg.conf', '')
    os.mkdir(p.path('sarg'))
    run('sarg', '-f', p.path('sarg.conf'), '-l', p.path('squid.log'), '-o', p.path('sarg') + '/')
    totals = [n for _, _, names in os.walk(p.path('sarg')) for n in names if n == 'topsites.html']
    assert totals, os.listdir(p.path('sarg'))


# --- logrotate

@needs('logrotate')
@pytest.mark.parametrize('how', ['renamed', 'by the proxy'])
@pytest.mark.parametrize('supervised', [False, True], ids=['-N', '--foreground'])
def test_logrotate_under_load(make_proxy, origin, how, supervised):
    """Debian's way (logrotate renames, rotate 0 reopens), and the proxy renaming by itself: every request has one line,
    in one of the files, and those of a connection stand in the order in which they were asked."""
    renamed = how == 'renamed'
    page = origin.page(ok(b'x', FRESH))
    p = make_proxy(f'logfile_rotate {0 if renamed else 20}\nstrip_query_terms off', supervised=supervised)
    p.write('logrotate.conf', f'''
{p.log_path} {p.path('cache.log')} {{
rotate 20
size 1
missingok
nocompress
sharedscripts
nocreate
postrotate
    test ! -e {p.path('pid')} || {LOLIGO} -k rotate -f {p.conf}
endscript
}}
''')
    os.chmod(p.path('logrotate.conf'), 0o644)
    os.chmod(p.dir, 0o755)  # logrotate refuses a directory that all may write
    if os.getuid() == 0:
        shutil.chown(p.dir, 'proxy')
    over = threading.Event()

    def ask(name):
        n = 0
        with p.connect() as c:
            while not over.is_set():
                assert c.get(f'{page.url}?{name}-{n}').status == 200
                n += 1
        return n
    tasks = {name: Task(ask, name) for name in 'abcd'}
    try:
        for i in range(6):
            soon(lambda: p.line_count() > 50, 'lines to rotate')
            if renamed:
                run('logrotate', '-s', p.path('state'), p.path('logrotate.conf'))
            else:
                assert p.k('rotate').returncode == 0
            soon(lambda n=i: os.path.exists(p.path(f'access.log.{n + renamed}')) and os.path.exists(p.log_path),
                 'the old file and the new')
    finally:
        over.set()
    asked = {name: t.result() for name, t in tasks.items()}
    files = [p.log_path + f'.{n}' for n in range(20, -1, -1)] + [p.log_path]

    def all_lines():
        lines = []
        for name in files:
            if os.path.exists(name):
                lines += p.lines(os.path.basename(name))
        return lines if len(lines) >= sum(asked.values()) else None
    lines = soon(all_lines, f'{sum(asked.values())} lines')
    for name, n in asked.items():
        numbers = [int(x.url.rpartition('-')[2]) for x in lines if f'?{name}-' in x.url]
        assert numbers == list(range(n)), f'lines of connection {name}'
    assert p.get(page.url).status == 200
