"""Two workers under random traffic: hits, misses, ranges, conditions, invalidation, purges, expiry, cuts on either side. Every whole body is
the right one for its ETag, every part a part of it; afterwards the log and the counters tell of the same requests.

LOLIGO_STRESS=60 runs for a minute; with LOLIGO=build-tsan/src/loligo under ThreadSanitizer."""
import hashlib
import os
import random
import re
import socket
import threading
import time

from client import Cut, soon
from origin import CLOSE, Broken, head, message, ok

SECONDS = float(os.environ.get('LOLIGO_STRESS', '2'))
CLIENTS = 8
PAGES = 24


def content(path, version):
    size = [10, 1500, 30_000, 300_000][hash_of(path) % 4]
    seed = f'{path} {version} '.encode()
    return (seed * (size // len(seed) + 1))[:size]


def hash_of(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], 'big')


class Site:
    """Pages whose content changes; what is fresh for how long is the dice's."""

    def __init__(self, origin):
        self.version = {}
        self.dice = random.Random(7)
        self.lock = threading.Lock()
        self.pages = [origin.page(self.answer, name='stress') for _ in range(PAGES)]

    def answer(self, x):
        path = x.request.target.partition('?')[0]
        with self.lock:
            version = self.version.setdefault(path, 1)
            if self.dice.random() < 0.1:
                self.version[path] = version + 1
            throw, age = self.dice.random(), self.dice.choice([0, 0, 1, 2, 60])
        if x.request.method == 'POST':
            return message('HTTP/1.1 204 No Content')
        tag = f'"{version}"'
        fields = [f'Cache-Control: max-age={age}', f'ETag: {tag}', 'Surrogate-Key: all', f'X-Version: {version}']
        if throw < 0.1:
            fields.append('Vary: X-Vary')
        if x.request.get('If-None-Match') == tag:
            return message('HTTP/1.1 304 Not Modified', fields)
        body = content(path, version)
        if x.request.method == 'HEAD':
            return ok(b'', *fields, length=len(body))
        if throw > 0.97:
            return [head(*fields, f'Content-Length: {len(body)}'), body[:len(body) // 2], CLOSE]
        if throw > 0.8:
            half = len(body) // 2
            return [head(*fields, f'Content-Length: {len(body)}'), body[:half], body[half:]]
        return ok(body, *fields)


def check(path, r):
    if r.status not in (200, 206):
        assert r.status in (304, 404, 416, 502, 503, 504, 204), r.raw[:200]
        return
    body = content(path, int(r.get('X-Version')))
    assert r.get('ETag') == f'"{r.get("X-Version")}"'
    if r.status == 200:
        assert r.body == body, f'{path}: {len(r.body)} bytes that are not those of version {r.get("X-Version")}'
        return
    first, last, whole = map(int, re.fullmatch(r'bytes (\d+)-(\d+)/(\d+)', r.get('Content-Range')).groups())
    assert whole == len(body) and r.body == body[first:last + 1], f'{path}: a wrong part {first}-{last}'


def client(p, site, seed, until, failures):
    dice = random.Random(seed)
    c = None
    while time.monotonic() < until:
        page = dice.choice(site.pages)
        kind = dice.random()
        fields = dice.choice([[], [], [], ['Cache-Control: no-cache'], ['X-Vary: a'], ['X-Vary: b'], ['Range: bytes=5-'],
                              ['Range: bytes=-7'], ['Range: bytes=2-900'], [f'If-None-Match: "{dice.randrange(4)}"']])
        method = 'GET' if kind < 0.9 else dice.choice(['HEAD', 'POST', 'PURGE', 'PURGE'])
        if method == 'POST':
            fields = ['Content-Length: 0']
        elif method == 'PURGE':
            fields = dice.choice([[], ['Purge-Soft: 1'], ['Surrogate-Key: all'], ['Purge-Mode: prefix']])
        try:
            c = c or p.connect()
            r = c.ask(method, page.url, *fields)
            if method == 'GET':
                check(page.path, r)
            if dice.random() < 0.05 and c is not None:
                c.reset() if dice.random() < 0.5 else c.close()
                c = None
        except (Cut, Broken, ConnectionError, socket.timeout) as e:
            if isinstance(e, socket.timeout):
                failures.append(f'{method} {page.url} {fields}: no answer')
            if c is not None:
                c.close()
            c = None
        except AssertionError as e:
            failures.append(str(e))
            return
        if dice.random() < 0.02 and c is not None:  # leaves in the middle
            c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
            c.reset()
            c = None
    if c is not None:
        c.close()


def test_random_traffic(make_proxy, origin):
    p = make_proxy('workers 2\ncache_mem 8 MB\nacl purge method PURGE\nhttp_access allow purge')
    site = Site(origin)
    failures = []
    until = time.monotonic() + SECONDS
    threads = [threading.Thread(target=client, args=(p, site, seed, until, failures), daemon=True) for seed in range(CLIENTS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(SECONDS + 30)
    assert not failures, failures[:5]
    assert not any(t.is_alive() for t in threads), 'a client hangs'

    seen = []

    def settled():
        """All clients gone, all lines written, and nothing came since the last look: a worker may be in the middle of counting."""
        counters = p.counters()
        lines = [line for line in p.lines() if 'squid-internal-mgr' not in line.url]
        pages = len(p.lines()) - len(lines) - 1  # the page doesn't count the request for itself
        seen.append(len(lines))
        return seen[-1:] == seen[-2:-1] and counters['client_http.requests'] == len(lines) + pages and (counters, lines)

    counters, lines = soon(settled, 'as many lines as requests', pause=0.05)
    hits = sum(re.search(r'HIT|REFRESH_UNMODIFIED|REFRESH_FAIL_OLD', line.code) is not None and 'ABORTED' not in line.code
               for line in lines)
    aborted = sum(re.search(r'(HIT|REFRESH_UNMODIFIED|REFRESH_FAIL_OLD).*ABORTED', line.code) is not None for line in lines)
    assert hits <= counters['client_http.hits'] <= hits + aborted, (hits, aborted, counters['client_http.hits'])
    assert len(lines) > 50
