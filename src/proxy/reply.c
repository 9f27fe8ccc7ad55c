#include "proxy/reply.h"

#include <stdio.h>
#include <sys/random.h>
#include "base/clock.h"
#include "base/strbuf.h"
#include "cache/validate.h"
#include "hdrs/field_date.h"
#include "hdrs/field_number.h"

const struct span reply_partial_line = { "HTTP/1.1 206 Partial Content\r\n", 30 };
const struct span reply_connect_established = { "HTTP/1.1 200 Connection established\r\n\r\n", 39 };

static char *put(char *at, struct span s)
{
    memcpy(at, s.p, s.len);
    return at + s.len;
}

size_t reply_tail(const struct proxy_worker *pw, const struct reply_tail *t, char *out)
{
    char *at = out;

    if (t->has_length) {
        at = put(at, SPAN("Content-Length: "));
        at += number_print(at, t->length);
        at = put(at, SPAN("\r\n"));
    }
    if (t->has_range) {
        at = put(at, SPAN("Content-Range: bytes "));
        at += number_print(at, t->range.first);
        *at++ = '-';
        at += number_print(at, t->range.last);
        *at++ = '/';
        if (t->whole != UINT64_MAX)
            at += number_print(at, t->whole);
        else
            *at++ = '*';
        at = put(at, SPAN("\r\n"));
    }
    if (t->chunked)
        at = put(at, SPAN("Transfer-Encoding: chunked\r\n"));
    if (t->age >= 0) {
        at = put(at, SPAN("Age: "));
        at += number_print(at, (uint64_t)t->age);
        at = put(at, SPAN("\r\n"));
    }
    at += cache_outcome_fields(&t->outcome, pw->settings, &pw->x_cache, at);
    at = put(at, span_of(pw->via_line, pw->via_line_len));
    if (t->close)
        at = put(at, SPAN("Connection: close\r\n\r\n"));
    else if (!t->minor_version)
        at = put(at, SPAN("Connection: keep-alive\r\n\r\n"));
    else
        at = put(at, SPAN("\r\n"));
    return (size_t)(at - out);
}

/* The next line of a stored head without its CRLF; false at the end. */
static bool next_line(struct span *rest, struct span *line)
{
    const char *end;

    if (rest->len == 0)
        return false;
    end = memchr(rest->p, '\r', rest->len);
    *line = span_of(rest->p, end ? (size_t)(end - rest->p) : rest->len);
    if (rest->len <= line->len + 2)
        rest->len = 0;
    else
        *rest = span_of(rest->p + line->len + 2, rest->len - line->len - 2);
    return true;
}

char *reply_not_modified(const struct proxy_worker *pw, const struct object *o, const struct reply_tail *t, size_t *n)
{
    struct strbuf b = { 0 };
    struct span rest = object_head(o), line;
    char *at;

    sb_str(&b, "HTTP/1.1 304 Not Modified\r\n");
    (void)next_line(&rest, &line); /* the stored status line */
    while (next_line(&rest, &line)) {
        const char *colon = memchr(line.p, ':', line.len);

        if (colon != NULL && belongs_in_304(token_lookup(span_of(line.p, (size_t)(colon - line.p))))) {
            sb_span(&b, line);
            sb_str(&b, "\r\n");
        }
    }
    at = sb_reserve(&b, REPLY_TAIL_MAX);
    b.len += reply_tail(pw, t, at);
    *n = b.len;
    return b.p;
}

void reply_challenges(struct strbuf *out, const struct head *h)
{
    for (const struct head_field *f = head_find(h, TOKEN_PROXY_AUTHENTICATE); f != NULL; f = head_next(h, f))
        sb_printf(out, "%.*s: %.*s\r\n", SPAN_ARG(field_name(h, f)), SPAN_ARG(field_value(h, f)));
}

/* --- several parts ---------------------------------------------------------------------------------------------- */

static void add_tail(const struct proxy_worker *pw, const struct reply_tail *t, struct strbuf *b)
{
    char *at = sb_reserve(b, REPLY_TAIL_MAX);

    b->len += reply_tail(pw, t, at);
}

static void add_part_head(struct strbuf *b, const struct object *o, const char *boundary, const struct byte_range *r)
{
    struct span type = object_piece(o, o->content_type);

    sb_printf(b, "\r\n--%s\r\n", boundary);
    if (type.len > 0)
        sb_printf(b, "Content-Type: %.*s\r\n", SPAN_ARG(type));
    sb_printf(b, "Content-Range: bytes %llu-%llu/%llu\r\n\r\n", (unsigned long long)r->first,
              (unsigned long long)r->last, (unsigned long long)object_length(o));
}

#define BOUNDARY_MAX 40

/* No body can have foreseen it. */
static void make_boundary(char out[BOUNDARY_MAX])
{
    uint64_t random[2] = { 0 };

    while (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        ;
    snprintf(out, BOUNDARY_MAX, "%016llx%016llx", (unsigned long long)random[0], (unsigned long long)random[1]);
}

static void add_bytes(struct strbuf *b, const struct object *o, const struct byte_range *r)
{
    struct body_cursor c = body_cursor(o->body, r->first, r->last - r->first + 1);

    while (c.left > 0) {
        struct iovec v;

        if (body_peek(&c, &v, 1) == 0)
            return;
        sb_add(b, v.iov_base, v.iov_len);
        body_advance(&c, v.iov_len);
    }
}

char *reply_multipart(const struct proxy_worker *pw, const struct object *o, const struct byte_range *parts,
                      size_t n_parts, struct reply_tail tail, size_t *n, size_t *head_n)
{
    struct span rest = object_fields(o), line;
    struct strbuf head = { 0 }, body = { 0 };
    char boundary[BOUNDARY_MAX];

    make_boundary(boundary);
    for (size_t i = 0; i < n_parts; i++) {
        add_part_head(&body, o, boundary, &parts[i]);
        add_bytes(&body, o, &parts[i]);
    }
    sb_printf(&body, "\r\n--%s--\r\n", boundary);
    sb_span(&head, reply_partial_line);
    while (next_line(&rest, &line)) {
        const char *colon = memchr(line.p, ':', line.len);

        if (colon != NULL && token_lookup(span_of(line.p, (size_t)(colon - line.p))) == TOKEN_CONTENT_TYPE)
            continue;
        sb_span(&head, line);
        sb_str(&head, "\r\n");
    }
    sb_printf(&head, "Content-Type: multipart/byteranges; boundary=%s\r\n", boundary);
    tail.has_range = false;
    tail.has_length = true;
    tail.length = body.len;
    add_tail(pw, &tail, &head);
    *head_n = head.len;
    sb_span(&head, sb_view(&body));
    sb_free(&body);
    *n = head.len;
    return head.p;
}

char *reply_unsatisfiable(const struct proxy_worker *pw, uint64_t whole, struct reply_tail tail, size_t *n)
{
    struct strbuf b = { 0 };
    char date[DATE_BYTES];

    date_print(date, worker_wall(pw->worker) / US_PER_S);
    sb_printf(&b, "HTTP/1.1 416 Range Not Satisfiable\r\nDate: %.*s\r\nContent-Range: bytes */%llu\r\n", DATE_BYTES,
              date, (unsigned long long)whole);
    tail.has_range = false;
    tail.has_length = true;
    tail.length = 0;
    tail.age = -1;
    add_tail(pw, &tail, &b);
    *n = b.len;
    return b.p;
}
