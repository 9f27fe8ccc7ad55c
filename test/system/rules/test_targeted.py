"""Caching rules G: targeted fields (RFC 9213), which an accelerator obeys instead of Cache-Control and Expires."""
import pytest

from client import request
from origin import date
from rows import ETAG, OLD, Row, answer, became, table, validating

CDN = 'CDN-Cache-Control: '
AGED = 'Age: 5'


def accel_conf(origin):
    return (f'http_port 127.0.0.1:{{port}} accel defaultsite=site.test\n'
            f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver\n')


@pytest.fixture(scope='module')
def accel(origin):
    from proxy import Proxy
    p = Proxy(accel_conf(origin))
    yield p
    try:
        p.stop()
    finally:
        p.remove()


def get(c, page, *fields, method='GET'):
    c.send(request(method, page.path, 'Host: site.test', *fields))
    return c.response(method)


def g(id, cdn, want, *more):
    lines = cdn if isinstance(cdn, list) else [cdn]
    return Row(id, [*(CDN + v for v in lines), *more], want)


CC = 'Cache-Control: '
FUTURE, PAST = f'Expires: {date(3600)}', f'Expires: {date(-3600)}'


@table(
    g('G1 the default list', 'max-age=3600', 'hit'),
    g('G2 long over short', 'max-age=3600', 'hit', CC + 'max-age=1', AGED),
    g('G2 short over long', 'max-age=1', 'fetch', CC + 'max-age=3600', AGED),
    g('G2 zero over long', 'max-age=0', 'fetch', CC + 'max-age=3600'),
    g('G2 zero over Expires', 'max-age=0', 'fetch', FUTURE),
    g('G2 over past Expires', 'max-age=3600', 'hit', PAST),
    g('G2 over invalid Expires', 'max-age=3600', 'hit', 'Expires: 0'),
    g('G2 over no-store', 'max-age=3600', 'hit', CC + 'no-store'),
    g('G2 over private', 'max-age=3600', 'hit', CC + 'private, no-cache'),
    g('G2 no-store over fresh', 'no-store', 'fetch', CC + 'max-age=3600'),
    g('G2 private over fresh', 'private', 'fetch', CC + 'max-age=3600'),
    g('G2 no-cache over fresh', 'no-cache', 'val', CC + 'max-age=3600', ETAG),
    g('G2 without a lifetime', 'foo', 'val', CC + 'max-age=3600', FUTURE, ETAG),
    g('G2 empty', '', 'hit', CC + 'max-age=3600'),
    g('G2 beats s-maxage', 'max-age=1', 'fetch', CC + 's-maxage=3600', AGED),
    g('G3 ampersands', 'max-age=10000, &&&&&', 'fetch', CC + 'no-store'),
    g('G3 blank before =', 'max-age =100', 'fetch', CC + 'max-age=1', AGED),
    g('G3 blank behind =', 'max-age= 100', 'fetch', CC + 'max-age=1', AGED),
    g('G3 upper case', 'MaX-aGe=3600', 'fetch', CC + 'max-age=1', AGED),
    g('G3 trailing comma', 'max-age=3600,', 'fetch', CC + 'max-age=1', AGED),
    g('G3 empty member', 'max-age=3600,, foo', 'fetch', CC + 'max-age=1', AGED),
    g('G3 leading comma', ', max-age=3600', 'fetch', CC + 'max-age=1', AGED),
    g('G3 unterminated string', 'max-age=3600, a="b', 'fetch', CC + 'max-age=1', AGED),
    g('G3 a bare quote', 'max-age="3600', 'hit', CC + 'max-age=600', AGED),
    g('G3 two lines', ['foo', 'max-age=3600'], 'hit', CC + 'max-age=1', AGED),
    g('G3 broken on the second line', ['max-age=3600', '&'], 'fetch', CC + 'max-age=1', AGED),
    g('G4 string for an integer', 'max-age="10000"', 'fetch'),
    g('G4 string, over Cache-Control', 'max-age="10000"', 'fetch', CC + 'max-age=3600'),
    g('G4 token for an integer', 'max-age=a', 'fetch', CC + 'max-age=3600'),
    g('G4 decimal', 'max-age=3600.0', 'fetch', CC + 'max-age=3600'),
    g('G4 negative', 'max-age=-3600', 'fetch', CC + 'max-age=3600'),
    g('G4 unknown key', 'foobar, max-age=3600', 'hit'),
    g('G4 all the types', 'a=1, b=-1.5, c="x\\"y", d=to/ken, e=:YWJj:, f=?0, g=(1 "a");p=1, h;q=?1, max-age=3600', 'hit'),
    g('G4 parameters', 'max-age=3600;foo=1;bar="a, no-store"', 'hit'),
    g('G4 last duplicate', 'max-age=1, max-age=3600', 'hit', AGED),
    g('G4 last duplicate is short', 'max-age=3600, max-age=1', 'fetch', AGED),
    g('G4 false flag', 'max-age=3600, no-store=?0', 'hit'),
    g('G4 true flag', 'max-age=3600, no-store=?1', 'fetch'),
    g('G4 no-store with a string', 'max-age=3600, no-store="x"', 'hit'),
    g('G4 a true flag taken back', 'max-age=3600, no-store, no-store=?0', 'hit'),
    g('G4 an integer without value', 'max-age', 'fetch', CC + 'max-age=3600'),
    g('G5 Age', 'max-age=3600', 'fetch', 'Age: 7200'),
    g('G5 old Date', 'max-age=3600', 'fetch', f'Date: {date(-7200)}'),
    g('G5 2147483648', 'max-age=2147483648', 'hit', AGED),
    g('G5 99999999999', 'max-age=99999999999', 'hit', AGED),
    g('G5 15 digits', 'max-age=999999999999999', 'hit', AGED),
    g('G5 16 digits', 'max-age=9999999999999999', 'fetch', CC + 'max-age=1', AGED),
    g('G6 s-maxage', 's-maxage=3600, max-age=1', 'hit', AGED),
    g('G6 must-revalidate', 'max-age=3600, must-revalidate', 'hit'),
    g('G6 public', 'public', 'hit', OLD),
    g('G7 forwarded', 'max-age=3600,   foo;  x', 'hit'),
)
def test_targeted(accel, origin, row):
    page = origin.page(validating(*row.fields))
    with accel.connect() as c:
        first, second = get(c, page), get(c, page)
    assert became(page, second) == row.want
    sent = [f.partition(': ')[2].strip() for f in row.fields if f.startswith(CDN)]
    assert first.all('CDN-Cache-Control') == sent and (row.want == 'fetch' or second.all('CDN-Cache-Control') == sent)


def test_g1_not_when_forwarding(proxy, origin):
    page, other = origin.page(validating(CDN + 'max-age=3600')), origin.page(validating(CDN + 'no-store', CC + 'max-age=600'))
    with proxy.connect() as c:
        assert [c.get(page.url).get('N') for _ in range(2)] == ['1', '2']
        assert [c.get(other.url).get('N') for _ in range(2)] == ['1', '1']


def test_g1_a_list_in_order(make_proxy, origin):
    """The first that is there and can be read decides; what isn't listed has no effect (G7)."""
    p = make_proxy(accel_conf(origin) + 'cache_control_targets Example-Cache-Control CDN-Cache-Control')
    off = make_proxy(accel_conf(origin) + 'cache_control_targets none')
    first, second, third = 'Example-Cache-Control: ', CDN, 'Surrogate-Control: '
    for fields, want in (([first + 'no-store', second + 'max-age=600'], 'fetch'), ([second + 'no-store', first + 'max-age=600'], 'hit'),
                         ([first + '&', second + 'max-age=600'], 'hit'), ([third + 'max-age=600'], 'fetch')):
        page = origin.page(validating(*fields))
        with p.connect() as c:
            get(c, page)
            assert became(page, get(c, page)) == want, fields
    page = origin.page(validating(second + 'max-age=600'))
    with off.connect() as c:
        get(c, page)
        assert became(page, get(c, page)) == 'fetch'


def test_g2_an_update(accel, origin):
    page = origin.page(validating(CDN + 'max-age=10', CC + 'max-age=3600', 'Age: 20', ETAG,
                                  update=[ETAG, CDN + 'max-age=600', CC + 'max-age=0']))
    with accel.connect() as c:
        assert [get(c, page).get('N') for _ in range(3)] == ['1'] * 3
    assert page.count == 2


def test_g4_field_lists(accel, origin):
    page = origin.page(lambda x: answer(x.n, CDN + 'max-age=600, no-cache="a", private="b"', 'a: 1', 'b: 1', 'c: 1'))
    with accel.connect() as c:
        get(c, page)
        r = get(c, page)
    assert (r.get('N'), r.get('a'), r.get('b'), r.get('c')) == ('1', None, None, '1')


@pytest.mark.parametrize('targeted, stale', [('must-revalidate', False), ('stale-if-error=3600', True)])
def test_g6_stale(accel, origin, targeted, stale):
    page = origin.page(answer(1, CDN + f'max-age=10, {targeted}', 'Age: 20', ETAG), answer(2, status=503))
    with accel.connect() as c:
        get(c, page)
        assert get(c, page).status == (200 if stale else 503)


def test_g8_what_a_hit_shows(accel, origin):
    then, later = date(-50), date(-10)
    page = origin.page(validating(CDN + 'max-age=3600', CC + 'max-age=5', f'Date: {then}', f'Expires: {later}', 'Age: 60'))
    with accel.connect() as c:
        get(c, page)
        r = get(c, page)
    assert (r.get('N'), r.get('Date'), r.get('Expires'), r.get('Cache-Control')) == ('1', then, later, 'max-age=5')
    assert 60 <= int(r.get('Age')) <= 65
