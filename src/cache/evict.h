/* cache/evict.h: which object goes next. Private to the room: store.c, test/cache/test_evict.c and
 * test/bench/sim_eviction.c. What the policies are, and what they are good for: doc/eviction.md.
 *
 * EVICT_S3FIFO is two queues (evict_fifo.h); the others are one heap (evict_heap.h) and differ in the value by which it
 * is ordered: EVICT_LRU, the last use; EVICT_GDSF, uses by size; EVICT_LFUDA, uses; both aged by what was evicted last.
 *
 * Threads: any, inside an epoch; one lock, taken on insert, remove and evict, never on a hit. */
#pragma once
#include <stdalign.h>
#include "cache/store.h" /* enum eviction_policy */

struct evictor;

/* What a hit reads of the evictor. On a line of its own, which nobody writes under s3fifo. */
struct hit_clock {
    /* 0: a hit only leaves a mark. Else the time of the policy, which only grows: of lru, what came so far; of GDSF and
     * LFUDA, the value of the last victim. Under 2^48. */
    alignas(64) _Atomic uint64_t age;
};

/* struct object's `use`: the age at its last use and how often it was hit; to s3fifo, once is all that counts. */
#define USE_COUNT_BITS 16
#define USE_COUNT_MAX ((UINT64_C(1) << USE_COUNT_BITS) - 1)

static inline uint64_t use_count(uint64_t use)
{
    return use & USE_COUNT_MAX;
}

static inline uint64_t use_age(uint64_t use)
{
    return use >> USE_COUNT_BITS;
}

static inline uint64_t use_of(uint64_t age, uint64_t count)
{
    return age << USE_COUNT_BITS | (count < USE_COUNT_MAX ? count : USE_COUNT_MAX);
}

/* Notes a hit on o: one relaxed load and at most one relaxed store; under s3fifo none when o was hit before, so that a
 * popular object's line stays shared between the cores. Of two hits at the same time one may be forgotten. */
static inline void evictor_hit(const struct hit_clock *clock, struct object *o)
{
    uint64_t age = atomic_load_explicit(&((struct hit_clock *)(uintptr_t)clock)->age, memory_order_relaxed);
    uint64_t use = atomic_load_explicit(&o->use, memory_order_relaxed);

    if (age == 0 && use_count(use) == 0)
        atomic_store_explicit(&o->use, use | 1, memory_order_relaxed);
    else if (age != 0)
        atomic_store_explicit(&o->use, use_of(age, use_count(use) + 1), memory_order_relaxed);
}

/* o, not queued yet, takes the place of old: old's uses are its own. */
static inline void evictor_inherit(struct object *o, struct object *old)
{
    uint64_t mine = use_count(atomic_load_explicit(&o->use, memory_order_relaxed));
    uint64_t its = use_count(atomic_load_explicit(&old->use, memory_order_relaxed));

    atomic_store_explicit(&o->use, use_of(0, mine + its), memory_order_relaxed);
}

/* Admission: the largest object that is let in, in bytes. Whatever is configured, one object shan't empty the cache. */
static inline uint64_t evictor_admits(uint64_t capacity, uint64_t max_object_size)
{
    return max_object_size < capacity / 2 ? max_object_size : capacity / 2;
}

/* capacity: bytes it has to do with, which sizes its memory of past keys. */
struct evictor *evictor_new(enum eviction_policy policy, size_t capacity);
/* Objects still queued are only forgotten. */
void evictor_free(struct evictor **holder);
/* Lives as long as e. */
const struct hit_clock *evictor_clock(const struct evictor *e);
/* From now on by this policy. What is queued is taken over in the order it was in, with its uses: a few with each
 * evictor_add() and evictor_pick() to come, so that no lock is held for long; by a second change, the rest at once. */
void evictor_set_policy(struct evictor *e, enum eviction_policy policy);
/* Queues o; nothing when it is OBJECT_DEAD already: it left the index before it came here. Its charge is final. */
void evictor_add(struct evictor *e, struct object *o);
/* Takes o out if it is queued. The caller has set OBJECT_DEAD before, so that a late evictor_add() does nothing. */
void evictor_drop(struct evictor *e, struct object *o);
/* The next victim, out of its queue; NULL when there is none. Somebody else may have unlinked it from the index at the
 * same time: whoever sets OBJECT_DEAD retires it. */
struct object *evictor_pick(struct evictor *e);
/* Bytes queued, by charge. */
uint64_t evictor_bytes(struct evictor *e);
/* Memory of its own. */
size_t evictor_overhead(struct evictor *e);
