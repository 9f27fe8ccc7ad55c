/* proxy/external.h: external ACLs' programs asked about requests, and their answers remembered. What is found out goes into the
 * request: the answer into its memo, the pairs into its notes.
 *
 * Threads: one worker. */
#pragma once
#include "proxy/request.h"
#include "proxy/worker_state.h"

/* Embedded in whoever waits; zeroed before use. */
struct external_wait {
    struct list_node node;
    struct request *request;
    const struct external_use *use;
    void (*done)(
        struct external_wait *w); /* the answer is in the request; may be called when settings are gone from use */
};

/* About r->externals->wanted, of these settings. True: it is known, from memory. False: w, if there is one, will be told; NULL: nobody
 * is asked. */
bool external_find(struct proxy_worker *pw, struct settings *s, struct request *r, struct external_wait *w);
/* Of what is known of `from`, what holds for `to`, which was made of it: the answers to questions that would be the same. */
void external_carry_over(struct request *to, const struct request *from);
void external_cancel(struct external_wait *w); /* idempotent; also of one that never waited */

/* Once a second: forgets what other settings than those in force asked. */
void externals_tick(struct proxy_worker *pw);
/* The worker ends: nobody waits any more. */
void externals_free(struct proxy_worker *pw);
