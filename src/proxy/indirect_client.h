/* proxy/indirect_client.h: the client behind trusted proxies (follow_x_forwarded_for). Pure. */
#pragma once
#include "proxy/request.h"

/* Reads X-Forwarded-For from its end: while `trusted` allows the address in hand (first the connection's own), the next
 * member is the address in hand. What is no address ends the walk, as does the 64th. Never family 0. */
struct addr indirect_client(const struct request *r, const struct access_list *trusted);
