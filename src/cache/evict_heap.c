#include "cache/evict_heap.h"

#include <assert.h>
#include <stdlib.h>
#include "base/mem.h"

/* Children of one lie on a cache line, and there are half as many levels as in a binary heap: moving an entry writes to
 * an object, which is rarely in the processor's cache. */
#define ARITY 4
/* Objects one pick may look at anew: bounds how long the lock is held when everything was hit. */
#define RENEWALS_MAX 128

void evict_heap_init(struct evict_heap *h, enum evict_queue id)
{
    *h = (struct evict_heap){ NULL, 0, 0, id };
}

void evict_heap_free(struct evict_heap *h)
{
    free(h->entry);
    evict_heap_init(h, h->id);
}

static void place(struct evict_heap *h, size_t at, struct heap_entry e)
{
    h->entry[at] = e;
    e.o->heap_at = at;
}

/* There is a gap at `at`: e goes there, or towards the root as far as it is worth less. */
static void rise(struct evict_heap *h, size_t at, struct heap_entry e)
{
    for (; at > 0 && h->entry[(at - 1) / ARITY].value > e.value; at = (at - 1) / ARITY)
        place(h, at, h->entry[(at - 1) / ARITY]);
    place(h, at, e);
}

static size_t least_child(const struct evict_heap *h, size_t at)
{
    size_t first = at * ARITY + 1, least = first;

    for (size_t child = first + 1; child < h->n && child < first + ARITY; child++)
        if (h->entry[child].value < h->entry[least].value)
            least = child;
    return least;
}

/* The same away from the root, as far as it is worth more. */
static void sink(struct evict_heap *h, size_t at, struct heap_entry e)
{
    for (;;) {
        size_t child = least_child(h, at);

        if (child >= h->n || h->entry[child].value >= e.value)
            break;
        place(h, at, h->entry[child]);
        at = child;
    }
    place(h, at, e);
}

void evict_heap_add(struct evict_heap *h, struct object *o, uint64_t value)
{
    assert(o->queue_id == QUEUE_NONE);
    if (h->n == h->room) {
        h->room = h->room > 0 ? h->room * 2 : 64;
        h->entry = xrealloc(h->entry, h->room * sizeof *h->entry);
    }
    o->queue_id = (uint8_t)h->id;
    rise(h, h->n++, (struct heap_entry){ value, o });
}

void evict_heap_drop(struct evict_heap *h, struct object *o)
{
    size_t at = o->heap_at;
    struct heap_entry last;

    assert(o->queue_id == h->id && at < h->n && h->entry[at].o == o);
    last = h->entry[--h->n];
    o->queue_id = QUEUE_NONE;
    if (last.o == o)
        return;
    if (at > 0 && h->entry[(at - 1) / ARITY].value > last.value)
        rise(h, at, last);
    else
        sink(h, at, last);
}

struct object *evict_heap_pick(struct evict_heap *h, heap_value *value_of, uint64_t *value)
{
    struct heap_entry least = { UINT64_MAX, NULL };

    if (h->n == 0)
        return NULL;
    for (int i = 0; i < RENEWALS_MAX; i++) {
        struct heap_entry top = h->entry[0];
        uint64_t now = value_of(top.o, atomic_load_explicit(&top.o->use, memory_order_relaxed));
        bool grew = now > top.value;

        if (grew)
            top.value = now;
        if (top.value < least.value)
            least = top;
        if (!grew)
            break;
        sink(h, 0, top);
    }
    evict_heap_drop(h, least.o);
    *value = least.value;
    return least.o;
}

struct object *evict_heap_take(struct evict_heap *h)
{
    struct object *o;

    if (h->n == 0)
        return NULL;
    o = h->entry[0].o;
    evict_heap_drop(h, o);
    if (h->n == 0)
        evict_heap_free(h);
    return o;
}

size_t evict_heap_overhead(const struct evict_heap *h)
{
    return h->room * sizeof *h->entry;
}
