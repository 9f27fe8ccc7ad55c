/* proxy/client_limit.h: client_ip_max_connections, and the count behind it and `acl x maxconn`. One worker. */
#pragma once
#include "proxy/worker_state.h"

/* A connection whose client is known now. False: its address has too many: counted and logged; close it. *counted is the
 * caller's, to be given back with client_tally_remove(); NULL when nobody asks for the count. */
bool client_limit_admits(struct proxy_worker *pw, const struct addr *client, const struct addr *local,
                         struct client_count **counted);
/* One that was there before the settings asked for the count; does nothing if it is counted, or still nobody asks. */
void client_limit_count(struct proxy_worker *pw, const struct addr *client, struct client_count **counted);
