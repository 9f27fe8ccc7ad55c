"""A scriptable HTTP/1.1 origin on 127.0.0.1: each path has scripts, and a record of every request that came for it.

A script is a sequence of steps, played into the connection once the request (head and body) is read:
    bytes              sent as they are
    threading.Event    waited for: tests order what happens by events, never by sleeping
    callable           called with the Exchange; what it returns (None, bytes, another sequence) is played in turn
    CLOSE, RESET       the connection ends, in order or by an RST
    HANG               nothing more is sent until the proxy goes away or the origin is closed
Without CLOSE or RESET the connection waits for its next request.
"""
import contextlib
import itertools
import select
import socket
import struct
import threading
import time
from email.utils import formatdate

DEADLINE = 10  # seconds that anything in these tests may take before it counts as never

CLOSE, RESET, HANG = object(), object(), object()


class Broken(Exception):
    """The peer broke a rule of HTTP, or went away in the middle."""


def date(offset=0):
    return formatdate(time.time() + offset, usegmt=True)


def message(line, fields=(), body=b''):
    return '\r\n'.join([line, *fields, '', '']).encode('latin-1') + body


def ok(body=b'hello', *fields, status='200 OK', length=None, dated=True):
    """A response with Content-Length (that of the body, or what it claims to be)."""
    own = [f'Content-Length: {len(body) if length is None else length}']
    if dated and not any(f.lower().startswith('date:') for f in fields):
        own.append(f'Date: {date()}')
    return message(f'HTTP/1.1 {status}', [*own, *fields], body)


def head(*fields, status='200 OK'):
    """A head alone: the body is up to the steps that follow."""
    return message(f'HTTP/1.1 {status}', [f'Date: {date()}', *fields])


def chunk(data):
    return b'%x\r\n%s\r\n' % (len(data), data)


LAST_CHUNK = b'0\r\n\r\n'


def chunked(body, *fields, size=4096, status='200 OK'):
    pieces = b''.join(chunk(body[i:i + size]) for i in range(0, len(body), size))
    return head('Transfer-Encoding: chunked', *fields, status=status) + pieces + LAST_CHUNK


def not_modified(*fields):
    return message('HTTP/1.1 304 Not Modified', [f'Date: {date()}', *fields])


class Reader:
    """Reads HTTP from a socket, strictly, and remembers the raw bytes of the message at hand."""

    def __init__(self, sock):
        self.sock = sock
        self.waiting = bytearray()
        self.raw = bytearray()

    def begin(self):
        self.raw = bytearray()

    def fill(self):
        data = self.sock.recv(65536)
        self.waiting += data
        return bool(data)

    def take(self, n):
        data = bytes(self.waiting[:n])
        del self.waiting[:n]
        self.raw += data
        return data

    def line(self):
        while b'\n' not in self.waiting:
            if not self.fill():
                raise Broken(f'end in the middle of a line: {bytes(self.waiting[:200])!r}')
        line = self.take(self.waiting.index(b'\n') + 1)
        if not line.endswith(b'\r\n') or b'\r' in line[:-2]:
            raise Broken(f'a line must end in CRLF: {line!r}')
        return line[:-2].decode('latin-1')

    def fields(self):
        fields = []
        while (line := self.line()) != '':
            name, colon, value = line.partition(':')
            if not colon or not name or name != name.strip() or line[0] in ' \t':
                raise Broken(f'not a field: {line!r}')
            fields.append((name, value.strip(' \t')))
        return fields

    def exactly(self, n, into):
        """Appends n bytes to into (a bytearray), which keeps what came when fewer do."""
        while n > 0:
            if not self.waiting and not self.fill():
                raise Broken(f'end with {n} bytes missing')
            data = self.take(n)
            into += data
            n -= len(data)

    def chunks(self, into):
        while True:
            size = self.line().partition(';')[0]
            if not size or not all(c in '0123456789abcdefABCDEF' for c in size):
                raise Broken(f'not a chunk size: {size!r}')
            if int(size, 16) == 0:
                break
            self.exactly(int(size, 16), into)
            end = bytearray()
            self.exactly(2, end)
            if end != b'\r\n':
                raise Broken(f'no CRLF behind a chunk: {bytes(end)!r}')
        return self.fields()  # the trailers

    def rest(self, into):
        while self.waiting or self.fill():
            into += self.take(len(self.waiting))


