/* cache/object.h: a stored response: its head, times and body.
 *
 * Threads: immutable once published in the store (but for `use`, `older` and the eviction links). A reader
 * inside an epoch may use an object it looked up without a reference; to keep it beyond its turn, object_ref().
 * Memory comes from the arena (stored) or the heap (passing through), the object knows which: object_new(). */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/hash.h"
#include "base/list.h"
#include "base/span.h"
#include "cache/arena.h"
#include "cache/times.h"

/* Where body bytes lie. Lists of segments are appended to by one writer; `len` of a segment is final once another
 * follows or the body is complete. */
struct segment {
    _Atomic(struct segment *) next;
    uint32_t len, capacity; /* bytes; len is guarded by the fill's lock while filling */
    uint32_t readers;       /* of a fill, that stand in it; guarded by the fill's lock */
    unsigned char bytes[];
};

/* A body, shared by the objects that a 304 made of one another. Its first segment lies in the same block as itself. */
struct body {
    atomic_uint refs;
    uint64_t length;     /* bytes, final once complete */
    struct arena *arena; /* NULL: heap */
    _Atomic(struct segment *) first;
    struct segment *last;
};

enum object_flag {
    OBJECT_NO_CACHE = 1 << 0,        /* every use needs validation */
    OBJECT_MUST_REVALIDATE = 1 << 1, /* never served stale: must-revalidate, proxy-revalidate, s-maxage */
    OBJECT_VARY_STAR = 1 << 2,
    OBJECT_NEGATIVE = 1 << 3,        /* stored by negative_ttl */
    OBJECT_DEAD = 1 << 4,            /* left the store */
    OBJECT_SOFT_PURGED = 1 << 6,     /* stale from now on, whatever its lifetime says */
    OBJECT_NO_CACHE_FIELDS = 1 << 5, /* no-cache="names": these fields are dropped from the stored head */
    OBJECT_PART = 1 << 7,            /* struct object_part lies behind the head and its pieces */
};

struct object_piece {
    uint32_t at, len; /* in head; len 0: absent */
};

struct object {
    struct hash128 key;             /* of the canonical URI */
    struct hash128 vary_print;      /* vary_fingerprint() of the request it answered */
    _Atomic(struct object *) older; /* the next variant of the same key */
    _Atomic uint64_t use;           /* the one thing a hit may write: evictor_hit() */
    atomic_uint refs;
    _Atomic uint8_t flags; /* enum object_flag */
    uint8_t queue_id;      /* where it waits for its eviction; the evictor's, guarded by its lock */
    uint16_t status;
    int64_t fresh_until; /* monotonic microseconds: fresh iff now < fresh_until */
    int64_t age_base;    /* monotonic microseconds: current age = (now - age_base) / 1e6, floored */
    int64_t lifetime;    /* freshness lifetime, seconds */
    struct response_times times;
    int64_t last_modified;                                     /* seconds since the epoch; INT64_MIN: absent */
    int32_t stale_while_revalidate, stale_if_error, max_stale; /* seconds; -1: absent */
    uint32_t head_len;
    struct body *body; /* NULL: none (204, HEAD-like) */
    union {            /* its place there; guarded by the evictor's lock */
        struct list_node queue;
        size_t heap_at;
    };
    struct arena *arena; /* whose memory this is; NULL: the heap's */
    struct object_piece etag, last_modified_text, content_type, vary, url;
    uint64_t charge; /* bytes of arena this object answers for, its body included: object_charge() */
    /* Status line and end-to-end fields as they go out, each ended by CRLF, without the blank line, Age, Via,
     * Connection and Content-Length; then, beyond head_len, what pieces point to that is not in the head: url, vary
     * names. */
    char head[];
};

/* Only some of its representation is here (caching-rules R7): the body begins at byte `first` of `whole`. */
struct object_part {
    uint64_t first, whole;
};

static inline struct span object_piece(const struct object *o, struct object_piece p)
{
    return span_of(o->head + p.at, p.len);
}

static inline struct span object_head(const struct object *o)
{
    return span_of(o->head, o->head_len);
}

/* The stored head without its status line. */
static inline struct span object_fields(const struct object *o)
{
    const char *end = memchr(o->head, '\n', o->head_len);
    size_t n = end ? (size_t)(end + 1 - o->head) : o->head_len;

    return span_of(o->head + n, o->head_len - n);
}

/* Content-Length of the stored body; 0 without one. */
static inline uint64_t object_length(const struct object *o)
{
    return o->body ? o->body->length : 0;
}

static inline bool object_is_part(const struct object *o)
{
    return atomic_load_explicit(&((struct object *)(uintptr_t)o)->flags, memory_order_relaxed) & OBJECT_PART;
}

/* Of anything else: all of it. */
static inline struct object_part object_part(const struct object *o)
{
    struct object_part p = { 0, object_length(o) };

    if (object_is_part(o))
        memcpy(&p, o->head + o->vary.at + o->vary.len, sizeof p);
    return p;
}

/* Stale from now on, whatever its lifetime says. Any thread. */
static inline void object_soften(struct object *o)
{
    atomic_fetch_or_explicit(&o->flags, OBJECT_SOFT_PURGED, memory_order_relaxed);
}

/* Room for an object with head_size bytes in head[]: zeroed but for head[], one reference, arena and charge set.
 * From the arena, NULL when that has no room; or from the heap when arena is NULL. */
struct object *object_new(struct arena *arena, size_t head_size);
/* Inside an epoch, or holding another reference. */
struct object *object_ref(struct object *o);
void object_unref(struct object **holder);

/* Counted anew; the store does so when it takes an object in. */
uint64_t object_charge(const struct object *o);

/* A body with one reference and an empty first segment of `capacity` bytes; NULL when the arena has no room. arena
 * NULL: on the heap. */
struct body *body_new(struct arena *arena, size_t capacity);
struct body *body_ref(struct body *b);
void body_unref(struct body **holder);
/* A further segment at the end; NULL when there is no room. Only by the one writer, before anybody else holds b. */
struct segment *body_extend(struct body *b, size_t capacity);
/* Gives the first segment's memory back (that of the body's own block with the last one, when the reference goes too
 * and *holder is cleared). Only by the one holder. */
void body_drop_first(struct body **holder);
/* Bytes of arena that a complete body takes. */
uint64_t body_charge(const struct body *b);
/* What to ask body_new() (first) or body_extend() for when `wanted` bytes are still to come, so that little of a
 * block is wasted: all of them where they fit a size class well, else as many as fill one. >= 1. */
size_t body_segment_size(uint64_t wanted, bool first);

/* Current age in whole seconds at `mono` (monotonic microseconds), >= 0. */
static inline int64_t object_age(const struct object *o, int64_t mono)
{
    int64_t a = (mono - o->age_base) / 1000000;

    return a < 0 ? 0 : a;
}

/* A place in a body, for writing it out piece by piece. */
struct body_cursor {
    const struct segment *seg;
    uint32_t at;   /* in seg */
    uint64_t left; /* bytes still to come */
};

/* From `first`, `length` bytes of a complete body. */
struct body_cursor body_cursor(const struct body *b, uint64_t first, uint64_t length);
struct iovec;
/* Up to n pieces without moving the cursor; returns how many. */
size_t body_peek(const struct body_cursor *c, struct iovec *v, size_t n);
void body_advance(struct body_cursor *c, uint64_t bytes);
