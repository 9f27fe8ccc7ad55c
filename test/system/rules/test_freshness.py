"""Caching rules F (lifetime), D (dates), A (age), H (heuristics)."""
import shutil
import subprocess
import time

import pytest

from origin import date, message
from proxy import is_sanitized
from rows import ETAG, FRESH, OLD, SPENT, Row, answer, became, check, table, twice, validating

AGED = 'Age: 5'
DAY = 86400


def expires(id, value, want, *more):
    return Row(id, [f'Expires: {value}', *more], want)


def ims(offset=3600, form='%a, %d %b %Y %H:%M:%S GMT'):
    return time.strftime(form, time.gmtime(time.time() + offset))


@table(
    Row('F1 s-maxage before Expires', ['Cache-Control: s-maxage=600', f'Expires: {date(-600)}'], 'hit'),
    Row('F1 max-age before heuristics', ['Cache-Control: max-age=0', OLD], 'val'),
    Row('F1 Expires before heuristics', [f'Expires: {date(-10)}', OLD], 'val'),
    Row('F1 heuristics', [OLD], 'hit'),
    Row('F2 past Expires', ['Cache-Control: max-age=3600', f'Expires: {date(-3600)}'], 'hit'),
    Row('F2 invalid Expires', ['Cache-Control: max-age=3600', 'Expires: 0'], 'hit'),
    Row('F2 future Expires', ['Cache-Control: max-age=0', f'Expires: {date(3600)}'], 'fetch'),
    Row('F3 s-maxage last', ['Cache-Control: max-age=3600, s-maxage=1', AGED], 'fetch'),
    Row('F3 s-maxage first', ['Cache-Control: s-maxage=1, max-age=3600', AGED], 'fetch'),
    Row('F3 larger s-maxage last', ['Cache-Control: max-age=1, s-maxage=3600', AGED], 'hit'),
    Row('F3 larger s-maxage first', ['Cache-Control: s-maxage=3600, max-age=1', AGED], 'hit'),
    Row('F3 two lines', ['Cache-Control: max-age=1', 'Cache-Control: s-maxage=3600', AGED], 'hit'),
    Row('F3 two lines the other way', ['Cache-Control: s-maxage=1', 'Cache-Control: max-age=3600', AGED], 'fetch'),
    Row('F3 past Expires', ['Cache-Control: max-age=0, s-maxage=3600', f'Expires: {date(-3600)}'], 'hit'),
    Row('F4 zero', ['Cache-Control: max-age=0'], 'fetch'),
    Row('F4 equal ages', ['Cache-Control: max-age=5', AGED], 'fetch'),
    Row('F4 equal dates', [f'Expires: {date(-1)}', f'Date: {date(-1)}'], 'fetch'),
    Row('F5 Date beyond Expires', [f'Expires: {date(300)}', f'Date: {date(400)}'], 'fetch'),
    Row('F5 a fast clock', [lambda: f'Expires: {date(300)}', lambda: f'Date: {date(200)}', 'Age: 90'], 'hit'),
    Row('F5 a slow clock', [f'Expires: {date(-300)}', f'Date: {date(-400)}'], 'fetch'),
    Row('F6 Date is none', [lambda: f'Expires: {date(100)}', 'Date: foo'], 'hit'),
    Row('F7 must-revalidate fresh', ['Cache-Control: max-age=10000, must-revalidate'], 'hit'),
    Row('F7 proxy-revalidate fresh', ['Cache-Control: max-age=10000, proxy-revalidate'], 'hit'),
    Row('F7 must-revalidate stale', ['Cache-Control: max-age=1, must-revalidate', AGED, ETAG], 'val'),
    Row('F8 immutable alone', ['Cache-Control: immutable'], 'fetch'),
    Row('F8 immutable and stale', ['Cache-Control: immutable, max-age=1', AGED, ETAG], 'val'),
    Row('F8 immutable and reloaded', ['Cache-Control: immutable, max-age=600', ETAG], 'val', again=('Cache-Control: no-cache',)),
    expires('D1 IMF-fixdate', ims(), 'hit'),
    expires('D1 RFC 850', 'Thursday, 18-Aug-50 02:01:18 GMT', 'hit'),
    expires('D1 RFC 850 of last century', 'Wednesday, 18-Aug-99 02:01:18 GMT', 'fetch'),
    expires('D1 asctime', 'Mon Aug  8 02:01:18 2050', 'hit'),
    expires('D1 asctime with two digits', 'Thu Aug 18 02:01:18 2050', 'hit'),
    expires('D2 letter case', 'THU, 18 AUG 2050 02:01:18 GMT', 'hit'),
    expires('D2 zone', 'Thu, 18 Aug 2050 02:01:18 gMT', 'hit'),
    expires('D2 lower', 'thu, 18 aug 2050 02:01:18 gmt', 'hit'),
    expires('D3 UTC', 'Thu, 18 Aug 2050 02:01:18 UTC', 'fetch'),
    expires('D3 AEST', 'Thu, 18 Aug 2050 02:01:18 AEST', 'fetch'),
    expires('D3 +0000', 'Thu, 18 Aug 2050 02:01:18 +0000', 'fetch'),
    expires('D3 no zone', 'Thu, 18 Aug 2050 02:01:18', 'fetch'),
    expires('D3 asctime with one', 'Thu Aug 18 02:01:18 2050 GMT', 'fetch'),
    *(expires(f'D4 {why}', value, 'miss', OLD) for why, value in (
        ('two-digit year', 'Thu, 18 Aug 50 02:01:18 GMT'), ('no comma', 'Thu 18 Aug 2050 02:01:18 GMT'),
        ('two blanks', 'Thu, 18  Aug 2050 02:01:18 GMT'), ('two blanks behind comma', 'Thu,  18 Aug 2050 02:01:18 GMT'),
        ('dashes', 'Thu, 18-Aug-2050 02:01:18 GMT'), ('dots', 'Thu, 18 Aug 2050 02.01.18 GMT'),
        ('one-digit hour', 'Thu, 18 Aug 2050 2:01:18 GMT'), ('0', '0'), ('-1', '-1'), ('empty', ''),
        ('trailing text', 'Thu, 18 Aug 2050 02:01:18 GMT x'))),
    Row('D5 two lines', [f'Expires: {date(600)}', f'Expires: {date(600)}'], 'fetch'),
    expires('D5 a list', f'{date(600)}, {date(600)}', 'fetch'),
    expires('D6 2038', 'Tue, 19 Jan 2038 14:14:08 GMT', 'hit'),
    expires('D6 2286', 'Sun, 21 Nov 2286 04:46:39 GMT', 'hit'),
    expires('D6 9999', 'Fri, 31 Dec 9999 23:59:59 GMT', 'hit'),
    expires('D6 leap second', 'Thu, 18 Aug 2050 23:59:60 GMT', 'hit'),
    expires('D6 second 61', 'Thu, 18 Aug 2050 23:59:61 GMT', 'fetch'),
    expires('D6 day 32', 'Thu, 32 Aug 2050 02:01:18 GMT', 'fetch'),
    expires('D6 day 0', 'Thu, 00 Aug 2050 02:01:18 GMT', 'fetch'),
    expires('D6 30 February', 'Wed, 30 Feb 2050 02:01:18 GMT', 'fetch'),
    expires('D6 month', 'Thu, 18 Foo 2050 02:01:18 GMT', 'fetch'),
    expires('D6 hour 24', 'Thu, 18 Aug 2050 24:01:18 GMT', 'fetch'),
    expires('D6 minute 60', 'Thu, 18 Aug 2050 02:60:18 GMT', 'fetch'),
    expires('D7 another weekday', 'Mon, 18 Aug 2050 02:01:18 GMT', 'hit'),
    Row('D8 Date', [lambda: f'Expires: {date(100)}', 'Date: 2026-12-01'], 'hit'),
    Row('D8 Last-Modified', ['Last-Modified: last year'], 'fetch'),
    Row('A1 an old Date', [f'Date: {date(-7200)}', 'Cache-Control: max-age=3600'], 'fetch'),
    Row('A1 Date in the future', [f'Date: {date(7200)}', 'Cache-Control: max-age=3600'], 'hit'),
    Row('A1 the larger of both', [f'Date: {date(-100)}', 'Age: 50', 'Cache-Control: max-age=90'], 'fetch'),
    Row('A1 the other is larger', [f'Date: {date(-50)}', 'Age: 100', 'Cache-Control: max-age=90'], 'fetch'),
    Row('A2 beyond max-age', ['Age: 7200', 'Cache-Control: max-age=3600'], 'fetch'),
    Row('A2 slow clock', [f'Date: {date(-10)}', f'Expires: {date(10)}', 'Age: 25'], 'fetch'),
    Row('A2 fast clock', [f'Date: {date(10)}', f'Expires: {date(20)}', 'Age: 15'], 'fetch'),
    *(Row(f'A5 {value}', [f'Age: {value}', 'Cache-Control: max-age=3600'], want) for value, want in (
        ('7200, 0', 'fetch'), ('0, 7200', 'hit'), ('0, 0', 'hit'))),
    Row('A5 3600, 3600', ['Age: 3600, 3600', 'Cache-Control: max-age=10000'], 'hit'),
    Row('A5 lines 7200 0', ['Age: 7200', 'Age: 0', 'Cache-Control: max-age=3600'], 'fetch'),
    Row('A5 lines 0 7200', ['Age: 0', 'Age: 7200', 'Cache-Control: max-age=3600'], 'hit'),
    *(Row(f'A6 {value}', [f'Age: {value}', 'Cache-Control: max-age=3600'], 'hit') for value in (
        'abc', '-7200', '7200.0', '7200;foo=bar', '7200;foo=111', '+7200', '0x7200')),
    *(Row(f'A7 {value}', [f'Age: {value}', 'Cache-Control: max-age=3600'], 'fetch') for value in (
        '2147483647', '2147483648', '2147483649', '4294967296', '9' * 30, '18446744073709551616')),
    *(Row(f'H1 {s}', [OLD], 'hit', status=s) for s in (200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501)),
    Row('H1 599 public', [OLD, 'Cache-Control: public'], 'hit', status=599),
    Row('H1 not without Last-Modified', [ETAG], 'val'),
    Row('H1 not with Expires', [OLD, f'Expires: {date(-1)}'], 'val'),
    *(Row(f'H2 {s}', [OLD], 'fetch', status=s) for s in (
        201, 202, 302, 303, 307, 400, 403, 500, 502, 503, 504, 599, 299, 418)),
    *(Row(f'H3 {n} s', [lambda n=n: f'Last-Modified: {date(-n)}', 'Age: 3'], want) for n, want in (
        (5, 'val'), (10, 'val'), (30, 'hit'), (100, 'hit'))),
    Row('H3 in the future', [f'Last-Modified: {date(600)}'], 'val'),
    Row('H3 beyond the cap', [f'Last-Modified: {date(-100 * DAY)}', f'Age: {3 * DAY + 1}'], 'val'),
    Row('H3 within the cap', [f'Last-Modified: {date(-100 * DAY)}', f'Age: {3 * DAY - 60}'], 'hit'),
    Row('H4 a query', [OLD], 'hit', query='?a=b'),
    Row('H5 Content-Disposition', [OLD, 'Content-Disposition: attachment; filename="x"'], 'hit'),
    Row('H6 Pragma and max-age', [FRESH, 'Pragma: no-cache'], 'hit'),
    Row('H6 Pragma and Last-Modified', [OLD, 'Pragma: no-cache'], 'hit'),
)
def test_freshness(proxy, origin, row):
    check(proxy, origin, row)


