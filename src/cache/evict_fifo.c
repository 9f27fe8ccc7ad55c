#include "cache/evict_fifo.h"

#include <assert.h>
#include <stdlib.h>
#include "base/mem.h"
#include "cache/evict.h"

/* Small holds a tenth of the bytes: the usual share of the S3-FIFO family; test/bench/sim_eviction judges the whole. */
#define SMALL_SHARE 10
/* Second chances one pick may give: bounds how long the lock is held when everything was hit. */
#define CHANCES_MAX 128
#define GHOST_WAYS 4

void evict_fifo_init(struct evict_fifo *f, size_t capacity)
{
    size_t sets = 64;

    while (sets * GHOST_WAYS < capacity / 2048)
        sets *= 2;
    *f = (struct evict_fifo){ .ghosts = { xcalloc(sets * GHOST_WAYS, sizeof *f->ghosts.slot), sets - 1, 0 } };
    for (int q = 0; q <= QUEUE_MAIN; q++)
        list_init(&f->queue[q].list);
}

void evict_fifo_free(struct evict_fifo *f)
{
    free(f->ghosts.slot);
    f->ghosts.slot = NULL;
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

static void enqueue(struct evict_fifo *f, struct object *o, enum evict_queue q)
{
    o->queue_id = (uint8_t)q;
    list_append(&f->queue[q].list, &o->queue);
    f->queue[q].bytes += o->charge;
    f->queue[q].n++;
}

void evict_fifo_drop(struct evict_fifo *f, struct object *o)
{
    struct fifo_queue *q = &f->queue[o->queue_id];

    assert(o->queue_id != QUEUE_NONE && q->bytes >= o->charge && q->n > 0);
    list_remove(&o->queue);
    q->bytes -= o->charge;
    q->n--;
    o->queue_id = QUEUE_NONE;
}

void evict_fifo_add(struct evict_fifo *f, struct object *o)
{
    uint32_t memory = f->queue[QUEUE_SMALL].n + f->queue[QUEUE_MAIN].n;

    assert(o->queue_id == QUEUE_NONE);
    enqueue(f, o, ghost_take(&f->ghosts, o->key, memory) ? QUEUE_MAIN : QUEUE_SMALL);
}

static enum evict_queue queue_to_cut(const struct evict_fifo *f)
{
    const struct fifo_queue *small = &f->queue[QUEUE_SMALL], *main = &f->queue[QUEUE_MAIN];

    if (small->n == 0)
        return QUEUE_MAIN;
    return main->n == 0 || small->bytes >= (small->bytes + main->bytes) / SMALL_SHARE ? QUEUE_SMALL : QUEUE_MAIN;
}

static struct object *take_oldest(struct evict_fifo *f, enum evict_queue q)
{
    struct object *o = CONTAINER_OF(f->queue[q].list.next, struct object, queue);

    evict_fifo_drop(f, o);
    return o;
}

struct object *evict_fifo_pick(struct evict_fifo *f)
{
    for (int chances = CHANCES_MAX; f->queue[QUEUE_SMALL].n + f->queue[QUEUE_MAIN].n > 0; chances--) {
        enum evict_queue q = queue_to_cut(f);
        struct object *o = take_oldest(f, q);

        if (chances <= 0 || use_count(atomic_load_explicit(&o->use, memory_order_relaxed)) == 0) {
            if (q == QUEUE_SMALL)
                ghost_add(&f->ghosts, o->key);
            return o;
        }
        atomic_store_explicit(&o->use, 0, memory_order_relaxed);
        enqueue(f, o, QUEUE_MAIN);
    }
    return NULL;
}

struct object *evict_fifo_take(struct evict_fifo *f)
{
    for (int q = QUEUE_SMALL; q <= QUEUE_MAIN; q++)
        if (f->queue[q].n > 0)
            return take_oldest(f, q);
    return NULL;
}

size_t evict_fifo_overhead(const struct evict_fifo *f)
{
    return (f->ghosts.mask + 1) * GHOST_WAYS * sizeof *f->ghosts.slot;
}
