#include "hdrs/field_list.h"

/* The end of the member that starts at p: a comma outside quotes, or end. */
static const char *member_end(const char *p, const char *end)
{
    bool quoted = false;

    for (; p < end; p++) {
        if (*p == '"')
            quoted = !quoted;
        else if (quoted && *p == '\\' && p + 1 < end)
            p++;
        else if (!quoted && *p == ',')
            break;
    }
    return p;
}

bool list_next(struct span *rest, struct span *member)
{
    const char *p = rest->p, *end = p + rest->len;

    while (p < end) {
        const char *stop = member_end(p, end);

        *member = span_trim(span_of(p, (size_t)(stop - p)));
        p = stop < end ? stop + 1 : end;
        *rest = span_of(p, (size_t)(end - p));
        if (member->len > 0)
            return true;
    }
    *rest = *member = span_of(end, 0);
    return false;
}