def test_f9_overrides_where_configured(make_proxy, origin):
    fields = ['Cache-Control: max-age=1', 'Age: 5']
    keep, plain = origin.page(validating(*fields), name='keep'), origin.page(validating(*fields))
    p = make_proxy('refresh_pattern ^http://[^/]*/keep 10 20% 4320 override-expire\nrefresh_pattern . 0 20% 4320')
    with p.connect() as c:
        assert [c.get(keep.url).get('N') for _ in range(2)] == ['1', '1']
        assert [c.get(plain.url).get('N') for _ in range(2)] == ['1', '2']


@pytest.mark.parametrize('value', ['yesterday', '0', '', f'{date()}, {date()}', f'{date()}x'])
def test_d8_no_if_modified_since(proxy, origin, value):
    page = origin.page(validating(FRESH, OLD))
    with proxy.connect() as c:
        c.get(page.url)
        assert c.get(page.url, f'If-Modified-Since: {value}').status == 200
    assert page.count == 1


def test_a3_what_time_does(proxy, origin):
    """The rows that time has to pass for (A1, A3, A4, F4), all in the same second."""
    spent, aged, plain, taken, delayed = (origin.page(validating(*f)) for f in (
        ['Cache-Control: max-age=1'], [FRESH, 'Age: 30'], [FRESH], ['Cache-Control: max-age=1'], [FRESH]))
    slow = origin.page([lambda x: time.sleep(1.1), lambda x: answer(x.n, FRESH)])
    with proxy.connect() as c:
        for page in (spent, aged, plain, taken):
            c.get(page.url)
        first = c.get(slow.url)  # a second passes here
        assert first.get('Age') is None, 'A4: first-hand'
        assert c.get(delayed.url).get('Age') is None
        assert became(spent, c.get(spent.url)) == 'fetch'
        assert became(taken, c.get(taken.url, 'Cache-Control: max-stale=1000')) == 'hit', 'Q4'
        assert 31 <= int(c.get(aged.url).get('Age')) <= 40
        assert 1 <= int(c.get(plain.url).get('Age')) <= 9
        # A1: the time the answer took is age too.
        assert 1 <= int(c.get(slow.url).get('Age')) <= 9
        assert aged.count == plain.count == slow.count == 1


