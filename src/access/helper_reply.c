#include "access/helper_reply.h"

static const struct {
    struct span word;
    enum helper_status status;
} words[] = {
    { SPAN("OK"), HELPER_OK }, { SPAN("ERR"), HELPER_ERR }, { SPAN("BH"), HELPER_BH },
    { SPAN("TT"), HELPER_TT }, { SPAN("AF"), HELPER_AF },   { SPAN("NA"), HELPER_NA },
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

static int hex(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static char *skip_blanks(char *at, const char *end)
{
    while (at < end && is_blank(*at))
        at++;
    return at;
}

static char *skip_word(char *at, const char *end)
{
    while (at < end && !is_blank(*at))
        at++;
    return at;
}

/* at is behind the quote. Returns what follows the closing one. */
static char *quoted_value(char *at, const char *end, struct span *value)
{
    char *out = at;
    const char *begin = at;

    for (; at < end && *at != '"'; at++) {
        if (*at == '\\' && at + 1 < end)
            at++;
        *out++ = *at;
    }
    *value = span_of(begin, (size_t)(out - begin));
    return at < end ? at + 1 : at;
}

static char *plain_value(char *at, const char *end, struct span *value)
{
    char *out = at, *stop = skip_word(at, end);
    const char *begin = at;

    while (at < stop) {
        if (*at == '%' && stop - at > 2 && hex(at[1]) >= 0 && hex(at[2]) > -1) {
            *out++ = (char)(hex(at[1]) << 4 | hex(at[2]));
            at += 3;
        } else {
            *out++ = *at++;
        }
    }
    *value = span_of(begin, (size_t)(out - begin));
    return stop;
}

/* NAME "=": where the value begins; NULL: no pair begins here. */
static char *pair_name(char *at, const char *end, struct span *name)
{
    char *begin = at;

    while (at < end && is_name(*at))
        at++;
    if (at == begin || at == end || *at != '=')
        return NULL;
    *name = span_of(begin, (size_t)(at - begin));
    return at + 1;
}

/* base64, which may look like a pair, comes first. */
static bool has_token(enum helper_status s)
{
    return s == HELPER_TT || s == HELPER_AF || s == HELPER_NA;
}

void helper_reply_parse(char *text, size_t len, struct helper_reply *out)
{
    char *end = text + len, *at, *rest;

    out->status = HELPER_OTHER;
    out->n_pairs = 0;
    while (end > text && is_blank(end[-1]))
        end--;
    at = text = skip_blanks(text, end);
    at = skip_word(at, end);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (span_eq(span_of(text, (size_t)(at - text)), words[i].word))
            out->status = words[i].status;
    if (out->status == HELPER_OTHER) {
        out->rest = span_of(text, (size_t)(end - text));
        return;
    }
    rest = at = skip_blanks(at, end);
    out->rest = span_of(rest, (size_t)(end - rest));
    while (at < end) {
        struct helper_pair pair;
        char *value = pair_name(at, end, &pair.name);

        if (value == NULL) {
            at = skip_blanks(skip_word(at, end), end);
            continue;
        }
        if (out->n_pairs == 0 && !has_token(out->status)) {
            while (at > rest && is_blank(at[-1]))
                at--;
            out->rest.len = (size_t)(at - rest);
        }
        at = value < end && *value == '"' ? quoted_value(value + 1, end, &pair.value)
                                          : plain_value(value, end, &pair.value);
        at = skip_blanks(at, end);
        if (out->n_pairs < HELPER_PAIRS_MAX)
            out->pairs[out->n_pairs++] = pair;
    }
}

struct span helper_reply_value(const struct helper_reply *r, const char *name)
{
    for (size_t i = 0; i < r->n_pairs; i++)
        if (span_eq_nocase(r->pairs[i].name, span_str(name)))
            return r->pairs[i].value;
    return SPAN_NONE;
}

bool helper_channel_parse(struct span line, unsigned *channel, size_t *at)
{
    size_t i = 0;

    *channel = 0;
    while (i < line.len && i < 9 && line.p[i] >= '0' && line.p[i] <= '9')
        *channel = *channel * 10 + (unsigned)(line.p[i++] - '0');
    if (i == 0 || (i < line.len && !is_blank(line.p[i])))
        return false;
    *at = i < line.len ? i + 1 : i;
    return true;
}
