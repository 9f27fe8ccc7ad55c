/* cache/store.h: every stored response, shared by all workers.
 *
 * Look-ups take no lock and write nothing but one word, under s3fifo only once: they read a table of atomic words inside an epoch
 * (base/epoch.h). Writers lock the shard of the key. Lock order: a shard or a fill, then the evictor, then an arena
 * class; never two of one kind (doc/threads.md).
 *
 * Threads: any; every call but store_new and store_free is made inside the calling thread's epoch. */
#pragma once
#include "base/epoch.h"
#include "cache/fill.h"
#include "cache/object.h"
#include "hdrs/head.h"

/* memory_replacement_policy: what makes room (cache/evict.h). */
enum eviction_policy { EVICT_S3FIFO, EVICT_LRU, EVICT_GDSF, EVICT_LFUDA };

struct store_limits {
    size_t cache_mem;         /* bytes */
    uint64_t max_object_size; /* bytes of body; larger ones pass through */
    uint64_t min_object_size;
    enum eviction_policy policy;
    unsigned variants_max; /* vary_variants_max */
};

struct store *store_new(const struct store_limits *limits);
/* No other thread may be using it, and nothing that left it waits for a grace period any more: every thread has polled
 * its epoch until epoch_pending() was 0, or unregistered. Its fills are gone. */
void store_free(struct store **holder);
/* New limits after a reload; cache_mem can't change while running (false: it wanted to). Another policy judges what
 * is in by its uses so far. */
bool store_set_limits(struct store *s, const struct store_limits *limits);
struct arena *store_arena(struct store *s);

/* The stored response for key, a whole one, that this request selects (Vary), or NULL. It may be used until the epoch is left.
 * *any says whether the key has entries at all (a variant miss is not a miss). Counts as a use of it for the
 * evictor. */
struct object *store_lookup(struct store *s, struct hash128 key, const struct head *request, bool *any);

/* A stored part (cache/partial.h) that this request selects, or NULL. Likewise. */
struct object *store_lookup_part(struct store *s, struct hash128 key, const struct head *request);

/* The stored responses of the key that can be asked about by ETag, as variants_with_tags() (cache/variants.h). */
size_t store_variants(struct store *s, struct hash128 key, struct object **out);

/* Puts a complete object in: it replaces the one with the same key and Vary fingerprint; variants of a key whose
 * newest answer has Vary lose those without, and the other way round. Takes a reference of its own; evicts to make
 * room. t: the caller's epoch. Refused (false) when an invalidation of the key came after `since` (store_now(),
 * taken when the fetch began: I5), rarely of another key; when it isn't from the store's arena; when it had left the
 * store before. One that is in already stays: true. */
bool store_insert(struct store *s, struct epoch_thread *t, struct object *o, uint64_t since);
/* A number that grows with every invalidation. */
uint64_t store_now(const struct store *s);

/* Every variant of the key goes; fills of it that are under way won't be stored. Returns how many went. This is done by
 * a response that may be stored itself: *since becomes now, unless something else made it too old already. */
size_t store_invalidate_by(struct store *s, struct epoch_thread *t, struct hash128 key, uint64_t *since);
/* The same, by nothing that is to be stored. */
static inline size_t store_invalidate(struct store *s, struct epoch_thread *t, struct hash128 key)
{
    uint64_t nobodys = 0;

    return store_invalidate_by(s, t, key, &nobodys);
}
/* Every variant of the key is stale from now on. Returns how many. */
size_t store_soften(struct store *s, struct hash128 key);

/* The store in parts, for who wants to see all of it without keeping others waiting. */
#define STORE_PARTS 64
/* Every object of a part for which match(o, ctx) is true goes, or is stale from now on. match is called under the part's lock.
 * Return how many. part < STORE_PARTS. */
size_t store_remove_part(struct store *s, struct epoch_thread *t, unsigned part,
                         bool (*match)(const struct object *o, void *ctx), void *ctx);
size_t store_soften_part(struct store *s, unsigned part, bool (*match)(const struct object *o, void *ctx), void *ctx);
/* What is being fetched now won't be stored, whatever it is. */
void store_refuse_fetches(struct store *s);
/* One object goes, if it is still in. */
void store_remove(struct store *s, struct epoch_thread *t, struct object *o);

/* Evicts until the arena has head-room for n more bytes, and a reserve beside them: what is evicted comes back only
 * after a grace period, so this looks ahead. Called by fills before they take memory; to be called before
 * object_from_response() with an arena. False when there is no room now. */
bool store_make_room(struct store *s, struct epoch_thread *t, size_t n);

/* Like store_make_room(), for one who can come back later: true when n bytes don't fit now, but will after a grace
 * period, because what was evicted for them is on its way out. */
bool store_room_comes(struct store *s, struct epoch_thread *t, size_t n);

struct store_stats {
    uint64_t objects, bytes_used, bytes_footprint, capacity, evictions, inserts;
    uint64_t index_bytes; /* the look-up table, outside the arena */
    uint64_t fills;       /* under way */
};
struct store_stats store_stats(struct store *s);
/* Its memory: arena_each_size(). For manager pages. */
void store_each_block_size(const struct store *s, void (*each)(size_t size, size_t used, size_t unused, void *ctx),
                           void *ctx);

/* Calls each(o, ctx) for every stored object, some maybe twice or not at all if the store changes meanwhile; stops on
 * false. For manager pages. */
void store_each(struct store *s, bool (*each)(const struct object *o, void *ctx), void *ctx);