@table(Row('A3 Age of a hit', [FRESH, 'Age: 30'], 'hit'),
       Row('A4 first-hand', [FRESH], 'hit'))
def test_ages_shown(proxy, origin, row):
    what, first, second, _ = twice(proxy, origin, row)
    assert what == row.want
    received = next((f[5:] for f in row.fields if f.startswith('Age: ')), None)
    assert first.get('Age') == received
    if what == 'hit':
        assert int(received or 0) <= int(second.get('Age')) <= int(received or 0) + 5


def test_a3_age_behind_a_validation(proxy, origin):
    page = origin.page(validating(*SPENT, ETAG, update=[ETAG, FRESH, 'Age: 70']))
    with proxy.connect() as c:
        c.get(page.url)
        assert 70 <= int(c.get(page.url).get('Age')) <= 75
        assert 70 <= int(c.get(page.url).get('Age')) <= 75
    assert page.count == 2


def test_a8_date_and_expires_stay(proxy, origin):
    then, later = date(-100), date(600)
    page = origin.page(validating(f'Date: {then}', f'Expires: {later}'))
    bare = origin.page(lambda x: message('HTTP/1.1 200 OK', ['Content-Length: 0', FRESH]))
    with proxy.connect() as c:
        for _ in range(2):
            r = c.get(page.url)
            assert (r.get('Date'), r.get('Expires')) == (then, later)
        first, second = c.get(bare.url).get('Date'), c.get(bare.url).get('Date')
        assert first and first == second
    assert page.count == bare.count == 1


