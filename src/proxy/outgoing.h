/* proxy/outgoing.h: which of this machine's addresses a request leaves from (tcp_outgoing_address). Pure. */
#pragma once
#include "net/connect.h"
#include "proxy/peer_select.h"

/* A request on its way along a route. */
struct departure {
    const struct settings *settings;
    const struct request *request;
    const struct route *route;
};

/* Where it is to come from when it goes to `to`, which is also what `dst` means to the ACLs: the first line of that family
 * whose ACLs hold. Family 0: from anywhere. What can't be told (a user nobody asked for) doesn't hold. */
struct addr outgoing_address(const struct departure *d, const struct addr *to);
/* For each of n (at most CONNECT_ADDRS_MAX) addresses, as connect_config wants it. NULL: nothing is configured. */
const struct addr *outgoing_addresses(const struct departure *d, const struct addr *to, size_t n,
                                      struct addr from[CONNECT_ADDRS_MAX]);
/* With less than that left of forward_timeout nothing more is tried. Not 0: a timer may fire that much early by the
 * clock of the turn. */
#define OUTGOING_LEAST_US 10000
/* How a connection to the peer (NULL: an origin) is made; within `left` microseconds, which may be spent. Its local
 * addresses are the caller's to add. */
struct connect_config outgoing_connect(const struct settings *s, const struct peer_setting *peer, int64_t left);
/* How long a connection may wait for its next request, microseconds (server_idle_pconn_timeout, pconn_lifetime); 0 or
 * less: it isn't kept. */
int64_t outgoing_rest(const struct settings *s, const struct endpoints *ends, int64_t mono);
/* Would a new connection to ends' peer have this local end? ctx: a struct departure. */
bool outgoing_fits(void *ctx, const struct endpoints *ends);
