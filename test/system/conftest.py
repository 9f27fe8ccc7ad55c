"""Fixtures. Most tests share one daemon and one origin, and keep apart by their URLs; what needs a configuration of its
own starts a daemon with make_proxy()."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
pytest.register_assert_rewrite('client', 'origin', 'proxy')

from origin import Origin  # noqa: E402
from proxy import LOLIGO, Proxy  # noqa: E402


def pytest_configure(config):
    # Aborts show as a signal, leaks as an exit status of their own; both fail stop().
    os.environ.setdefault('ASAN_OPTIONS', 'abort_on_error=1:disable_coredump=1')
    os.environ.setdefault('UBSAN_OPTIONS', 'halt_on_error=1:print_stacktrace=1')


def pytest_sessionstart(session):
    if not os.access(LOLIGO, os.X_OK):
        pytest.exit(f'{LOLIGO}: no such program (set LOLIGO)', returncode=2)


@pytest.fixture(scope='session')
def origin():
    o = Origin()
    yield o
    o.close()


# Denied by name, and a name for a port where nobody listens.
SHARED = '''
acl blocked dstdomain blocked.test
http_access deny blocked
read_timeout 5 seconds
'''


@pytest.fixture(scope='session')
def shared_proxy():
    p = Proxy(SHARED)
    yield p
    try:
        p.stop()
    finally:
        p.remove()


@pytest.fixture
def proxy(shared_proxy):
    """The shared daemon; alive before and after each test."""
    yield shared_proxy
    assert shared_proxy.process.poll() is None, \
        f'the daemon died with {shared_proxy.process.returncode}: {shared_proxy.read("stderr")[-8000:]}'


@pytest.fixture
def make_proxy(request):
    """make_proxy(conf, ...) starts a daemon; it is stopped, and judged, when the test is over."""
    made = []

    def make(conf='', **options):
        made.append(Proxy(conf, **options))
        return made[-1]

    yield make
    failure = None
    for p in made:
        try:
            p.stop()
        except AssertionError as e:
            failure = failure or e
        finally:
            p.remove()
    if failure is not None:
        raise failure
