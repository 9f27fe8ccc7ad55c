#include "cache/object.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include "base/mem.h"

static void *block_get(struct arena *a, size_t n)
{
    return a != NULL ? arena_alloc(a, n) : xmalloc(n);
}

static void block_put(struct arena *a, void *block)
{
    if (a != NULL)
        arena_release(a, block, 0);
    else
        free(block);
}

struct object *object_new(struct arena *arena, size_t head_size)
{
    size_t size = sizeof(struct object) + head_size;
    struct object *o = block_get(arena, size);

    if (o == NULL)
        return NULL;
    memset(o, 0, sizeof *o);
    atomic_init(&o->refs, 1);
    o->arena = arena;
    o->charge = arena != NULL ? arena_round(size) : 0;
    return o;
}

struct object *object_ref(struct object *o)
{
    /* Relaxed: whoever calls has a reference or an epoch already, so nothing is freed meanwhile. */
    atomic_fetch_add_explicit(&o->refs, 1, memory_order_relaxed);
    return o;
}

void object_unref(struct object **holder)
{
    struct object *o = *holder;

    *holder = NULL;
    /* Release: our reads end before another thread frees. Acquire: if we are last, so have theirs. */
    if (o == NULL || atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1)
        return;
    body_unref(&o->body);
    block_put(o->arena, o);
}

#define SEGMENT_OVERHEAD offsetof(struct segment, bytes)

static struct segment *segment_init(void *at, size_t capacity)
{
    struct segment *s = at;

    atomic_init(&s->next, NULL);
    s->len = s->readers = 0;
    s->capacity = (uint32_t)capacity;
    return s;
}

/* The segment that lies in the body's own block. */
static struct segment *inner(struct body *b)
{
    return (struct segment *)(void *)(b + 1);
}

struct body *body_new(struct arena *arena, size_t capacity)
{
    struct body *b = block_get(arena, sizeof *b + SEGMENT_OVERHEAD + capacity);

    if (b == NULL)
        return NULL;
    atomic_init(&b->refs, 1);
    b->length = 0;
    b->arena = arena;
    b->last = segment_init(b + 1, capacity);
    atomic_init(&b->first, b->last);
    return b;
}

struct segment *body_extend(struct body *b, size_t capacity)
{
    void *block = block_get(b->arena, SEGMENT_OVERHEAD + capacity);
    struct segment *s;

    if (block == NULL)
        return NULL;
    s = segment_init(block, capacity);
    atomic_store_explicit(&b->last->next, s, memory_order_release);
    b->last = s;
    return s;
}

struct body *body_ref(struct body *b)
{
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}

void body_unref(struct body **holder)
{
    struct body *b = *holder;
    struct segment *s, *next;

    *holder = NULL;
    if (b == NULL || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (s = atomic_load_explicit(&b->first, memory_order_relaxed); s != NULL; s = next) {
        next = atomic_load_explicit(&s->next, memory_order_relaxed);
        if (s != inner(b))
            block_put(b->arena, s);
    }
    block_put(b->arena, b);
}

void body_drop_first(struct body **holder)
{
    struct body *b = *holder;
    struct segment *s = atomic_load_explicit(&b->first, memory_order_relaxed);
    bool last = s == b->last;

    assert(atomic_load_explicit(&b->refs, memory_order_relaxed) == 1);
    /* Behind the last one somebody else's segments may follow. */
    atomic_store_explicit(&b->first, last ? NULL : s->next, memory_order_relaxed);
    if (s != inner(b))
        block_put(b->arena, s);
    if (last)
        body_unref(holder);
}

uint64_t body_charge(const struct body *b)
{
    uint64_t n;

    if (b->arena == NULL)
        return 0;
    n = arena_block_size(b->arena, b);
    for (const struct segment *s = inner((struct body *)(uintptr_t)b)->next; s != NULL; s = s->next)
        n += arena_block_size(b->arena, s);
    return n;
}

uint64_t object_charge(const struct object *o)
{
    return (o->arena != NULL ? arena_block_size(o->arena, o) : 0) + (o->body != NULL ? body_charge(o->body) : 0);
}

size_t body_segment_size(uint64_t wanted, bool first)
{
    size_t overhead = SEGMENT_OVERHEAD + (first ? sizeof(struct body) : 0);

    if (wanted <= ARENA_BLOCK_MAX - overhead) {
        size_t n = (size_t)wanted + overhead, block = arena_round(n);

        if (block - n <= block / 8 || n <= 1024)
            return wanted > 0 ? (size_t)wanted : 1;
        return arena_round_down(n) - overhead;
    }
    return ARENA_BLOCK_MAX - overhead;
}

struct body_cursor body_cursor(const struct body *b, uint64_t first, uint64_t length)
{
    struct body_cursor c = { atomic_load_explicit(&((struct body *)(uintptr_t)b)->first, memory_order_acquire), 0,
                             first };

    /* Skipping is advancing: then the range itself is what is left. */
    assert(first <= b->length && length <= b->length - first);
    body_advance(&c, first);
    c.left = length;
    return c;
}

size_t body_peek(const struct body_cursor *c, struct iovec *v, size_t n)
{
    const struct segment *s = c->seg;
    uint32_t at = c->at;
    uint64_t left = c->left;
    size_t used = 0;

    while (used < n && left > 0) {
        uint64_t here;

        assert(s != NULL);
        here = s->len - at;
        if (here > left)
            here = left;
        if (here > 0)
            v[used++] = (struct iovec){ (void *)(uintptr_t)(s->bytes + at), (size_t)here };
        left -= here;
        s = atomic_load_explicit(&((struct segment *)(uintptr_t)s)->next, memory_order_acquire);
        at = 0;
    }
    return used;
}

void body_advance(struct body_cursor *c, uint64_t bytes)
{
    assert(bytes <= c->left);
    c->left -= bytes;
    while (bytes > 0) {
        uint64_t here = c->seg->len - c->at;

        if (bytes < here) {
            c->at += (uint32_t)bytes;
            return;
        }
        bytes -= here;
        c->seg = atomic_load_explicit(&((struct segment *)(uintptr_t)c->seg)->next, memory_order_acquire);
        c->at = 0;
    }
}
