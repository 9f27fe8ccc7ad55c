/* proxy/logformat_fields.c: pieces of heads as the log wants them. */
#include "proxy/logformat_steps.h"

/* The next line without its end; false when there is none. Blocks are ours: lines end in CRLF. */
static bool next_line(struct span *rest, struct span *line)
{
    const char *end;
    size_t skip;

    if (rest->len == 0)
        return false;
    end = memchr(rest->p, '\n', rest->len);
    line->p = rest->p;
    line->len = end ? (size_t)(end - rest->p) : rest->len;
    skip = line->len + (end != NULL);
    if (line->len > 0 && line->p[line->len - 1] == '\r')
        line->len--;
    *rest = span_of(rest->p + skip, rest->len - skip);
    return true;
}

/* False for a status line or a blank one. */
static bool split_line(struct span line, struct span *name, struct span *value)
{
    const char *colon = line.len ? memchr(line.p, ':', line.len) : NULL;

    if (colon == NULL || span_starts_nocase(line, SPAN("HTTP/")))
        return false;
    *name = span_of(line.p, (size_t)(colon - line.p));
    *value = span_trim(span_of(colon + 1, line.len - name->len - 1));
    return true;
}

struct span log_block_field(struct span block, struct span name)
{
    struct span line, n, value;

    while (next_line(&block, &line))
        if (split_line(line, &n, &value) && span_eq_nocase(n, name))
            return value;
    return SPAN_NONE;
}

/* A dump of all fields must not turn the log into a list of passwords (hostile-inputs M05); who names one of these in a
 * logformat gets it. */
static bool is_credential(struct span name)
{
    static const struct span names[] = {
        { "Authorization", 13 },
        { "Proxy-Authorization", 19 },
        { "Cookie", 6 },
        { "Set-Cookie", 10 },
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (span_eq_nocase(name, names[i]))
            return true;
    return false;
}

static void field_pieces(struct span name, struct span value, log_piece_fn *each, void *ctx)
{
    each(ctx, name);
    each(ctx, SPAN(": "));
    each(ctx, is_credential(name) ? SPAN("***") : value);
    each(ctx, SPAN("\r\n"));
}

void log_request_pieces(const struct head *h, log_piece_fn *each, void *ctx)
{
    for (size_t i = 0; i < h->n_fields; i++)
        field_pieces(field_name(h, &h->fields[i]), field_value(h, &h->fields[i]), each, ctx);
}

void log_block_pieces(struct span block, log_piece_fn *each, void *ctx)
{
    struct span line, name, value;

    while (next_line(&block, &line))
        if (split_line(line, &name, &value))
            field_pieces(name, value, each, ctx);
}

struct span log_list_element(struct span value, struct span element, char separator)
{
    while (value.len > 0) {
        const char *end = memchr(value.p, separator, value.len);
        struct span one = span_trim(span_of(value.p, end ? (size_t)(end - value.p) : value.len));

        if (span_starts_nocase(one, element)) {
            if (one.len == element.len)
                return one;
            if (one.p[element.len] == '=')
                return span_of(one.p + element.len + 1, one.len - element.len - 1);
        }
        if (end == NULL)
            break;
        value = span_of(end + 1, value.len - (size_t)(end + 1 - value.p));
    }
    return SPAN_NONE;
}
