"""The daemon under test: a configuration in a directory of its own, start, access.log, manager pages, stop."""
import contextlib
import itertools
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from client import Client, soon
from origin import DEADLINE

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOLIGO = os.path.abspath(os.environ.get('LOLIGO', os.path.join(TREE, 'build/src/loligo')))
NAME = 'proxy.test'

SANITIZER = re.compile(r'AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:|Assertion|assertion failed')


def is_sanitized():
    with open(LOLIGO, 'rb') as f:
        return b'__asan_init' in f.read()


# Ports are handed out one after another from somewhere, so that none comes twice before all of them came once: who asked
# for one may not listen there yet, and must not share it with who asks next.
PORTS = range(20000, 32000)  # below those that outgoing connections are given, so that none of them takes one meanwhile
next_port = itertools.cycle(PORTS)
for _ in range(random.randrange(len(PORTS))):
    next(next_port)


def free_port(kind=socket.SOCK_STREAM, host='127.0.0.1'):
    """One that nobody else was given, and nobody listens on."""
    for port in itertools.islice(next_port, 200):
        with socket.socket(socket.AF_INET, kind) as s:
            try:
                s.bind((host, port))
                return port
            except OSError:
                continue
    raise AssertionError('no free port')


LINE = re.compile(r'^(?P<time>\d+\.\d{3}) (?P<ms> {0,5}\d+) (?P<client>\S+) (?P<code>[A-Z_]+)/(?P<status>\d{3}) '
                  r'(?P<size>\d+) (?P<method>\S+) (?P<url>\S+) (?P<user>\S+) (?P<hier>[A-Z_]+/\S+) (?P<type>\S+)$')


class LogLine:
    """A line of access.log in the native format; one that isn't is a failure."""

    def __init__(self, text):
        m = LINE.match(text)
        assert m, f'not a line of the native format: {text!r}'
        self.text = text
        self.__dict__.update(m.groupdict())
        assert len(self.ms) >= 6, f'field 2 must be padded to 6: {text!r}'
        self.ms, self.size, self.time = int(self.ms), int(self.size), float(self.time)

    @property
    def what(self):
        return f'{self.code}/{self.status}'

    def __repr__(self):
        return self.text


