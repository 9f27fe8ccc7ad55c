#include "proxy/header_mangle.h"

#include <stdlib.h>
#include "hdrs/token.h"
#include "proxy/logformat.h"
#include "proxy/request_access.h"

#define VALUE_MAX 4096

struct mangling {
    const struct header_rules *rules;
    const struct request *request;
    const struct log_entry *entry;
    bool is_reply;
    struct strbuf out;
};

static bool holds(const struct mangling *m, const struct access_list *list)
{
    struct access_verdict v =
        m->is_reply ? request_access_reply(list, m->request, m->entry->status, m->entry->reply_head, m->entry)
                    : request_access(list, m->request);

    return v.answer == ACCESS_ALLOWED;
}

static bool is_protected(enum token t)
{
    switch (t) {
    case TOKEN_CONTENT_LENGTH:
    case TOKEN_TRANSFER_ENCODING:
    case TOKEN_CONNECTION:
    case TOKEN_HOST:
    case TOKEN_UPGRADE:
    case TOKEN_CONTENT_RANGE:
    case TOKEN_TRAILER:
    case TOKEN_TE:
    case TOKEN_EXPECT: return true;
    default: return false;
    }
}

static const struct header_rule *find(const struct header_rules *all, struct span name)
{
    for (size_t i = 0; i < all->n_rules; i++)
        if (all->rules[i].list != NULL && span_eq_nocase(span_str(all->rules[i].name), name))
            return &all->rules[i];
    return NULL;
}

/* The one that decides: of the field's name; of those nobody knows; of all. */
static const struct header_rule *rule_for(const struct header_rules *all, struct span name, enum token t)
{
    const struct header_rule *rule = find(all, name);

    if (rule == NULL && t == TOKEN_OTHER)
        rule = find(all, SPAN("Other"));
    return rule != NULL ? rule : find(all, SPAN("All"));
}

/* "All" and "Other" may have replacements, too; that of the field's own name counts first. */
static const char *replacement(const struct header_rules *all, const struct header_rule *decided, struct span name)
{
    for (size_t i = 0; i < all->n_rules; i++)
        if (all->rules[i].replace != NULL && span_eq_nocase(span_str(all->rules[i].name), name))
            return all->rules[i].replace;
    return decided->replace;
}

static void field(struct mangling *m, struct span line)
{
    const char *colon = memchr(line.p, ':', line.len), *value;
    struct span name = span_of(line.p, colon ? (size_t)(colon - line.p) : line.len);
    enum token t = token_lookup(name);
    const struct header_rule *rule = is_protected(t) ? NULL : rule_for(m->rules, name, t);

    if (rule == NULL || holds(m, rule->list)) {
        sb_span(&m->out, line);
        sb_str(&m->out, "\r\n");
        return;
    }
    value = replacement(m->rules, rule, name);
    if (value != NULL) {
        sb_span(&m->out, name);
        sb_printf(&m->out, ": %s\r\n", value);
    }
}

/* What a peer sent may stand in it: no control character gets through. */
static void add_formatted(struct mangling *m, const void *format)
{
    static const struct logformat_options options = { .strip_query_terms = true };
    char text[VALUE_MAX];
    size_t n = logformat_line(format, &options, m->entry, text, sizeof text);

    for (size_t i = 0; i < n && text[i] != '\n'; i++)
        sb_char(&m->out, (unsigned char)text[i] < ' ' || text[i] == 0x7f ? ' ' : text[i]);
}

static void additions(struct mangling *m)
{
    for (size_t i = 0; i < m->rules->n_adds; i++) {
        const struct header_add *a = &m->rules->adds[i];

        if (a->when != NULL && !holds(m, a->when))
            continue;
        sb_printf(&m->out, "%s: ", a->name);
        if (a->format != NULL)
            add_formatted(m, a->format);
        else
            sb_str(&m->out, a->value);
        sb_str(&m->out, "\r\n");
    }
}

void header_mangle(const struct header_rules *rules, const struct request *r, const struct log_entry *e, bool is_reply,
                   struct strbuf *head, size_t from)
{
    struct mangling m = { .rules = rules, .request = r, .entry = e, .is_reply = is_reply };
    struct span rest = sb_from(head, from);
    bool first = true;

    while (rest.len > 0) {
        const char *end = memmem(rest.p, rest.len, "\r\n", 2);
        struct span line = span_of(rest.p, end ? (size_t)(end - rest.p) : rest.len);
        size_t n = line.len + 2 < rest.len ? line.len + 2 : rest.len;

        if (line.len == 0)
            break;
        if (first) {
            sb_span(&m.out, line);
            sb_str(&m.out, "\r\n");
        } else {
            field(&m, line);
        }
        first = false;
        rest = span_of(rest.p + n, rest.len - n);
    }
    additions(&m);
    sb_str(&m.out, "\r\n");
    head->len = from;
    sb_span(head, sb_view(&m.out));
    sb_free(&m.out);
}

char *header_mangle_reply(const struct settings *s, const struct request *r, struct log_entry *e, char *bytes,
                          size_t *n, size_t *head)
{
    struct strbuf whole = { 0 };

    e->head_out = *head;
    e->bytes_out = *n;
    if (r == NULL || header_rules_none(&s->reply_headers))
        return bytes;
    sb_add(&whole, bytes, *head);
    header_mangle(&s->reply_headers, r, e, true, &whole, 0);
    e->head_out = whole.len;
    sb_add(&whole, bytes + *head, *n - *head);
    free(bytes);
    *head = (size_t)e->head_out;
    *n = whole.len;
    e->bytes_out = whole.len;
    return whole.p;
}
