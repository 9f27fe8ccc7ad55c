#include "cache/arena.h"

#include <assert.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "base/lock.h"
#include "base/mem.h"

#if defined(__SANITIZE_ADDRESS__)
#define ARENA_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISON 1
#endif
#endif
#ifdef ARENA_POISON
/* Free blocks are off limits, as freed heap memory would be. */
#include <sanitizer/asan_interface.h>
#define POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define POISON(p, n) ((void)(p), (void)(n))
#define UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#define PAGE ((size_t)65536)
#define GRAIN ((size_t)16)
#define BLOCK_MIN ((size_t)64)
#define CLASSES_MAX 80
#define BINS 4   /* pages of a class by how full they are; the fullest bin is served first */
#define BORROW 8 /* how many classes up a request may go when there is no page: about 2.5 times its size */
#define NONE UINT32_MAX
#define NO_BLOCK UINT16_MAX

/* Sizes such that a page divides into equal blocks with next to no rest, each about an eighth above the one before. The
 * upper end is what a page allows: 1/4, 1/3, 1/2, all of it. */
static struct {
    size_t n;
    uint32_t size[CLASSES_MAX], per_page[CLASSES_MAX];
    uint8_t of[PAGE / GRAIN + 1]; /* by size in grains, rounded up */
} classes;

static size_t divide_page(size_t blocks)
{
    return (PAGE / blocks) & ~(GRAIN - 1);
}

static void classes_init(void)
{
    size_t n = 0;

    for (size_t size = BLOCK_MIN, next;; size = next) {
        assert(n < CLASSES_MAX);
        classes.size[n] = (uint32_t)size;
        classes.per_page[n] = (uint32_t)(PAGE / size);
        n++;
        if (size == PAGE)
            break;
        next = divide_page((PAGE + size + size / 8 - 1) / (size + size / 8));
        if (next <= size) /* a grain or a whole block more is above an eighth */
            next = divide_page(PAGE / (size + GRAIN));
    }
    classes.n = n;
    for (size_t grains = 0, c = 0; grains <= PAGE / GRAIN; grains++) {
        while (classes.size[c] < grains * GRAIN)
            c++;
        classes.of[grains] = (uint8_t)c;
    }
}

static void classes_need(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, classes_init);
}

static size_t class_of(size_t n)
{
    return classes.of[(n + GRAIN - 1) / GRAIN];
}

/* What we know of a page, kept outside of it. Guarded by the lock of its class, or the pool's while it is free. */
struct page {
    uint32_t next, prev; /* in a bin; next alone in the pool */
    uint16_t used;       /* blocks handed out */
    uint16_t carved;     /* blocks that were ever handed out: those behind are untouched memory */
    uint16_t freed;      /* first block of the free list, as its offset in grains */
    uint8_t class, bin;
};

struct class
{
    alignas(64) pthread_mutex_t lock;
    uint32_t bins[BINS];       /* first page of each; pages without a free block are in none */
    _Atomic size_t used, free; /* bytes in blocks; written under the lock */
};

struct arena {
    unsigned char *base;
    uint32_t pages;
    struct page *page;
    struct class class[CLASSES_MAX];
    alignas(64) pthread_mutex_t pool_lock; /* taken inside a class's lock */
    uint32_t pool;                         /* freed pages, the latest first: its memory is warm */
    uint32_t fresh;                        /* pages from here on were never used */
    _Atomic uint32_t pool_n;               /* free pages of both kinds */
    alignas(64) _Atomic size_t limbo;
};

static size_t get(const _Atomic size_t *v)
{
    return atomic_load_explicit((_Atomic size_t *)(uintptr_t)v, memory_order_relaxed);
}

/* Under the lock that guards v. */
static void add(_Atomic size_t *v, size_t n)
{
    atomic_store_explicit(v, get(v) + n, memory_order_relaxed);
}

static size_t whole_pages(size_t capacity)
{
    return (capacity < (size_t)1 << 20 ? (size_t)1 << 20 : capacity) / PAGE;
}

struct arena *arena_new(size_t capacity)
{
    struct arena *a;

