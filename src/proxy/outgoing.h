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
/* Would a new connection to ends' peer have this local end? ctx: a struct departure. */
bool outgoing_fits(void *ctx, const struct endpoints *ends);
