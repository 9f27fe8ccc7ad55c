#include "cache/evict.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/lock.h"
#include "base/mem.h"
#include "cache/evict_fifo.h"
#include "cache/evict_heap.h"

struct evictor {
    struct hit_clock clock;
    alignas(64) pthread_mutex_t lock; /* not on the line that hits read */
    enum eviction_policy policy;
    uint64_t bytes;
    struct evict_fifo fifo;
    /* One is the order of now when the policy has a value. What is in the other, or in the queues of another policy,
     * comes over bit by bit after a change. */
    struct evict_heap heap[2];
    unsigned heap_now;
};

/* The value of an object by its last use: the smallest goes first. NULL: the queues of s3fifo. A value never shrinks
 * while the object is in, which is what the heap needs. */
static uint64_t lru_value(const struct object *o, uint64_t use)
{
    (void)o;
    return use_age(use);
}

/* Greedy-Dual-Size with Frequency, every miss at one cost: L + F / S (L. Cherkasova, HPL-98-69R1, 1998), S in 16 MiB. */
#define GDSF_UNIT (UINT64_C(1) << 24)

static uint64_t gdsf_value(const struct object *o, uint64_t use)
{
    uint64_t size = o->charge > 0 ? o->charge : 1, worth = (use_count(use) + 1) * GDSF_UNIT / size;

    return use_age(use) + (worth > 0 ? worth : 1);
}

/* Least frequently used with dynamic aging: L + F (M. Arlitt et al., HPL-98-173, 1999). */
static uint64_t lfuda_value(const struct object *o, uint64_t use)
{
    (void)o;
    return use_age(use) + use_count(use) + 1;
}

static const struct {
    heap_value *value;
    bool ages_by_victim; /* L: the value of the last victim; else the clock counts what comes */
} policies[] = {
    [EVICT_S3FIFO] = { NULL, false },
    [EVICT_LRU] = { lru_value, false },
    [EVICT_GDSF] = { gdsf_value, true },
    [EVICT_LFUDA] = { lfuda_value, true },
};

static uint64_t age_of(struct evictor *e)
{
    return atomic_load_explicit(&e->clock.age, memory_order_relaxed);
}

static void set_age(struct evictor *e, uint64_t age)
{
    atomic_store_explicit(&e->clock.age, age, memory_order_relaxed);
}

static void start_policy(struct evictor *e, enum eviction_policy policy)
{
    e->policy = policy;
    e->heap_now ^= 1;
    set_age(e, policies[policy].value != NULL ? 1 : 0);
}

struct evictor *evictor_new(enum eviction_policy policy, size_t capacity)
{
    struct evictor *e = aligned_alloc(alignof(struct evictor), sizeof *e);

    if (e == NULL)
        abort();
    *e = (struct evictor){ .bytes = 0 };
    lock_init(&e->lock);
    evict_fifo_init(&e->fifo, capacity);
    evict_heap_init(&e->heap[0], QUEUE_HEAP_A);
    evict_heap_init(&e->heap[1], QUEUE_HEAP_B);
    start_policy(e, policy);
    return e;
}

void evictor_free(struct evictor **holder)
{
    struct evictor *e = *holder;

    *holder = NULL;
    if (e == NULL)
        return;
    pthread_mutex_destroy(&e->lock);
    evict_fifo_free(&e->fifo);
    evict_heap_free(&e->heap[0]);
    evict_heap_free(&e->heap[1]);
    free(e);
}

const struct hit_clock *evictor_clock(const struct evictor *e)
{
    return &e->clock;
}

/* Before and after each that comes: a use is earlier or later than it, never at the same time. */
static void tick(struct evictor *e)
{
    if (!policies[e->policy].ages_by_victim)
        set_age(e, age_of(e) + 1);
}

