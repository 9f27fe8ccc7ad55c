#include "base/epoch.h"

#include <assert.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"

struct retired {
    void *p;
    void (*release)(void *p);
};

/* Things retired in one epoch, freed two epochs later. */
struct limbo {
    uint64_t epoch;
    size_t n, capacity;
    struct retired *items;
};

struct epoch_thread {
    alignas(64) _Atomic uint64_t inside; /* the epoch it entered in; 0: outside */
    alignas(64) atomic_bool used;
    struct limbo limbo[3];
};

static struct epoch_thread threads[EPOCH_THREADS_MAX];
static atomic_size_t slots; /* ever used: all that advancing has to look at */
static alignas(64) _Atomic uint64_t global_epoch = 3;

struct epoch_thread *epoch_register(void)
{
    for (size_t i = 0; i < EPOCH_THREADS_MAX; i++) {
        bool no = false;

        size_t n = atomic_load(&slots);

        if (!atomic_compare_exchange_strong(&threads[i].used, &no, true))
            continue;
        /* Before the thread can enter. */
        while (n <= i && !atomic_compare_exchange_weak(&slots, &n, i + 1))
            ;
        return &threads[i];
    }
    fputs("loligo: more threads than EPOCH_THREADS_MAX\n", stderr);
    abort();
}

void epoch_enter(struct epoch_thread *t)
{
    uint64_t e = atomic_load_explicit(&global_epoch, memory_order_relaxed);

    assert(!epoch_inside(t));
    /* A full barrier: the mark must be seen before our first read of shared memory is done. An older
     * e than the global one only delays freeing. */
    atomic_exchange_explicit(&t->inside, e, memory_order_seq_cst);
}

void epoch_exit(struct epoch_thread *t)
{
    atomic_store_explicit(&t->inside, 0, memory_order_release);
}

bool epoch_inside(const struct epoch_thread *t)
{
    return atomic_load_explicit(&((struct epoch_thread *)(uintptr_t)t)->inside, memory_order_relaxed) != 0;
}

static void limbo_free(struct limbo *l)
{
    size_t n = l->n;
    struct retired *items = l->items;

    /* Detached first: release() may retire more. */
    *l = (struct limbo){ 0 };
    for (size_t i = 0; i < n; i++)
        items[i].release(items[i].p);
    free(items);
}

void epoch_retire(struct epoch_thread *t, void *p, void (*release)(void *p))
{
    uint64_t e = atomic_load_explicit(&global_epoch, memory_order_seq_cst);
    struct limbo *l = &t->limbo[e % 3];

    /* Same slot, older epoch: that was at least three epochs ago, so free at the next poll is
     * overdue already; but we may be inside here, so keep its items and let them wait once more. */
    l->epoch = e;
    if (l->n == l->capacity) {
        l->capacity = l->capacity ? l->capacity * 2 : 16;
        l->items = xrealloc(l->items, l->capacity * sizeof *l->items);
    }
    l->items[l->n++] = (struct retired){ p, release };
}

/* The epoch moves on when every thread inside has seen it. */
static void try_advance(void)
{
    uint64_t e = atomic_load_explicit(&global_epoch, memory_order_seq_cst);
    size_t n = atomic_load_explicit(&slots, memory_order_seq_cst);

    for (size_t i = 0; i < n; i++) {
        uint64_t in;

        if (!atomic_load_explicit(&threads[i].used, memory_order_acquire))
            continue;
        in = atomic_load_explicit(&threads[i].inside, memory_order_seq_cst);
        if (in != 0 && in != e)
            return;
    }
    atomic_compare_exchange_strong(&global_epoch, &e, e + 1);
}

void epoch_poll(struct epoch_thread *t)
{
    assert(!epoch_inside(t));
    if (epoch_pending(t) == 0)
        return;
    for (int again = 0; again < 2; again++) {
        try_advance();
        for (int i = 0; i < 3; i++)
            if (t->limbo[i].n > 0 && t->limbo[i].epoch + 2 <= atomic_load(&global_epoch))
                limbo_free(&t->limbo[i]);
    }
}

size_t epoch_pending(const struct epoch_thread *t)
{
    return t->limbo[0].n + t->limbo[1].n + t->limbo[2].n;
}

void epoch_unregister(struct epoch_thread **holder)
{
    struct epoch_thread *t = *holder;

    *holder = NULL;
    if (t == NULL)
        return;
    /* Threads end only when the process does or a test does; wait for the readers, bounded by their turn. */
    while (epoch_pending(t) > 0)
        epoch_poll(t);
    atomic_store(&t->used, false);
}
