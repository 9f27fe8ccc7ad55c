#include "cache/purge.h"

static bool is_separator(char c)
{
    return c == ' ' || c == '\t' || c == ',';
}

/* The next tag of *rest. */
static bool next_tag(struct span *rest, struct span *tag)
{
    size_t from = 0, to;

    while (from < rest->len && is_separator(rest->p[from]))
        from++;
    for (to = from; to < rest->len && !is_separator(rest->p[to]); to++)
        ;
    *tag = span_of(rest->p + from, to - from);
    *rest = span_of(rest->p + to, rest->len - to);
    return tag->len > 0;
}

static bool share_a_tag(struct span these, struct span those)
{
    struct span a, b;

    while (next_tag(&these, &a)) {
        struct span rest = those;

        while (next_tag(&rest, &b))
            if (span_eq(a, b))
                return true;
    }
    return false;
}

/* Fastly's, Cloudflare's and Varnish's names for the same thing. */
static bool holds_tags(struct span name)
{
    return span_eq_nocase(name, SPAN("Surrogate-Key")) || span_eq_nocase(name, SPAN("Cache-Tag")) ||
           span_eq_nocase(name, SPAN("xkey"));
}

static bool has_tag(const struct object *o, struct span tags)
{
    struct span rest = object_fields(o);

    while (rest.len > 0) {
        const char *end = memchr(rest.p, '\r', rest.len), *colon;
        size_t n = end ? (size_t)(end - rest.p) : rest.len;

        colon = memchr(rest.p, ':', n);
        if (colon != NULL && holds_tags(span_of(rest.p, (size_t)(colon - rest.p))) &&
            share_a_tag(span_of(colon + 1, n - (size_t)(colon + 1 - rest.p)), tags))
            return true;
        n = n + 2 < rest.len ? n + 2 : rest.len;
        rest = span_of(rest.p + n, rest.len - n);
    }
    return false;
}

bool purge_matches(const struct purge_query *q, const struct object *o)
{
    struct span url = object_piece(o, o->url);

    if (q->mode == PURGE_TAGS)
        return has_tag(o, q->text);
    return url.len >= q->text.len && memcmp(url.p, q->text.p, q->text.len) == 0;
}
