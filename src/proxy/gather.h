/* proxy/gather.h: what belongs to workers, gathered from all of them: each adds its share on its own thread, and whoever asked
 * goes on when all have, or when it has waited long enough for one that is held up.
 *
 * Threads: all of it the asker's worker's, but gather_kind's functions. */
#pragma once
#include "net/worker.h"

/* How long a page waits. A worker's turn takes milliseconds: one that doesn't come to its messages in that time is stuck. */
#define GATHER_WAIT_US 5000000

struct gather_kind {
    size_t share_size; /* bytes; zeroed */
    /* On w's thread, in one turn of its loop, whose connections wait meanwhile: bounded work. What it puts into the share must
     * not point to anything of the worker's. Not called once w is stopping. */
    void (*add)(struct worker *w, void *share);
    /* Frees what add() put into it, not the share. Any thread. */
    void (*drop)(void *share);
};

struct gather_plan {
    const struct gather_kind *kind;
    struct worker *const *workers; /* read before gather_start() returns */
    unsigned n;
    struct worker *asker; /* whose thread this is; one of them */
    int64_t wait_us;
    /* Once, unless cancelled; not from within gather_start(). */
    void (*done)(void *owner);
    void *owner;
};

struct gathering;
struct gathering *gather_start(const struct gather_plan *plan);
/* Not wanted any more, or done with: shares still under way are dropped when they come. Clears the holder; NULL is fine. */
void gather_end(struct gathering **holder);
unsigned gather_workers(const struct gathering *g);
/* In done() and after it: NULL: that worker didn't answer in time. */
const void *gather_share(const struct gathering *g, unsigned worker);
/* Of how many that is so. */
unsigned gather_missing(const struct gathering *g);
