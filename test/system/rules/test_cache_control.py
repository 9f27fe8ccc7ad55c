"""Caching rules P: how Cache-Control is read."""
from origin import date
from rows import ETAG, OLD, Row, check, table

AGED = 'Age: 5'  # past a lifetime of one second, well within an hour


def cc(id, value, want, *more):
    lines = value if isinstance(value, list) else [value]
    return Row(id, [*(f'Cache-Control: {v}' for v in lines), *more], want)


@table(
    cc('P1 letter case', 'MaX-aGe=3600', 'hit'),
    cc('P1 second member', 'foobar, max-age=3600', 'hit'),
    cc('P1 empty members', ',, max-age=60,', 'hit'),
    cc('P1 blanks and tabs', ' \t,foobar \t,\t max-age=3600\t , x', 'hit'),
    cc('P1 two lines', ['foobar', 'max-age=3600'], 'hit'),
    cc('P1 a line of commas', [',,', 'max-age=3600', ''], 'hit'),
    cc('P2 in a string in front', 'extension="max-age=3600", max-age=1', 'miss', AGED),
    cc('P2 in a string behind', 'max-age=1, extension="max-age=3600"', 'miss', AGED),
    cc('P2 comma in a string', 'extension="a, no-store, b", max-age=3600', 'hit', AGED),
    cc('P2 escaped quote', r'extension="a\", max-age=3600, x=\"", max-age=1', 'miss', AGED),
    cc('P2 escaped quote and no-store', r'extension="\", no-store, \"", max-age=3600', 'hit', AGED),
    cc('P3 quoted argument', 'max-age="3600"', 'hit'),
    cc('P3 quoted s-maxage', 's-maxage="3600"', 'hit'),
    *(cc(f'P4 {why}', value, 'miss', OLD) for why, value in (
        ('minus', 'max-age=-3600'), ('plus', 'max-age=+3600'), ('blank before', 'max-age =3600'),
        ('blank behind', 'max-age= 3600'), ('apostrophes', "max-age='3600'"), ('point 0', 'max-age=3600.0'),
        ('point 5', 'max-age=3600.5'), ('letter before', 'max-age=a3600'), ('letter behind', 'max-age=3600a'),
        ('empty', 'max-age='), ('missing', 'max-age'), ('empty string', 'max-age=""'), ('s-maxage', 's-maxage=x, max-age=3600'))),
    cc('P5 leading zeros', 'max-age=003600', 'hit'),
    cc('P5 many leading zeros', 'max-age=' + '0' * 60 + '3600', 'hit'),
    *(cc(f'P6 {value}', f'max-age={value}', 'hit', AGED) for value in (
        '2147483647', '2147483648', '2147483649', '4294967296', '4294967295', '99999999999', '9223372036854775807',
        '9223372036854775808', '18446744073709551616', '9' * 40)),
    cc('P6 s-maxage', 's-maxage=' + '9' * 40, 'hit', AGED),
    cc('P7 smaller second', 'max-age=1800, max-age=1', 'miss'),
    cc('P7 larger second', 'max-age=1, max-age=1800', 'miss'),
    cc('P7 equal', 'max-age=1800, max-age=1800', 'hit'),
    cc('P7 two lines', ['max-age=1800', 'max-age=1'], 'miss'),
    cc('P7 equal on two lines', ['max-age=1800', 'max-age="1800"'], 'hit'),
    cc('P7 s-maxage', 's-maxage=1, s-maxage=1800', 'miss'),
    cc('P8 unknown', 'max-age=3600, foo, bar=baz, quux="a, b"', 'hit'),
    cc('P8 no-store with argument', 'max-age=3600, no-store=foo', 'fetch'),
    cc('P8 must-revalidate with argument', 'max-age=3600, must-revalidate="x"', 'hit'),
    cc('P8 names that only begin so', 'max-age=3600, no-storex, privat, no-cache-x', 'hit'),
    cc('P9 public no-store', 'public, no-store', 'fetch', OLD),
    cc('P9 no-store public', 'no-store, public, max-age=600', 'fetch'),
    cc('P9 public private', 'public, private, max-age=600', 'fetch'),
    cc('P9 public no-cache', 'public, no-cache, max-age=600', 'val', ETAG),
    cc('P10 max-age in it', 'x="abc, max-age=3600', 'fetch'),
    cc('P10 no-store in it', 'max-age=3600, x="abc, no-store', 'fetch'),
    cc('P10 private in it', 'max-age=3600, x="private', 'fetch'),
    cc('P10 no-cache in it', 'max-age=3600, x="no-cache', 'miss'),
    cc('P10 ends in a backslash', 'max-age=3600, x="abc\\', 'hit'),
    cc('P11 byte for byte', ' ,foo="b,\tar" , MAX-age=0600,, x ', 'hit', f'Expires: {date(600)}'),
)
def test_cache_control(proxy, origin, row):
    first, second, _ = check(proxy, origin, row)
    if row.want == 'hit':
        sent = [f.partition(':')[2].strip(' \t') for f in row.fields if f.startswith('Cache-Control:')]
        assert first.all('Cache-Control') == sent and second.all('Cache-Control') == sent
