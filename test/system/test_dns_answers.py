"""What a name server may say (hostile-inputs U11, U12)."""
import socket
import struct

import pytest

from names import A, NameServer, wire
from origin import Origin, ok


@pytest.fixture
def server():
    s = NameServer()
    yield s
    s.close()


@pytest.fixture
def elsewhere(origin):
    """An origin on the same port of another address."""
    o = Origin('127.0.0.77', origin.port)
    yield o
    o.close()


def test_addresses_of_other_names(make_proxy, origin, elsewhere, server):
    """They are neither used for the name asked for nor remembered for the one they claim to be of."""
    p = make_proxy(f'dns_nameservers {server.host}\n')
    good, victim = origin.page(ok(b'good')), origin.page(ok(b'victim'))
    server.names.update({'good.test': '127.0.0.1', 'victim.test': '127.0.0.1'})
    server.first = [('victim.test', '127.0.0.77'), ('other.test', '127.0.0.77')]
    for _ in range(3):
        assert p.get(f'http://good.test:{origin.port}{good.path}').body == b'good'
    server.first = []
    assert p.get(f'http://victim.test:{origin.port}{victim.path}').body == b'victim'
    assert p.get(f'http://other.test:{origin.port}/').status == 503, 'does not exist'
    assert ('victim.test', 1) in server.asked and ('other.test', 1) in server.asked
    assert not elsewhere.stray


def test_nothing_but_addresses_of_other_names(make_proxy, origin, elsewhere, server):
    p = make_proxy(f'dns_nameservers {server.host}\n')
    server.names['good.test'] = []
    server.first = [('victim.test', '127.0.0.77')]
    assert p.get(f'http://good.test:{origin.port}/').status == 503
    assert not elsewhere.stray
    server.names['own.test'] = []
    server.first = [('own.test', '127.0.0.77')]
    assert p.get(f'http://own.test:{origin.port}/').status == 404, 'its own would be used'
    assert len(elsewhere.stray) == 1


HERE = socket.inet_aton('127.0.0.1')


def record(name, kind, data, length=None):
    return name + struct.pack('!HHIH', kind, 1, 60, len(data) if length is None else length) + data


def reply(query, *records, count=None, flags=0x8180, question=None, number=None):
    asked = query[12:query.index(b'\0', 12) + 5]
    return ((query[:2] if number is None else number) +
            struct.pack('!HHHHH', flags, 1, len(records) if count is None else count, 0, 0) +
            (asked if question is None else question) + b''.join(records))


# What is asked for stands at 12: 3bad4test0.
BROKEN = {
    'compression loop': lambda q: reply(q, record(b'\xc0' + bytes([12 + 10 + 4]), A, HERE)),
    'forward pointer': lambda q: reply(q, record(b'\xc0\xf0', A, HERE)),
    'label of 64': lambda q: reply(q, record(b'\x40' + b'x' * 64 + b'\0', A, HERE)),
    'name of 256': lambda q: reply(q, record((b'\x3f' + b'x' * 63) * 4 + b'\0', A, HERE)),
    'rdlength past the end': lambda q: reply(q, record(b'\xc0\x0c', A, HERE, 500)),
    'an address of 5 bytes': lambda q: reply(q, record(b'\xc0\x0c', A, HERE + b'x')),
    '100 aliases, no address': lambda q: reply(q, *[record(wire(f'a{i}.test'), 5, wire(f'a{i + 1}.test')) for i in range(100)]),
    'an alias of itself': lambda q: reply(q, record(b'\xc0\x0c', 5, b'\xc0\x0c')),
    'another number': lambda q: reply(q, record(b'\xc0\x0c', A, HERE), number=bytes([q[0] ^ 1, q[1]])),
    'another question': lambda q: reply(q, record(b'\xc0\x0c', A, HERE), question=wire('worse.test') + q[-4:]),
    'cut without TCP': lambda q: reply(q, flags=0x8380),
    'half a head': lambda q: q[:7],
    'more records than there are': lambda q: reply(q, count=9),
    'a question': lambda q: q,
    'nothing at all': lambda q: b'\0',
}


@pytest.mark.parametrize('how', BROKEN)
def test_broken_answers(make_proxy, origin, server, how):
    """U11: no address comes of them, the client hears so in time, and nothing else suffers."""
    p = make_proxy(f'dns_nameservers {server.host}\ndns_timeout 2 seconds\ndns_retransmit_interval 1 second\n')
    server.names.update({'bad.test': BROKEN[how], 'good.test': '127.0.0.1'})
    page = origin.page(ok(b'x'))
    r = p.get(f'http://bad.test:{origin.port}{page.path}')
    assert (r.status, r.get('X-Squid-Error').split()[0]) == (503, 'ERR_DNS_FAIL')
    assert page.count == 0
    assert p.get(f'http://good.test:{origin.port}{page.path}').status == 200


def test_questions_cannot_be_guessed(make_proxy, server):
    """U11: numbers and ports of questions are drawn."""
    seen = []

    def note(query):
        seen.append(query[:2])
        return reply(query, flags=0x8183)
    server.names.update({f'{c}.test': note for c in 'abcdefgh'})
    p = make_proxy(f'workers 1\ndns_nameservers {server.host}\n')
    for c in 'abcdefgh':
        assert p.get(f'http://{c}.test/').status == 503
    numbers = [int.from_bytes(n, 'big') for n in seen]
    assert len(set(numbers)) >= 12, 'of 16'
    steps = {b - a for a, b in zip(numbers, numbers[1:])}
    assert len(steps) > 8, 'not one after the other'
