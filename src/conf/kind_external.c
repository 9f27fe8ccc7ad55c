/* external_acl_type: ACLs that a helper program decides. */
#include <stdlib.h>
#include "base/mem.h"
#include "conf/directive.h"
#include "conf/value.h"

#define CACHE_MAX 10000000
#define TTL_MAX 1000000000

/* Squid's own names for what logformat has codes for. */
static const struct {
    struct span name;
    const char *code;
} codes[] = {
    { SPAN("LOGIN"), "%'ul" },  { SPAN("EXT_USER"), "%'ue" }, { SPAN("EXT_TAG"), "%'et" }, { SPAN("EXT_LOG"), "%'ea" },
    { SPAN("IDENT"), "%'ui" },  { SPAN("SRC"), "%>a" },       { SPAN("SRCPORT"), "%>p" },  { SPAN("URI"), "%'ru" },
    { SPAN("DST"), "%'>rd" },   { SPAN("PROTO"), "%'>rs" },   { SPAN("PORT"), "%>rP" },    { SPAN("PATH"), "%'rp" },
    { SPAN("METHOD"), "%'rm" }, { SPAN("MYADDR"), "%la" },    { SPAN("MYPORT"), "%lp" },
};

/* word behind its %: a logformat spec for it. The caller frees. */
static char *code_of(struct span word)
{
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (span_eq(word, codes[i].name))
            return xstrdup(codes[i].code);
    if (word.len > 2 && (word.p[0] == '{' || (word.p[0] == '>' && word.p[1] == '{')) && word.p[word.len - 1] == '}')
        return xasprintf("%%'%.*s>h", (int)(word.len - (word.p[0] == '>')), word.p + (word.p[0] == '>'));
    return xasprintf("%%'%.*s", SPAN_ARG(word));
}

static void compile(struct reading *r, struct external_word *out, const struct word *w)
{
    const struct conf_hooks *hooks = r->hooks;
    char error[160], *spec = code_of(span_of(w->text.p + 1, w->text.len - 1));
    size_t at;

    if (hooks != NULL && hooks->logformat_compile != NULL &&
        (out->format = hooks->logformat_compile(spec, error, &at)) == NULL)
        diag_error(r->report, w->at, NULL, "'%.*s' is no code of external_acl_type: %s", QUOTED_ARG(w->text), error);
    free(spec);
}

static void add_word(struct reading *r, struct external_acl *a, const struct word *w)
{
    struct external_word *out = ARRAY_PUSH(a->words, a->n_words);

    out->written = xspandup(w->text);
    if (span_eq(w->text, SPAN("%DATA"))) {
        out->kind = EXTERNAL_DATA;
        a->has_data = true;
    } else if (span_eq(w->text, SPAN("%ACL"))) {
        out->kind = EXTERNAL_ACL;
    } else {
        out->kind = EXTERNAL_CODE;
        if (span_eq(w->text, SPAN("%LOGIN")) || span_eq(w->text, SPAN("%ul"))) {
            a->needs_user = true;
            if (r->users_at.file == NULL)
                r->users_at = w->at;
        }
        compile(r, out, w);
    }
}

static bool seconds(struct reading *r, const struct word *w, struct span value, int64_t *us)
{
    int64_t n;

    if (value_count(value, 0, TTL_MAX, &n) != VALUE_OK) {
        diag_error(r->report, w->at, NULL, "'%.*s': a number of seconds is expected", QUOTED_ARG(w->text));
        return false;
    }
    *us = n * 1000000;
    return true;
}