class Message:
    """What requests and responses have in common."""

    def __init__(self):
        self.fields = []
        self.content = bytearray()
        self.trailers = []
        self.raw = b''
        self.complete = False

    @property
    def body(self):
        return bytes(self.content)

    def all(self, name):
        return [v for n, v in self.fields if n.lower() == name.lower()]

    def get(self, name):
        """The value of a field that may be there once at the most; None without it."""
        values = self.all(name)
        assert len(values) <= 1, f'{name} {len(values)} times: {values}'
        return values[0] if values else None

    def lists(self, name, member):
        """Is member in the comma-separated list(s) of that name?"""
        return member.lower() in [m.strip().lower() for v in self.all(name) for m in v.split(',')]


class Request(Message):
    def __init__(self, connection, client):
        super().__init__()
        self.connection = connection  # its number: the same for requests of one connection
        self.client = client  # the address it comes from

    def read_head(self, reader):
        line = reader.line()
        try:
            self.method, self.target, self.version = line.split(' ')
        except ValueError:
            raise Broken(f'not a request line: {line!r}') from None
        self.fields = reader.fields()
        self.raw = bytes(reader.raw)

    def read_body(self, reader):
        codings, lengths = self.all('Transfer-Encoding'), self.all('Content-Length')
        if len(codings) + len(lengths) > 1:
            raise Broken(f'framed twice: {self.raw!r}')
        try:
            if codings:
                if codings[0].lower() != 'chunked':
                    raise Broken(f'unknown coding {codings[0]!r}')
                self.trailers = reader.chunks(self.content)
            elif lengths:
                reader.exactly(int(lengths[0]), self.content)
            self.complete = True
        finally:
            self.raw = bytes(reader.raw)


class Exchange:
    """What a callable step gets: the request, and the means to answer it."""

    def __init__(self, origin, connection, request, n, reader):
        self.origin, self.connection, self.request, self.n, self.reader = origin, connection, request, n, reader

    def read_body(self):
        """Of a page that answers early: when the steps before have said what they had to."""
        self.request.read_body(self.reader)
        self.origin.note()
        return self.request.body


class Page:
    """A path of the origin, its scripts and what was asked of it."""

    def __init__(self, origin, path, scripts, early):
        self.origin, self.path, self.scripts, self.early = origin, path, scripts, early
        self.requests = []  # heads are recorded when read; a body that breaks off leaves complete False
        self.url = f'http://{origin.authority}{path}'

    @property
    def count(self):
        return len(self.requests)

    def wait(self, n):
        """Until n requests have come."""
        with self.origin.changed:
            if not self.origin.changed.wait_for(lambda: self.count >= n, DEADLINE):
                raise AssertionError(f'{self.path}: {self.count} requests reached the origin, not {n}')
        return self.requests[n - 1]

    def wait_over(self, n):
        """Until the n-th request is over: answered, or its connection gone."""
        self.wait(n)
        with self.origin.changed:
            assert self.origin.changed.wait_for(lambda: self.requests[n - 1].over, DEADLINE), 'it is not over'
        return self.requests[n - 1]


