/* net/client_tally.h: how many connections each client address has now, over all workers: client_ip_max_connections
 * and `acl x maxconn`. It holds an entry per address with a connection, so descriptors bound it.
 *
 * Threads: any; a lock is held for a look into a bucket. hash_init() was called. */
#pragma once
#include "net/addr.h"

struct client_tally;
/* One address's entry: lives as long as one of its connections is counted. */
struct client_count;

struct client_tally *client_tally_new(void);
/* Nothing is counted any more. */
void client_tally_free(struct client_tally **holder);
/* One connection more of this address, whatever its port; NULL: it has `most` already, and is not counted. */
struct client_count *client_tally_add(struct client_tally *t, const struct addr *client, unsigned most);
/* That connection is gone; clears the holder's pointer. NULL is fine. */
void client_tally_remove(struct client_tally *t, struct client_count **holder);
/* Its address's connections at this moment; 0 of NULL. No lock. */
unsigned client_count_now(const struct client_count *c);