/* True: w is an option, good or bad. */
static bool option(struct reading *r, struct external_setting *e, const struct word *w)
{
    struct external_acl *a = e->acl;
    struct span value;
    int64_t n;

    if (option_is(w->text, "ttl", &value)) {
        (void)seconds(r, w, value, &a->ttl);
    } else if (option_is(w->text, "negative_ttl", &value)) {
        (void)seconds(r, w, value, &a->negative_ttl);
    } else if (option_is(w->text, "grace", &value)) {
        if (value_count(value, 0, 100, &n) == VALUE_OK)
            a->grace = (int)n;
        else
            diag_error(r->report, w->at, NULL, "'%.*s': a percentage is expected", QUOTED_ARG(w->text));
    } else if (option_is(w->text, "cache", &value)) {
        if (value_count(value, 0, CACHE_MAX, &n) == VALUE_OK)
            a->cache_max = (size_t)n;
        else
            diag_error(r->report, w->at, NULL, "'%.*s': a number of answers is expected", QUOTED_ARG(w->text));
    } else if (option_is(w->text, "children", &value)) { /* the old name */
        if (value_count(value, 1, 10000, &n) == VALUE_OK)
            e->program.max = (int)n;
        else
            diag_error(r->report, w->at, NULL, "'%.*s': a number of processes is expected", QUOTED_ARG(w->text));
    } else if (option_is(w->text, "protocol", &value)) {
        if (!span_eq(value, SPAN("3.0")))
            diag_error(r->report, w->at, NULL, "'%.*s': only the protocol of Squid 3.0 and later is spoken",
                       QUOTED_ARG(w->text));
    } else if (span_eq(w->text, SPAN("ipv4")) || span_eq(w->text, SPAN("ipv6"))) {
        ; /* the program is asked over a socket without an address */
    } else {
        return program_option(r, &e->program, w, "children-");
    }
    return true;
}

static void parse_external(struct reading *r, const struct directive *d, const struct line *l)
{
    struct external_setting *e;
    struct external_acl *a;
    size_t i = 2;

    (void)d;
    if (!words_between(r, l, 2, SIZE_MAX))
        return;
    if (acl_set_external(r->s->acls, l->words[1].text) != NULL) {
        diag_error(r->report, l->words[1].at, NULL, "external_acl_type '%.*s' is there already",
                   QUOTED_ARG(l->words[1].text));
        return;
    }
    e = ARRAY_PUSH(r->s->externals, r->s->n_externals);
    e->acl = a = xcalloc(1, sizeof *a);
    e->program = (struct program_setting){ .max = 5, .startup = 0, .idle = 1, .queue_max = -1 };
    a->index = r->s->n_externals - 1;
    a->name = xspandup(l->words[1].text);
    a->ttl = (int64_t)3600 * 1000000;
    a->negative_ttl = -1;
    a->cache_max = 262144;
    while (i < l->n && l->words[i].text.p[0] != '%' && l->words[i].text.p[0] != '/' && option(r, e, &l->words[i]))
        i++;
    for (; i < l->n && l->words[i].text.p[0] == '%'; i++)
        add_word(r, a, &l->words[i]);
    if (a->negative_ttl < 0)
        a->negative_ttl = a->ttl;
    acl_set_add_external(r->s->acls, a);
    if (i == l->n)
        diag_error(r->report, l->words[l->n - 1].at, NULL, "external_acl_type needs a program behind its format");
    else if (l->words[i].text.p[0] != '/')
        diag_error(r->report, l->words[i].at, NULL, "'%.*s' is no option, no code that begins with %% and no program",
                   QUOTED_ARG(l->words[i].text));
    else
        program_add_words(r, &e->program, l, i);
}

static void print_external(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_externals; i++) {
        const struct external_setting *e = &s->externals[i];
        const struct external_acl *a = e->acl;

        sb_printf(out,
                  "%s %s ttl=%lld negative_ttl=%lld grace=%d cache=%zu children-max=%d children-startup=%d "
                  "children-idle=%d concurrency=%d queue-size=%d",
                  d->name, a->name, (long long)(a->ttl / 1000000), (long long)(a->negative_ttl / 1000000), a->grace,
                  a->cache_max, e->program.max, e->program.startup, e->program.idle, e->program.concurrency,
                  program_queue_max(&e->program));
        for (size_t w = 0; w < a->n_words; w++)
            sb_printf(out, " %s", a->words[w].written);
        sb_printf(out, " %s\n", e->program.written);
    }
}

void externals_complete(struct reading *r)
{
    for (size_t i = 0; i < r->s->n_externals; i++) {
        struct external_setting *e = &r->s->externals[i];
        char *name = xasprintf("external_acl_type %s", e->acl->name);

        if (e->program.argv != NULL)
            e->acl->pool = e->program.pool = program_pool(&e->program, name, r->s->helper_timeout);
        free(name);
    }
}

const struct directive_kind kind_external = { parse_external, print_external };
