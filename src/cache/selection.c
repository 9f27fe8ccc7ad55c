#include "cache/selection.h"

#include "hdrs/field_date.h"
#include "hdrs/named_fields.h"

static bool is_storable(enum token t, bool good_date)
{
    if (token_policy(t) & (TOKEN_HOP_BY_HOP | TOKEN_NOT_STORED))
        return false;
    /* Made anew for every answer: from the clock and from the stored body. */
    if (t == TOKEN_AGE || t == TOKEN_CONTENT_LENGTH || t == TOKEN_TRANSFER_ENCODING)
        return false;
    return t != TOKEN_DATE || good_date;
}

void select_fields(struct selection *s, const struct head *h, const struct cache_control *cc, int64_t response_time)
{
    int64_t ignored;
    bool good_date = date_parse(head_value(h, TOKEN_DATE), response_time, &ignored);
    struct named_fields index;

    for (size_t i = 0; i < h->n_fields; i++)
        s->keep[i] = is_storable(h->fields[i].token, good_date);
    if (head_find(h, TOKEN_CONNECTION) == NULL && !(cc->flags & (CC_NO_CACHE_FIELDS | CC_PRIVATE_FIELDS)))
        return;
    named_fields_index(&index, h);
    named_fields_drop_connection(&index, s->keep);
    if (cc->flags & CC_NO_CACHE_FIELDS)
        named_fields_drop(&index, cc->no_cache_fields, 0, s->keep);
    if (cc->flags & CC_PRIVATE_FIELDS)
        named_fields_drop(&index, cc->private_fields, 0, s->keep);
}
