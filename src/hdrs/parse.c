/* Three ways through a head, each taking what the one before left. A vector kernel (whole.h) takes the usual head that
 * is wholly there. A scalar short cut takes the lines nearly all messages consist of in one pass over their bytes.
 * Whatever is left (an odd form, a bad one, an incomplete one) goes to parse_line.c, line by line.
 *
 * A verdict must not depend on how the bytes were cut into segments. So a line is judged when it is complete, and an
 * incomplete one only for bytes that no line may hold. When a head comes in pieces, each line is judged once as it
 * completes, and the whole once more at the end to fill *h, which may have served another connection in between:
 * linear work, however small the pieces. */
#include "hdrs/parse.h"

#include <assert.h>
#include "hdrs/parse_line.h"
#include "hdrs/scan.h"
#include "hdrs/whole.h"

struct parser {
    struct head *h;
    const char *buf;
    uint32_t len;           /* bytes to look at, at most limits->max_bytes */
    uint32_t at;            /* the line in hand starts here */
    uint32_t scanned;       /* and is known to have nothing bad before here; >= at */
    uint32_t fields_before; /* judged in earlier calls */
    const struct parse_limits *limits;
    struct parse_error *e;
    /* The kernel's function, or NULL. */
    uint32_t (*whole)(struct head *, const char *, uint32_t, uint32_t);
    bool (*first_line)(struct parser *, struct line);
    bool (*first_line_fast)(struct parser *);
};

/* The kernel to try, or NULL. */
static inline const struct whole *kernel_for(const struct parse_limits *limits)
{
    return limits->slack ? whole_in_use : NULL;
}

static inline uint32_t usable(size_t len, const struct parse_limits *limits)
{
    return len < limits->max_bytes ? (uint32_t)len : limits->max_bytes;
}

static void next_line(struct parser *ps, uint32_t at)
{
    ps->at = ps->scanned = at;
}

/* "NAME: value CRLF" with a known or a sound name. False: not judged, nothing changed. */
static inline bool field_fast(struct parser *ps)
{
    const char *name = ps->buf + ps->at, *end = ps->buf + ps->len, *colon, *value, *line_end, *value_end;
    enum token t;

    if (end - name < 8 || ps->scanned != ps->at)
        return false;
    colon = scan_to_colon(name, end);
    if (colon == end || *colon != ':' || colon == name || colon - name > UINT16_MAX)
        return false;
    t = token_find(name, (size_t)(colon - name));
    if (t == TOKEN_OTHER && scan_tchars(name, colon) != colon)
        return false;
    value = colon + 1;
    while (value < end && scan_is_blank(*value))
        value++;
    line_end = scan_text(value, end);
    if (end - line_end < 2 || line_end[0] != '\r' || line_end[1] != '\n')
        return false;
    for (value_end = line_end; value_end > value && scan_is_blank(value_end[-1]); value_end--)
        ;
    head_add_field(ps->h, t, name, (size_t)(colon - name), value, (size_t)(value_end - value));
    next_line(ps, (uint32_t)(line_end + 2 - ps->buf));
    return true;
}

static enum parse_result field_slow(struct parser *ps, bool *blank_line)
{
    struct line l;
    enum parse_result r = line_find(ps->buf, ps->len, ps->at, &ps->scanned, ps->limits->relaxed, &l, ps->e);

    *blank_line = r == PARSE_DONE && l.end == l.at;
    if (r != PARSE_DONE)
        return r;
    if (!*blank_line) {
        if (ps->fields_before + ps->h->n_fields >= ps->limits->max_fields) {
            *ps->e = (struct parse_error){ 431, "too many fields in a head", l.at };
            return PARSE_BAD;
        }
        if (!field_line(ps->h, l, ps->e))
            return PARSE_BAD;
    }
    next_line(ps, l.next);
    return PARSE_DONE;
}

/* Field lines from ps->at to the blank line. */
static enum parse_result field_lines(struct parser *ps)
{
    uint32_t may_add = ps->limits->max_fields - ps->fields_before;
    bool blank_line = false;

    while (!blank_line) {
        if (ps->len - ps->at >= 2 && ps->buf[ps->at] == '\r' && ps->buf[ps->at + 1] == '\n') {
            next_line(ps, ps->at + 2);
            break;
        }
        if (ps->h->n_fields < may_add && field_fast(ps))
            continue;
        enum parse_result r = field_slow(ps, &blank_line);
        if (r != PARSE_DONE)
            return r;
    }
    return PARSE_DONE;
}

/* The first line, and a line end before a request (RFC 9112 section 2.2: some clients send one too many). */
static enum parse_result parse_first_line(struct parser *ps, bool *leading)
{
    struct line l;