class Origin:
    names = itertools.count(1)  # of pages: no two origins have the same

    def __init__(self, host='127.0.0.1', port=0):
        self.changed = threading.Condition()
        self.closing = threading.Event()
        self.pages = {}
        self.stray = []  # requests for paths nobody registered, and bytes that aren't HTTP
        self.numbers = itertools.count(1)
        self.connections = {}
        self.listener = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind((host, port))
        self.listener.listen(512)
        self.host, self.port = host, self.listener.getsockname()[1]
        self.authority = f'[{host}]:{self.port}' if ':' in host else f'{host}:{self.port}'
        threading.Thread(target=self.accept, daemon=True).start()

    def page(self, *scripts, name=None, early=False):
        """A path of its own. The n-th request for it gets the n-th script, those after the last one get the last.
        early: answered when the head is here, whatever there is to come of a body."""
        path = f'/{name or "page"}{next(self.names)}'
        page = Page(self, path, [s if isinstance(s, (list, tuple)) else [s] for s in scripts], early)
        self.pages[path] = page
        return page

    def accept(self):
        while True:
            try:
                sock, client = self.listener.accept()
            except OSError:
                return
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            number = next(self.numbers)
            with self.changed:
                self.connections[number] = sock
            threading.Thread(target=self.serve, args=(sock, number, client[0]), daemon=True).start()

    def serve(self, sock, number, client):
        reader = Reader(sock)
        try:
            while self.serve_one(sock, number, client, reader):
                pass
        except (OSError, Broken):
            pass
        finally:
            with self.changed:
                self.connections.pop(number, None)
                self.changed.notify_all()
            with contextlib.suppress(OSError):
                sock.close()

    def serve_one(self, sock, number, client, reader):
        if not reader.waiting and not reader.fill():
            return False
        reader.begin()
        request = Request(number, client)
        request.over = False
        try:
            request.read_head(reader)
        except Broken:
            self.note(self.stray, bytes(reader.raw + reader.waiting))
            raise
        page = self.pages.get(request.target.partition('?')[0])
        if page is None:
            self.note(self.stray, request)
            request.read_body(reader)
            sock.sendall(ok(b'no such page', status='404 Not Found'))
            return True
        with self.changed:
            page.requests.append(request)
            script = page.scripts[min(page.count, len(page.scripts)) - 1]
            n = page.count
            self.changed.notify_all()
        try:
            if not page.early:
                request.read_body(reader)
                self.note()
            return self.play(sock, script, Exchange(self, number, request, n, reader))
        finally:
            request.over = True
            self.note()

    def note(self, where=None, what=None):
        with self.changed:
            if where is not None:
                where.append(what)
            self.changed.notify_all()

    def play(self, sock, steps, exchange):
        for step in steps:
            if callable(step):
                made = step(exchange)
                made = [] if made is None else made if isinstance(made, (list, tuple)) else [made]
                if not self.play(sock, made, exchange):
                    return False
            elif isinstance(step, threading.Event):
                if not step.wait(DEADLINE):
                    return False
            elif step is CLOSE:
                return False
            elif step is RESET:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                return False
            elif step is HANG:
                while not self.closing.is_set():
                    if select.select([sock], [], [], 0.2)[0] and not sock.recv(65536):
                        break
                return False
            elif exchange.request.method == 'HEAD' and b'\r\n\r\n' in step:
                sock.sendall(step[:step.index(b'\r\n\r\n') + 4])
            else:
                sock.sendall(step)
        return True

    def idle_connection_ends(self, number):
        """Ends a connection the proxy keeps for later, as servers do."""
        with self.changed:
            sock = self.connections.get(number)
        assert sock is not None, f'connection {number} is gone already'
        sock.shutdown(socket.SHUT_RDWR)
        self.wait_connection_over(number)

    def wait_connection_over(self, number):
        with self.changed:
            assert self.changed.wait_for(lambda: number not in self.connections, DEADLINE), \
                f'connection {number} to the origin is still there'

    def close(self):
        self.closing.set()
        self.listener.shutdown(socket.SHUT_RDWR)  # close() alone would leave it to the thread in accept()
        self.listener.close()
        with self.changed:
            for sock in self.connections.values():
                with contextlib.suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