/* Where o belongs by the policy of now. */
static void put(struct evictor *e, struct object *o)
{
    uint64_t use;

    if (policies[e->policy].value == NULL) {
        evict_fifo_add(&e->fifo, o);
        return;
    }
    tick(e);
    /* Its count may come from whom it replaced, or from a hit between publishing it and now. */
    use = use_of(age_of(e), use_count(atomic_load_explicit(&o->use, memory_order_relaxed)));
    atomic_store_explicit(&o->use, use, memory_order_relaxed);
    evict_heap_add(&e->heap[e->heap_now], o, policies[e->policy].value(o, use));
    tick(e);
}

/* Somebody who isn't in the order of now. */
static struct object *take_left_behind(struct evictor *e)
{
    bool by_value = policies[e->policy].value != NULL;
    struct object *o = by_value ? evict_fifo_take(&e->fifo) : evict_heap_take(&e->heap[e->heap_now]);

    return o != NULL ? o : evict_heap_take(&e->heap[!e->heap_now]);
}

/* How many come over at a time after a change of policy: more than one for each that is new, so that it ends; few, as
 * the lock is held meanwhile. */
#define MOVES 16

/* False: all are where they belong. */
static bool move_some(struct evictor *e)
{
    for (int i = 0; i < MOVES; i++) {
        struct object *o = take_left_behind(e);

        if (o == NULL)
            return false;
        /* The age was another policy's. */
        atomic_store_explicit(&o->use, use_count(atomic_load_explicit(&o->use, memory_order_relaxed)),
                              memory_order_relaxed);
        put(e, o);
    }
    return true;
}

void evictor_set_policy(struct evictor *e, enum eviction_policy policy)
{
    pthread_mutex_lock(&e->lock);
    if (e->policy != policy) {
        /* Of a change just before: there are two heaps, not three. */
        while (move_some(e))
            ;
        start_policy(e, policy);
    }
    pthread_mutex_unlock(&e->lock);
}

void evictor_add(struct evictor *e, struct object *o)
{
    pthread_mutex_lock(&e->lock);
    /* Who unlinks an object sets OBJECT_DEAD and then comes here for evictor_drop(): if that was before us, we see
     * it. */
    if (!(atomic_load_explicit(&o->flags, memory_order_relaxed) & OBJECT_DEAD)) {
        move_some(e);
        e->bytes += o->charge;
        put(e, o);
    }
    pthread_mutex_unlock(&e->lock);
}

void evictor_drop(struct evictor *e, struct object *o)
{
    pthread_mutex_lock(&e->lock);
    if (o->queue_id != QUEUE_NONE) {
        e->bytes -= o->charge;
        if (o->queue_id < QUEUE_HEAP_A)
            evict_fifo_drop(&e->fifo, o);
        else
            evict_heap_drop(&e->heap[o->queue_id - QUEUE_HEAP_A], o);
    }
    pthread_mutex_unlock(&e->lock);
}

struct object *evictor_pick(struct evictor *e)
{
    struct object *o;

    pthread_mutex_lock(&e->lock);
    move_some(e);
    if (policies[e->policy].value == NULL) {
        o = evict_fifo_pick(&e->fifo);
    } else {
        uint64_t value = 0;

        o = evict_heap_pick(&e->heap[e->heap_now], policies[e->policy].value, &value);
        if (policies[e->policy].ages_by_victim && value > age_of(e))
            set_age(e, value);
    }
    if (o != NULL)
        e->bytes -= o->charge;
    pthread_mutex_unlock(&e->lock);
    return o;
}

uint64_t evictor_bytes(struct evictor *e)
{
    uint64_t n;

    pthread_mutex_lock(&e->lock);
    n = e->bytes;
    pthread_mutex_unlock(&e->lock);
    return n;
}

size_t evictor_overhead(struct evictor *e)
{
    size_t n;

    pthread_mutex_lock(&e->lock);
    n = sizeof *e + evict_fifo_overhead(&e->fifo) + evict_heap_overhead(&e->heap[0]) + evict_heap_overhead(&e->heap[1]);
    pthread_mutex_unlock(&e->lock);
    return n;
}
