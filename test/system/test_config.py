"""squid.conf: what loads, what is an error and how it reads, on the command line."""
import os
import re
import subprocess

import pytest

from client import soon
from origin import DEADLINE, ok
from proxy import LOLIGO, TREE, Proxy

PORT = 'http_port 127.0.0.1:{port}\n'


@pytest.fixture
def parse():
    """parse(text, **files): -k parse of a file that says just that; {dir} is its directory."""
    made = []

    def run(text, **files):
        p = Proxy(start=False)
        made.append(p)
        for name, content in files.items():
            p.write(name.replace('_', '.'), content.replace('{dir}', p.dir))
        p.configure(text, raw=True)
        r = p.k('parse')
        return r.returncode, (r.stdout + r.stderr).replace(p.dir + '/', '')
    yield run
    for p in made:
        p.remove()


def test_a_good_file(parse):
    status, said = parse(PORT + 'http_access allow all\n')
    assert status == 0, said
    assert 'error' not in said.lower() or '0 errors' in said


ERRORS = [
    ('http_acess allow all', r'squid\.conf:2:1: error: .*http_acess.*\(did you mean \'http_access\'\?\)'),
    ('acl x dstdomian .a', r'squid\.conf:2:7: error: .*dstdomian.*\(did you mean \'dstdomain\'\?\)'),
    ('acl x src 300.1.1.1', r'squid\.conf:2:11: error: .*300\.1\.1\.1'),
    ('acl x src 10.0.0.0/33', r'squid\.conf:2:\d+: error: '),
    ('acl x url_regex (unclosed', r'squid\.conf:2:\d+: error: '),
    ('acl x port 99999', r'squid\.conf:2:\d+: error: '),
    ('acl good src 10.0.0.1\nhttp_access allow goood',
     r'squid\.conf:3:19: error: .*goood.*\(did you mean \'good\'\?\)'),
    ('http_access alow all', r'squid\.conf:2:13: error: .*alow.*\(did you mean \'allow\'\?\)'),
    ('http_port 70000', r'squid\.conf:2:11: error: '),
    ('http_port 3129 acel', r'squid\.conf:2:16: error: .*acel.*\(did you mean \'accel\'\?\)'),
    ('cache_mem lots', r'squid\.conf:2:11: error: .*lots'),
    ('cache_mem 10 MiBs', r'squid\.conf:2:\d+: error: '),
    ('read_timeout 5 parsecs', r'squid\.conf:2:\d+: error: .*parsecs'),
    ('workers many', r'squid\.conf:2:9: error: .*many'),
    ('via maybe', r'squid\.conf:2:5: error: .*maybe'),
    ('forwarded_for of', r'squid\.conf:2:15: error: .*\(did you mean \'(off|on)\'\?\)'),
    ('cache_peer', r'squid\.conf:2:\d+: error: '),
    ('cache_peer 127.0.0.1 parent 80 0 orginserver', r'squid\.conf:2:34: error: .*\(did you mean \'originserver\'\?\)'),
    ('cache_peer_access nobody allow all', r'squid\.conf:2:19: error: .*nobody'),
    ('logformat mine %zz', r'squid\.conf:2:\d+: error: '),
    ('access_log stdio:/tmp/x logformat=mine', r'squid\.conf:2:\d+: error: .*mine'),
    ('refresh_pattern (. 0 20% 4320', r'squid\.conf:2:\d+: error: '),
    ('include {dir}/missing.conf', r'squid\.conf:2:9: error: .*missing\.conf'),
    ('include {dir}/squid.conf', r'error: .*(include|itself)'),
    ('acl x dstdomain "{dir}/missing.list"', r'squid\.conf:2:17: error: .*missing\.list'),
    ('ssl_bump peek all', r'squid\.conf:2:1: error: .*ssl_bump'),
    ('auth_param ntlm program /bin/true', r'squid\.conf:2:\d+: error: .*not supported: .*negotiate'),
    ('auth_param basik realm x', r"squid\.conf:2:12: error: .*basik.*\(did you mean 'Basic'\?\)"),
    ('cache_mem "5 furlongs"', r"squid\.conf:2:11: error: unknown unit 'furlongs'"),
    ('acl x urlpath_regex *.gif', r"squid\.conf:2:21: error: .*at character 1; for any text write '\.\*'"),
    ('visible_hostname', r'squid\.conf:2:\d+: error: '),
    ('cache_mem 1 MB \\\n  more', r'squid\.conf:3:3: error: '),
]


