#include "cache/fill.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/lock.h"
#include "base/mem.h"
#include "cache/fill_private.h"
#include "cache/store_private.h"

#define KEPT_ROOM ((size_t)256 << 10) /* what a kept fill takes at a time */
#define WINDOW_MIN ((size_t)4096)
#define SEGMENT_MIN ((size_t)512) /* smaller ones cost more than they hold together */
#define GUESS_MIN ((size_t)2048)  /* segments of a body of unknown length grow from here on */
#define OVERHEAD (sizeof(struct body) + sizeof(struct segment))

static void lock(struct fill *f)
{
    pthread_mutex_lock(&f->lock);
}

static void unlock(struct fill *f)
{
    pthread_mutex_unlock(&f->lock);
}

static bool is_under_way(enum fill_state s)
{
    return s == FILL_WAIT_HEAD || s == FILL_BODY;
}

static struct fill *fill_new(struct store *s, struct hash128 key, bool shared)
{
    struct fill *f = xcalloc(1, sizeof *f);

    lock_init(&f->lock);
    list_init(&f->readers);
    atomic_init(&f->refs, 1);
    f->store = s;
    f->key = key;
    f->shared = shared;
    f->since = store_now(s);
    f->announced = f->length = UINT64_MAX;
    store_count_fills(s, 1);
    return f;
}

/* Bytes in front of `first` are gone. */
static void drop_first(struct fill *f)
{
    struct segment *s = f->first;

    f->dropped += s->len;
    f->first = atomic_load_explicit(&s->next, memory_order_relaxed);
    if (f->first == NULL)
        f->last = NULL;
    if (f->body == NULL)
        free(s);
    else
        body_drop_first(&f->body);
}

