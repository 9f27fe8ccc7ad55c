"""The shape most rows of the caching rules have: the same request twice, and what became of the second.

A test belongs to a row by its name: test_s9_..., or a parameter's id that begins with "S9-". test_every_row.py has the rows."""
from typing import NamedTuple

import pytest

from origin import date, message, not_modified

FRESH = 'Cache-Control: max-age=600'
OLD = f'Last-Modified: {date(-86400)}'
# Stored, and stale from the first second on; with one of these in it, it can be validated.
SPENT = ('Cache-Control: max-age=10', 'Age: 20')
ETAG = 'ETag: "x"'

PHRASES = {200: 'OK', 204: 'No Content', 404: 'Not Found'}


def answer(n, *fields, status=200, body=None):
    """The n-th answer of an origin; which one it was shows in the field N, whatever the status allows for a body."""
    body = b'' if status in (204, 304) else b'body %d' % n if body is None else body
    own = [] if status == 204 else [f'Content-Length: {len(body)}']
    if not any(f.lower().startswith('date:') for f in fields):
        own.append(f'Date: {date()}')
    return message(f'HTTP/1.1 {status} {PHRASES.get(status, "Some Phrase")}', [*own, f'N: {n}', *fields], body)


def agrees(request, *fields):
    """Does a condition of the request name what the origin has?"""
    has = {f.partition(':')[0].lower(): f.partition(':')[2].strip() for f in fields}
    tags, since = request.all('If-None-Match'), request.get('If-Modified-Since')
    if tags:
        return has.get('etag') in [t.strip() for v in tags for t in v.split(',')]
    return since is not None and since == has.get('last-modified')


def validating(*fields, status=200, update=()):
    """A script that says the same every time, and 304 to who has it."""
    def script(x):
        if agrees(x.request, *fields):
            kept = [f for f in fields if f.lower().startswith(('etag:', 'cache-control:', 'vary:', 'expires:'))]
            return not_modified(*(update or kept))
        return answer(x.n, *fields, status=status)
    return script


def became(page, response, before=1):
    """What became of a request: nothing reached the origin, a validation that succeeded, or a whole answer."""
    if page.count == before:
        return 'hit'
    assert page.count == before + 1, f'{page.count} requests reached the origin'
    asked = page.requests[-1]
    conditional = bool(asked.all('If-None-Match') or asked.all('If-Modified-Since'))
    return 'val' if conditional and response.get('N') == str(before) else 'fetch'


class Row(NamedTuple):
    id: str  # the row's, and what is special here
    fields: list  # of the origin's answer; a callable is called when it is asked: for dates close to now
    want: str  # hit, val, fetch; miss: one of the last two
    first: tuple = ()  # fields of the requests
    again: tuple = ()
    status: int = 200
    query: str = ''


def table(*rows):
    """Parametrizes a test over Rows."""
    return pytest.mark.parametrize('row', rows, ids=[r.id.replace(' ', '-') for r in rows])


def twice(proxy, origin, row):
    """Asks twice, and says what became of the second: (what, first response, second response, page)."""
    page = origin.page(validating(*(f() if callable(f) else f for f in row.fields), status=row.status))
    with proxy.connect() as c:
        first = c.get(page.url + row.query, *row.first)
        second = c.get(page.url + row.query, *row.again)
    assert first.status == row.status and first.get('N') == '1'
    assert second.status in (row.status, 304)
    return became(page, second), first, second, page


def check(proxy, origin, row):
    what, *rest = twice(proxy, origin, row)
    assert what in (('val', 'fetch') if row.want == 'miss' else (row.want,)), what
    return rest
