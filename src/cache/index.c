#include "cache/index.h"

#include <assert.h>
#include <stdlib.h>
#include "base/mem.h"

/* Open addressing, linear probing. A slot is one word: a tag of 16 bits of the key, so that a probe that isn't ours is
 * passed over without touching its object, and a pointer, of which user space has 47 bits. */
struct index_table {
    size_t mask;
    _Atomic uint64_t slot[];
};

#define SLOTS_MIN 16
#define FREE UINT64_C(0)
#define TAKEN_OUT UINT64_C(1) /* no object lies at address 1 */
#define POINTER_BITS 48

static uint64_t tag_of(struct hash128 key)
{
    return key.high << POINTER_BITS;
}

static uint64_t slot_of(struct object *o)
{
    uint64_t p = (uint64_t)(uintptr_t)o;

    assert(p >> POINTER_BITS == 0);
    return tag_of(o->key) | p;
}

static struct object *object_of(uint64_t slot)
{
    return (struct object *)(uintptr_t)(slot & ((UINT64_C(1) << POINTER_BITS) - 1));
}

static struct index_table *table_of(const struct index *ix)
{
    return atomic_load_explicit(&((struct index *)(uintptr_t)ix)->table, memory_order_acquire);
}

/* The slot that holds the key, or NULL. *object: what it holds. There is always a free slot to end at. */
static _Atomic uint64_t *probe(struct index_table *table, struct hash128 key, struct object **object)
{
    uint64_t tag = tag_of(key);

    for (size_t i = key.low & table->mask;; i = (i + 1) & table->mask) {
        uint64_t slot = atomic_load_explicit(&table->slot[i], memory_order_acquire);

        if (slot == FREE)
            return NULL;
        if (slot == TAKEN_OUT || (slot ^ tag) >> POINTER_BITS != 0)
            continue;
        *object = object_of(slot);
        if (hash128_eq((*object)->key, key))
            return &table->slot[i];
    }
}

struct object *index_find(const struct index *ix, struct hash128 key)
{
    struct index_table *table = table_of(ix);
    struct object *o;

    return table != NULL && probe(table, key, &o) != NULL ? o : NULL;
}

static void place(struct index_table *table, uint64_t slot, struct hash128 key)
{
    size_t i = key.low & table->mask;

    while (atomic_load_explicit(&table->slot[i], memory_order_relaxed) != FREE)
        i = (i + 1) & table->mask;
    atomic_store_explicit(&table->slot[i], slot, memory_order_release);
}

static void release_table(void *p)
{
    free(p);
}

/* A copy without what was taken out, at most half full; readers of the old one go on with it. */
static void rebuild(struct index *ix, struct epoch_thread *t)
{
    struct index_table *old = table_of(ix), *new;
    size_t slots = SLOTS_MIN;

    while (slots < 2 * (ix->live + 1))
        slots *= 2;
    new = xcalloc(1, sizeof *new + slots * sizeof new->slot[0]);
    new->mask = slots - 1;
    for (size_t i = 0; old != NULL && i <= old->mask; i++) {
        uint64_t slot = atomic_load_explicit(&old->slot[i], memory_order_relaxed);

        if (slot != FREE && slot != TAKEN_OUT)
            place(new, slot, object_of(slot)->key);
    }
    ix->filled = ix->live;
    atomic_store_explicit(&ix->table, new, memory_order_release);
    if (old != NULL)
        epoch_retire(t, old, release_table);
}

void index_put(struct index *ix, struct epoch_thread *t, struct object *o)
{
    struct index_table *table = table_of(ix);
    _Atomic uint64_t *at;
    struct object *old;

    if (table != NULL && (at = probe(table, o->key, &old)) != NULL) {
        atomic_store_explicit(at, slot_of(o), memory_order_release);
        return;
    }
    /* At three quarters probes get long; and one slot must stay free. */
    if (table == NULL || (ix->filled + 1) * 4 > (table->mask + 1) * 3) {
        rebuild(ix, t);
        table = table_of(ix);
    }
    place(table, slot_of(o), o->key);
    ix->live++;
    ix->filled++;
}

void index_take(struct index *ix, struct hash128 key)
{
    struct object *old;
    _Atomic uint64_t *at = probe(table_of(ix), key, &old);

    assert(at != NULL);
    atomic_store_explicit(at, TAKEN_OUT, memory_order_release);
    ix->live--;
}

bool index_each(const struct index *ix, bool (*each)(struct object *newest, void *ctx), void *ctx)
{
    struct index_table *table = table_of(ix);

    for (size_t i = 0; table != NULL && i <= table->mask; i++) {
        uint64_t slot = atomic_load_explicit(&table->slot[i], memory_order_acquire);

        if (slot != FREE && slot != TAKEN_OUT && !each(object_of(slot), ctx))
            return false;
    }
    return true;
}

size_t index_bytes(const struct index *ix)
{
    struct index_table *table = table_of(ix);

    return table != NULL ? sizeof *table + (table->mask + 1) * sizeof table->slot[0] : 0;
}

void index_free(struct index *ix)
{
    free(table_of(ix));
    atomic_store_explicit(&ix->table, NULL, memory_order_relaxed);
}
