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
    unsigned own;
    struct strbuf out;
};

/* All that is known by now: the route and the address, and the reply. */
static bool holds(const struct mangling *m, const struct access_list *list)
{
    const struct log_entry *e = m->entry;
    struct access_facts f = { .client = e->client, .local = e->local };

    if (m->request != NULL)
        request_facts(m->request, &f);
    request_facts_route(e, &f);
    f.dst_known = true;
    f.dst = &e->server;
    f.n_dst = e->server.family != 0;
    if (m->is_reply) {
        f.status = e->status;
        f.reply_head = e->reply_head;
    }
    return access_check(list, &f).answer == ACCESS_ALLOWED;
}

/* A part of several says by its type where each begins. */
static bool is_multipart(struct span line)
{
    static const struct span type = SPAN("multipart/byteranges");
    const char *colon = memchr(line.p, ':', line.len);
    struct span value = colon ? span_trim(span_of(colon + 1, line.len - (size_t)(colon + 1 - line.p))) : SPAN_NONE;

    return span_starts_nocase(value, type);
}

static bool is_protected(const struct mangling *m, enum token t, struct span line)
{
    if (header_is_framing(t))
        return true;
    switch (t) {
    case TOKEN_CONTENT_TYPE: return m->is_reply && is_multipart(line);
    /* In a request it is for a parent, by login=: the client's stays here. */
    case TOKEN_PROXY_AUTHORIZATION:
    case TOKEN_MAX_FORWARDS: return !m->is_reply;
    case TOKEN_AUTHORIZATION: return m->own & OWN_LOGIN;
    case TOKEN_IF_NONE_MATCH:
    case TOKEN_IF_MODIFIED_SINCE: return m->own & OWN_CONDITIONS;
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

static bool denied(const struct mangling *m, struct span name, enum token t, const struct header_rule **rule)
{
    *rule = rule_for(m->rules, name, t);
    return *rule != NULL && !holds(m, (*rule)->list);
}

/* Without its If-Range, a Range would get a part of whatever there is now. */
static bool loses_if_range(const struct mangling *m)
{
    const struct header_rule *rule;

    return !m->is_reply && m->request != NULL && head_find(m->request->head, TOKEN_IF_RANGE) != NULL &&
           denied(m, SPAN("If-Range"), TOKEN_IF_RANGE, &rule);
}

static void add_line(struct mangling *m, struct span name, const char *value)
{
    struct strbuf line = { 0 };

    sb_str(&line, "\r\n");
    sb_span(&line, name);
    sb_printf(&line, ": %s\r\n", value);
    /* A field of several lines is replaced by one. */
    if (memmem(m->out.p, m->out.len, line.p, line.len) == NULL)
        sb_add(&m->out, line.p + 2, line.len - 2);
    sb_free(&line);
}

static void field(struct mangling *m, struct span line)
{
    const char *colon = memchr(line.p, ':', line.len), *value;
    struct span name = span_of(line.p, colon ? (size_t)(colon - line.p) : line.len);
    enum token t = token_lookup(name);
    const struct header_rule *rule;

    if (t == TOKEN_RANGE && loses_if_range(m))
        return;
    if (is_protected(m, t, line) || !denied(m, name, t, &rule)) {
        sb_span(&m->out, line);
        sb_str(&m->out, "\r\n");
        return;
    }
    value = replacement(m->rules, rule, name);
    if (value != NULL)
        add_line(m, name, value);
}

/* What a peer sent may stand in it: no control character gets through. */
static void add_formatted(struct mangling *m, const void *format)
{
    static const struct logformat_options options = { .strip_query_terms = false };
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
                   unsigned own, struct strbuf *head, size_t from)
{
    struct mangling m = { .rules = rules, .request = r, .entry = e, .is_reply = is_reply, .own = own };
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
    if (header_rules_none(&s->reply_headers))
        return bytes;
    sb_add(&whole, bytes, *head);
    header_mangle(&s->reply_headers, r, e, true, 0, &whole, 0);
    e->head_out = whole.len;
    sb_add(&whole, bytes + *head, *n - *head);
    free(bytes);
    *head = (size_t)e->head_out;
    *n = whole.len;
    e->bytes_out = whole.len;
    return whole.p;
}
