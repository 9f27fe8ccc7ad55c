"""A scripted name server: UDP on port 53 of a loopback address of its own (dns_nameservers takes no port)."""
import socket
import struct
import threading

A, PTR, AAAA = 1, 12, 28
NXDOMAIN, SERVFAIL, SILENCE = object(), object(), object()


def wire(name):
    return b''.join(bytes([len(label)]) + label.encode('latin-1') for label in name.split('.')) + b'\0'


class NameServer:
    """names: {name: address, list of addresses, NXDOMAIN, SERVFAIL, SILENCE or what makes an answer of a query}; others don't exist. That of an address, as
    in called(), has names for addresses."""

    def __init__(self, **names):
        self.names = {k.replace('_', '.'): v for k, v in names.items()}
        self.asked = []  # (name, type)
        self.first = []  # (name, IPv4 address): A records in front of each answer's own, asked for or not
        self.sizes = []  # what EDNS says answers may have, 0: no EDNS
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for last in range(2, 250):
            self.host = f'127.53.0.{last}'
            try:
                self.sock.bind((self.host, 53))
                break
            except OSError as e:
                error = e
        else:
            raise error
        threading.Thread(target=self.serve, daemon=True).start()

    def called(self, address, name):
        """What an IPv4 address is called: a name, several, NXDOMAIN, ..."""
        self.names['.'.join(reversed(address.split('.'))) + '.in-addr.arpa'] = name

    def times_asked(self, kind):
        return sum(k == kind for _, k in self.asked)

    def serve(self):
        while True:
            try:
                query, client = self.sock.recvfrom(1500)
                answer = self.answer(query)
                if answer:
                    self.sock.sendto(answer, client)
            except OSError:
                return

    def answer(self, query):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode('latin-1'))
            at += 1 + query[at]
        name, question = '.'.join(labels).lower(), query[12:at + 5]
        kind, = struct.unpack('!H', query[at + 1:at + 3])
        self.asked.append((name, kind))
        additional, = struct.unpack('!H', query[10:12])
        self.sizes.append(struct.unpack('!BHH', query[at + 5:at + 10])[2] if additional else 0)
        found = self.names.get(name, NXDOMAIN)
        if found is SILENCE:
            return None
        if callable(found):
            return found(query)
        code = 3 if found is NXDOMAIN else 2 if found is SERVFAIL else 0
        addresses = [] if code else [found] if isinstance(found, str) else found
        records = [wire(n) for n in addresses] if kind == PTR else [socket.inet_pton(socket.AF_INET if kind == A else socket.AF_INET6, a) for a in addresses
                   if (':' in a) == (kind == AAAA)] if kind in (A, AAAA) else []
        records = [(wire(n), A, socket.inet_aton(a)) for n, a in self.first] + [(b'\xc0\x0c', kind, r) for r in records]
        head = query[:2] + struct.pack('!HHHHH', 0x8180 | code, 1, len(records), 0, 0)
        return head + question + b''.join(n + struct.pack('!HHIH', k, 1, 60, len(r)) + r for n, k, r in records)

    def close(self):
        self.sock.close()
