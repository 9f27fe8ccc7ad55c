#include "cache/evict.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include "base/lock.h"
#include "base/mem.h"

enum queue { QUEUE_NONE, QUEUE_SMALL, QUEUE_MAIN, QUEUE_N };

/* Small holds a tenth of the bytes: the usual share of the S3-FIFO family; test/bench/sim_eviction judges the whole. */
#define SMALL_SHARE 10
/* Second chances one pick may give: bounds how long the lock is held when everything was visited. */
#define CHANCES_MAX 128
#define GHOST_WAYS 4

/* Keys that left the small queue unvisited: sets of a few slots, the oldest overwritten. A slot is a fingerprint in the
 * upper half and the number of evictions at its time in the lower one; 0: never used. */
struct ghosts {
    uint64_t *slot;
    size_t mask; /* sets - 1 */
    uint32_t now;
};

struct evictor {
    pthread_mutex_t lock;
    enum eviction_policy policy;
    struct list_node queue[QUEUE_N];
    uint64_t bytes[QUEUE_N];
    uint32_t n[QUEUE_N];
    struct ghosts ghosts;
};

struct evictor *evictor_new(enum eviction_policy policy, size_t capacity)
{
    struct evictor *e = xcalloc(1, sizeof *e);
    size_t sets = 64;

    while (sets * GHOST_WAYS < capacity / 2048)
        sets *= 2;
    e->ghosts.slot = xcalloc(sets * GHOST_WAYS, sizeof *e->ghosts.slot);
    e->ghosts.mask = sets - 1;
    e->policy = policy;
    lock_init(&e->lock);
    for (int q = 0; q < QUEUE_N; q++)
        list_init(&e->queue[q]);
    return e;
}

void evictor_free(struct evictor **holder)
{
    struct evictor *e = *holder;

    *holder = NULL;
    if (e == NULL)
        return;
    pthread_mutex_destroy(&e->lock);
    free(e->ghosts.slot);
    free(e);
}

static uint64_t *ghost_set(struct ghosts *g, struct hash128 key)
{
    return &g->slot[(key.low & g->mask) * GHOST_WAYS];
}

static void ghost_add(struct ghosts *g, struct hash128 key)
{
    uint64_t *set = ghost_set(g, key), *oldest = set;

    g->now++;
    for (int i = 0; i < GHOST_WAYS; i++) {
        if (set[i] == 0) {
            oldest = &set[i];
            break;
        }
        if (g->now - (uint32_t)set[i] > g->now - (uint32_t)*oldest)
            oldest = &set[i];
    }
    *oldest = (key.high >> 32) << 32 | g->now;
}

/* Was key among the last `memory` keys to leave? It is forgotten then. */
static bool ghost_take(struct ghosts *g, struct hash128 key, uint32_t memory)
{
    uint64_t *set = ghost_set(g, key);

    for (int i = 0; i < GHOST_WAYS; i++) {
        if (set[i] == 0 || set[i] >> 32 != key.high >> 32)
            continue;
        if (g->now - (uint32_t)set[i] >= memory)
            return false;
        set[i] = 0;
        return true;
    }
    return false;
}

static void enqueue(struct evictor *e, struct object *o, enum queue q)
{
    o->queue_id = (uint8_t)q;
    list_append(&e->queue[q], &o->queue);
    e->bytes[q] += o->charge;
    e->n[q]++;
}

static void dequeue(struct evictor *e, struct object *o)
{
    assert(e->bytes[o->queue_id] >= o->charge && e->n[o->queue_id] > 0);
    list_remove(&o->queue);
    e->bytes[o->queue_id] -= o->charge;
    e->n[o->queue_id]--;
    o->queue_id = QUEUE_NONE;
}

void evictor_set_policy(struct evictor *e, enum eviction_policy policy)
{
    pthread_mutex_lock(&e->lock);
    e->policy = policy;
    pthread_mutex_unlock(&e->lock);
}

void evictor_add(struct evictor *e, struct object *o)
{
    pthread_mutex_lock(&e->lock);
    /* Who unlinks an object sets OBJECT_DEAD and then comes here for evictor_drop(): if that was before us, we see
     * it. */
    if (!(atomic_load_explicit(&o->flags, memory_order_relaxed) & OBJECT_DEAD)) {
        bool main = e->policy == EVICT_LRU || ghost_take(&e->ghosts, o->key, e->n[QUEUE_MAIN] + e->n[QUEUE_SMALL]);

        assert(o->queue_id == QUEUE_NONE);
        enqueue(e, o, main ? QUEUE_MAIN : QUEUE_SMALL);
    }
    pthread_mutex_unlock(&e->lock);
}

void evictor_drop(struct evictor *e, struct object *o)
{
    pthread_mutex_lock(&e->lock);
    if (o->queue_id != QUEUE_NONE)
        dequeue(e, o);
    pthread_mutex_unlock(&e->lock);
}

/* A policy of one queue drains the other first: after a change of policy it isn't empty. */
static enum queue queue_to_cut(const struct evictor *e)
{
    if (e->n[QUEUE_SMALL] == 0)
        return QUEUE_MAIN;
    if (e->n[QUEUE_MAIN] == 0 || e->policy == EVICT_LRU)
        return QUEUE_SMALL;
    return e->bytes[QUEUE_SMALL] >= (e->bytes[QUEUE_SMALL] + e->bytes[QUEUE_MAIN]) / SMALL_SHARE ? QUEUE_SMALL
                                                                                                 : QUEUE_MAIN;
}

struct object *evictor_pick(struct evictor *e)
{
    struct object *o = NULL;

    pthread_mutex_lock(&e->lock);
    for (int chances = CHANCES_MAX; e->n[QUEUE_SMALL] + e->n[QUEUE_MAIN] > 0; chances--) {
        enum queue q = queue_to_cut(e);

        o = CONTAINER_OF(e->queue[q].next, struct object, queue);
        dequeue(e, o);
        if (chances <= 0 || !atomic_load_explicit(&o->visited, memory_order_relaxed)) {
            if (q == QUEUE_SMALL && e->policy == EVICT_S3FIFO)
                ghost_add(&e->ghosts, o->key);
            break;
        }
        atomic_store_explicit(&o->visited, 0, memory_order_relaxed);
        enqueue(e, o, QUEUE_MAIN);
        o = NULL;
    }
    pthread_mutex_unlock(&e->lock);
    return o;
}

uint64_t evictor_bytes(struct evictor *e)
{
    uint64_t n;

    pthread_mutex_lock(&e->lock);
    n = e->bytes[QUEUE_SMALL] + e->bytes[QUEUE_MAIN];
    pthread_mutex_unlock(&e->lock);
    return n;
}

size_t evictor_overhead(const struct evictor *e)
{
    return sizeof *e + (e->ghosts.mask + 1) * GHOST_WAYS * sizeof *e->ghosts.slot;
}
