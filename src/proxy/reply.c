#include "proxy/reply.h"

#include "base/strbuf.h"
#include "cache/validate.h"
#include "hdrs/field_number.h"

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
    if (t->chunked)
        at = put(at, SPAN("Transfer-Encoding: chunked\r\n"));
    if (t->age >= 0) {
        at = put(at, SPAN("Age: "));
        at += number_print(at, (uint64_t)t->age);
        at = put(at, SPAN("\r\n"));
    }
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
