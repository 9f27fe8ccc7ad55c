/* cache/fill_private.h: what fill.c (the producer's side), fill_reader.c (the readers') and store.c (the table of
 * pending fills) share.
 *
 * Body bytes lie in a list of segments. A kept fill's hang on `body`, in the arena. A passing fill's hang on
 * `first`, on the heap, and go as soon as no reader stands in them; the first ones may come from a body in the arena
 * when a kept fill turned. Only the producer writes kept, body, last, received and a segment's len, always under the
 * lock, so it may read them without; the exception is a passing fill's list, which shrinks on readers' threads. A
 * reader stands in the segment of the next byte it will take (counted in segment.readers), or, when it has taken all
 * that came, in none (seg NULL). */
#pragma once
#include <pthread.h>
#include "cache/fill.h"

struct fill {
    pthread_mutex_t lock; /* guards all up to `pending`, but for what is said to be constant */
    enum fill_state state;
    bool kept;
    bool released_others;     /* only the owner may be here */
    struct list_node readers; /* attached, the released ones too */
    size_t readers_n;         /* without the released ones */
    struct object *object;    /* from BODY on */
    struct body *body;        /* kept: all bytes. Passing: owns what was in the arena when it turned, or NULL */
    struct segment *first, *last;
    uint64_t announced; /* what readers are told: of a HEAD, the length of the body that doesn't come */
    uint64_t length;    /* bytes to come in all, or UINT64_MAX */
    uint64_t received;  /* bytes taken in */
    uint64_t dropped;   /* passing: bytes in front of `first` */
    size_t window;
    bool starved; /* fill_room() said 0 */
    void (*on_room)(void *ctx);
    void *on_room_ctx;
    int error, detail;

    bool pending;       /* in the table of pending fills, which holds a reference; guarded by its shard */
    struct fill *chain; /* the next in the table; guarded by its shard */

    uint64_t since; /* the producer's: what was invalidated later isn't stored */

    /* Constant. */
    struct store *store;
    struct hash128 key;
    bool shared;
    atomic_uint refs;
};

/* Under the lock: r's attached, or out again. */
void fill_attach(struct fill *f, struct fill_reader *r, bool owner);
void fill_leave_segment(struct fill_reader *r);
/* Under the lock: drops what no reader of a passing fill needs, and tells the producer when that made room. */
void fill_drop_taken(struct fill *f);
/* Under the lock: bytes the producer may bring. */
size_t fill_room_locked(const struct fill *f);
