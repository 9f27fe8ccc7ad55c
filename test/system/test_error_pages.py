"""An operator's own pages and answers: error_directory, deny_info, err_page_stylesheet."""
import os
from urllib.parse import quote

import pytest

from client import Client, request
from origin import ok

JSON = 'Accept: application/json'


@pytest.fixture
def pages(tmp_path):
    os.chmod(tmp_path, 0o755)
    for p in tmp_path.parents:
        if str(p).startswith('/tmp/pytest'):
            os.chmod(p, 0o755)

    def write(name, text):
        (tmp_path / name).write_bytes(text.encode('latin-1'))
        return str(tmp_path / name)
    write.path = str(tmp_path)
    return write


def denying(pages, text, name='ERR_ACCESS_DENIED', more=''):
    pages(name, text)
    return f'error_directory {pages.path}\n{more}\nacl bad url_regex bad\nhttp_access deny bad'


def test_a_page_of_the_directory(make_proxy, pages):
    p = make_proxy(denying(pages, '<h1>No %% %c</h1>%U by %h, %M, %i, %w, 100% sure', more='cache_mgr me@x.test'))
    r = p.get('http://origin.test/bad?secret=1')
    assert (r.status, r.get('X-Squid-Error')) == (403, 'ERR_ACCESS_DENIED 0')
    assert r.body == b'<h1>No % ERR_ACCESS_DENIED</h1>http://origin.test/bad by proxy.test, GET, 127.0.0.1, me@x.test, 100% sure'
    assert r.get('Content-Type') == 'text/html;charset=utf-8'


def test_programs_get_what_they_ask_for(make_proxy, pages):
    p = make_proxy(denying(pages, 'mine'))
    assert p.get('http://origin.test/bad', JSON).get('Content-Type') == 'application/json'
    assert p.get('http://origin.test/bad', 'Accept: text/plain').body.startswith(b'Access denied\n')


def test_pages_that_are_not_there_are_built_in(make_proxy, pages):
    p = make_proxy(denying(pages, 'mine'))
    r = p.get('http://unknown.test/')
    assert r.status == 503 and b'<html' in r.body


@pytest.mark.parametrize('code, value', [
    ('%a', '-'), ('%A', '127.0.0.1'), ('%B', 'http://origin.test/bad'), ('%e', '0'), ('%E', '[No Error]'),
    ('%f%F%g%m%o%O%X%z%Z', ''), ('%H', 'origin.test'), ('%I', ''), ('%L', '<b>Ask & "us"</b> # now'),
    ('%l', 'h1{color:red}'), ('%p', '80'), ('%P', 'http'), ('%u', 'http://origin.test/bad'), ('%x', 'ERR_ACCESS_DENIED'),
    ('%D', 'denied by http_access'),
])
def test_each_code(make_proxy, pages, code, value):
    css = pages('css', 'h1{color:red}')
    more = f'err_page_stylesheet {css}\nerr_html_text <b>Ask & "us"</b>'
    p = make_proxy(denying(pages, f'[{code}]', more=more))
    assert p.get('http://origin.test/bad').body.decode() == f'[{value}]'.replace(' # now', '')


def test_the_request_without_credentials(make_proxy, pages):
    p = make_proxy(denying(pages, '[%R]'))
    r = p.get('http://origin.test/bad', 'Authorization: Basic c2VjcmV0', 'Cookie: secret=1', 'X-Tag: <b>&"\'')
    text = r.body.decode()
    assert text.startswith('[GET http://origin.test/bad HTTP/1.1\n') and 'X-Tag: &lt;b&gt;&amp;&quot;&#39;' in text
    assert 'c2VjcmV0' not in text and 'secret' not in text


def test_mail_data(make_proxy, pages):
    p = make_proxy(denying(pages, '<a href="mailto:%w%W">', more='email_err_data on'))
    text = p.get('http://origin.test/bad').body.decode()
    assert '?subject=CacheErrorInfo%20-%20ERR_ACCESS_DENIED&amp;body=CacheHost%3A%20proxy.test%0D%0A' in text
    off = make_proxy(denying(pages, '[%W]', more='email_err_data off'))
    assert off.get('http://origin.test/bad').body == b'[]'


