#include "cache/partial.h"

#include "cache/range.h"
#include "cache/validate.h"
#include "hdrs/field_etag.h"
#include "hdrs/field_number.h"

/* Up to `end`, which is passed over. */
static bool number_before(struct span *s, char end, uint64_t *n)
{
    const char *at = memchr(s->p, end, s->len);
    size_t len = at != NULL ? (size_t)(at - s->p) : 0;

    if (at == NULL || !number_parse(span_of(s->p, len), n))
        return false;
    *s = span_of(at + 1, s->len - len - 1);
    return true;
}

bool part_of_response(const struct head *response, uint64_t length, struct byte_range *part, uint64_t *whole)
{
    const struct head_field *f = head_find(response, TOKEN_CONTENT_RANGE);
    struct span s;

    if (response->status != 206 || f == NULL || head_next(response, f) != NULL)
        return false;
    s = span_trim(field_value(response, f));
    if (!span_starts_nocase(s, SPAN("bytes ")))
        return false;
    s = span_of(s.p + 6, s.len - 6);
    return number_before(&s, '-', &part->first) && number_before(&s, '/', &part->last) && number_parse(s, whole) &&
           part->first <= part->last && part->last < *whole && part->last - part->first == length - 1;
}

/* One beyond the last byte it holds. */
static uint64_t end_of(const struct object *p)
{
    return object_part(p).first + object_length(p);
}

static bool wants(const struct head *request, const struct object *p, struct byte_range *wanted)
{
    size_t n;

    if (!request_is_conditional(request)) {
        *wanted = (struct byte_range){ 0, object_part(p).whole - 1 };
        return request->method == METHOD_GET;
    }
    return range_is_only_condition(request) && range_of(request, p, object_part(p).whole, wanted, 1, &n) == RANGE_ONE;
}

enum part_use part_use_of(const struct head *request, const struct object *p, struct byte_range *wanted)
{
    if (!wants(request, p, wanted) || wanted->first < object_part(p).first || wanted->first > end_of(p))
        return PART_USELESS;
    if (wanted->last < end_of(p)) /* all of it, without a Range, would have to go out as a 200 */
        return head_find(request, TOKEN_RANGE) != NULL ? PART_SERVES : PART_USELESS;
    return part_validator(p).p != NULL ? PART_BEGINS : PART_USELESS;
}

static bool has_strong_tag(const struct object *p)
{
    struct span tag = object_piece(p, p->etag);

    return etag_strong_match(tag, tag);
}

struct span part_validator(const struct object *p)
{
    if (has_strong_tag(p))
        return object_piece(p, p->etag);
    return p->etag.len == 0 && last_modified_is_strong(p) ? object_piece(p, p->last_modified_text) : SPAN_NONE;
}

static bool is_same(const struct object *p, const struct head *response)
{
    if (has_strong_tag(p))
        return etag_strong_match(head_value(response, TOKEN_ETAG), object_piece(p, p->etag));
    return head_find(response, TOKEN_ETAG) == NULL &&
           span_eq(head_value(response, TOKEN_LAST_MODIFIED), object_piece(p, p->last_modified_text));
}

bool part_continues(const struct object *p, uint64_t last, const struct head *response, uint64_t length)
{
    struct byte_range part;
    uint64_t whole;

    return part_of_response(response, length, &part, &whole) && part.first == end_of(p) && part.last == last &&
           whole == object_part(p).whole && is_same(p, response);
}
