/* request_header_access, reply_header_replace and their kin. */
#include "conf/header_rules.h"

#include <stdlib.h>
#include "base/mem.h"
#include "conf/directive.h"
#include "hdrs/scan.h"

void header_rules_free(struct header_rules *r, void (*format_free)(void *format))
{
    for (size_t i = 0; i < r->n_rules; i++) {
        free(r->rules[i].name);
        free(r->rules[i].replace);
        access_list_free(&r->rules[i].list);
    }
    for (size_t i = 0; i < r->n_adds; i++) {
        free(r->adds[i].name);
        free(r->adds[i].value);
        if (format_free != NULL && r->adds[i].format != NULL)
            format_free(r->adds[i].format);
        access_list_free(&r->adds[i].when);
    }
    free(r->rules);
    free(r->adds);
}

static struct header_rules *rules_of(struct reading *r, const struct directive *d)
{
    return (void *)((char *)r->s + d->at);
}

static const struct header_rules *rules_in(const struct settings *s, const struct directive *d)
{
    return (const void *)((const char *)s + d->at);
}

static bool is_token(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (!scan_is_tchar[(unsigned char)s.p[i]])
            return false;
    return s.len > 0;
}

bool header_is_framing(enum token t)
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

/* A field's name. False: it is none, or not for rules; told, unless what the line wants of it is so anyway. */
static bool read_name(struct reading *r, const struct directive *d, const struct word *w, bool is_so_anyway)
{
    if (!is_token(w->text)) {
        diag_error(r->report, w->at, NULL, "'%.*s' is no name of a field", QUOTED_ARG(w->text));
        return false;
    }
    if (header_is_framing(token_lookup(w->text))) {
        if (!is_so_anyway)
            diag_warning(r->report, w->at, NULL, "%s has no effect on %.*s: the proxy writes that field itself",
                         d->name, QUOTED_ARG(w->text));
        return false;
    }
    return true;
}

/* What asks for something else than the client did, or is between this proxy and the next. */
static bool may_be_given(struct reading *r, const struct directive *d, const struct word *w)
{
    static const char *const names[] = { "Range",         "If-Range",           "If-Match",
                                         "If-None-Match", "If-Modified-Since",  "If-Unmodified-Since",
                                         "Max-Forwards",  "Proxy-Authorization" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (span_eq_nocase(w->text, span_str(names[i]))) {
            diag_error(r->report, w->at, NULL, "%s can't give %s: it would change what is asked for", d->name,
                       names[i]);
            return false;
        }
    return true;
}

/* A value that would end its line would begin a field of its own. */
static bool read_value(struct reading *r, const struct word *w, struct span value)
{
    for (size_t i = 0; i < value.len; i++)
        if (((unsigned char)value.p[i] < ' ' && value.p[i] != '\t') || value.p[i] == 0x7f) {
            diag_error(r->report, w->at, NULL, "a field's value can't hold control characters");
            return false;
        }
    return true;
}

static struct header_rule *rule_of(struct header_rules *all, struct span name)
{
    struct header_rule *rule;

    for (size_t i = 0; i < all->n_rules; i++)
        if (span_eq_nocase(span_str(all->rules[i].name), name))
            return &all->rules[i];
    rule = ARRAY_PUSH(all->rules, all->n_rules);
    rule->name = xspandup(name);
    return rule;
}

static void parse_access(struct reading *r, const struct directive *d, const struct line *l)
{
    struct header_rule *rule;

    if (!words_between(r, l, 3, SIZE_MAX) || !read_name(r, d, &l->words[1], span_eq(l->words[2].text, SPAN("allow"))))
        return;
    rule = rule_of(rules_of(r, d), l->words[1].text);
    if (rule->list == NULL)
        rule->list = access_list_new(true);
    access_add_words(r, rule->list, l, 2, NULL);
}

static void print_access(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const struct header_rules *all = rules_in(s, d);

    for (size_t i = 0; i < all->n_rules; i++)
        if (all->rules[i].list != NULL) {
            char *name = xasprintf("%s %s", d->name, all->rules[i].name);

            access_list_print(all->rules[i].list, name, out);
            free(name);
        }
}

static void parse_replace(struct reading *r, const struct directive *d, const struct line *l)
{
    struct header_rule *rule;
    struct span value;

    if (!words_between(r, l, 2, SIZE_MAX) || !read_name(r, d, &l->words[1], false) || !may_be_given(r, d, &l->words[1]))
        return;
    /* The rest of the line: a value has blanks. */
    value = l->n == 3 ? l->words[2].text : line_rest(l, 2);
    if (!read_value(r, &l->words[2], value))
        return;
    rule = rule_of(rules_of(r, d), l->words[1].text);
    free(rule->replace);
    rule->replace = xspandup(value);
}

static void print_replace(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const struct header_rules *all = rules_in(s, d);

    for (size_t i = 0; i < all->n_rules; i++)
        if (all->rules[i].replace != NULL)
            sb_printf(out, "%s %s %s\n", d->name, all->rules[i].name, all->rules[i].replace);
}

static void parse_add(struct reading *r, const struct directive *d, const struct line *l)
{
    const struct conf_hooks *hooks = r->hooks;
    struct header_add *add;
    char error[160] = "";
    size_t at = 0;

    if (!words_between(r, l, 2, SIZE_MAX) || !read_name(r, d, &l->words[1], false) ||
        !may_be_given(r, d, &l->words[1]) || !read_value(r, &l->words[2], l->words[2].text))
        return;
    add = ARRAY_PUSH(rules_of(r, d)->adds, rules_of(r, d)->n_adds);
    add->name = xspandup(l->words[1].text);
    add->value = xspandup(l->words[2].text);
    /* Codes stand in quotes, as in Squid. */
    if (l->words[2].quoted && strchr(add->value, '%') != NULL && hooks != NULL && hooks->logformat_compile != NULL &&
        (add->format = hooks->logformat_compile(add->value, error, &at)) == NULL)
        diag_error(r->report, l->words[2].at, NULL, "%s: %s", d->name, error);
    if (l->n > 3) {
        add->when = access_list_new(false);
        access_add_words(r, add->when, l, 3, "allow");
    }
}

static void print_add(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const struct header_rules *all = rules_in(s, d);

    for (size_t i = 0; i < all->n_adds; i++) {
        sb_printf(out, "%s %s \"%s\"", d->name, all->adds[i].name, all->adds[i].value);
        if (all->adds[i].when != NULL)
            access_list_print_acls(all->adds[i].when, out);
        sb_char(out, '\n');
    }
}

const struct directive_kind kind_header_access = { parse_access, print_access };
const struct directive_kind kind_header_replace = { parse_replace, print_replace };
const struct directive_kind kind_header_add = { parse_add, print_add };
