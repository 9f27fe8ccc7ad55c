"""tcp_outgoing_address: which own address requests come from, as the origin and the log see it."""
from client import soon
from origin import Origin, ok


def test_the_first_line_that_holds_counts(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('acl one url_regex one=1\nacl both url_regex =1\nacl far dst 192.0.2.0/24\n'
                   'logformat from %<la %ru\naccess_log stdio:{dir}/from.log from\nstrip_query_terms off\n'
                   'tcp_outgoing_address 127.0.0.3 far\ntcp_outgoing_address 127.0.0.4 one\n'
                   'tcp_outgoing_address ::1\ntcp_outgoing_address 127.0.0.5 both\n')
    for query, address in [('?one=1', '127.0.0.4'), ('?two=1', '127.0.0.5'), ('?three=3', '127.0.0.1')]:
        assert p.get(page.url + query).status == 200
        assert page.requests[-1].client == address
        soon(lambda line=f'{address} {page.url}{query}\n': line in p.read('from.log'), 'the log has it')


def test_connections_are_kept_for_their_own_address(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('workers 1\nacl red url_regex red\nacl near dst 127.0.0.0/8\n'
                   'tcp_outgoing_address 127.0.0.3 red near\n')
    with p.connect() as c:
        for query in ('?red', '?plain', '?red', '?plain', '?plain', '?red'):
            assert c.get(page.url + query).status == 200
    assert [r.client for r in page.requests] == [f'127.0.0.{n}' for n in (3, 1, 3, 1, 1, 3)]
    assert len({r.connection for r in page.requests}) == 2, 'one kept for each'


def test_an_address_is_for_its_family_only(make_proxy):
    origin = Origin(host='::1')
    try:
        page = origin.page(ok(b'x'))
        p = make_proxy('tcp_outgoing_address 127.0.0.3\n')
        assert p.get(page.url).status == 200
        assert page.requests[0].client == '::1'
    finally:
        origin.close()


def test_nothing_leaves_from_another_address(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy('tcp_outgoing_address 192.0.2.77\n')  # not this machine's
    assert p.get(page.url).status == 503
    assert page.count == 0


def test_peers_and_tunnels(make_proxy, origin):
    page = origin.page(ok(b'x'))
    p = make_proxy(f'cache_peer 127.0.0.1 parent {origin.port} 0 no-query originserver name=upstream\n'
                   'acl up dstdomain up.test\ncache_peer_access upstream allow up\nnever_direct allow up\n'
                   'acl parent peername upstream\nacl tunnels method CONNECT\n'
                   'tcp_outgoing_address 127.0.0.6 parent\ntcp_outgoing_address 127.0.0.7 tunnels\n')
    assert p.get(f'http://up.test{page.path}').status == 200
    with p.connect() as c:
        assert c.ask('CONNECT', origin.authority, f'Host: {origin.authority}').status == 200
        c.send(f'GET {page.path} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n'.encode())
        assert c.response().status == 200
    assert [r.client for r in page.requests] == ['127.0.0.6', '127.0.0.7']
