#include "proxy/log_ring.h"

#include <assert.h>
#include <string.h>

static size_t place_of(size_t position)
{
    return position & (LOG_RING_BYTES - 1);
}

static size_t producer_head(const struct log_ring *r)
{
    return atomic_load_explicit(&r->head, memory_order_relaxed);
}

/* Is there room for n more? Looks at the consumer's cache line only when the last look doesn't suffice. */
static bool has_room(struct log_ring *r, size_t n)
{
    size_t head = producer_head(r);

    if (LOG_RING_BYTES - (head - r->tail_seen) >= n)
        return true;
    /* Acquire: the consumer has read what we are about to write over. */
    r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
    return LOG_RING_BYTES - (head - r->tail_seen) >= n;
}

char *log_ring_direct(struct log_ring *r, size_t n)
{
    size_t at = place_of(producer_head(r));

    return LOG_RING_BYTES - at >= n && has_room(r, n) ? r->bytes + at : NULL;
}

void log_ring_commit(struct log_ring *r, size_t n)
{
    /* Release for the bytes; sequentially consistent, since the producer looks next whether the consumer sleeps, and
     * the consumer, having said that it will, looks here again: one of them must see the other. */
    atomic_store_explicit(&r->head, producer_head(r) + n, memory_order_seq_cst);
}

bool log_ring_push(struct log_ring *r, const char *p, size_t n)
{
    size_t at = place_of(producer_head(r)), first = LOG_RING_BYTES - at;

    if (!has_room(r, n)) {
        atomic_store_explicit(&r->dropped, atomic_load_explicit(&r->dropped, memory_order_relaxed) + 1,
                              memory_order_relaxed);
        return false;
    }
    if (first > n)
        first = n;
    memcpy(r->bytes + at, p, first);
    memcpy(r->bytes, p + first, n - first);
    log_ring_commit(r, n);
    return true;
}

size_t log_ring_used(struct log_ring *r)
{
    r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
    return producer_head(r) - r->tail_seen;
}

int log_ring_peek(struct log_ring *r, struct iovec v[2])
{
    size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    size_t n = atomic_load_explicit(&r->head, memory_order_seq_cst) - tail, first = LOG_RING_BYTES - place_of(tail);

    if (n == 0)
        return 0;
    v[0] = (struct iovec){ r->bytes + place_of(tail), n < first ? n : first };
    if (n <= first)
        return 1;
    v[1] = (struct iovec){ r->bytes, n - first };
    return 2;
}

void log_ring_advance(struct log_ring *r, size_t n)
{
    size_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);

    assert(n > 0 && n <= LOG_RING_BYTES);
    /* Looked at while the byte is still ours. */
    r->mid_line = r->bytes[place_of(tail + n - 1)] != '\n';
    atomic_store_explicit(&r->tail, tail + n, memory_order_release);
}

void log_ring_skip_line(struct log_ring *r)
{
    struct iovec v[2];
    int pieces = log_ring_peek(r, v);

    for (int i = 0; i < pieces; i++) {
        const char *end = memchr(v[i].iov_base, '\n', v[i].iov_len);

        log_ring_advance(r, end ? (size_t)(end + 1 - (const char *)v[i].iov_base) : v[i].iov_len);
        if (end != NULL)
            return;
    }
}
