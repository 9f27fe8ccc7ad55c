/* proxy/indirect_client.h: the client behind trusted proxies (follow_x_forwarded_for). Pure. */
#pragma once
#include "proxy/request.h"

/* Sets r->indirect and where it counts, when anybody is followed. Reads X-Forwarded-For from its end: while the list allows
 * the address in hand (first the connection's own), the next member is the address in hand. What is no address ends the
 * walk, as does the 64th. Never family 0. */
void indirect_client_find(struct request *r, const struct settings *s);
