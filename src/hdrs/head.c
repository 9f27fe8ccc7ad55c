#include "hdrs/head.h"

#include "base/mem.h"
#include "hdrs/field_list.h"

const struct head_field *head_find_name(const struct head *h, struct span name, const struct head_field *after)
{
    enum token t = token_lookup(name);

    if (t != TOKEN_OTHER)
        return after ? head_next(h, after) : head_find(h, t);
    for (size_t i = after ? (size_t)(after - h->fields) + 1 : 0; i < h->n_fields; i++)
        if (h->fields[i].token == TOKEN_OTHER && span_eq_nocase(field_name(h, &h->fields[i]), name))
            return &h->fields[i];
    return NULL;
}

size_t head_join(const struct head *h, struct span name, char *out, size_t capacity, bool *present)
{
    size_t n = 0;

    *present = false;
    for (const struct head_field *f = head_find_name(h, name, NULL); f != NULL; f = head_find_name(h, name, f)) {
        struct span value = field_value(h, f);
        size_t comma = *present ? 2 : 0;

        if (capacity - n < comma || capacity - n - comma < value.len)
            return SIZE_MAX;
        if (comma)
            memcpy(out + n, ", ", 2);
        if (value.len > 0)
            memcpy(out + n + comma, value.p, value.len);
        n += comma + value.len;
        *present = true;
    }
    return n;
}

struct head *head_copy(const struct head *h)
{
    size_t used = offsetof(struct head, fields) + h->n_fields * sizeof h->fields[0];
    char *block = xmalloc(used + h->len);
    struct head *copy = (struct head *)(void *)block;

    memcpy(block, h, used);
    if (h->len > 0)
        memcpy(block + used, h->base, h->len);
    copy->base = block + used;
    return copy;
}

bool head_lists(const struct head *h, enum token t, struct span member)
{
    for (const struct head_field *f = head_find(h, t); f != NULL; f = head_next(h, f)) {
        struct span rest = field_value(h, f), one;

        while (list_next(&rest, &one))
            if (span_eq_nocase(one, member))
                return true;
    }
    return false;
}

static enum connection_option option_in(const struct head *h, enum token t)
{
    enum connection_option found = CONNECTION_NONE;

    for (const struct head_field *f = head_find(h, t); f != NULL; f = head_next(h, f)) {
        struct span rest = field_value(h, f), member;

        while (list_next(&rest, &member)) {
            if (span_eq_nocase(member, SPAN("close")))
                return CONNECTION_CLOSE; /* wins over keep-alive (RFC 9112 section 9.3) */
            if (span_eq_nocase(member, SPAN("keep-alive")))
                found = CONNECTION_KEEP_ALIVE;
        }
    }
    return found;
}

enum connection_option head_connection(const struct head *h)
{
    enum connection_option option = option_in(h, TOKEN_CONNECTION);

    /* Not in responses: an origin that echoes what a client sent it would keep a connection that it closes. */
    if (option == CONNECTION_NONE && h->method_name.len > 0)
        option = option_in(h, TOKEN_PROXY_CONNECTION);
    return option;
}