    classes_need();
    if ((a = aligned_alloc(64, sizeof *a)) == NULL)
        abort();
    memset(a, 0, sizeof *a);
    a->pages = (uint32_t)whole_pages(capacity);
    a->base = mmap(NULL, a->pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a->base == MAP_FAILED) {
        fprintf(stderr, "loligo: can't reserve %zu MB of address space for cache_mem\n", capacity >> 20);
        exit(1);
    }
    POISON(a->base, a->pages * PAGE);
    a->page = xcalloc(a->pages, sizeof *a->page);
    a->pool = NONE;
    atomic_init(&a->pool_n, a->pages);
    lock_init(&a->pool_lock);
    for (size_t c = 0; c < classes.n; c++) {
        lock_init(&a->class[c].lock);
        for (size_t b = 0; b < BINS; b++)
            a->class[c].bins[b] = NONE;
    }
    return a;
}

void arena_free(struct arena **holder)
{
    struct arena *a = *holder;

    *holder = NULL;
    if (a == NULL)
        return;
    UNPOISON(a->base, a->pages * PAGE);
    munmap(a->base, a->pages * PAGE);
    for (size_t c = 0; c < classes.n; c++)
        pthread_mutex_destroy(&a->class[c].lock);
    pthread_mutex_destroy(&a->pool_lock);
    free(a->page);
    free(a);
}

static uint32_t pool_take(struct arena *a)
{
    uint32_t i = NONE;

    if (atomic_load_explicit(&a->pool_n, memory_order_relaxed) == 0)
        return NONE;
    pthread_mutex_lock(&a->pool_lock);
    if (a->pool != NONE) {
        i = a->pool;
        a->pool = a->page[i].next;
    } else if (a->fresh < a->pages) {
        i = a->fresh++;
    }
    if (i != NONE)
        atomic_store_explicit(&a->pool_n, atomic_load_explicit(&a->pool_n, memory_order_relaxed) - 1,
                              memory_order_relaxed);
    pthread_mutex_unlock(&a->pool_lock);
    return i;
}

static void pool_give(struct arena *a, uint32_t i)
{
    pthread_mutex_lock(&a->pool_lock);
    a->page[i].next = a->pool;
    a->pool = i;
    atomic_store_explicit(&a->pool_n, atomic_load_explicit(&a->pool_n, memory_order_relaxed) + 1, memory_order_relaxed);
    pthread_mutex_unlock(&a->pool_lock);
}

static void bin_unlink(struct arena *a, struct class *k, uint32_t i)
{
    struct page *p = &a->page[i];

    if (p->prev != NONE)
        a->page[p->prev].next = p->next;
    else
        k->bins[p->bin] = p->next;
    if (p->next != NONE)
        a->page[p->next].prev = p->prev;
}

static void bin_link(struct arena *a, struct class *k, uint32_t i, uint8_t bin)
{
    struct page *p = &a->page[i];

    p->bin = bin;
    p->prev = NONE;
    p->next = k->bins[bin];
    if (p->next != NONE)
        a->page[p->next].prev = i;
    k->bins[bin] = i;
}

/* BINS: full, in no bin. */
static uint8_t bin_of(const struct page *p)
{
    return (uint8_t)(p->used * BINS / classes.per_page[p->class]);
}

static void *block_take(struct arena *a, uint32_t i)
{
    struct page *p = &a->page[i];
    unsigned char *at = a->base + i * PAGE;
    size_t size = classes.size[p->class];

    if (p->freed != NO_BLOCK) {
        at += p->freed * GRAIN;
        UNPOISON(at, size);
        memcpy(&p->freed, at, sizeof p->freed);
    } else {
        at += p->carved++ * size;
        UNPOISON(at, size);
    }
    p->used++;
    return at;
}

/* From a page of class c that has a free block; from a new page too if fresh. */
static void *class_take(struct arena *a, size_t c, bool fresh)
{
    struct class *k = &a->class[c];
    uint32_t i = NONE;
    void *block = NULL;

    if (!fresh && get(&k->free) == 0)
        return NULL;
    pthread_mutex_lock(&k->lock);
    for (int b = BINS - 1; b >= 0 && i == NONE; b--)
        i = k->bins[b];
    if (i == NONE && fresh && (i = pool_take(a)) != NONE) {
        a->page[i] = (struct page){ .class = (uint8_t)c, .freed = NO_BLOCK };
        bin_link(a, k, i, 0);
        add(&k->free, (size_t)classes.per_page[c] * classes.size[c]);
    }
    if (i != NONE) {
        struct page *p = &a->page[i];
        uint8_t bin;

        block = block_take(a, i);
        if ((bin = bin_of(p)) != p->bin) {
            bin_unlink(a, k, i);
            if (bin < BINS)
                bin_link(a, k, i, bin);
            p->bin = bin;
        }
        add(&k->used, classes.size[c]);
        add(&k->free, -(size_t)classes.size[c]);
    }
    pthread_mutex_unlock(&k->lock);
    return block;
}

