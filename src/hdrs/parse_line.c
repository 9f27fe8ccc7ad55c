#include "hdrs/parse_line.h"

#include "hdrs/scan.h"

#define VERSION_BYTES 8 /* HTTP/1.1 */

static bool bad(struct parse_error *e, int status, const char *what, uint32_t at)
{
    *e = (struct parse_error){ status, what, at };
    return false;
}

enum parse_result line_find(const char *buf, uint32_t len, uint32_t at, uint32_t *scanned, bool relaxed, struct line *l,
                            struct parse_error *e)
{
    uint32_t i = (uint32_t)(scan_text(buf + *scanned, buf + len) - buf);

    *scanned = i;
    if (i == len)
        return PARSE_MORE;
    if (buf[i] == '\r') {
        if (i + 1 == len)
            return PARSE_MORE;
        if (buf[i + 1] == '\n') {
            *l = (struct line){ at, i, i + 2 };
            return PARSE_DONE;
        }
        bad(e, 400, "bare CR in a head", i); /* some peers end a line here: request smuggling */
        return PARSE_BAD;
    }
    if (buf[i] == '\n') {
        if (relaxed) {
            *l = (struct line){ at, i, i + 1 };
            return PARSE_DONE;
        }
        bad(e, 400, "bare LF in a head", i);
        return PARSE_BAD;
    }
    bad(e, 400, buf[i] == '\0' ? "NUL in a head" : "control byte in a head", i);
    return PARSE_BAD;
}

/* "HTTP/1.0" or "HTTP/1.1", to the letter (RFC 9112 section 2.3). */
static bool http_version(struct head *h, const char *p, const char *end, struct parse_error *e)
{
    uint32_t at = (uint32_t)(p - h->base);

    if (end - p != VERSION_BYTES || memcmp(p, "HTTP/", 5) != 0 || p[5] < '0' || p[5] > '9' || p[6] != '.' ||
        p[7] < '0' || p[7] > '9')
        return bad(e, 400, "malformed HTTP version", at);
    if (p[5] != '1' || p[7] > '1')
        return bad(e, 505, "HTTP version not supported", at);
    h->minor_version = (uint8_t)(p[7] - '0');
    return true;
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && scan_is_blank(*p))
        p++;
    return p;
}

/* What separates the parts of a request line: one SP; relaxed: any blanks. Returns where the next part starts, or
 * NULL. */
static const char *separator(const char *p, const char *end, bool relaxed)
{
    if (p == end || !scan_is_blank(*p))
        return NULL;
    if (relaxed)
        return skip_blanks(p, end);
    return *p == ' ' ? p + 1 : NULL;
}

/* A target with blanks in it: up to those in front of the line's last word, the version, if it is nothing worse. */
static const char *target_with_blanks(const char *p, const char *end)
{
    const char *target_end = end, *at = p;

    while (target_end > p && !scan_is_blank(target_end[-1]))
        target_end--;
    while (target_end > p && scan_is_blank(target_end[-1]))
        target_end--;
    while (at < target_end) {
        at = skip_blanks(scan_visible(at, target_end), target_end);
        if (at < target_end && !scan_is_blank(*at) && scan_visible(at, at + 1) == at)
            return p; /* a control character */
    }
    return target_end;
}

bool request_line(struct head *h, struct line l, const struct parse_limits *limits, struct parse_error *e)
{
    const bool relaxed = limits->relaxed;
    const char *p = h->base + l.at, *end = h->base + l.end, *part = p;

    if (relaxed)
        while (end > p && scan_is_blank(end[-1]))
            end--;
    p = scan_tchars(part, end);
    if (p == part)
        return bad(e, 400, "no method in the request line", l.at);
    if (p - part > METHOD_BYTES_MAX)
        return bad(e, 400, "method too long", l.at);
    h->method_name = (struct head_piece){ l.at, (uint32_t)(p - part) };
    h->method = (uint8_t)method_lookup(span_of(part, (size_t)(p - part)));
    if ((part = separator(p, end, relaxed)) == NULL)
        return bad(e, 400, "method not followed by one space", (uint32_t)(p - h->base));

    p = scan_visible(part, end);
    if (limits->target_blanks && p < end && scan_is_blank(*p))
        p = target_with_blanks(part, end);
    if (p == part)
        return bad(e, 400, "no target in the request line", (uint32_t)(p - h->base));
    h->target = (struct head_piece){ (uint32_t)(part - h->base), (uint32_t)(p - part) };
    if (p == end)
        return bad(e, 400, "no HTTP version in the request line", l.end); /* HTTP/0.9 */
    if ((part = separator(p, end, relaxed)) == NULL)
        return bad(e, 400, "target not followed by one space", (uint32_t)(p - h->base));
    return http_version(h, part, end, e);
}

bool status_line(struct head *h, struct line l, struct parse_error *e)
{
    const char *p = h->base + l.at, *end = h->base + l.end;

    if (end - p < VERSION_BYTES)
        return bad(e, 502, "malformed status line", l.at);
    if (!http_version(h, p, p + VERSION_BYTES, e))
        return false;
    p += VERSION_BYTES;
    if (end - p < 4 || p[0] != ' ' || p[1] < '1' || p[1] > '9' || p[2] < '0' || p[2] > '9' || p[3] < '0' || p[3] > '9')
        return bad(e, 502, "malformed status code", (uint32_t)(p - h->base));
    h->status = (uint16_t)((p[1] - '0') * 100 + (p[2] - '0') * 10 + (p[3] - '0'));
    p += 4;
    /* The space is due even before an empty reason, but many origins leave it out, and nothing hangs on it. */
    if (p < end && *p++ != ' ')
        return bad(e, 502, "malformed status code", (uint32_t)(p - 1 - h->base));
    h->reason = (struct head_piece){ (uint32_t)(p - h->base), (uint32_t)(end - p) };
    return true;
}

static bool bad_name(const char *line, const char *p, const char *end, uint32_t at, struct parse_error *e)
{
    if (p == line && scan_is_blank(*p))
        return bad(e, 400, "folded line in a head", at); /* obs-fold: peers disagree on whose value it is */
    if (p == end)
        return bad(e, 400, "line without a colon in a head", at);
    if (scan_is_blank(*p) && *skip_blanks(p, end) == ':')
        return bad(e, 400, "blank before the colon of a field", at);
    if (*p == ':')
        return bad(e, 400, "field without a name", at);
    return bad(e, 400, "bad byte in a field name", at);
}

bool field_line(struct head *h, struct line l, struct parse_error *e)
{
    const char *name = h->base + l.at, *end = h->base + l.end, *colon = scan_tchars(name, end);
    size_t name_len = (size_t)(colon - name);
    struct span value;

    if (colon == end || *colon != ':' || colon == name)
        return bad_name(name, colon, end, (uint32_t)(colon - h->base), e);
    if (name_len > UINT16_MAX)
        return bad(e, 431, "field name too long", l.at);
    value = span_trim(span_of(colon + 1, (size_t)(end - colon - 1)));
    head_add_field(h, token_lookup(span_of(name, name_len)), name, name_len, value.p, value.len);
    return true;
}
