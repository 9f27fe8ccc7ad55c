/* proxy/out.h: whole responses on their way to a client: gathered in a batch per worker, so that everything that was
 * asked in one read leaves in one send; what the socket doesn't take waits with the connection.
 *
 * Threads: one worker. The batch lives within one callback: objects in it need no reference until they have to wait. */
#pragma once
#include <sys/uio.h>
#include "base/list.h"
#include "cache/object.h"
#include "net/stream.h"

#define OUT_ENTRIES 64
#define OUT_PIECES 256
#define OUT_HEADS 65536

struct out_entry {
    struct object *object; /* whose stored head and body go out; NULL: owned bytes */
    char *owned;           /* freed when sent; NULL: none */
    uint64_t head_bytes;   /* bytes in front of the body */
    uint64_t body_first, body_length;
    unsigned piece, n_pieces; /* in the batch */
    uint64_t bytes;           /* of these pieces: less than the whole when a body has too many segments */
};

struct out_batch {
    struct iovec pieces[OUT_PIECES];
    unsigned n_pieces;
    struct out_entry entries[OUT_ENTRIES];
    unsigned n_entries;
    size_t heads_len;
    char heads[OUT_HEADS]; /* generated parts of heads */
};

/* What a connection still has to send. */
struct out_queue {
    struct list_node items; /* struct out_item; out.c's */
    bool any;
};

/* Is there room for one more response with a generated part of up to 2304 bytes? */
bool out_has_room(const struct out_batch *b);
/* Where to write the generated part (at least 2304 bytes): pass what was written to out_add_object(). */
char *out_head_room(struct out_batch *b);

/* Stored head of o, with another status line (static, CRLF and all) unless status_line is SPAN_NONE, then the n bytes just written
 * at out_head_room(), then [first, first + length) of its body. */
void out_add_object(struct out_batch *b, struct object *o, struct span status_line, size_t n, uint64_t first,
                    uint64_t length);
/* bytes are taken over and freed. */
void out_add_owned(struct out_batch *b, char *bytes, size_t n);

enum out_result { OUT_SENT, OUT_WAITS, OUT_GONE };
/* Sends the batch, behind what waits already; empties it. OUT_GONE: the peer is gone, everything was dropped. */
enum out_result out_flush(struct out_batch *b, struct out_queue *q, struct stream *s);
/* Goes on with what waits. */
enum out_result out_resume(struct out_queue *q, struct stream *s);
void out_queue_init(struct out_queue *q);
void out_queue_drop(struct out_queue *q);
static inline bool out_queue_waits(const struct out_queue *q)
{
    return q->any;
}