void *arena_alloc(struct arena *a, size_t n)
{
    size_t c;
    void *block;

    if (n > ARENA_BLOCK_MAX)
        return NULL;
    c = class_of(n);
    if ((block = class_take(a, c, true)) != NULL)
        return block;
    /* No page left: rather a block too large than none. */
    for (size_t up = c + 1; up < classes.n && up <= c + BORROW; up++)
        if ((block = class_take(a, up, false)) != NULL)
            return block;
    return NULL;
}

void arena_release(struct arena *a, void *block, size_t n)
{
    size_t at = (size_t)((unsigned char *)block - a->base);
    uint32_t i = (uint32_t)(at / PAGE);
    struct page *p = &a->page[i];
    size_t c = p->class; /* fixed while the page holds a block, so no lock is needed to read it */
    struct class *k = &a->class[c];
    uint8_t bin;

    assert(i < a->pages && (at % PAGE) % classes.size[c] == 0 && n <= classes.size[c]);
    pthread_mutex_lock(&k->lock);
    assert(p->used > 0);
    memcpy(block, &p->freed, sizeof p->freed);
    POISON(block, classes.size[c]);
    p->freed = (uint16_t)((at % PAGE) / GRAIN);
    p->used--;
    add(&k->used, -(size_t)classes.size[c]);
    add(&k->free, classes.size[c]);
    bin = bin_of(p);
    if (p->used == 0) {
        if (p->bin < BINS)
            bin_unlink(a, k, i);
        add(&k->free, -(size_t)classes.per_page[c] * classes.size[c]);
        pool_give(a, i);
    } else if (bin != p->bin) {
        if (p->bin < BINS)
            bin_unlink(a, k, i);
        bin_link(a, k, i, bin);
    }
    pthread_mutex_unlock(&k->lock);
}

size_t arena_round(size_t n)
{
    classes_need();
    return n > PAGE ? (n + PAGE - 1) / PAGE * PAGE : classes.size[class_of(n)];
}

size_t arena_block_size(const struct arena *a, const void *block)
{
    return classes.size[a->page[(size_t)((const unsigned char *)block - a->base) / PAGE].class];
}

size_t arena_round_down(size_t n)
{
    size_t c;

    classes_need();
    if (n >= ARENA_BLOCK_MAX)
        return ARENA_BLOCK_MAX;
    c = class_of(n);
    if (classes.size[c] > n && c > 0)
        c--;
    return classes.size[c];
}

size_t arena_capacity(const struct arena *a)
{
    return a->pages * PAGE;
}

bool arena_same_capacity(const struct arena *a, size_t capacity)
{
    return a->pages == whole_pages(capacity);
}

size_t arena_used(const struct arena *a)
{
    size_t n = 0;

    for (size_t c = 0; c < classes.n; c++)
        n += get(&a->class[c].used);
    return n;
}

static size_t pool_bytes(const struct arena *a)
{
    return atomic_load_explicit(&((struct arena *)(uintptr_t)a)->pool_n, memory_order_relaxed) * PAGE;
}

size_t arena_footprint(const struct arena *a)
{
    return arena_capacity(a) - pool_bytes(a);
}

size_t arena_unused(const struct arena *a)
{
    size_t n = pool_bytes(a);

    for (size_t c = 0; c < classes.n; c++)
        n += get(&a->class[c].free);
    return n;
}

size_t arena_room(const struct arena *a, size_t n)
{
    size_t c, room = pool_bytes(a);

    if (n > ARENA_BLOCK_MAX)
        return 0;
    c = class_of(n);
    for (size_t up = c; up < classes.n && up <= c + BORROW; up++)
        room += get(&a->class[up].free);
    return room;
}

void arena_limbo_add(struct arena *a, size_t bytes)
{
    atomic_fetch_add_explicit(&a->limbo, bytes, memory_order_relaxed);
}

void arena_limbo_sub(struct arena *a, size_t bytes)
{
    atomic_fetch_sub_explicit(&a->limbo, bytes, memory_order_relaxed);
}

size_t arena_limbo(const struct arena *a)
{
    return get(&a->limbo);
}

void arena_each_size(const struct arena *a, void (*each)(size_t size, size_t used, size_t unused, void *ctx), void *ctx)
{
    for (size_t c = 0; c < classes.n; c++)
        each(classes.size[c], get(&a->class[c].used) / classes.size[c], get(&a->class[c].free) / classes.size[c], ctx);
}
