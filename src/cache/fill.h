/* cache/fill.h: a response on its way in from an origin, and everybody who reads it while it arrives (collapsed
 * forwarding). Every miss goes through a fill, stored or not: one way for bytes from an origin to clients.
 *
 *   WAIT_HEAD --head--> BODY --end--> DONE
 *       |                 `--cut---> FAILED      readers get what came, then a visible cut; nothing is stored
 *       |--not shareable, for all but its owner: RELEASED: let go, each fetches for itself
 *       |--304--> REVALIDATED: serve fill_object(), the updated stored response
 *       `--error--> FAILED (before a head: fill_error() says why)
 *
 * A kept fill (it will be stored) keeps all bytes, in the arena. A passing one (not storable, or too large) keeps a
 * window of the bytes its slowest reader hasn't taken, on the heap; its producer pauses when the window is full. A
 * kept fill that turns out too large becomes a passing one: nobody new can join it.
 *
 * Threads: one producer (the worker whose origin connection feeds it) and readers on any worker; a lock per fill. A
 * reader's wake() is called on the producer's thread, under that lock: it may only post to its own worker. Calls of
 * one reader are made by its own worker only. Fills are refcounted: the producer and every reader hold one; the
 * pending table too. */
#pragma once
#include "base/epoch.h"
#include "base/list.h"
#include "cache/object.h"
#include "hdrs/head.h"

struct store;
struct fill;
struct iovec;

enum fill_state { FILL_WAIT_HEAD, FILL_BODY, FILL_DONE, FILL_REVALIDATED, FILL_RELEASED, FILL_FAILED };

/* Embedded in whatever reads; zeroed before use. */
struct fill_reader {
    struct list_node node;
    struct fill *fill;
    void (*wake)(struct fill_reader *r); /* something changed since the last fill_state()/fill_peek(); see Threads */
    bool owner;                          /* the one whose request started the fetch */
    bool sleeping;                       /* guarded by the fill's lock: wants a wake() */
    bool released;                       /* guarded by the fill's lock: FILL_RELEASED for this one */
    uint64_t at;                         /* body bytes taken so far */
    struct segment *seg;                 /* where `at` lies; NULL: took all there was */
    uint32_t seg_at;
};

/* Producer's side. */

/* Joins the fill under way for key (*started false, r is a reader of it) or starts a new one with r as owner
 * (*started true; the caller must then produce into the returned fill, of which it holds one reference, to be given
 * back by fill_close()). When joined, r's reference is the only one. shared false: never joins and can't be joined
 * (requests whose answers aren't for others); key is kept for storing all the same. A fill may have been stored
 * between a store_lookup() that missed and this call: look up again when *started. */
struct fill *fill_open(struct store *s, struct hash128 key, bool shared, struct fill_reader *r, bool *started);
/* Joins the fill under way for key if it is kept and has the byte `at` of its body already: for who wants a part and shouldn't
 * wait for all that is in front of it. False: there is none such. */
bool fill_join_at(struct store *s, struct hash128 key, uint64_t at, struct fill_reader *r);
/* A fill without any reader, for a fetch nobody waits for (background validation). NULL when one is under way
 * already. */
struct fill *fill_open_background(struct store *s, struct hash128 key);

/* The final head arrived: o (one reference is taken over) has no body yet; it gets it in fill_complete(), so readers
 * ask the fill, not the object, for bytes and length. keep: it is to be stored when complete; o must be from the
 * store's arena then. length: announced body length, or UINT64_MAX. no_body: none will come. shareable false
 * releases all readers but the owner. window: bytes for a passing fill (at least 4 KiB). Returns whether it is kept
 * (too large or no room: not). Moves to BODY. */
struct fill_head {
    struct object *object;
    bool keep, shareable, no_body;
    uint64_t length;
    size_t window;
};
bool fill_set_head(struct fill *f, struct epoch_thread *t, const struct fill_head *h);
/* How many bytes the producer may append now; 0: pause, wait for on_room. */
size_t fill_room(struct fill *f);
/* Called, on the thread of whichever reader made room and under the lock, when fill_room() was 0 and isn't any more.
 * It may only post to the producer's worker. */
void fill_on_room(struct fill *f, void (*on_room)(void *ctx), void *ctx);
/* At most fill_room() bytes. False: a kept fill found no memory and became a passing one with its window full; all
 * bytes were taken in any case. */
bool fill_append(struct fill *f, struct epoch_thread *t, const void *bytes, size_t n);
/* All body bytes came: store it if kept. Moves to DONE; or to FAILED, when fewer came than announced. Returns
 * whether it was stored. */
bool fill_complete(struct fill *f, struct epoch_thread *t);
/* 304: readers serve `updated`, of which the fill takes a reference of its own. Stores it, unless it is in already, as
 * fill_complete() does. */
void fill_revalidated(struct fill *f, struct epoch_thread *t, struct object *updated);
/* What the response in hand is for invalidates what is stored under its key (RFC 9111 section 4.4), but not itself. Returns how
 * many variants went. Before fill_set_head(). */
size_t fill_invalidates(struct fill *f, struct epoch_thread *t);
/* Stores what a response that isn't this fill's own body makes of a stored one (HEAD). */
void fill_updates(struct fill *f, struct epoch_thread *t, struct object *updated);
/* The answer is only the owner's: others are let go. Before fill_set_head(). */
void fill_release_others(struct fill *f);
/* Broken: error is the proxy's own number for error pages (0: none), detail an errno. */
void fill_fail(struct fill *f, int error, int detail);
/* Readers present now: what quick_abort asks. */
size_t fill_readers(struct fill *f);
/* For the producer. */
bool fill_kept(const struct fill *f);
uint64_t fill_received(const struct fill *f);
struct fill *fill_ref(struct fill *f);
void fill_unref(struct fill **holder);
/* The producer gives its reference back; a fill that isn't finished then fails first. */
void fill_close(struct fill **holder);

/* Reader's side. */

/* Also arms: the next change calls wake(), once; fill_peek() disarms when it finds bytes. */
enum fill_state fill_state(struct fill_reader *r);
/* The head; from BODY on. Valid while r is attached. */
struct object *fill_object(const struct fill_reader *r);
/* Announced length, or UINT64_MAX: also with no_body (HEAD). */
uint64_t fill_length(const struct fill_reader *r);
/* Body bytes at r->at that are here: up to n pieces. They stay valid until fill_advance() or fill_detach(). 0 pieces
 * arms a wake(). */
size_t fill_peek(struct fill_reader *r, struct iovec *v, size_t n);
void fill_advance(struct fill_reader *r, uint64_t bytes);
/* Total body bytes when DONE. */
uint64_t fill_total(const struct fill_reader *r);
/* Will it be stored, as things stand? From BODY on. */
bool fill_is_kept(const struct fill_reader *r);
int fill_error(const struct fill_reader *r, int *detail);
/* Does the head of this fill answer that request as well (Vary)? From BODY on. */
bool fill_answers(const struct fill_reader *r, const struct head *request);
/* Leaves; idempotent. Returns how many readers remain (the producer may want to stop: quick_abort). */
size_t fill_detach(struct fill_reader *r);
