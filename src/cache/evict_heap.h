/* cache/evict_heap.h: the order of eviction by value, the smallest first: lru, heap GDSF, heap LFUDA. Private to evict.c.
 *
 * A hit doesn't come here: it notes age and count in the object (evictor_hit()), which can only raise its value. So a
 * value in the heap is never above the true one, and who is on top with a true value is the smallest of all; one whose
 * value has grown is put where it belongs by then. Of equals any goes first: the oldest first was tried, and LFUDA had
 * fewer hits (test/bench/sim_eviction) for 8 bytes more an object.
 *
 * Threads: under the evictor's lock. */
#pragma once
#include "cache/evict_fifo.h" /* enum evict_queue */

/* What o is worth, by its `use`. Never less than before while o is in. */
typedef uint64_t heap_value(const struct object *o, uint64_t use);

struct heap_entry {
    uint64_t value;
    struct object *o; /* its heap_at says where this is */
};

/* 16 bytes an object beside the arena: as many objects as cache_mem holds bound it. */
struct evict_heap {
    struct heap_entry *entry;
    size_t n, room;
    enum evict_queue id; /* queue_id of who is in */
};

void evict_heap_init(struct evict_heap *h, enum evict_queue id);
/* Objects still in are only forgotten. */
void evict_heap_free(struct evict_heap *h);
void evict_heap_add(struct evict_heap *h, struct object *o, uint64_t value);
/* o is in. */
void evict_heap_drop(struct evict_heap *h, struct object *o);
/* The one of least value, taken out, and its value; NULL when empty. A pick looks at a bounded number of objects that
 * were hit since it saw them last; when all of those were, it takes the least of them. */
struct object *evict_heap_pick(struct evict_heap *h, heap_value *value_of, uint64_t *value);
/* The one of least value as the heap saw it last, taken out; NULL when empty. The last one leaves no memory behind. */
struct object *evict_heap_take(struct evict_heap *h);
size_t evict_heap_overhead(const struct evict_heap *h);
