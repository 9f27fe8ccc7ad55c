"""memory_replacement_policy: who is still a hit after many that are asked for once have gone through a full cache."""
import pytest

from origin import ok

FRESH = 'Cache-Control: max-age=86400'
SIZES = {'popular': 60000, 'twice': 8000, 'small': 500}
PASSING = 8000  # bytes; some 430 of them fill what is used below

# Who stays, by policy. popular: 12 requests, large; twice: 2; small: 1.
STAY = {
    's3fifo': {'popular', 'twice'},      # both were asked for again, so they are in the main queue
    'lru': set(),
    'heap LRU': set(),
    'heap GDSF': {'small'},              # the others' hits are few for their size
    'heap LFUDA': {'popular'},           # two hits are soon too old, twelve are not yet
}


def fetch(c, page, name, size):
    r = c.get(f'{page.url}?{name}-{size}')
    assert len(r.body) == size


def answer(x):
    return ok(bytes(int(x.request.target.rpartition('-')[2])), FRESH)


def ask_for_the_three(c, page):
    for name, times in (('popular', 12), ('twice', 2), ('small', 1)):
        for _ in range(times):
            fetch(c, page, name, SIZES[name])
    assert page.count == 3


def fill_over(c, page, turns):
    for n in range(turns * 430):
        fetch(c, page, n, PASSING)


def still_hits(c, page):
    hits = set()
    for name, size in SIZES.items():
        before = page.count
        fetch(c, page, name, size)
        if page.count == before:
            hits.add(name)
    return hits


@pytest.mark.parametrize('policy', STAY)
def test_who_stays(make_proxy, origin, policy):
    page = origin.page(answer)
    p = make_proxy(f'cache_mem 4 MB\nworkers 1\naccess_log none\nmemory_replacement_policy {policy}')
    with p.connect() as c:
        ask_for_the_three(c, page)
        fill_over(c, page, 5)
        assert still_hits(c, page) == STAY[policy]


def test_a_reload_changes_the_policy(make_proxy, origin):
    """What is in the cache is judged by the new policy, its hits so far included."""
    page = origin.page(answer)
    conf = 'cache_mem 4 MB\nworkers 1\naccess_log none\ncachemgr_passwd none config\nmemory_replacement_policy '
    p = make_proxy(conf + 'heap GDSF')
    with p.connect() as c:
        ask_for_the_three(c, page)
        p.configure(conf + 'heap LFUDA')
        p.k('reconfigure')
        p.wait_cache_log('Reconfigured')
        assert b'\nmemory_replacement_policy heap LFUDA\n' in p.page('config').body
        fill_over(c, page, 5)
        assert still_hits(c, page) == {'popular'}