    if (ps->first_line_fast(ps))
        return PARSE_DONE;
    for (;;) {
        enum parse_result r = line_find(ps->buf, ps->len, ps->at, &ps->scanned, ps->limits->relaxed, &l, ps->e);

        if (r != PARSE_DONE)
            return r;
        if (l.end > l.at || *leading)
            break;
        *leading = true;
        next_line(ps, l.next);
    }
    if (!ps->first_line(ps, l))
        return PARSE_BAD;
    next_line(ps, l.next);
    return PARSE_DONE;
}

static enum parse_result parse_whole(struct parser *ps, struct parse_progress *p, bool leading_allowed)
{
    bool leading = !leading_allowed;
    enum parse_result r;
    uint32_t n;

    if (p->scanned > 0 && ps->whole != NULL && (n = ps->whole(ps->h, ps->buf, ps->len, ps->limits->max_fields)) > 0) {
        next_line(ps, n);
        return PARSE_DONE;
    }
    head_begin(ps->h, ps->buf);
    next_line(ps, 0);
    ps->fields_before = 0;
    p->first_line_judged = false;
    if ((r = parse_first_line(ps, &leading)) != PARSE_DONE)
        return r;
    p->first_line_judged = true;
    if ((r = field_lines(ps)) == PARSE_DONE)
        ps->h->len = ps->at;
    return r;
}

/* More of a head whose beginning was judged before. PARSE_MORE: still incomplete. PARSE_DONE: worth the whole way
 * again, to fill *h or to say what is wrong. */
static enum parse_result parse_on(struct parser *ps, const struct parse_progress *p)
{
    struct line l;

    ps->at = p->line_at;
    ps->scanned = p->scanned;
    ps->fields_before = p->n_fields;
    if (!p->first_line_judged) {
        /* Its end, or what can't be in it; nothing if all new bytes are harmless. */
        enum parse_result r = line_find(ps->buf, ps->len, ps->at, &ps->scanned, ps->limits->relaxed, &l, ps->e);
        return r == PARSE_MORE ? PARSE_MORE : PARSE_DONE;
    }
    head_begin(ps->h, ps->buf);
    return field_lines(ps) == PARSE_MORE ? PARSE_MORE : PARSE_DONE;
}

static enum parse_result parse(struct parser *ps, size_t len, struct parse_progress *p, bool is_request)
{
    enum parse_result r;

    assert(ps->limits->max_fields <= HEAD_FIELDS_MAX);
    assert(p->scanned <= len);
    ps->len = usable(len, ps->limits);
    if (p->scanned > 0 && (r = parse_on(ps, p)) == PARSE_MORE)
        p->n_fields += p->first_line_judged ? ps->h->n_fields : 0;
    else if ((r = parse_whole(ps, p, is_request)) == PARSE_MORE)
        p->n_fields = p->first_line_judged ? ps->h->n_fields : 0;
    p->line_at = ps->at;
    p->scanned = ps->scanned;
    return r;
}

/* The head is longer than it may be: is the target alone to blame? RFC 9110 section 15.5.15. */
static void too_large(struct parser *ps, const struct parse_progress *p)
{
    const char *method = ps->buf + ps->at, *end = ps->buf + ps->len, *target;

    *ps->e = (struct parse_error){ 431, "head too large", ps->len };
    if (p->first_line_judged)
        return;
    target = scan_tchars(method, end);
    if (target == end || *target != ' ' || target == method || target - method > METHOD_BYTES_MAX) {
        *ps->e = (struct parse_error){ 400, "no end of the method in sight", ps->at };
        return;
    }
    ps->h->method_name = (struct head_piece){ ps->at, (uint32_t)(target - method) };
    ps->h->method = (uint8_t)method_lookup(span_of(method, (size_t)(target - method)));
    target++;
    ps->h->target = (struct head_piece){ (uint32_t)(target - ps->buf), (uint32_t)(scan_visible(target, end) - target) };
    if (ps->h->target.at + ps->h->target.len == ps->len)
        *ps->e = (struct parse_error){ 414, "target too long", ps->len };
}

static bool request_first_line(struct parser *ps, struct line l)
{
    return request_line(ps->h, l, ps->limits, ps->e);
}

