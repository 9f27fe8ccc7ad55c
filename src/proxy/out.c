#include "proxy/out.h"

#include <assert.h>
#include <stdlib.h>
#include "base/mem.h"

#define HEAD_ROOM 2304

/* A response, or the rest of one, that waits for the socket. */
struct out_item {
    struct list_node node;
    char *bytes; /* malloc'ed; NULL: none */
    size_t at, len;
    struct object *object; /* a reference, for the cursor; NULL: no body */
    struct body_cursor body;
};

bool out_has_room(const struct out_batch *b)
{
    return b->n_entries < OUT_ENTRIES && b->n_pieces + 4 <= OUT_PIECES && b->heads_len + HEAD_ROOM <= OUT_HEADS;
}

char *out_head_room(struct out_batch *b)
{
    assert(b->heads_len + HEAD_ROOM <= OUT_HEADS);
    return b->heads + b->heads_len;
}

static void add_piece(struct out_batch *b, struct out_entry *e, const void *p, size_t n)
{
    if (n == 0)
        return;
    assert(b->n_pieces < OUT_PIECES);
    b->pieces[b->n_pieces++] = (struct iovec){ (void *)(uintptr_t)p, n };
    e->n_pieces++;
    e->bytes += n;
}

static struct out_entry *new_entry(struct out_batch *b)
{
    struct out_entry *e = &b->entries[b->n_entries];

    assert(b->n_entries < OUT_ENTRIES);
    b->n_entries++;
    e->object = NULL;
    e->owned = NULL;
    e->head_bytes = e->body_first = e->body_length = e->bytes = 0;
    e->piece = b->n_pieces;
    e->n_pieces = 0;
    return e;
}

void out_add_object(struct out_batch *b, struct object *o, struct span status_line, size_t n, uint64_t first,
                    uint64_t length)
{
    struct out_entry *e = new_entry(b);

    e->object = o;
    if (status_line.len > 0) {
        struct span fields = object_fields(o);

        add_piece(b, e, status_line.p, status_line.len);
        add_piece(b, e, fields.p, fields.len);
    } else {
        add_piece(b, e, o->head, o->head_len);
    }
    add_piece(b, e, b->heads + b->heads_len, n);
    b->heads_len += n;
    e->head_bytes = e->bytes;
    e->body_first = first;
    e->body_length = length;
    if (length > 0) {
        struct body_cursor c = body_cursor(o->body, first, length);
        size_t k = body_peek(&c, b->pieces + b->n_pieces, OUT_PIECES - b->n_pieces);

        for (size_t i = 0; i < k; i++)
            e->bytes += b->pieces[b->n_pieces + i].iov_len;
        b->n_pieces += (unsigned)k;
        e->n_pieces += (unsigned)k;
    }
}

void out_add_owned(struct out_batch *b, char *bytes, size_t n)
{
    struct out_entry *e = new_entry(b);

    e->owned = bytes;
    add_piece(b, e, bytes, n);
    e->head_bytes = e->bytes;
}

static void item_free(struct out_item *i)
{
    list_remove(&i->node);
    free(i->bytes);
    if (i->object != NULL)
        object_unref(&i->object);
    free(i);
}

/* The unsent rest of an entry, of which `sent` bytes went. */
static void queue_rest(struct out_batch *b, const struct out_entry *e, struct out_queue *q, uint64_t sent)
{
    struct out_item *i = xcalloc(1, sizeof *i);

    if (e->owned != NULL) {
        i->bytes = e->owned;
        i->at = (size_t)sent;
        i->len = (size_t)e->head_bytes;
    } else {
        uint64_t body_sent = sent > e->head_bytes ? sent - e->head_bytes : 0;

        if (sent < e->head_bytes) {
            uint64_t skip = sent;

            i->bytes = xmalloc((size_t)(e->head_bytes - sent));
            for (unsigned k = e->piece; i->len < e->head_bytes - sent; k++) {
                const struct iovec *v = &b->pieces[k];

                if (skip >= v->iov_len) {
                    skip -= v->iov_len;
                    continue;
                }
                memcpy(i->bytes + i->len, (char *)v->iov_base + skip, v->iov_len - (size_t)skip);
                i->len += v->iov_len - (size_t)skip;
                skip = 0;
            }
        }
        if (body_sent < e->body_length) {
            i->object = object_ref(e->object);
            i->body = body_cursor(e->object->body, e->body_first + body_sent, e->body_length - body_sent);
        }
    }
    list_append(&q->items, &i->node);
    q->any = true;
}

static uint64_t entry_whole(const struct out_entry *e)
{
    return e->head_bytes + e->body_length;
}

/* What went out is forgotten, what didn't waits in q. */
static void settle(struct out_batch *b, struct out_queue *q, uint64_t sent, bool gone)
{
    for (unsigned k = 0; k < b->n_entries; k++) {
        struct out_entry *e = &b->entries[k];
        uint64_t part = sent < e->bytes ? sent : e->bytes;

        sent -= part;
        if (gone || part == entry_whole(e))
            free(e->owned);
        else
            queue_rest(b, e, q, part);
    }
    b->n_entries = b->n_pieces = 0;
    b->heads_len = 0;
}

enum out_result out_flush(struct out_batch *b, struct out_queue *q, struct stream *s)
{
    ssize_t n;

    if (b->n_entries == 0)
        return q->any ? out_resume(q, s) : OUT_SENT;
    if (q->any) {
        settle(b, q, 0, false);
        return out_resume(q, s);
    }
    n = stream_send(s, b->pieces, b->n_pieces, false);
    settle(b, q, n > 0 ? (uint64_t)n : 0, n == STREAM_ERROR);
    if (n == STREAM_ERROR)
        return OUT_GONE;
    return q->any ? out_resume(q, s) : OUT_SENT;
}

static size_t item_pieces(const struct out_item *i, struct iovec *v, size_t n)
{
    size_t k = 0;

    if (i->at < i->len)
        v[k++] = (struct iovec){ i->bytes + i->at, i->len - i->at };
    if (i->object != NULL && i->body.left > 0)
        k += body_peek(&i->body, v + k, n - k);
    return k;
}

static void item_advance(struct out_item *i, uint64_t n)
{
    size_t head = i->len - i->at;

    if (n < head) {
        i->at += (size_t)n;
        return;
    }
    i->at = i->len;
    if (n > head)
        body_advance(&i->body, n - head);
}

static bool item_done(const struct out_item *i)
{
    return i->at == i->len && (i->object == NULL || i->body.left == 0);
}

enum out_result out_resume(struct out_queue *q, struct stream *s)
{
    while (!list_empty(&q->items)) {
        struct out_item *i = CONTAINER_OF(q->items.next, struct out_item, node);
        struct iovec v[32];

        while (!item_done(i)) {
            size_t k = item_pieces(i, v, 32);
            ssize_t n = stream_send(s, v, k, false);

            if (n == STREAM_AGAIN)
                return OUT_WAITS;
            if (n == STREAM_ERROR) {
                out_queue_drop(q);
                return OUT_GONE;
            }
            item_advance(i, (uint64_t)n);
        }
        item_free(i);
    }
    q->any = false;
    return OUT_SENT;
}

void out_queue_init(struct out_queue *q)
{
    list_init(&q->items);
    q->any = false;
}

void out_queue_drop(struct out_queue *q)
{
    while (!list_empty(&q->items))
        item_free(CONTAINER_OF(q->items.next, struct out_item, node));
    q->any = false;
}