class Proxy:
    """conf is added to a minimum that listens on 127.0.0.1, logs into the directory and has two workers; a directive
    that conf gives itself is left out of the minimum. http_access comes last: conf's lines count first."""

    MINIMUM = {
        'visible_hostname': NAME,
        'workers': '2',
        'cache_mem': '32 MB',
        'pid_filename': '{dir}/pid',
        'cache_log': '{dir}/cache.log',
        'access_log': 'stdio:{dir}/access.log squid',
        'hosts_file': '{dir}/hosts',
        'coredump_dir': 'none',
        'shutdown_lifetime': '10 seconds',
        'dns_nameservers': '127.0.0.1',
        'dns_timeout': '1 second',
        'http_port': '127.0.0.1:{port}',
        'http_access': 'allow all',
    }

    def __init__(self, conf='', *, supervised=False, args=(), hosts=(), limits=None, env=None, through=(), start=True):
        self.dir = tempfile.mkdtemp(prefix='loligo-')
        os.chmod(self.dir, 0o777)  # as root, the proxy runs as another user, who rotates the logs here
        self.port = free_port()
        self.conf, self.log_path = self.path('squid.conf'), self.path('access.log')
        self.args = ['--foreground' if supervised else '-N', '-f', self.conf, *args]
        self.supervised, self.limits, self.env, self.process = supervised, limits, env, None
        self.through = list(through)  # a command that starts what stands behind it
        self.write('hosts', ''.join(f'127.0.0.1 {h}\n' for h in ('origin.test', 'blocked.test', *hosts)))
        self.configure(conf)
        if start:
            self.start()

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        with open(self.path(name), 'w', newline='', encoding='latin-1') as f:
            f.write(text)
        return self.path(name)

    def read(self, name):
        with contextlib.suppress(FileNotFoundError), open(self.path(name), encoding='latin-1', newline='\n') as f:
            return f.read()
        return ''

    def configure(self, conf, raw=False):
        self.given = conf
        own = set() if raw else {line.split()[0] for line in conf.splitlines() if line.split()}
        minimum = '' if raw else ''.join(f'{k} {v}\n' for k, v in self.MINIMUM.items()
                                         if k == 'http_access' or k not in own)
        text = (conf.rstrip('\n') + '\n' + minimum)
        self.write('squid.conf', text.replace('{dir}', self.dir).replace('{port}', str(self.port)))

    # -- life

    def start(self, wait=True):
        self.starts = self.starts_logged()
        self.stderr = open(self.path('stderr'), 'ab')
        self.process = subprocess.Popen([*self.through, LOLIGO, *self.args], stdin=subprocess.DEVNULL, stdout=self.stderr,
                                        stderr=self.stderr, preexec_fn=self.limits, cwd=self.dir, env=self.env)
        if wait:
            soon(self.is_up, f'it listens; stderr: {self.read("stderr")}')
        return self

    def is_up(self):
        """It says so. Nothing connects to find out: that would be counted, and logged."""
        assert self.process.poll() is None, \
            f'it ended with status {self.process.returncode}: {self.read("stderr")}{self.read("cache.log")}'
        return self.starts_logged() > self.starts

    def starts_logged(self):
        return (self.read('stderr') + self.read('cache.log')).count(' serves as process ')

    def signal(self, number):
        self.process.send_signal(number)

    def child(self):
        """The process that serves."""
        if not self.supervised:
            return self.process.pid
        with contextlib.suppress(OSError), \
                open(f'/proc/{self.process.pid}/task/{self.process.pid}/children', encoding='ascii') as f:
            children = f.read().split()
            return int(children[0]) if children else None
        return None

    def command(self, *args):
        return subprocess.run([LOLIGO, *args, '-f', self.conf], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=DEADLINE, check=False)

    def k(self, word):
        return self.command('-k', word)

    def wait_end(self):
        try:
            return self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            raise AssertionError('the proxy does not end') from None

    def stop(self):
        """TERM, exit status 0, and nothing bad said meanwhile."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.signal(signal.SIGTERM)
        try:
            status = self.wait_end()
        except AssertionError:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.stderr.close()
        self.process = None
        said = self.read('stderr') + self.read('cache.log')
        assert status == 0, f'exit status {status}: {said[-4000:]}'
        assert not SANITIZER.search(said), said[-8000:]

    def remove(self):
        if self.process is not None and self.process.poll() is None:
            child = self.child()
            self.process.kill()
            self.process.wait()
            if self.supervised and child is not None:
                soon(lambda: not os.path.exists(f'/proc/{child}'), 'the child ends with its parent')
        shutil.rmtree(self.dir, ignore_errors=True)

    # -- requests

    def connect(self, **options):
        return Client(self.port, **options)

    @contextlib.contextmanager
    def logging(self, method, url):
        """Ends when what it asks has its line in access.log: workers hand lines over on their own, so that only what is logged
        already is sure to stand before what another worker logs later."""
        logged = self.line_awaited(method, url)
        yield
        if 'access_log' not in self.given:
            soon(logged, f'a line in access.log for {method} {url}')

    def ask(self, method, url, *fields, body=b''):
        """On a connection of its own, logged when it returns."""
        with self.logging(method, url), self.connect() as c:
            return c.ask(method, url, *fields, body=body)

    def line_awaited(self, method, url):
        """Says, when called, whether a line more for the URL is there. Any line is taken for it when half a second passed
        without, but not before: an earlier test may not have waited for all of its own. That is for what is logged
        under another URL: rewritten ones, and those of requests that were not understood."""
        path = url.partition('?')[0].partition('://')[2].partition('/')[2]
        began = time.monotonic()

        def counts():
            lines = self.read('access.log').split('\n')[:-1]
            return len(lines), sum(f' {method} ' in line and f'/{path}' in line for line in lines)
        before = counts()

        def is_there():
            now = counts()
            return now[1] > before[1] or (now[0] > before[0] and time.monotonic() > began + 0.5)
        return is_there

    def line_count(self):
        return self.read('access.log').count('\n')

    def get(self, url, *fields):
        return self.ask('GET', url, *fields)

    # -- what it tells

    def lines(self, name='access.log'):
        text = self.read(name)
        return [LogLine(t) for t in text[:text.rfind('\n') + 1].splitlines()]

    def logged(self, url, n=1):
        """The lines for a URL (as logged: the query cut), once there are n; more than n is a failure."""
        def enough():
            lines = [line for line in self.lines() if line.url == url]
            return lines if len(lines) >= n else None
        lines = soon(enough, f'{n} lines for {url} in access.log:\n{self.read("access.log")[-2000:]}')
        assert len(lines) == n, lines
        return lines

    def codes(self, url, n=1):
        return [line.what for line in self.logged(url, n)]

    def wait_cache_log(self, pattern, n=1):
        return soon(lambda: len(re.findall(pattern, self.read('cache.log'))) >= n,
                    f'{pattern!r} {n} times in cache.log:\n{self.read("cache.log")[-3000:]}')

    def page(self, name, *fields):
        return self.get(f'http://{NAME}:{self.port}/squid-internal-mgr/{name}', *fields)

    def counters(self):
        """mgr:counters as numbers, in its order."""
        r = self.page('counters')
        assert r.status == 200, r.raw
        return parse_counters(r.body.decode())

    def rss(self):
        """Resident KiB of the process that serves."""
        with open(f'/proc/{self.child()}/status', encoding='ascii') as f:
            return int(re.search(r'^VmRSS:\s+(\d+) kB', f.read(), re.M).group(1))


def parse_counters(text):
    values = {}
    for line in text.splitlines():
        name, equals, value = line.partition(' = ')
        assert equals and name not in values, f'not a counter: {line!r}'
        values[name] = float(value.split(' ')[0])
    return values


def needs(program):
    """A mark for tests of a real client."""
    import pytest
    found = shutil.which(program, path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin')
    return pytest.mark.skipif(found is None, reason=f'{program} is not installed')


def wait_port(port):
    def answers():
        with contextlib.suppress(OSError), socket.create_connection(('127.0.0.1', port), DEADLINE):
            return True
    soon(answers, f'port {port} answers')
    return port