@pytest.mark.parametrize('path', ['bad"><script>alert(1)</script>', "bad'onload=x", 'bad%0d%0aX-Injected:%20yes', 'bad&amp;'])
def test_nothing_a_client_sends_gets_out_of_its_place(make_proxy, pages, path):
    p = make_proxy(denying(pages, '<a href="%U" title=\'%B\'>%R</a>'))
    r = p.get('http://origin.test/' + path, 'X-A: "><script>')
    assert r.status in (403, 400)
    assert b'<script' not in r.body and r.get('X-Injected') is None
    if r.status == 403:
        assert r.body.count(b'"') == 2 and r.body.count(b"'") == 2


def test_stylesheet_of_the_built_in_page(make_proxy, pages):
    p = make_proxy(f"err_page_stylesheet {pages('css', 'h1{color:red}')}\nhttp_access deny all")
    assert b'h1{color:red}</style>' in p.get('http://origin.test/').body


def test_what_cannot_be_read_is_a_warning(make_proxy, pages):
    os.mkdir(os.path.join(pages.path, 'ERR_DNS_FAIL'))
    p = make_proxy(f'error_directory {pages.path}\nerr_page_stylesheet /nowhere.css\nhttp_access deny all')
    assert p.get('http://origin.test/').status == 403
    said = p.k('parse').stderr
    assert "squid.conf:1:1: warning: can't read" in said and 'ERR_DNS_FAIL' in said
    assert "squid.conf:2:1: warning: can't read '/nowhere.css': No such file or directory; built-in pages stand in" in said
    q = make_proxy('error_directory /nowhere\nhttp_access deny all')
    assert q.get('http://origin.test/').status == 403
    assert "can't open error_directory '/nowhere'" in q.k('parse').stderr


# --- deny_info


def deny(make_proxy, info, more=''):
    return make_proxy(f'acl games url_regex games\nacl ads url_regex ads\nacl nobody src 192.0.2.1\n{more}\n{info}\n'
                      'http_access deny ads games\nhttp_access deny games')


def test_a_page_by_the_last_acl(make_proxy, pages, origin):
    pages('ERR_NO_GAMES', 'no games: %c')
    p = deny(make_proxy, 'deny_info ERR_NO_GAMES games', f'error_directory {pages.path}')
    r = p.get('http://origin.test/games')
    assert (r.status, r.body, r.get('X-Squid-Error')) == (403, b'no games: ERR_NO_GAMES', 'ERR_NO_GAMES 0')
    assert p.logged('http://origin.test/games')[0].what == 'TCP_DENIED/403'
    assert p.get(origin.page(ok(b'x')).url).status == 200


@pytest.mark.parametrize('info, status', [('404:ERR_NO_GAMES', 404), ('451:ERR_NO_GAMES', 451), ('200:ERR_NO_GAMES', 200),
                                          ('503:ERR_CANNOT_FORWARD', 503), ('ERR_CANNOT_FORWARD', 403)])
def test_a_status_of_its_own(make_proxy, pages, info, status):
    pages('ERR_NO_GAMES', 'no games')
    r = deny(make_proxy, f'deny_info {info} games', f'error_directory {pages.path}').get('http://origin.test/games')
    assert r.status == status
    assert r.get('X-Squid-Error') == info.split(':')[-1] + ' 0'
    assert (b'no games' in r.body) == ('GAMES' in info)
    assert (b'None of the servers that could answer' in r.body) == ('CANNOT' in info)


def test_a_page_by_its_path(make_proxy, pages):
    path = pages('sorry.html', 'sorry, %i')
    r = deny(make_proxy, f'deny_info {path} games').get('http://origin.test/games')
    assert (r.status, r.body, r.get('X-Squid-Error')) == (403, b'sorry, 127.0.0.1', 'sorry.html 0')


@pytest.mark.parametrize('info, status', [('http://block.test/?u=%u', 302), ('303:http://block.test/?u=%u', 303),
                                          ('307:https://block.test/?u=%u', 307)])
def test_a_redirection(make_proxy, info, status):
    p = deny(make_proxy, f'deny_info {info} games')
    r = p.get('http://origin.test/games?a=1&b=c%0d%0aX:y')
    assert r.status == status
    assert r.get('Location') == info.split('http', 1)[1].join(['http', '']).replace(
        '%u', 'http%3A%2F%2Forigin.test%2Fgames%3Fa%3D1%26b%3Dc%250d%250aX%3Ay')
    assert r.get('X') is None
    assert p.lines()[-1].what == f'TCP_REDIRECT/{status}'


@pytest.mark.parametrize('code, value', [('%H', 'origin.test'), ('%i', '127.0.0.1'), ('%M', 'GET'), ('%p', '80'), ('%P', 'http'),
                                         ('%R', '%2Fgames%3Fq'), ('%w', 'webmaster'), ('%x', 'ERR_ACCESS_DENIED'), ('%%', '%'),
                                         ('%a', '-'), ('%o', ''), ('%l%L%S', '')])