/* "METHOD SP target SP HTTP/1.x CRLF". */
static bool request_first_line_fast(struct parser *ps)
{
    struct head *h = ps->h;
    const char *method = ps->buf + ps->at, *end = ps->buf + ps->len, *method_end, *target, *target_end;

    method_end = scan_tchars(method, end);
    if (method_end == method || end - method_end < 2 || *method_end != ' ' || method_end - method > METHOD_BYTES_MAX)
        return false;
    target = method_end + 1;
    target_end = scan_visible(target, end);
    if (target_end == target || end - target_end < 11 || memcmp(target_end, " HTTP/1.", 8) != 0 ||
        (target_end[8] != '1' && target_end[8] != '0') || target_end[9] != '\r' || target_end[10] != '\n')
        return false;
    h->method_name = (struct head_piece){ ps->at, (uint32_t)(method_end - method) };
    h->method = (uint8_t)method_lookup(span_of(method, (size_t)(method_end - method)));
    h->target = (struct head_piece){ (uint32_t)(target - ps->buf), (uint32_t)(target_end - target) };
    h->minor_version = (uint8_t)(target_end[8] - '0');
    next_line(ps, (uint32_t)(target_end + 11 - ps->buf));
    return true;
}

/* Whatever the kernel left. */
static __attribute__((noinline)) enum parse_result request_by_lines(struct head *h, const char *buf, size_t len,
                                                                    const struct parse_limits *limits,
                                                                    struct parse_progress *p, struct parse_error *e)
{
    const struct whole *kernel = kernel_for(limits);
    struct parser ps = { .h = h,
                         .buf = buf,
                         .limits = limits,
                         .e = e,
                         .whole = kernel ? kernel->request : NULL,
                         .first_line = request_first_line,
                         .first_line_fast = request_first_line_fast };
    enum parse_result r = parse(&ps, len, p, true);

    if (r == PARSE_MORE && len >= limits->max_bytes) {
        /* *h may be without its first line: the whole way again, for the log's sake. */
        parse_whole(&ps, p, true);
        too_large(&ps, p);
        r = PARSE_BAD;
    }
    return r;
}

enum parse_result parse_request(struct head *h, const char *buf, size_t len, const struct parse_limits *limits,
                                struct parse_progress *p, struct parse_error *e)
{
    const struct whole *kernel = kernel_for(limits);

    if (kernel != NULL && p->scanned == 0 && kernel->request(h, buf, usable(len, limits), limits->max_fields) > 0)
        return PARSE_DONE;
    return request_by_lines(h, buf, len, limits, p, e);
}

static bool response_first_line(struct parser *ps, struct line l)
{
    return status_line(ps->h, l, ps->e);
}

/* Responses are read once per miss: no short cut. */
static bool response_first_line_fast(struct parser *ps)
{
    (void)ps;
    return false;
}

static __attribute__((noinline)) enum parse_result response_by_lines(struct head *h, const char *buf, size_t len,
                                                                     const struct parse_limits *limits,
                                                                     struct parse_progress *p, struct parse_error *e)
{
    const struct whole *kernel = kernel_for(limits);
    struct parser ps = { .h = h,
                         .buf = buf,
                         .limits = limits,
                         .e = e,
                         .whole = kernel ? kernel->response : NULL,
                         .first_line = response_first_line,
                         .first_line_fast = response_first_line_fast };
    enum parse_result r = parse(&ps, len, p, false);

    if (r == PARSE_MORE && len >= limits->max_bytes) {
        *e = (struct parse_error){ 502, "head too large", (uint32_t)limits->max_bytes };
        r = PARSE_BAD;
    }
    if (r == PARSE_BAD)
        e->status = 502; /* whatever is wrong, the origin got it wrong */
    return r;
}

enum parse_result parse_response(struct head *h, const char *buf, size_t len, const struct parse_limits *limits,
                                 struct parse_progress *p, struct parse_error *e)
{
    const struct whole *kernel = kernel_for(limits);

    if (kernel != NULL && p->scanned == 0 && kernel->response(h, buf, usable(len, limits), limits->max_fields) > 0)
        return PARSE_DONE;
    return response_by_lines(h, buf, len, limits, p, e);
}

enum parse_result parse_fields(struct head *h, const char *buf, size_t len, const struct parse_limits *limits,
                               struct parse_error *e)
{
    const struct whole *kernel = kernel_for(limits);
    struct parser ps = { .h = h, .buf = buf, .len = usable(len, limits), .limits = limits, .e = e };
    enum parse_result r;

    if (kernel != NULL && kernel->fields(h, buf, ps.len, limits->max_fields) > 0)
        return PARSE_DONE;
    head_begin(h, buf);
    if ((r = field_lines(&ps)) == PARSE_DONE)
        h->len = ps.at;
    if (r == PARSE_MORE && len >= limits->max_bytes) {
        *e = (struct parse_error){ 431, "too many bytes of fields", limits->max_bytes };
        r = PARSE_BAD;
    }
    return r;
}
