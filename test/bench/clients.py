#!/usr/bin/env python3
"""What clients that do nothing, or little, cost: memory of each kind, and what they take from the others.

  LOLIGO=build/src/loligo python3 test/bench/clients.py [--clients 5000] [--slow 10000] [--one 10000] [--seconds 3] [--json]

new: connected, not a byte. idle: has had a hit, rests. half: 200 bytes of a head that doesn't end. tunnel: CONNECT to an
origin, nothing going through. Memory is PSS of the daemon, which doesn't count the kernel's socket buffers.
slow: that many clients send one byte of a head every now and then, all the time, while wrk asks for a hit on 10 other
connections: requests a second and the 99th percentile, without them and with them.
one: that many clients ask for one page at the same time, which isn't stored and takes the origin half a second: how many requests the
origin gets, and when the last client has its answer.
"""
import argparse
import contextlib
import json
import os
import resource
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time

HEAD = b'GET http://127.0.0.1:%d/x HTTP/1.1\r\nHost: 127.0.0.1\r\n'
CONF = """http_port 127.0.0.1:%d
http_access allow all
access_log none
cache_log %s/cache.log
pid_filename none
workers %d
coredump_dir none
request_timeout 10 minutes
"""


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Origin:
    """Answers every request with the same storable page; holds what a tunnel opens."""
    PAGE = b'HTTP/1.1 200 OK\r\nContent-Length: 1024\r\nCache-Control: max-age=3600\r\n\r\n' + b'x' * 1024

    def __init__(self):
        self.listener = socket.create_server(('127.0.0.1', 0), backlog=4096)
        self.port = self.listener.getsockname()[1]
        self.counts = {}
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        chooser = selectors.DefaultSelector()
        chooser.register(self.listener, selectors.EVENT_READ)
        while True:
            for key, _ in chooser.select():
                if key.fileobj is self.listener:
                    s, _ = self.listener.accept()
                    chooser.register(s, selectors.EVENT_READ)
                    continue
                data = b''
                with contextlib.suppress(OSError):
                    data = key.fileobj.recv(65536)
                if not data:
                    chooser.unregister(key.fileobj)
                    key.fileobj.close()
                else:
                    path = data.split(b' ', 2)[1]
                    self.counts[path] = self.counts.get(path, 0) + 1
                    if path == b'/late':
                        time.sleep(0.5)
                    key.fileobj.sendall(self.PAGE)


class Daemon:
    def __init__(self, workers):
        self.dir = tempfile.mkdtemp(prefix='clients-')
        self.port = free_port()
        conf = os.path.join(self.dir, 'squid.conf')
        with open(conf, 'w', encoding='ascii') as f:
            f.write(CONF % (self.port, self.dir, workers))
        os.chmod(self.dir, 0o777)
        self.process = subprocess.Popen([os.environ.get('LOLIGO', 'build/src/loligo'), '-N', '-f', conf])
        for _ in range(500):
            with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', self.port)):
                return
            time.sleep(0.01)
        raise SystemExit('the daemon does not answer')

    def pss(self):
        with open(f'/proc/{self.process.pid}/smaps_rollup', encoding='ascii') as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith('Pss:'))

    def connect(self):
        s = socket.create_connection(('127.0.0.1', self.port))
        s.settimeout(20)
        return s

    def stop(self):
        self.process.terminate()
        self.process.wait()


def ask(s, request, end):
    s.sendall(request)
    got = b''
    while end not in got:
        data = s.recv(65536)
        if not data:
            raise SystemExit(f'ended early: {got!r}')
        got += data


def kinds(origin):
    request = HEAD % origin.port
    connect = b'CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n' % origin.port
    return {
        'new': lambda s: None,
        'idle': lambda s: ask(s, request + b'\r\n', b'x' * 1024),
        'half': lambda s: s.sendall(request + b'X-Half: ' + b'h' * (200 - len(request) - 8)),
        'tunnel': lambda s: ask(s, connect, b'\r\n\r\n'),
    }