def test_codes_of_a_redirection(make_proxy, code, value):
    p = deny(make_proxy, f'deny_info http://block.test/{code}/ games')
    assert p.get('http://origin.test/games?q').get('Location') == f'http://block.test/{value}/'


def test_a_reset(make_proxy, origin):
    p = deny(make_proxy, 'deny_info TCP_RESET games')
    with p.connect() as c:
        c.send(request('GET', 'http://origin.test/games'))
        with pytest.raises(ConnectionResetError):
            c.sock.recv(1)
    assert p.logged('http://origin.test/games')[0].what == 'TCP_DENIED/000'
    assert p.get(origin.page(ok(b'x')).url).status == 200


def test_the_last_acl_of_the_line_counts(make_proxy):
    p = deny(make_proxy, 'deny_info http://ads.test/ ads\ndeny_info http://games.test/ games\n')
    assert p.get('http://origin.test/ads-games').get('Location') == 'http://games.test/'
    q = make_proxy('acl ads url_regex ads\nacl games url_regex games\ndeny_info http://ads.test/ ads\nhttp_access deny games ads')
    assert q.get('http://origin.test/ads-games').get('Location') == 'http://ads.test/'


def test_denied_replies_and_tunnels(make_proxy, origin):
    p = make_proxy('acl gone http_status 410\ndeny_info http://gone.test/ gone\nhttp_reply_access deny gone\n'
                   'acl tls method CONNECT\ndeny_info 405:ERR_ACCESS_DENIED tls\nhttp_access deny tls')
    page = origin.page(ok(b'x', 'Cache-Control: max-age=60', status='410 Gone'))
    assert p.get(page.url).get('Location') == 'http://gone.test/'
    assert p.get(page.url).get('Location') == 'http://gone.test/'  # from the store
    with Client(p.port) as c:
        c.send(b'CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\n\r\n')
        assert c.response().status == 405


def test_a_denied_address(make_proxy, origin):
    """http_access is asked about the address, too."""
    p = make_proxy('acl loop dst 127.0.0.1\ndeny_info http://loop.test/ loop\nhttp_access deny loop')
    assert p.get(origin.page(ok(b'x')).url.replace('127.0.0.1', 'origin.test')).get('Location') == 'http://loop.test/'


@pytest.mark.parametrize('line, what', [
    ('deny_info ERR_X', 'deny_info needs 2 words'),
    ('deny_info ERR_X nobody', "there is no ACL 'nobody'"),
    ('deny_info 302:ERR_X all', '302 is no status for a page'),
    ('deny_info 404:http://x.test/ all', '404 is no status for a redirection'),
    ('deny_info 999:ERR_X all', '999 is no status'),
    ('deny_info 204:ERR_X all', '204 is no status'),
])
def test_what_is_no_deny_info(make_proxy, line, what):
    p = make_proxy(f'visible_hostname x\n{line}', start=False)
    done = p.k('parse')
    assert done.returncode == 1 and what in done.stderr and 'squid.conf:2:' in done.stderr


def test_a_page_that_is_nowhere_is_a_warning(make_proxy):
    p = deny(make_proxy, 'deny_info ERR_NO_GAMES games')
    assert p.get('http://origin.test/games').get('X-Squid-Error') == 'ERR_ACCESS_DENIED 0'
    assert "there is no page 'ERR_NO_GAMES' without error_directory" in p.k('parse').stderr


def test_the_line_that_decided(make_proxy, pages):
    """%r, in an operator's pages and addresses; the built-in ones don't tell."""
    p = make_proxy(denying(pages, 'denied by %r') + '\nacl gone url_regex gone\nhttp_access deny gone\n'
                   'deny_info http://help.test/?%r gone')
    line = next(n for n, t in enumerate(p.read('squid.conf').splitlines(), 1) if t == 'http_access deny bad')
    assert p.get('http://origin.test/bad').body.decode() == f'denied by {p.conf}:{line}'
    where = p.get('http://origin.test/gone').get('Location').partition('?')[2]
    assert where == quote(f'{p.conf}:{line + 2}', safe='')
    q = make_proxy('acl bad url_regex bad\nhttp_access deny bad\n')
    for more in ((), (JSON,), ('Accept: text/plain',)):
        r = q.get('http://origin.test/bad', *more)
        assert r.status == 403 and b'squid.conf' not in r.raw
