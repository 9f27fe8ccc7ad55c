/* proxy/peer_probe.h: what is known of peers, as connections to them succeed and fail; and connections nobody asked for: to dead
 * ones, to see whether they answer again, and those that standby= keeps ready. Threads: one worker. */
#pragma once
#include "proxy/worker_state.h"

/* A connection to p could, or couldn't, be made: cache.log is told when that changes what it is. */
void peer_answered(const struct peer_setting *p);
void peer_failed(const struct peer_setting *p);
/* May it be asked? One that is dead is tried behind the back of who asks, once in dead_peer_timeout. */
bool peer_is_alive(struct proxy_worker *pw, struct settings *s, const struct peer_setting *p);

/* Its name in the connection pool; the caller frees. */
char *peer_pool_name(const struct peer_setting *p);

/* Once a second: opens what is missing of standby=. */
void peer_probes_tick(struct proxy_worker *pw);
/* The worker ends. */
void peer_probes_free(struct proxy_worker *pw);