@pytest.mark.parametrize('text, expected', ERRORS, ids=[e[0][:30].replace('\n', ' ') for e in ERRORS])
def test_errors(parse, text, expected):
    status, said = parse(PORT + text + '\n')
    assert status == 1
    assert re.search(expected, said, re.M), said


def test_every_error_is_told(parse):
    status, said = parse(PORT + 'http_acess allow all\nworkers many\nacl x nonsense y\n')
    assert status == 1
    assert [m for m in re.findall(r'squid\.conf:(\d+):\d+: error', said)] == ['2', '3', '4']


@pytest.mark.parametrize('line, column', [
    ('workers many', 9), ('\tvia\tmaybe', 6), ('http_access alow all', 13), ('note caf\xc3\xa9 x\nvia nope', 5),
    ('acl caf\xc3\xa9 srcc 10.0.0.1', 11), ('via maybe\r', 5),
])
def test_the_line_is_shown_with_a_caret(parse, line, column):
    status, said = parse(PORT + line + '\n')
    line = line.split('\n')[-1].rstrip('\r').encode('latin-1')
    shown = line.replace(b'\t', b' ').decode()
    at = len(line[:column - 1].decode())
    assert status == 1
    assert re.search(rf'squid\.conf:\d:{column}: error: .*\n    {re.escape(shown)}\n    {" " * at}\^\n', said), said


def test_of_a_long_line_the_stretch_around_the_column_is_shown(parse):
    names = [f'.host{i}.caf\xc3\xa9.test' for i in range(1000)]
    line = 'acl x dstdomain ' + ' '.join([*names[:500], 'b..d', *names[500:]])
    status, said = parse(PORT + line + '\n')
    assert status == 1
    m = re.search(rf'squid\.conf:2:{line.index("b..d") + 1}: .*\n( +\.\.\..*\.\.\.)\n( +)\^\n', said)
    assert m and m[1][len(m[2]):].startswith('b..d ') and len(m[1]) < 200, said[:2000]


def test_of_a_long_line_the_end_is_shown(parse):
    status, said = parse(PORT + f'acl x src {"10.0.0.1 " * 400}10.0.0\n')
    assert status == 1
    m = re.search(r'error: .*\n( +\.\.\..*)\n( +)\^\n', said)
    assert m and m[1][len(m[2]):] == '10.0.0', said[-1000:]


def test_a_join_that_blanks_break_is_told(parse):
    status, said = parse(PORT + 'acl x dstdomain .a.test \\ \n .b.test\nacl y dstdomain .c.test \\\r\n .d.test\n')
    assert status == 1, 'the next line is none of its own'
    assert re.search(r'squid\.conf:2:25: warning: this backslash .*blanks', said), said
    assert said.count('backslash') == 1


def test_utf_16_is_called_so(parse):
    status, said = parse(''.join(map(chr, (PORT + 'via off\n').encode('utf-16'))))
    assert status == 1 and re.search(r'squid\.conf: error: .*UTF-16', said) and '1 errors' in said


def test_list_files_of_windows_editors(make_proxy, tmp_path):
    """A byte order mark doesn't hide the first value; UTF-16 is an error. Nothing else is said of who uses such an ACL."""
    names = tmp_path / 'names'
    p = make_proxy(start=False)
    p.configure(f'acl bad dstdomain "{names}"\nhttp_access deny bad')
    names.write_bytes('bad.test\r\nworse.test\r\n'.encode('utf-8-sig'))
    for name in ('bad', 'worse'):
        r = p.command('-k', 'check-access', 'GET', f'http://{name}.test/')
        assert r.returncode == 1 and f'denied by {p.conf}:2' in r.stdout
    names.write_bytes('bad.test\r\n'.encode('utf-16'))
    r = p.k('parse')
    assert r.returncode == 1 and re.search(r"squid\.conf:1:19: error: can't read the list file .*UTF-16", r.stderr)
    assert '1 errors, 0 warnings' in r.stderr
    names.unlink()
    r = p.k('parse')
    assert re.search(r"squid\.conf:1:19: error: can't read the list file .*No such file", r.stderr)
    assert '1 errors, 0 warnings' in r.stderr


def test_a_missing_page_is_told_where_it_is_named(parse):
    status, said = parse(PORT + 'acl x src 10.0.0.1\ndeny_info ERR_ACCESS_DENIED x\ndeny_info ERR_NOWHERE x\n'
                         'deny_info http://help.test/ x\n')
    assert status == 0 and re.search(r"squid\.conf:4:11: warning: .*'ERR_NOWHERE'", said), said


