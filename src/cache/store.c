#include "cache/store.h"

#include <assert.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include "base/lock.h"
#include "base/mem.h"
#include "cache/evict.h"
#include "cache/fill_private.h"
#include "cache/index.h"
#include "cache/store_private.h"
#include "cache/variants.h"

#define SHARD_BITS 6
#define SHARDS (1 << SHARD_BITS)
_Static_assert(SHARDS == STORE_PARTS, "a part is a shard");
#define CHAINS 64 /* of pending fills, a shard: 10,000 fills are some 2 in each */
#define STAMPS 64 /* a shard */

struct shard {
    alignas(64) struct index index; /* what look-ups read, apart from the lock that inserts write */
    alignas(64) pthread_mutex_t lock;
    struct fill *pending[CHAINS];
    /* When a key of this slot was last invalidated. Two keys in one slot: at worst an answer isn't stored that could
     * be. */
    uint64_t stamp[STAMPS];
};

struct store {
    struct shard shard[SHARDS];
    struct arena *arena;
    struct evictor *evictor;
    const struct hit_clock *clock; /* the evictor's */
    size_t reserve;
    _Atomic uint64_t max_object_size, min_object_size;
    _Atomic unsigned variants_max;
    alignas(64) _Atomic uint64_t now;
    _Atomic uint64_t refuse_before; /* fetches that began before this aren't stored */
    _Atomic uint64_t objects, evictions, inserts;
    _Atomic int64_t fills;
};

static struct shard *shard_of(struct store *s, struct hash128 key)
{
    return &s->shard[key.high >> (64 - SHARD_BITS)];
}

/* The index starts to probe with the lowest bits of `low`, so take others here. */
static uint64_t *stamp_of(struct shard *sh, struct hash128 key)
{
    return &sh->stamp[(key.low >> 32) % STAMPS];
}

static struct fill **chain_of(struct shard *sh, struct hash128 key)
{
    return &sh->pending[(key.low >> 32) % CHAINS];
}

static void tally(_Atomic uint64_t *v, uint64_t n)
{
    atomic_fetch_add_explicit(v, n, memory_order_relaxed);
}

static void set_limits(struct store *s, const struct store_limits *l)
{
    atomic_store_explicit(&s->max_object_size, l->max_object_size, memory_order_relaxed);
    atomic_store_explicit(&s->min_object_size, l->min_object_size, memory_order_relaxed);
    atomic_store_explicit(&s->variants_max, l->variants_max > 0 ? l->variants_max : 1, memory_order_relaxed);
}

/* What is kept free beyond what is asked for, for the allocations of a turn: a 64th, from 256 KiB up; but of a tiny
 * cache not more than an eighth. */
static size_t reserve_of(size_t capacity)
{
    size_t reserve = capacity / 64;

    if (reserve < 256 << 10)
        reserve = 256 << 10;
    return reserve < capacity / 8 ? reserve : capacity / 8;
}

struct store *store_new(const struct store_limits *limits)
{
    struct store *s = aligned_alloc(64, sizeof *s);

    if (s == NULL)
        abort();
    memset(s, 0, sizeof *s);
    s->arena = arena_new(limits->cache_mem);
    s->evictor = evictor_new(limits->policy, arena_capacity(s->arena));
    s->clock = evictor_clock(s->evictor);
    s->reserve = reserve_of(arena_capacity(s->arena));
    set_limits(s, limits);
    for (int i = 0; i < SHARDS; i++)
        lock_init(&s->shard[i].lock);
    return s;
}

static bool release_chain(struct object *o, void *ctx)
{
    (void)ctx;
    while (o != NULL) {
        struct object *older = atomic_load_explicit(&o->older, memory_order_relaxed);

        object_unref(&o);
        o = older;
    }
    return true;
}

void store_free(struct store **holder)
{
    struct store *s = *holder;

    *holder = NULL;
    if (s == NULL)
        return;
    assert(atomic_load(&s->fills) == 0);
    for (int i = 0; i < SHARDS; i++) {
        index_each(&s->shard[i].index, release_chain, NULL);
        index_free(&s->shard[i].index);
        pthread_mutex_destroy(&s->shard[i].lock);
    }
    evictor_free(&s->evictor);
    arena_free(&s->arena);
    free(s);
}

bool store_set_limits(struct store *s, const struct store_limits *limits)
{
    set_limits(s, limits);
    evictor_set_policy(s->evictor, limits->policy);
    /* As arena_new() made of it when it began. */
    return arena_same_capacity(s->arena, limits->cache_mem);
}

struct arena *store_arena(struct store *s)
{
    return s->arena;
}

bool store_takes_size(const struct store *s, uint64_t length)
{
    struct store *w = (struct store *)(uintptr_t)s;

    return length >= atomic_load_explicit(&w->min_object_size, memory_order_relaxed) && length <= store_largest(s);
}

