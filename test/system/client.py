"""A client that sees bytes: sends them whole, split or one by one, and reads responses strictly by their framing."""
import socket
import struct
import threading
import time

from origin import DEADLINE, Broken, Message, Reader, message


class Cut(Exception):
    """The response ended before it was complete; .response has what came."""

    def __init__(self, response, why):
        super().__init__(why)
        self.response = response


class Response(Message):
    status = 0
    interim = ()

    def read(self, reader, method):
        self.interim = []
        while True:
            reader.begin()
            line = reader.line()
            version, _, rest = line.partition(' ')
            code, _, self.reason = rest.partition(' ')
            if version not in ('HTTP/1.1', 'HTTP/1.0') or len(code) != 3 or not code.isdigit():
                raise Broken(f'not a status line: {line!r}')
            self.version, self.status = version, int(code)
            self.fields = reader.fields()
            if self.status >= 200:
                break
            self.interim.append(self.status)
        self.head_bytes = len(reader.raw)
        try:
            self.read_body(reader, method)
        except (Broken, ConnectionError) as e:
            self.raw = bytes(reader.raw)
            raise Cut(self, str(e)) from None
        self.raw = bytes(reader.raw)
        self.complete = True
        return self

    def read_body(self, reader, method):
        codings, lengths = self.all('Transfer-Encoding'), self.all('Content-Length')
        assert len(codings) + len(lengths) <= 1, f'framed twice: {self.fields}'
        self.by_close = False
        if method == 'HEAD' or self.status in (204, 304) or (method == 'CONNECT' and self.status == 200):
            return
        if codings:
            assert codings[0] == 'chunked'
            self.trailers = reader.chunks(self.content)
        elif lengths:
            reader.exactly(int(lengths[0]), self.content)
        else:
            self.by_close = True
            reader.rest(self.content)


class Client:
    def __init__(self, port, host='127.0.0.1', receive_buffer=None, source=None):
        self.sock = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET)
        if receive_buffer is not None:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if source is not None:
            self.sock.bind((source, 0))
        self.sock.settimeout(DEADLINE)
        self.sock.connect((host, port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.reader = Reader(self.sock)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.sock.close()

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def send_bytes(self, data):
        """One byte a segment, each surely read alone where that is interesting: at the start and around line ends. The
        proxy may close before the last: what it says then is what counts."""
        try:
            for i in range(len(data)):
                self.sock.send(data[i:i + 1])
                if i < 2 or (len(data) < 1000 and data[i] in b'\r\n'):
                    self.wait_read()
        except ConnectionError:
            pass

    def wait_read(self):
        """Until the other side has read all that was sent (or is gone)."""
        there, here = (f':{end[1]:04X}' for end in (self.sock.getpeername(), self.sock.getsockname()))

        def is_read():
            with open('/proc/net/tcp6' if self.sock.family == socket.AF_INET6 else '/proc/net/tcp',
                      encoding='ascii') as f:
                for row in f:
                    if there in row and here in row:
                        local, remote, _, queues = row.split()[1:5]
                        if local.endswith(there) and remote.endswith(here):
                            return queues.endswith(':00000000')
            return True
        soon(is_read, 'the bytes sent are read', pause=0.0005)

    def shut(self):
        self.sock.shutdown(socket.SHUT_WR)

    def response(self, method='GET'):
        return Response().read(self.reader, method)

    def ask(self, method, url, *fields, body=b'', version='HTTP/1.1'):
        """One request, its response. The URL as a proxy gets it; Host from it, unless fields has one."""
        self.send(request(method, url, *fields, body=body, version=version))
        return self.response(method)

    def get(self, url, *fields):
        return self.ask('GET', url, *fields)

    def is_closed(self):
        """The proxy ends the connection (in time) without another byte."""
        if self.reader.waiting:
            return False
        try:
            return self.sock.recv(1) == b''
        except ConnectionResetError:
            return True

    def is_open(self):
        """Nothing waits to be read, not even an end."""
        self.sock.setblocking(False)
        try:
            self.sock.recv(1, socket.MSG_PEEK)
            return False
        except BlockingIOError:
            return True
        finally:
            self.sock.settimeout(DEADLINE)


def host_of(url):
    return url.partition('://')[2].partition('/')[0]


def request(method, url, *fields, body=b'', version='HTTP/1.1'):
    fields = list(fields)
    if url.startswith('http://') and not any(f.lower().startswith('host:') for f in fields):
        fields.insert(0, f'Host: {host_of(url)}')
    return message(f'{method} {url} {version}', fields, body)


def soon(condition, what, deadline=DEADLINE, pause=0.01):
    """Polls: for what tells nobody when it changes (files, /proc)."""
    end = time.monotonic() + deadline
    while not (value := condition()):
        assert time.monotonic() < end, f'not within {deadline} s: {what}'
        time.sleep(pause)
    return value


class Task(threading.Thread):
    """A function running beside the test; result() waits for it and raises what it raised."""

    def __init__(self, function, *args):
        super().__init__(daemon=True)
        self.function, self.args, self.value, self.error = function, args, None, None
        self.start()

    def run(self):
        try:
            self.value = self.function(*self.args)
        except BaseException as e:  # handed on to whoever asks
            self.error = e

    def result(self):
        self.join(DEADLINE)
        assert not self.is_alive(), 'it does not end'
        if self.error is not None:
            raise self.error
        return self.value