def test_no_line_with_a_password_is_shown(parse):
    status, said = parse(PORT + 'cachemgr_passwd hidden nosuchpage\n'
                         'cache_peer a.test parent 80 0 login=ann:hidden nosuchoption\n')
    assert status == 1 and 'hidden' not in said


def test_what_is_obsolete_says_what_to_write_today(parse):
    status, said = parse(PORT + 'hierarchy_stoplist cgi-bin\ndns_v4_first on\n')
    assert status == 0
    assert re.search(r'squid\.conf:2:1: warning: hierarchy_stoplist is obsolete, .*always_direct', said)
    assert re.search(r'squid\.conf:3:1: warning: dns_v4_first is obsolete, .*happy_eyeballs', said)


def test_a_glob_that_matches_nothing_is_no_error(parse):
    assert parse(PORT + 'include {dir}/none.d/*.conf\n')[0] == 0


def test_errors_in_included_files_name_them(parse):
    status, said = parse(PORT + 'include {dir}/part.conf\n', part_conf='\n\n  workers many\n')
    assert status == 1
    assert re.search(r'part\.conf:3:11: error: .*many', said)


def test_no_such_file():
    r = subprocess.run([LOLIGO, '-k', 'parse', '-f', '/nonexistent/squid.conf'], capture_output=True, text=True,
                       timeout=DEADLINE)
    assert r.returncode == 1
    assert '/nonexistent/squid.conf' in r.stderr and 'No such file' in r.stderr


def test_a_bad_file_does_not_start(parse):
    p = Proxy('nonsense on', start=False)
    try:
        p.start(wait=False)
        assert p.wait_end() == 1
        assert re.search(r'squid\.conf:1:1: error: ', p.read('stderr'))
    finally:
        p.remove()


@pytest.mark.parametrize('text', [
    'cache_dir ufs {dir} 100 16 256', 'unlinkd_program /bin/true', 'memory_pools off', 'pinger_enable off',
    'dns_v4_first on', 'hierarchy_stoplist cgi-bin ?', 'mail_program sendmail',
])
def test_what_means_nothing_here_is_accepted(parse, text):
    status, said = parse(PORT + text + '\n')
    assert status == 0, said
    if text.split()[0] in ('cache_dir', 'mail_program'):
        assert re.search(r'squid\.conf:2:1: warning: .*' + text.split()[0], said), 'with a clear notice'


@pytest.mark.parametrize('text', [
    'cache_mem 10MB', 'cache_mem 10 MB', 'cache_mem 10240 KB', 'read_timeout 5 minutes', 'read_timeout 5minutes',
    'read_timeout 300', 'acl a src 10.0.0.0/8 # comment', 'acl a \\\n src \\\n 10.0.0.0/8',
    'acl a src 10.0.0.0/255.0.0.0',
    'acl a dstdomain .example.com example.net', 'acl a port 80 443 1025-65535', '\n\n   # comment\n\t',
    'cache_mem\t10\tMB',
    'acl a url_regex -i ^http://x', 'refresh_pattern -i \\.gif$ 3600 90% 43200', 'logformat x "%>a" %ts.%03tu %#ru',
    'cachemgr_passwd secret all', 'cachemgr_passwd none info menu', 'forwarded_for transparent',
    'dns_nameservers 127.0.0.1 ::1',
])
def test_forms_that_load(parse, text):
    status, said = parse(PORT + text + '\nhttp_access allow all\n')
    assert status == 0, said


def test_crlf_and_a_missing_last_line_end(parse):
    status, said = parse('http_port 127.0.0.1:3128\r\nacl a \\\r\n src 10.0.0.1\r\nhttp_access allow a')
    assert status == 0, said


