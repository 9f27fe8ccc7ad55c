"""Bandwidth limits: delay_pools, client_delay_pools, response_delay_pool. Times have wide bounds: a limit makes it slow, none quick."""
import time

import pytest

from client import Task, soon
from origin import DEADLINE, ok

KEEP = 'Cache-Control: max-age=600'
BODY = bytes(i * 7 % 251 for i in range(60_000))
# 60,000 bytes: 10,000 are in the bucket, 50,000 come in a second.
RATE, SLOW = '50000/20000', 0.7


def timed(get, *args, body=BODY, **more):
    began = time.monotonic()
    r = get(*args, **more)
    assert r.body == body
    return time.monotonic() - began


def pool(kind, *rates):
    return f'delay_pools 1\ndelay_class 1 {kind}\ndelay_parameters 1 {" ".join(rates)}\ndelay_access 1 allow all\n'


def get_from(p, page, source, *fields):
    with p.connect(source=source) as c:
        return c.get(page.url, *fields)


def both(p, page, one, other):
    """Two at the same time: how long both took."""
    began = time.monotonic()
    tasks = [Task(get_from, p, page, source) for source in (one, other)]
    assert all(t.result().body == BODY for t in tasks)
    return time.monotonic() - began


def test_misses_are_limited_and_hits_are_not(make_proxy, origin):
    page = origin.page(ok(BODY, KEEP))
    p = make_proxy(pool(1, RATE))
    assert timed(p.get, page.url) > SLOW
    assert timed(p.get, page.url) < SLOW
    assert p.codes(page.url, 2) == ['TCP_MISS/200', 'TCP_MEM_HIT/200']


def test_who_is_not_in_the_pool(make_proxy, origin):
    page = origin.page(ok(BODY))
    p = make_proxy(pool(1, RATE).replace('allow all', 'deny all'))
    assert timed(p.get, page.url) < SLOW
    q = make_proxy(pool(1, 'none'))
    assert timed(q.get, page.url) < SLOW


def test_one_for_all(make_proxy, origin):
    page = origin.page(ok(BODY))
    p = make_proxy(pool(1, RATE))
    assert both(p, page, '127.0.0.2', '127.0.0.3') > 2 * SLOW


@pytest.mark.parametrize('kind, rates, one, other, together', [
    (2, ['none', RATE], '127.0.0.2', '127.0.0.3', False), (2, ['none', RATE], '127.0.0.2', '127.0.0.2', True),
    (3, ['none', RATE, 'none'], '127.0.0.2', '127.0.0.3', True), (3, ['none', RATE, 'none'], '127.0.0.2', '127.0.1.2', False),
    (4, ['none', 'none', RATE, 'none'], '127.0.0.2', '127.0.0.2', True)])
def test_classes(make_proxy, origin, kind, rates, one, other, together):
    page = origin.page(ok(BODY))
    p = make_proxy(pool(kind, *rates))
    took = both(p, page, one, other)
    assert took > (2 * SLOW if together else SLOW)
    if not together:
        assert took < 2 * SLOW + 0.5


