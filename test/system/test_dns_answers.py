"""What a name server says beyond what it was asked (hostile-inputs U12)."""
import pytest

from names import NameServer
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
