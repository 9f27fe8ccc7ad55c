#include "cache/range.h"

#include "hdrs/field_date.h"
#include "hdrs/field_etag.h"

/* Last-Modified is a strong validator when the response was made well after it (RFC 9110 section 8.8.2.2). Seconds. */
#define STRONG_AFTER 60

bool last_modified_is_strong(const struct object *o)
{
    return o->last_modified != INT64_MIN && o->times.date_value >= saturating_add(o->last_modified, STRONG_AFTER);
}

/* Is it still the representation that the client has a part of? */
static bool if_range_holds(const struct head *request, const struct object *o)
{
    const struct head_field *f = head_find(request, TOKEN_IF_RANGE);
    struct span value;
    int64_t date;

    if (f == NULL)
        return true;
    if (head_next(request, f) != NULL)
        return false;
    value = field_value(request, f);
    if (etag_strong_match(value, object_piece(o, o->etag)))
        return true;
    return last_modified_is_strong(o) && date_parse(value, o->times.response_time, &date) && date == o->last_modified;
}

static const struct head_field *only_range(const struct head *request)
{
    const struct head_field *f = head_find(request, TOKEN_RANGE);

    return f != NULL && head_next(request, f) == NULL && request->method == METHOD_GET ? f : NULL;
}

enum range_result range_of(const struct head *request, const struct object *o, uint64_t length, struct byte_range *out,
                           size_t max, size_t *n)
{
    const struct head_field *f = only_range(request);

    *n = 0;
    if (f == NULL || (o->status != 200 && !object_is_part(o)) || !if_range_holds(request, o))
        return RANGE_IGNORE;
    return range_parse(field_value(request, f), length, out, max, n);
}

bool range_is_only_condition(const struct head *request)
{
    static const enum token others[] = { TOKEN_IF_NONE_MATCH, TOKEN_IF_MODIFIED_SINCE, TOKEN_IF_MATCH,
                                         TOKEN_IF_UNMODIFIED_SINCE };

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (request->first[others[i]] != 0)
            return false;
    return only_range(request) != NULL;
}

uint64_t range_first(const struct head *request)
{
    const struct head_field *f = only_range(request);
    struct byte_range r;
    size_t n;

    return f != NULL && range_parse(field_value(request, f), UINT64_MAX, &r, 1, &n) == RANGE_ONE ? r.first : UINT64_MAX;
}
