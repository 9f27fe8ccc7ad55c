#include "proxy/client_conn_private.h"

#include <assert.h>
#include <stdlib.h>
#include "base/mem.h"
#include "hdrs/parse.h"

#define KEPT_LEAST 256 /* bytes; grows to what a head may take: a client with half a head costs little more */

struct span client_conn_kept(const struct client_conn *c)
{
    return span_of(c->kept ? c->kept + c->kept_at : NULL, c->kept_len);
}

void client_conn_drop_kept(struct client_conn *c)
{
    free(c->kept);
    c->kept = NULL;
    c->kept_at = c->kept_len = c->kept_capacity = 0;
}

/* Room for n bytes behind the kept ones. */
static char *kept_room(struct client_conn *c, size_t n)
{
    if (c->kept_at > 0) {
        memmove(c->kept, c->kept + c->kept_at, c->kept_len);
        c->kept_at = 0;
    }
    if (c->kept_capacity - c->kept_len < n) {
        size_t want = c->kept_capacity ? c->kept_capacity : KEPT_LEAST;

        while (want - c->kept_len < n)
            want *= 2;
        /* The slack is promised to the parser (serve_heads). */
        c->kept = xrealloc(c->kept, want + PARSE_SLACK);
        c->kept_capacity = (uint32_t)want;
    }
    return c->kept + c->kept_len;
}

void client_conn_keep(struct client_conn *c, const char *p, size_t n)
{
    if (n == 0)
        return;
    memcpy(kept_room(c, n), p, n);
    c->kept_len += (uint32_t)n;
}

ssize_t client_conn_receive(struct client_conn *c, char *buf, size_t size, bool sparing)
{
    ssize_t n = stream_recv(&c->stream, buf, size);

    if (n > 0) {
        c->stamp = worker_mono(c->pw->worker);
        if (sparing && (size_t)n < size && !c->ended)
            c->readable = false;
    } else {
        c->readable = false;
        if (n == 0)
            c->eof = true;
    }
    return n;
}

ssize_t client_conn_recv(struct client_conn *c, char *buf, size_t n)
{
    if (c->kept_len > 0) {
        size_t k = n < c->kept_len ? n : c->kept_len;

        memcpy(buf, c->kept + c->kept_at, k);
        c->kept_at += (uint32_t)k;
        c->kept_len -= (uint32_t)k;
        if (c->kept_len == 0)
            client_conn_drop_kept(c);
        return (ssize_t)k;
    }
    if (c->eof)
        return 0;
    if (!c->readable)
        return STREAM_AGAIN;
    return client_conn_receive(c, buf, n, false);
}

bool client_conn_may_splice(const struct client_conn *c)
{
    return c->kept_len == 0 && !c->eof;
}

ssize_t client_conn_splice(struct client_conn *c, int pipe, size_t n)
{
    ssize_t got;

    if (!c->readable)
        return STREAM_AGAIN;
    got = stream_splice_from(&c->stream, pipe, n);
    if (got > 0) {
        c->stamp = worker_mono(c->pw->worker);
    } else {
        c->readable = false;
        c->eof = got == 0;
    }
    return got;
}

void client_conn_unread(struct client_conn *c, const char *p, size_t n)
{
    if (c->kept_len > 0) { /* they were kept ones: step back */
        assert(c->kept_at >= n);
        c->kept_at -= (uint32_t)n;
        c->kept_len += (uint32_t)n;
        return;
    }
    client_conn_keep(c, p, n);
}
