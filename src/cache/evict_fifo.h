/* cache/evict_fifo.h: S3-FIFO, the default order of eviction (J. Yang et al., SOSP 2023). Private to evict.c.
 *
 * New objects wait in a small queue (a tenth of the bytes); those hit there move to the main queue, others go, and
 * their key is remembered for a while: who comes back goes to the main queue at once. The main queue gives an object
 * that was hit one more round.
 *
 * Threads: under the evictor's lock. */
#pragma once
#include "cache/object.h"

/* struct object's queue_id. */
enum evict_queue { QUEUE_NONE, QUEUE_SMALL, QUEUE_MAIN, QUEUE_HEAP_A, QUEUE_HEAP_B };

/* Keys that left the small queue without a hit: sets of a few slots, the oldest overwritten. A slot is a fingerprint in
 * the upper half and the number of evictions at its time in the lower one; 0: never used. */
struct ghosts {
    uint64_t *slot;
    size_t mask; /* sets - 1 */
    uint32_t now;
};

struct fifo_queue {
    struct list_node list;
    uint64_t bytes;
    uint32_t n;
};

struct evict_fifo {
    struct fifo_queue queue[QUEUE_MAIN + 1]; /* small and main */
    struct ghosts ghosts;
};

/* f doesn't move afterwards. capacity: bytes of objects, which sizes the memory of keys. */
void evict_fifo_init(struct evict_fifo *f, size_t capacity);
/* Objects still queued are only forgotten. */
void evict_fifo_free(struct evict_fifo *f);
void evict_fifo_add(struct evict_fifo *f, struct object *o);
/* o is in one of its queues. */
void evict_fifo_drop(struct evict_fifo *f, struct object *o);
/* The next victim, taken out; NULL when empty. */
struct object *evict_fifo_pick(struct evict_fifo *f);
/* The oldest of the small queue, then of the main one, taken out, hit or not; NULL when empty. */
struct object *evict_fifo_take(struct evict_fifo *f);
size_t evict_fifo_overhead(const struct evict_fifo *f);