uint64_t store_largest(const struct store *s)
{
    uint64_t max = atomic_load_explicit(&((struct store *)(uintptr_t)s)->max_object_size, memory_order_relaxed);

    return evictor_admits(arena_capacity(s->arena), max);
}

/* Look-up. */

struct object *store_lookup(struct store *s, struct hash128 key, const struct head *request, bool *any)
{
    struct object *o = index_find(&shard_of(s, key)->index, key);

    if (any != NULL)
        *any = o != NULL;
    if (o == NULL || (o = variant_select(o, request)) == NULL)
        return NULL;
    evictor_hit(s->clock, o);
    return o;
}

struct object *store_lookup_part(struct store *s, struct hash128 key, const struct head *request)
{
    struct object *o = variant_select_part(index_find(&shard_of(s, key)->index, key), request);

    if (o != NULL)
        evictor_hit(s->clock, o);
    return o;
}

size_t store_variants(struct store *s, struct hash128 key, struct object **out)
{
    return variants_with_tags(index_find(&shard_of(s, key)->index, key), out);
}

/* Leaving. */

static void release_object(void *p)
{
    struct object *o = p;

    arena_limbo_sub(o->arena, o->charge);
    object_unref(&o);
}

static bool is_dead(const struct object *o)
{
    return atomic_load_explicit(&((struct object *)(uintptr_t)o)->flags, memory_order_relaxed) & OBJECT_DEAD;
}

/* o is out of its chain; under the shard's lock. Whoever sets OBJECT_DEAD does the rest, so that it is done once. */
static void leave(struct store *s, struct epoch_thread *t, struct object *o)
{
    assert(!is_dead(o));
    atomic_fetch_or_explicit(&o->flags, OBJECT_DEAD, memory_order_relaxed);
    evictor_drop(s->evictor, o);
    atomic_fetch_sub_explicit(&s->objects, 1, memory_order_relaxed);
    arena_limbo_add(s->arena, o->charge);
    epoch_retire(t, o, release_object);
}

/* Under the shard's lock. */
static void unlink_object(struct shard *sh, struct epoch_thread *t, struct object *o)
{
    struct object *at = index_find(&sh->index, o->key), *behind = variant_older(o);

    assert(at != NULL);
    if (at != o) {
        while (variant_older(at) != o)
            at = variant_older(at);
        atomic_store_explicit(&at->older, behind, memory_order_release);
    } else if (behind != NULL) {
        index_put(&sh->index, t, behind);
    } else {
        index_take(&sh->index, o->key);
    }
}

/* False: it was out already. */
static bool take_out(struct store *s, struct epoch_thread *t, struct object *o)
{
    struct shard *sh = shard_of(s, o->key);
    bool in;

    pthread_mutex_lock(&sh->lock);
    in = !is_dead(o);
    if (in) {
        unlink_object(sh, t, o);
        leave(s, t, o);
    }
    pthread_mutex_unlock(&sh->lock);
    return in;
}

void store_remove(struct store *s, struct epoch_thread *t, struct object *o)
{
    take_out(s, t, o);
}

bool store_make_room(struct store *s, struct epoch_thread *t, size_t n)
{
    size_t need = n > 0 ? arena_round(n) : 0, want = need + s->reserve;

    if (want > arena_capacity(s->arena))
        return false;
    for (;;) {
        size_t unused = arena_unused(s->arena), limbo = arena_limbo(s->arena);
        bool fits = (n > ARENA_BLOCK_MAX ? unused : arena_room(s->arena, n)) >= need;
        struct object *o;

        /* Bytes enough, but in other classes: evict for that too, as much as a grace period needs and no more. */
        if (unused + limbo >= want && (fits || limbo >= want))
            return fits;
        if ((o = evictor_pick(s->evictor)) == NULL)
            return fits;
        if (take_out(s, t, o))
            tally(&s->evictions, 1);
    }
}

bool store_room_comes(struct store *s, struct epoch_thread *t, size_t n)
{
    return !store_make_room(s, t, n) && arena_limbo(s->arena) >= arena_round(n);
}

/* Was nothing invalidated since that an object of this key could belong to? Under the lock. */
static bool is_in_time(const struct store *s, struct shard *sh, struct hash128 key, uint64_t since)
{
    return *stamp_of(sh, key) <= since && atomic_load_explicit(&s->refuse_before, memory_order_relaxed) <= since;
}