static void fill_free(struct fill *f)
{
    assert(list_empty(&f->readers) && !f->pending);
    if (f->kept)
        body_unref(&f->body);
    else
        while (f->first != NULL)
            drop_first(f);
    object_unref(&f->object);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

struct fill *fill_ref(struct fill *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

void fill_unref(struct fill **holder)
{
    struct fill *f = *holder;

    *holder = NULL;
    if (f != NULL && atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1)
        fill_free(f);
}

static bool is_joinable(const struct fill *f)
{
    switch (f->state) {
    case FILL_WAIT_HEAD:
    case FILL_REVALIDATED: return !f->released_others;
    case FILL_BODY:
    case FILL_DONE: return f->kept && !f->released_others;
    default: return false;
    }
}

static bool try_join(struct fill *f, struct fill_reader *r)
{
    bool ok;

    lock(f);
    ok = is_joinable(f);
    if (ok)
        fill_attach(f, r, false);
    unlock(f);
    return ok;
}

/* A fill that never was one. */
static void discard(struct fill *f)
{
    store_count_fills(f->store, -1);
    fill_unref(&f);
}

struct fill *fill_open(struct store *s, struct hash128 key, bool shared, struct fill_reader *r, bool *started)
{
    struct fill *f = fill_new(s, key, shared), *there;

    while (shared && (there = store_pending_join(s, f)) != NULL) {
        struct fill *joined = there;
        bool ok = try_join(there, r);

        fill_unref(&there); /* r has its own */
        if (ok) {
            discard(f);
            *started = false;
            return joined;
        }
        /* It left the table before it stopped being joinable: the next look doesn't find it. */
    }
    lock(f);
    fill_attach(f, r, true);
    unlock(f);
    *started = true;
    return f;
}

bool fill_join_at(struct store *s, struct hash128 key, uint64_t at, struct fill_reader *r)
{
    struct fill *f = store_pending_find(s, key);
    bool ok;

    if (f == NULL)
        return false;
    lock(f);
    ok = (f->state == FILL_BODY || f->state == FILL_DONE) && is_joinable(f) && at < f->received;
    if (ok)
        fill_attach(f, r, false);
    unlock(f);
    fill_unref(&f);
    return ok;
}

struct fill *fill_open_background(struct store *s, struct hash128 key)
{
    struct fill *f = fill_new(s, key, true), *there = store_pending_join(s, f);

    if (there == NULL)
        return f;
    fill_unref(&there);
    discard(f);
    return NULL;
}

/* Under the lock. */
static void wake_readers(struct fill *f)
{
    struct list_node *n, *next;

    LIST_EACH (n, next, &f->readers) {
        struct fill_reader *r = CONTAINER_OF(n, struct fill_reader, node);

        if (r->sleeping) {
            r->sleeping = false;
            r->wake(r);
        }
    }
}

/* The state changes only here; under the lock. */
static void enter(struct fill *f, enum fill_state to)
{
    assert(is_under_way(f->state) && to > f->state);
    f->state = to;
    if (!is_under_way(to))
        store_count_fills(f->store, -1);
    wake_readers(f);
}

static void release_others(struct fill *f)
{
    struct list_node *n, *next;

    f->released_others = true;
    LIST_EACH (n, next, &f->readers) {
        struct fill_reader *r = CONTAINER_OF(n, struct fill_reader, node);

        if (r->owner || r->released)
            continue;
        fill_leave_segment(r);
        r->released = true;
        f->readers_n--;
    }
}

void fill_release_others(struct fill *f)
{
    store_pending_leave(f->store, f);
    lock(f);
    release_others(f);
    wake_readers(f);
    unlock(f);
}

size_t fill_invalidates(struct fill *f, struct epoch_thread *t)
{
    return store_invalidate_by(f->store, t, f->key, &f->since);
}

void fill_updates(struct fill *f, struct epoch_thread *t, struct object *updated)
{
    store_insert(f->store, t, updated, f->since);
}

/* More of the arena at the end of f->body, for a body of which `wanted` bytes are still to come; in smaller pieces
 * where large blocks are short. Not under the lock: making room takes those of shards. */
static bool grow_body(struct fill *f, struct epoch_thread *t, uint64_t wanted)
{
    bool first = f->body == NULL;
    size_t best = body_segment_size(wanted, first), least = best / 8 > SEGMENT_MIN ? best / 8 : SEGMENT_MIN;

    for (size_t size = best;; size /= 2) {
        store_make_room(f->store, t, size + OVERHEAD <= ARENA_BLOCK_MAX ? size + OVERHEAD : ARENA_BLOCK_MAX);
        if (first ? (f->body = body_new(store_arena(f->store), size)) != NULL : body_extend(f->body, size) != NULL)
            return true;
        if (size / 2 < least)
            return false;
    }
}

bool fill_set_head(struct fill *f, struct epoch_thread *t, const struct fill_head *h)
{
    uint64_t length = h->no_body ? 0 : h->length;
    bool kept = h->keep && h->object->arena == store_arena(f->store);

    assert(f->state == FILL_WAIT_HEAD);
    if (length != UINT64_MAX)
        kept = kept && store_takes_size(f->store, length) && (length == 0 || grow_body(f, t, length));
    /* Out of the table first: who finds it there may join. */
    if (!kept || !h->shareable)
        store_pending_leave(f->store, f);
    lock(f);
    f->object = h->object;
    f->kept = kept;
    f->announced = h->length;
    f->length = length;
    f->window = h->window > WINDOW_MIN ? h->window : WINDOW_MIN;
    if (!h->shareable)
        release_others(f);
    enter(f, FILL_BODY);
    unlock(f);
    return kept;
}

size_t fill_room_locked(const struct fill *f)
{
    uint64_t left = f->length == UINT64_MAX ? UINT64_MAX : f->length - f->received, room = KEPT_ROOM;

    if (!f->kept) {
        uint64_t held = f->received - f->dropped;

        room = f->readers_n == 0 ? f->window : f->window > held ? f->window - held : 0;
        if (room < f->window / 8) /* no reads of a few bytes */
            room = 0;
    }
    return (size_t)(left < room ? left : room);
}

size_t fill_room(struct fill *f)
{
    size_t room;

    lock(f);
    room = fill_room_locked(f);
    f->starved = room == 0;
    unlock(f);
    return room;
}

void fill_on_room(struct fill *f, void (*on_room)(void *ctx), void *ctx)
{
    lock(f);
    f->on_room = on_room;
    f->on_room_ctx = ctx;
    unlock(f);
}

void fill_drop_taken(struct fill *f)
{
    if (f->kept || f->state == FILL_WAIT_HEAD)
        return;
    while (f->first != NULL && f->first->readers == 0 && (f->first != f->last || f->body != NULL || f->readers_n == 0))
        drop_first(f);
    /* The last one on the heap, and all of it taken: it serves again. */
    if (f->first != NULL && f->first == f->last && f->first->readers == 0) {
        f->dropped += f->first->len;
        f->first->len = 0;
    }
    if (f->starved && is_under_way(f->state) && fill_room_locked(f) > 0) {
        f->starved = false;
        if (f->on_room != NULL)
            f->on_room(f->on_room_ctx);
    }
}

/* n bytes were written behind the end of s. Who had taken everything stands there now. Under the lock. */
static void publish(struct fill *f, struct segment *s, size_t n)
{
    struct list_node *node, *next;

    LIST_EACH (node, next, &f->readers) {
        struct fill_reader *r = CONTAINER_OF(node, struct fill_reader, node);

        if (r->seg != NULL || r->released)
            continue;
        r->seg = s;
        r->seg_at = s->len;
        s->readers++;
    }
    s->len += (uint32_t)n;
    f->received += n;
    wake_readers(f);
}

/* How many body bytes to make ready for when n are at hand. */
static uint64_t expected(const struct fill *f, size_t n)
{
    uint64_t guess = f->received / 2;

    if (f->length != UINT64_MAX)
        return f->length - f->received;
    if (f->received > 0 && guess < GUESS_MIN)
        guess = GUESS_MIN;
    return guess > n ? guess : n;
}

/* Returns how many bytes found room. The copying is done without the lock: readers don't look behind len. */
static size_t append_kept(struct fill *f, struct epoch_thread *t, const char *bytes, size_t n)
{
    size_t done = 0;

    while (done < n) {
        struct segment *s = f->body != NULL ? f->body->last : NULL;
        size_t piece;

        if (s == NULL || s->len == s->capacity) {
            if (!grow_body(f, t, expected(f, n - done)))
                break;
            s = f->body->last;
        }
        piece = s->capacity - s->len < n - done ? s->capacity - s->len : n - done;
        memcpy(s->bytes + s->len, bytes + done, piece);
        lock(f);
        f->first = atomic_load_explicit(&f->body->first, memory_order_relaxed);
        f->last = s;
        publish(f, s, piece);
        unlock(f);
        done += piece;
    }
    return done;
}

/* A segment on the heap; small enough that a window has some of them. */
static struct segment *add_heap_segment(struct fill *f, size_t n)
{
    uint64_t size = expected(f, n), most = f->window / 4;
    struct segment *s;

    if (size < GUESS_MIN && f->length == UINT64_MAX)
        size = GUESS_MIN;
    if (size > most)
        size = most;
    s = xmalloc(sizeof *s + size);
    atomic_init(&s->next, NULL);
    s->len = s->readers = 0;
    s->capacity = (uint32_t)size;
    if (f->last != NULL)
        atomic_store_explicit(&f->last->next, s, memory_order_release);
    else
        f->first = s;
    return f->last = s;
}

/* Under the lock. */
static void append_passing(struct fill *f, const char *bytes, size_t n)
{
    if (f->readers_n == 0) {
        fill_drop_taken(f);
        f->received += n;
        f->dropped = f->received;
        return;
    }
    while (n > 0) {
        struct segment *s = f->last;
        size_t piece;

        if (s == NULL || s->len == s->capacity)
            s = add_heap_segment(f, n);
        piece = s->capacity - s->len < n ? s->capacity - s->len : n;
        memcpy(s->bytes + s->len, bytes, piece);
        publish(f, s, piece);
        bytes += piece;
        n -= piece;
    }
}

/* Kept, but no longer: too large, or no room. */
static void turn_passing(struct fill *f)
{
    store_pending_leave(f->store, f);
    lock(f);
    f->kept = false;
    assert(f->first != NULL || f->body == NULL); /* a body is made for bytes at hand, or takes the first at least */
    fill_drop_taken(f);
    unlock(f);
}

bool fill_append(struct fill *f, struct epoch_thread *t, const void *bytes, size_t n)
{
    size_t done = 0;
    bool turned = false, ok = true;

    assert(f->state == FILL_BODY && (f->length == UINT64_MAX || n <= f->length - f->received));
    if (n == 0)
        return true;
    if (f->kept) {
        if (f->length != UINT64_MAX || f->received + n <= store_largest(f->store))
            done = append_kept(f, t, bytes, n);
        if (done == n)
            return true;
        turn_passing(f);
        turned = true;
    }
    lock(f);
    append_passing(f, (const char *)bytes + done, n - done);
    if (turned)
        ok = !(f->starved = fill_room_locked(f) == 0);
    unlock(f);
    return ok;
}

static void finish(struct fill *f, enum fill_state to)
{
    store_pending_leave(f->store, f);
    lock(f);
    enter(f, to);
    unlock(f);
}

bool fill_complete(struct fill *f, struct epoch_thread *t)
{
    bool stored = false;

    assert(f->state == FILL_BODY);
    if (f->length != UINT64_MAX && f->received != f->length) {
        fill_fail(f, 0, 0);
        return false;
    }
    if (f->kept) {
        if (f->body != NULL) {
            f->body->length = f->received;
            f->object->body = body_ref(f->body);
        }
        /* In the store before it leaves the table: a request that comes now finds the one or the other. */
        stored = store_takes_size(f->store, f->received) && store_insert(f->store, t, f->object, f->since);
    }
    finish(f, FILL_DONE);
    return stored;
}

void fill_revalidated(struct fill *f, struct epoch_thread *t, struct object *updated)
{
    assert(f->state == FILL_WAIT_HEAD);
    store_insert(f->store, t, updated, f->since);
    store_pending_leave(f->store, f);
    lock(f);
    f->object = object_ref(updated);
    enter(f, FILL_REVALIDATED);
    unlock(f);
}

void fill_fail(struct fill *f, int error, int detail)
{
    store_pending_leave(f->store, f);
    lock(f);
    f->error = error;
    f->detail = detail;
    enter(f, FILL_FAILED);
    unlock(f);
}

size_t fill_readers(struct fill *f)
{
    size_t n;

    lock(f);
    n = f->readers_n;
    unlock(f);
    return n;
}

bool fill_kept(const struct fill *f)
{
    return f->kept;
}

uint64_t fill_received(const struct fill *f)
{
    return f->received;
}

void fill_close(struct fill **holder)
{
    /* Only the producer changes the state: no lock to read it. */
    if (*holder != NULL && is_under_way((*holder)->state))
        fill_fail(*holder, 0, 0);
    fill_unref(holder);
}
