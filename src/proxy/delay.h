/* proxy/delay.h: the delay pools that limit a request: by delay_pools what servers send for it, by client_delay_pools and
 * response_delay_pool what its client is sent. Threads: one worker. */
#pragma once
#include "net/delay_pool.h"
#include "proxy/request.h"
#include "proxy/worker_state.h"

/* What a client is sent draws from two. */
#define CLIENT_DELAYS 2

/* u is zeroed; delay_end() lets go. */
void delay_from_server(struct delay_use *u, struct proxy_worker *pw, const struct settings *s, const struct request *r);
void delay_to_client(struct delay_use u[CLIENT_DELAYS], struct proxy_worker *pw, const struct settings *s,
                     const struct request *r);
/* Does delay_to_client() limit it? The hit path asks. */
bool delay_limits_client(const struct settings *s, const struct request *r);

/* Of n uses together, as delay_allows() and delay_took(). */
size_t delays_allow(struct delay_use *u, size_t n_uses, size_t bytes, int64_t now, int64_t *wait);
void delays_took(struct delay_use *u, size_t n_uses, size_t bytes, int64_t now);
void delays_end(struct delay_use *u, size_t n_uses);
