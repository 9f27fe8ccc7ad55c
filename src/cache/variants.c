#include "cache/variants.h"

#include "cache/vary.h"
#include "hdrs/field_etag.h"
#include "hdrs/field_list.h"

#define TAG_LENGTH_MAX 128

bool variant_names_equal(const struct object *a, const struct object *b)
{
    return span_eq(object_piece(a, a->vary), object_piece(b, b->vary));
}

static inline struct object *select_kind(struct object *o, const struct head *request, bool part)
{
    const struct object *last = NULL; /* whose names print was made for */
    struct hash128 print = { 0, 0 };

    for (; o != NULL; o = variant_older(o)) {
        if (object_is_part(o) != part)
            continue;
        if (o->vary.len == 0)
            return o;
        if (last == NULL || !variant_names_equal(last, o))
            print = vary_fingerprint(object_piece(o, o->vary), request);
        last = o;
        if (hash128_eq(print, o->vary_print))
            return o;
    }
    return NULL;
}

struct object *variant_select(struct object *newest, const struct head *request)
{
    return select_kind(newest, request, false);
}

struct object *variant_select_part(struct object *newest, const struct head *request)
{
    return select_kind(newest, request, true);
}

/* A malformed one would spoil the list it stands in. */
static bool has_good_tag(const struct object *o)
{
    struct span tag = object_piece(o, o->etag);

    if (tag.len > TAG_LENGTH_MAX)
        return false;
    if (tag.len > 2 && tag.p[0] == 'W' && tag.p[1] == '/')
        tag = span_of(tag.p + 2, tag.len - 2);
    return etag_strong_match(tag, tag);
}

/* nginx, for one, judges If-None-Match before it compresses, and by weak comparison: asked for the compressed one it would say that
 * the other is still good, and everybody would get that. */
static bool varies_by_coding(const struct object *o)
{
    struct span names = object_piece(o, o->vary), name;

    while (list_next(&names, &name))
        if (span_eq(name, SPAN("accept-encoding")))
            return true;
    return false;
}

size_t variants_with_tags(struct object *o, struct object **out)
{
    size_t n = 0;

    for (; o != NULL && n < VARIANT_TAGS_MAX; o = variant_older(o))
        if (o->status == 200 && has_good_tag(o) && !varies_by_coding(o))
            out[n++] = object_ref(o);
    return n;
}

size_t variant_named(struct object *const *variants, size_t n, const struct head *response_304)
{
    struct span tag = head_value(response_304, TOKEN_ETAG);
    size_t i = 0;

    while (i < n && !(tag.len > 0 && span_eq(tag, object_piece(variants[i], variants[i]->etag))))
        i++;
    return i;
}
