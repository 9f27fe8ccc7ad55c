/* proxy/view.h: what each worker tells about itself for manager pages: a kind for gather.h each, and what its shares look like.
 * Copies only: nothing points into a worker's memory.
 *
 * A share is made in one turn of a worker's loop. So rows are limited: a page is for a person's eyes, and a worker with 100,000
 * connections isn't held up by somebody who looks. What didn't get a row is counted. */
#pragma once
#include "base/hash.h"
#include "base/strbuf.h"
#include "net/addr.h"
#include "proxy/gather.h"
#include "proxy/log_entry.h"

/* Rows of a page, of all workers together. */
#define VIEW_ROWS 2000
/* Of a URL that is longer, the rest isn't kept. */
#define VIEW_URL_MAX 4096

/* Of a share's text. */
struct view_text {
    size_t at, len;
};
static inline struct span view_span(const struct strbuf *text, struct view_text t)
{
    return t.len > 0 ? span_of(text->p + t.at, t.len) : SPAN("");
}

/* Rows of one kind. */
struct view_rows {
    void *p;
    size_t n, most;
    size_t passed; /* that found no room */
    struct strbuf text;
};

/* --- for those who make a share (view*.c) */

struct proxy_worker;
struct proxy_worker *view_worker(struct worker *w);
/* How many of VIEW_ROWS are one worker's. */
size_t view_rows_most(const struct worker *w);
/* A zeroed row; NULL: there are enough, which is counted. */
void *view_row(struct view_rows *r, size_t size);
struct view_text view_keep(struct view_rows *r, struct span text);
struct view_text view_keep_url(struct view_rows *r, struct span url);
void view_rows_free(struct view_rows *r);

/* --- requests that are being answered: mgr:active_requests */

struct view_request {
    int fd; /* of the client's connection */
    uint64_t received, sent;
    size_t kept, room; /* bytes that wait in its buffer; free there */
    struct addr remote, local;
    unsigned requests; /* on that connection, this one included */
    const char *doing; /* static */
    struct view_text url, user;
    enum log_tag tag; /* as far as that is known */
    uint64_t out, request_bytes;
    bool has_key;
    struct hash128 key;
    int64_t start_wall, age; /* microseconds */
    bool delayed;
};
extern const struct gather_kind view_requests; /* struct view_rows of struct view_request */