# Stands in front of the C library: the wall clock as told by a file, all other clocks as they are.
SHIM = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *t)
{
    static int (*real)(clockid_t, struct timespec *);
    long jump = 0;
    FILE *f;
    if (real == NULL)
        real = dlsym(RTLD_NEXT, "clock_gettime");
    if (real(id, t) != 0)
        return -1;
    if (id == CLOCK_REALTIME && (f = fopen(getenv("WALL_JUMP"), "r")) != NULL) {
        if (fscanf(f, "%ld", &jump) == 1)
            t->tv_sec += jump;
        fclose(f);
    }
    return 0;
}
'''


@pytest.mark.skipif(shutil.which('cc') is None or is_sanitized(), reason='puts a library in front of the C library')
def test_a9_jumps_of_the_wall_clock(make_proxy, origin):
    p = make_proxy(start=False)
    subprocess.run(['cc', '-shared', '-fPIC', '-o', p.path('shim.so'), p.write('shim.c', SHIM), '-ldl'], check=True)
    p.write('jump', '0')
    p.env = {'LD_PRELOAD': p.path('shim.so'), 'WALL_JUMP': p.path('jump')}
    p.start()
    stale, fresh = origin.page(validating(*SPENT, ETAG)), origin.page(validating(FRESH))
    with p.connect() as c:
        c.get(stale.url), c.get(fresh.url)
        p.write('jump', '-36000')
        assert became(stale, c.get(stale.url)) == 'val'
        assert became(fresh, c.get(fresh.url)) == 'hit'
        p.write('jump', '36000')
        r = c.get(fresh.url)
        assert became(fresh, r) == 'hit' and int(r.get('Age')) < 100
        # The jump is seen at all: what comes now is dated ten hours ahead.
        bare = origin.page(lambda x: message('HTTP/1.1 200 OK', ['Content-Length: 0']))
        assert c.get(bare.url).get('Date')[5:20] == date(36000)[5:20]
