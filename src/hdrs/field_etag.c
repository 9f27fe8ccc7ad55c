#include "hdrs/field_etag.h"

static bool is_weak(struct span tag)
{
    return tag.len >= 2 && tag.p[0] == 'W' && tag.p[1] == '/';
}

/* opaque-tag: DQUOTE *etagc DQUOTE. No backslash escapes in these. */
static bool is_opaque_tag(struct span tag)
{
    if (tag.len < 2 || tag.p[0] != '"' || tag.p[tag.len - 1] != '"')
        return false;
    for (size_t i = 1; i < tag.len - 1; i++) {
        unsigned char c = (unsigned char)tag.p[i];

        if (c <= 0x20 || c == '"' || c == 0x7F)
            return false;
    }
    return true;
}

static struct span without_weakness(struct span tag)
{
    return is_weak(tag) ? span_of(tag.p + 2, tag.len - 2) : tag;
}

bool etag_weak_match(struct span a, struct span b)
{
    struct span opaque_a = without_weakness(a), opaque_b = without_weakness(b);

    if (a.len == 0 || b.len == 0)
        return false;
    if (span_eq(a, b))
        return true;
    return is_opaque_tag(opaque_a) && span_eq(opaque_a, opaque_b);
}

/* Malformed tags are never strong: `w/"x"` was hardly meant to be. */
bool etag_strong_match(struct span a, struct span b)
{
    return is_opaque_tag(a) && span_eq(a, b);
}

/* Like list_next(), but in an entity-tag a backslash is a byte like any other. */
static bool next_tag(struct span *rest, struct span *tag)
{
    const char *p = rest->p, *end = p + rest->len, *start, *quote;

    while (p < end && (*p == ',' || *p == ' ' || *p == '\t'))
        p++;
    if (p == end)
        return false;
    start = p;
    if (end - p >= 2 && p[0] == 'W' && p[1] == '/')
        p += 2;
    if (p < end && *p == '"' && (quote = memchr(p + 1, '"', (size_t)(end - p - 1))) != NULL)
        p = quote + 1;
    while (p < end && *p != ',')
        p++;
    *tag = span_trim(span_of(start, (size_t)(p - start)));
    *rest = span_of(p, (size_t)(end - p));
    return true;
}

bool etag_list_matches(struct span list, struct span tag)
{
    struct span rest = list = span_trim(list), member;

    if (span_eq(list, SPAN("*")))
        return true;
    if (tag.len > 0 && span_eq(list, tag))
        return true; /* malformed, perhaps with commas in it, but what we handed out */
    while (next_tag(&rest, &member))
        if (etag_weak_match(member, tag))
            return true;
    return false;
}