size_t store_invalidate_by(struct store *s, struct epoch_thread *t, struct hash128 key, uint64_t *since)
{
    struct shard *sh = shard_of(s, key);
    struct object *o, *next;
    struct fill *f = NULL;
    size_t n = 0;
    bool in_time;

    pthread_mutex_lock(&sh->lock);
    in_time = is_in_time(s, sh, key, *since);
    *stamp_of(sh, key) = atomic_fetch_add_explicit(&s->now, 1, memory_order_relaxed) + 1;
    if (in_time)
        *since = *stamp_of(sh, key);
    /* Nobody may join what was asked for before: it may be the old state. */
    for (struct fill **at = chain_of(sh, key); *at != NULL; at = &(*at)->chain)
        if (hash128_eq((*at)->key, key)) {
            f = *at;
            *at = f->chain;
            f->pending = false;
            break;
        }
    if ((o = index_find(&sh->index, key)) != NULL)
        index_take(&sh->index, key);
    for (; o != NULL; o = next, n++) {
        next = variant_older(o);
        leave(s, t, o);
    }
    pthread_mutex_unlock(&sh->lock);
    fill_unref(&f);
    return n;
}

/* Many at a time. */

struct picking {
    struct store *store;
    struct epoch_thread *epoch;
    struct index *index;
    bool (*match)(const struct object *o, void *ctx);
    void *ctx;
    size_t n;
};

/* Out of one chain goes what matches. Neither call on the index moves slots, so that the walk over it goes on. */
static bool remove_matches(struct object *newest, void *ctx)
{
    struct picking *k = ctx;
    struct object *first = newest, *before = NULL, *next;

    for (struct object *o = newest; o != NULL; o = next) {
        next = variant_older(o);
        if (!k->match(o, k->ctx)) {
            before = o;
            continue;
        }
        if (before != NULL)
            atomic_store_explicit(&before->older, next, memory_order_release);
        else
            first = next;
        if (first == NULL)
            index_take(k->index, newest->key);
        else if (before == NULL)
            index_put(k->index, k->epoch, first);
        leave(k->store, k->epoch, o);
        k->n++;
    }
    return true;
}

size_t store_remove_part(struct store *s, struct epoch_thread *t, unsigned part,
                         bool (*match)(const struct object *o, void *ctx), void *ctx)
{
    struct shard *sh = &s->shard[part];
    struct picking k = { s, t, &sh->index, match, ctx, 0 };

    pthread_mutex_lock(&sh->lock);
    (void)index_each(&sh->index, remove_matches, &k);
    pthread_mutex_unlock(&sh->lock);
    return k.n;
}

static size_t soften_chain(struct object *o)
{
    size_t n = 0;

    for (; o != NULL; o = variant_older(o), n++)
        object_soften(o);
    return n;
}

static bool soften_matches(struct object *newest, void *ctx)
{
    struct picking *k = ctx;

    for (struct object *o = newest; o != NULL; o = variant_older(o))
        if (k->match(o, k->ctx)) {
            object_soften(o);
            k->n++;
        }
    return true;
}

size_t store_soften_part(struct store *s, unsigned part, bool (*match)(const struct object *o, void *ctx), void *ctx)
{
    struct shard *sh = &s->shard[part];
    struct picking k = { s, NULL, &sh->index, match, ctx, 0 };

    pthread_mutex_lock(&sh->lock);
    (void)index_each(&sh->index, soften_matches, &k);
    pthread_mutex_unlock(&sh->lock);
    return k.n;
}

size_t store_soften(struct store *s, struct hash128 key)
{
    struct shard *sh = shard_of(s, key);
    size_t n;

    pthread_mutex_lock(&sh->lock);
    n = soften_chain(index_find(&sh->index, key));
    pthread_mutex_unlock(&sh->lock);
    return n;
}

void store_refuse_fetches(struct store *s)
{
    uint64_t now = atomic_fetch_add_explicit(&s->now, 1, memory_order_relaxed) + 1;

    atomic_store_explicit(&s->refuse_before, now, memory_order_relaxed);
}

uint64_t store_now(const struct store *s)
{
    return atomic_load_explicit(&((struct store *)(uintptr_t)s)->now, memory_order_relaxed);
}

/* Coming. */

/* Does o, newer, make old useless? A part never does that to a whole. One without Vary answers every request; and one with Vary shows that the old answer
 * without was a mistake to give to everybody. */
static bool supersedes(const struct object *o, const struct object *old)
{
    if (object_is_part(o) && !object_is_part(old))
        return false;
    return o->vary.len == 0 || old->vary.len == 0 ||
           (hash128_eq(o->vary_print, old->vary_print) && variant_names_equal(o, old));
}

/* Cuts from the chain behind o what it supersedes and what is too much. What it replaces leaves it its uses: a popular
 * object is popular still after a 304. Under the shard's lock. */