def test_include_with_a_pattern_and_list_files(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy(start=False)
    os.mkdir(p.path('conf.d'))
    p.write('conf.d/10-a.conf', f'acl listed dstdomain "{p.dir}/domains"\n')
    p.write('conf.d/20-b.conf', 'http_access deny listed\r\n')
    p.write('domains', '# comment\r\nblocked.test\r\n\r\n  .sub.test  # more\nlast.test')
    p.configure('include {dir}/conf.d/*.conf')
    p.start()
    for name in ('blocked.test', 'a.sub.test', 'last.test'):
        assert p.get(f'http://{name}/').status == 403, name
    assert p.get(page.url).status == 200


def test_the_printed_default_is_the_one_in_the_tree_and_loads(parse):
    printed = subprocess.run([LOLIGO, '--print-default-config'], capture_output=True, text=True, timeout=DEADLINE)
    assert printed.returncode == 0
    with open(os.path.join(TREE, 'squid.conf.default'), encoding='utf-8') as f:
        assert f.read() == printed.stdout
    status, said = parse(printed.stdout)
    assert status == 0 and '0 warnings' in said, said


@pytest.mark.skipif(not os.path.exists('/etc/squid/squid.conf'), reason="Debian's squid is not installed")
def test_debian_s_squid_conf_loads(make_proxy, origin):
    with open('/etc/squid/squid.conf', encoding='utf-8') as f:
        text = f.read()
    p = make_proxy(start=False)
    p.configure(text, raw=True)
    r = p.k('parse')
    assert r.returncode == 0 and 'error' not in r.stderr.replace('0 errors', ''), r.stderr
    # The same text, its port and its places moved, serves.
    text = re.sub(r'^http_port 3128', 'http_port 127.0.0.1:{port}', text, flags=re.M)
    text = re.sub(r'^coredump_dir.*', 'coredump_dir none', text, flags=re.M)
    p.configure(text + '\npid_filename {dir}/pid\ncache_log {dir}/cache.log\n'
                'access_log stdio:{dir}/access.log\nworkers 1\n',
                raw=True)
    p.start()
    page = origin.page(ok(b'x'))
    assert p.get(page.url).status == 200
    assert p.get('http://127.0.0.1:22/').status == 403, 'its Safe_ports'


def test_mgr_config_loads_again(make_proxy, parse):
    p = make_proxy('cachemgr_passwd none config\nacl a dstdomain .a.test\nhttp_access deny a\n'
                   'refresh_pattern . 1 20% 2\n'
                   'logformat mine %ts %>a "%ru"\nread_timeout 5 minutes')
    text = p.page('config').body.decode()
    status, said = parse(text)
    assert status == 0, said


def test_without_http_access_everything_is_denied(make_proxy):
    p = make_proxy(start=False)
    p.configure('http_port 127.0.0.1:{port}\npid_filename {dir}/pid\ncache_log {dir}/cache.log\n'
                'access_log stdio:{dir}/access.log\nworkers 1\ncoredump_dir none', raw=True)
    p.start()
    assert p.get('http://origin.test/').status == 403


@pytest.mark.parametrize('spec, expected', [
    ('%>a %rm %ru %>Hs', r'127\.0\.0\.1 GET {url} 200'),
    ('%{X-Own}>h|%{Content-Type}<h|%mt|%rv', r'mine\|text/x;%20a=b\|text/x\|1\.1'),
    ('"%"{User-Agent}>h"', r'"a \\"quoted\\" one"'),
    ('%<st %<a %Sh %Ss', r'\d+ 127\.0\.0\.1 HIER_DIRECT TCP_MISS'),
    ('%un %ui %% %6tr|', r'- - % +\d+\|'),
])
def test_logformat(make_proxy, origin, spec, expected):
    page = origin.page(ok(b'x', 'Content-Type: text/x; a=b'))
    p = make_proxy(f'logformat mine {spec}\naccess_log stdio:{{dir}}/mine.log logformat=mine')
    p.get(page.url, 'X-Own: mine', 'User-Agent: a "quoted" one')
    line = soon(lambda: p.read('mine.log'), 'a line')
    assert re.fullmatch(expected.replace('{url}', re.escape(page.url)) + '\n', line), line


def test_several_logs_and_their_acls(make_proxy, origin):
    page, other = origin.page(ok(b'x'), name='one'), origin.page(ok(b'x'), name='two')
    p = make_proxy('acl one urlpath_regex ^/one\naccess_log stdio:{dir}/one.log squid one\n'
                   'access_log {dir}/all.log common')
    p.get(page.url), p.get(other.url)
    soon(lambda: p.read('all.log').count('\n') == 2, 'both in all.log')
    assert [x.url for x in p.lines('one.log')] == [page.url]
    assert re.match(r'127\.0\.0\.1 - - \[.*\] "GET ', p.read('all.log'))


def test_nothing_injected_into_the_log(proxy, origin):
    """M04: one line a request, whatever is in it."""
    page = origin.page(ok(b'x', 'Content-Type: a b"c\td'))
    proxy.get(page.url + '?%0a%0dx')
    proxy.logged(page.url + '?')  # which reads every line there is as one of the format
