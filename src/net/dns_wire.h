/* net/dns_wire.h: what goes to DNS servers and comes back, seen where c-ares sends and receives: for mgr:idns. Private to net's
 * resolver. It judges nothing: whether a reply is one is c-ares' business.
 *
 * Threads: its worker only. */
#pragma once
#include <ares.h>
#include "net/resolve.h"

struct dns_wire;

/* forget_us: what has not been answered for so long never will be. */
struct dns_wire *dns_wire_new(struct worker *w, int64_t forget_us);
/* Before the channel is asked for anything. servers and sockets go through here from now on. */
void dns_wire_attach(struct dns_wire *d, ares_channel channel);
/* The channel is gone. */
void dns_wire_free(struct dns_wire **holder);
/* No question is open any more. */
void dns_wire_forget(struct dns_wire *d);
/* Copies. */
void dns_wire_traffic(const struct dns_wire *d, struct dns_traffic *out);
/* Queries that wait for a reply, the first sent first, `most` at the most. Returns how many there are. */
size_t dns_wire_each(const struct dns_wire *d, size_t most, void (*each)(const struct dns_query_view *q, void *ctx),
                     void *ctx);