static void prune(struct store *s, struct epoch_thread *t, struct object *o)
{
    unsigned n = 1, max = atomic_load_explicit(&s->variants_max, memory_order_relaxed);
    struct object *before = o, *p, *next;

    for (p = variant_older(o); p != NULL; p = next) {
        next = variant_older(p);
        if (supersedes(o, p) || n >= max) {
            if (supersedes(o, p))
                evictor_inherit(o, p);
            atomic_store_explicit(&before->older, next, memory_order_release);
            leave(s, t, p);
        } else {
            before = p;
            n++;
        }
    }
}

static bool is_in_chain(struct object *newest, const struct object *o)
{
    for (; newest != NULL; newest = variant_older(newest))
        if (newest == o)
            return true;
    return false;
}

bool store_insert(struct store *s, struct epoch_thread *t, struct object *o, uint64_t since)
{
    struct shard *sh = shard_of(s, o->key);
    struct object *newest;
    bool fine, in;

    assert(epoch_inside(t));
    if (o->arena != s->arena)
        return false;
    pthread_mutex_lock(&sh->lock);
    newest = index_find(&sh->index, o->key);
    in = is_in_chain(newest, o);
    fine = !in && !is_dead(o) && is_in_time(s, sh, o->key, since);
    if (fine) {
        o->charge = object_charge(o);
        atomic_store_explicit(&o->older, newest, memory_order_relaxed);
        index_put(&sh->index, t, object_ref(o));
        tally(&s->objects, 1);
        tally(&s->inserts, 1);
        prune(s, t, o);
    }
    pthread_mutex_unlock(&sh->lock);
    if (!fine)
        return in;
    evictor_add(s->evictor, o);
    store_make_room(s, t, 0);
    return true;
}

/* Pending fills. */

struct fill *store_pending_join(struct store *s, struct fill *f)
{
    struct shard *sh = shard_of(s, f->key);
    struct fill **chain = chain_of(sh, f->key), *there;

    pthread_mutex_lock(&sh->lock);
    for (there = *chain; there != NULL && !hash128_eq(there->key, f->key); there = there->chain)
        ;
    if (there != NULL) {
        fill_ref(there);
    } else {
        f->chain = *chain;
        *chain = fill_ref(f);
        f->pending = true;
    }
    pthread_mutex_unlock(&sh->lock);
    return there;
}

struct fill *store_pending_find(struct store *s, struct hash128 key)
{
    struct shard *sh = shard_of(s, key);
    struct fill *there;

    pthread_mutex_lock(&sh->lock);
    for (there = *chain_of(sh, key); there != NULL && !hash128_eq(there->key, key); there = there->chain)
        ;
    if (there != NULL)
        fill_ref(there);
    pthread_mutex_unlock(&sh->lock);
    return there;
}

void store_pending_leave(struct store *s, struct fill *f)
{
    struct shard *sh = shard_of(s, f->key);
    struct fill **at = chain_of(sh, f->key), *gone = NULL;

    pthread_mutex_lock(&sh->lock);
    if (f->pending) {
        while (*at != f)
            at = &(*at)->chain;
        *at = f->chain;
        f->pending = false;
        gone = f;
    }
    pthread_mutex_unlock(&sh->lock);
    fill_unref(&gone);
}

void store_count_fills(struct store *s, int by)
{
    atomic_fetch_add_explicit(&s->fills, by, memory_order_relaxed);
}

/* Pages. */

struct store_stats store_stats(struct store *s)
{
    struct store_stats st = {
        .objects = atomic_load_explicit(&s->objects, memory_order_relaxed),
        .bytes_used = arena_used(s->arena),
        .bytes_footprint = arena_footprint(s->arena),
        .capacity = arena_capacity(s->arena),
        .evictions = atomic_load_explicit(&s->evictions, memory_order_relaxed),
        .inserts = atomic_load_explicit(&s->inserts, memory_order_relaxed),
        .index_bytes = sizeof *s + evictor_overhead(s->evictor),
        .fills = (uint64_t)atomic_load_explicit(&s->fills, memory_order_relaxed),
    };

    for (int i = 0; i < SHARDS; i++)
        st.index_bytes += index_bytes(&s->shard[i].index);
    return st;
}

struct each {
    bool (*each)(const struct object *o, void *ctx);
    void *ctx;
};

static bool each_variant(struct object *o, void *ctx)
{
    const struct each *e = ctx;

    for (; o != NULL; o = variant_older(o))
        if (!e->each(o, e->ctx))
            return false;
    return true;
}

void store_each(struct store *s, bool (*each)(const struct object *o, void *ctx), void *ctx)
{
    struct each e = { each, ctx };

    for (int i = 0; i < SHARDS; i++)
        if (!index_each(&s->shard[i].index, each_variant, &e))
            return;
}

void store_each_block_size(const struct store *s, void (*each)(size_t size, size_t used, size_t unused, void *ctx),
                           void *ctx)
{
    arena_each_size(s->arena, each, ctx);
}