def test_tunnels(make_proxy, origin):
    page = origin.page(ok(BODY))
    p = make_proxy(pool(1, RATE))
    with p.connect() as c:
        c.send(f'CONNECT {origin.authority} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
        assert c.response('CONNECT').status == 200
        assert timed(c.get, page.path, f'Host: {origin.authority}') > SLOW


def test_initial_level(make_proxy, origin):
    page = origin.page(ok(BODY))
    p = make_proxy(pool(1, '50000/60000') + 'delay_initial_bucket_level 100\n')
    assert timed(p.get, page.url) < SLOW


def test_indirect_clients(make_proxy, origin):
    """Clients behind a proxy that is believed are told apart, or not."""
    page = origin.page(ok(BODY))
    conf = 'follow_x_forwarded_for allow all\n' + pool(2, 'none', RATE)
    for more, together in (('', False), ('delay_pool_uses_indirect_client off\n', True)):
        p = make_proxy(conf + more)
        began = time.monotonic()
        tasks = [Task(p.get, page.url, f'X-Forwarded-For: 10.0.0.{i}') for i in (1, 2)]
        assert all(t.result().body == BODY for t in tasks)
        took = time.monotonic() - began
        assert took > 2 * SLOW if together else took < 2 * SLOW + 0.5


@pytest.mark.parametrize('most, forgotten', [(16, True), (100, False)])
def test_the_longest_unused_are_forgotten(make_proxy, origin, most, forgotten):
    """One whose bucket is forgotten begins with a new one."""
    page = origin.page(ok(BODY))
    p = make_proxy('shutdown_lifetime 1 second\n' + pool(2, 'none', '3000/60000') +
                   f'delay_initial_bucket_level 100\ndelay_buckets_max {most}\n')
    for source in ('127.0.0.2', *(f'127.0.1.{i + 1}' for i in range(20))):
        assert get_from(p, page, source).body == BODY
    task = Task(get_from, p, page, '127.0.0.2')
    task.join(DEADLINE if forgotten else 1)
    assert task.is_alive() != forgotten


CLIENT = 'client_delay_pools 1\nclient_delay_parameters 1 50000 20000\nclient_delay_access 1 allow all\n'


def test_initial_level_of_clients(make_proxy, origin):
    page = origin.page(ok(BODY))
    p = make_proxy(CLIENT.replace('20000', '60000') + 'client_delay_initial_bucket_level 100\n')
    assert timed(p.get, page.url) < SLOW


@pytest.mark.parametrize('conf', [CLIENT, 'response_delay_pool slow individual-restore=50000 individual-maximum=20000\n'
                                  'response_delay_pool_access slow allow all\n'])
def test_what_clients_are_sent(make_proxy, origin, conf):
    """Hits, too."""
    page = origin.page(ok(BODY, KEEP))
    p = make_proxy(conf)
    assert timed(p.get, page.url) > SLOW
    time.sleep(0.5)
    assert timed(p.get, page.url) > SLOW
    assert p.codes(page.url, 2) == ['TCP_MISS/200', 'TCP_MEM_HIT/200']
    assert p.get(page.url, 'Range: bytes=0-9').body == BODY[:10]


def test_responses_by_themselves_and_together(make_proxy, origin):
    page = origin.page(ok(BODY, KEEP))
    alone = make_proxy('response_delay_pool r individual-restore=50000 individual-maximum=20000\nresponse_delay_pool_access r allow all\n')
    assert both(alone, page, '127.0.0.1', '127.0.0.1') < 2 * SLOW + 0.5
    p = make_proxy('response_delay_pool r aggregate-restore=50000 aggregate-maximum=20000\nresponse_delay_pool_access r allow all\n')
    assert both(p, page, '127.0.0.1', '127.0.0.1') > 2 * SLOW


def test_the_client_leaves_and_reconfigure(make_proxy, origin):
    page = origin.page(ok(BODY))
    end = 'shutdown_lifetime 1 second\n'
    p = make_proxy(end + pool(1, '1000/2000') + CLIENT.replace('50000', '1000'))
    with p.connect() as c:
        c.send(f'GET {page.url} HTTP/1.1\r\nHost: x\r\n\r\n'.encode())
        page.wait(1)
        c.reset()
    task = Task(p.get, page.url)
    page.wait(2)
    p.configure(end)
    assert p.k('reconfigure').returncode == 0
    p.wait_cache_log('Reconfigured')
    other = origin.page(ok(BODY[:5000]))  # another, as the old one's fetch could be joined; 3 s where still limited
    soon(lambda: timed(p.get, other.url, body=BODY[:5000]) < SLOW, 'new requests are not limited')
    assert task.is_alive()


@pytest.mark.parametrize('conf, why', [
    ('delay_pools x', 'number of pools'), ('delay_class 1 1', 'delay_pools must stand above this line'), ('delay_pools 1\ndelay_class 2 1', 'none of the 1 pools'),
    ('delay_pools 1\ndelay_class 1 6', 'of class 1, 2, 3, 4 or 5'), ('delay_pools 1\ndelay_parameters 1 1/1', 'delay_class has to say'),
    ('delay_pools 1\ndelay_class 1 2\ndelay_parameters 1 1/1', 'has 2 rates, not 1'),
    ('delay_pools 1\ndelay_class 1 1\ndelay_parameters 1 5', 'bytes a second'), ('delay_pools 1\ndelay_access 1 allow all', 'no parameters'),
    ('client_delay_pools 1\nclient_delay_parameters 1 x 5', 'bytes a second'), ('response_delay_pool x fast=1', 'individual-restore'),
    ('response_delay_pool_access x allow all', 'no response_delay_pool'), ('response_delay_pool x individual-restore=5', 'maximum')])
def test_configuration_errors(make_proxy, conf, why):
    p = make_proxy(start=False)
    p.configure(conf)
    r = p.k('parse')
    assert r.returncode == 1 and why in r.stderr