def memory(origin, n):
    sizes = {}
    for kind, do in kinds(origin).items():
        d = Daemon(1)
        first = []
        for size in (500, n):
            while len(first) < size:
                s = d.connect()
                do(s)
                first.append(s)
            time.sleep(0.5)  # all of it is read
            if size == 500:  # what grows once has grown
                base = d.pss()
        sizes[kind] = (d.pss() - base) / (n - 500)
        for s in first:
            s.close()
        d.stop()
    return sizes


def wrk(port, url, seconds):
    lua = tempfile.NamedTemporaryFile('w', suffix='.lua', delete=False)
    with lua:
        lua.write(f'request = function() return "GET {url} HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n" end\n')
    out = subprocess.run(['wrk', '-t1', '-c10', f'-d{seconds}', '--latency', '-s', lua.name, f'http://127.0.0.1:{port}'],
                         capture_output=True, text=True, check=True).stdout
    os.unlink(lua.name)
    words = out.split()
    return float(words[words.index('Requests/sec:') + 1]), words[words.index('99%') + 1], 'Non-2xx' in out


def slow(origin, n, seconds):
    d = Daemon(1)
    url = f'http://127.0.0.1:{origin.port}/x'
    s = d.connect()
    ask(s, HEAD % origin.port + b'\r\n', b'x' * 1024)
    before = wrk(d.port, url, seconds)
    clients = [d.connect() for _ in range(n)]
    for c in clients:
        c.sendall(HEAD % origin.port + b'X-Slow: ')
    over = threading.Event()
    sent = [0]

    def drip():
        while not over.is_set():
            for c in clients:
                c.send(b's')
                sent[0] += 1
                if sent[0] % 100 == 0:
                    over.wait(0.05)  # 2000 a second in all
                    if over.is_set():
                        return

    t = threading.Thread(target=drip)
    t.start()
    with_them = wrk(d.port, url, seconds)
    over.set()
    t.join()
    alive = sum(1 for c in clients if is_open(c))
    for c in clients:
        c.close()
    d.stop()
    return {'clients': n, 'alive': alive, 'bytes': sent[0], 'alone': before, 'with': with_them}


def one(origin, n):
    d = Daemon(0)
    clients = [d.connect() for _ in range(n)]
    began = time.monotonic()
    for c in clients:
        c.sendall(b'GET http://127.0.0.1:%d/late HTTP/1.1\r\nHost: x\r\n\r\n' % origin.port)
    asked = time.monotonic() - began
    for c in clients:
        got = b''
        while not got.endswith(b'x' * 1024):
            data = c.recv(65536)
            if not data:
                raise SystemExit('a client got no answer')
            got += data
    took = time.monotonic() - began
    for c in clients:
        c.close()
    d.stop()
    return {'clients': n, 'fetches': origin.counts.get(b'/late', 0), 'asked': asked, 'took': took}


def is_open(c):
    c.setblocking(False)
    try:
        c.recv(1, socket.MSG_PEEK)
        return False
    except BlockingIOError:
        return True


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--clients', type=int, default=5000)
    ap.add_argument('--slow', type=int, default=10000)
    ap.add_argument('--one', type=int, default=10000)
    ap.add_argument('--seconds', type=int, default=3)
    ap.add_argument('--json', action='store_true')
    a = ap.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    origin = Origin()
    result = {'bytes_per_client': memory(origin, a.clients) if a.clients else {}}
    if a.slow:
        result['slow'] = slow(origin, a.slow, a.seconds)
    if a.one:
        result['one'] = one(origin, a.one)
    if a.json:
        json.dump(result, sys.stdout, indent=1)
        print()
        return
    for kind, size in result['bytes_per_client'].items():
        print(f'{kind:7} {size:8.0f} bytes a client')
    if a.slow:
        r = result['slow']
        print(f"hits alone {r['alone'][0]:.0f}/s, p99 {r['alone'][1]}; beside {r['clients']} slow clients "
              f"({r['alive']} of them still connected, {r['bytes']} bytes dripped) {r['with'][0]:.0f}/s, p99 {r['with'][1]}")
    if a.one:
        r = result['one']
        print(f"{r['clients']} clients for one missing page: {r['fetches']} fetches; all asked after {r['asked']:.2f} s, all answered after "
              f"{r['took']:.2f} s")


if __name__ == '__main__':
    main()
