/* refresh_pattern [-i] regex min percent max [options]: how long what says nothing about itself stays fresh. */
#include <inttypes.h>
#include <stdlib.h>
#include "base/mem.h"
#include "base/similar.h"
#include "conf/directive.h"
#include "conf/value.h"

#define MINUTES_MOST (INT64_C(100) * 365 * 24 * 60)

static const struct {
    const char *name;
    size_t at; /* in struct refresh_rule */
} switches[] = {
    { "override-expire", offsetof(struct refresh_rule, override_expire) },
    { "override-lastmod", offsetof(struct refresh_rule, override_lastmod) },
    { "reload-into-ims", offsetof(struct refresh_rule, reload_into_ims) },
    { "ignore-reload", offsetof(struct refresh_rule, ignore_reload) },
    { "ignore-no-store", offsetof(struct refresh_rule, ignore_no_store) },
    { "ignore-private", offsetof(struct refresh_rule, ignore_private) },
    { "refresh-ims", offsetof(struct refresh_rule, refresh_ims) },
    { "store-stale", offsetof(struct refresh_rule, store_stale) },
};
#define N_SWITCHES (sizeof switches / sizeof switches[0])

static const char *const option_words[] = {
    "override-expire", "override-lastmod", "reload-into-ims", "ignore-reload", "ignore-no-store",
    "ignore-private",  "refresh-ims",      "store-stale",     "max-stale=",    NULL,
};
/* They went from Squid too, RFC 9111 having become stricter; a file that still has them means no harm. */
static const char *const obsolete_words[] = { "ignore-no-cache", "ignore-auth", "ignore-must-revalidate", NULL };

static bool read_minutes(struct reading *r, const struct word *w, struct span text, int64_t *seconds)
{
    int64_t minutes;

    if (value_count(text, 0, MINUTES_MOST, &minutes) != VALUE_OK) {
        diag_error(r->report, w->at, NULL, "'%.*s' is no number of minutes", QUOTED_ARG(text));
        return false;
    }
    *seconds = minutes * 60;
    return true;
}

static void read_option(struct reading *r, struct refresh_rule *rule, const struct word *w)
{
    struct span value;

    for (size_t i = 0; i < N_SWITCHES; i++)
        if (span_eq(w->text, span_str(switches[i].name))) {
            *(bool *)((char *)rule + switches[i].at) = true;
            return;
        }
    for (size_t i = 0; obsolete_words[i] != NULL; i++)
        if (span_eq(w->text, span_str(obsolete_words[i]))) {
            diag_warning(r->report, w->at, NULL, "refresh_pattern option %s is obsolete, ignored", obsolete_words[i]);
            return;
        }
    if (option_is(w->text, "max-stale", &value))
        read_minutes(r, w, value, &rule->max_stale);
    else
        diag_error(r->report, w->at, similar_word(option_words, w->text), "unknown refresh_pattern option '%.*s'",
                   QUOTED_ARG(w->text));
}

static void read_regex(struct reading *r, struct refresh_setting *p, const struct word *w)
{
    char error[128] = "";

    p->pattern = xspandup(w->text);
    if (span_eq(w->text, SPAN(".")))
        return; /* the usual last line: no need to run a regex for it */
    p->regex = regex_set_new();
    if (!regex_set_add(p->regex, w->text, p->ignore_case, error))
        diag_error(r->report, w->at, NULL, "bad regular expression '%.*s': %s", QUOTED_ARG(w->text), error);
}

static void parse_refresh(struct reading *r, const struct directive *d, const struct line *l)
{
    struct settings *s = r->s;
    struct refresh_setting *p;
    size_t first = 1;
    int64_t percent;
    bool ignore_case = false;

    (void)d;
    while (first < l->n && (span_eq(l->words[first].text, SPAN("-i")) || span_eq(l->words[first].text, SPAN("+i"))))
        ignore_case = l->words[first++].text.p[0] == '-';
    if (!words_between(r, l, first + 3, SIZE_MAX))
        return;
    p = ARRAY_PUSH(s->refresh, s->n_refresh);
    p->ignore_case = ignore_case;
    p->rule.max_stale = -1;
    read_regex(r, p, &l->words[first]);
    read_minutes(r, &l->words[first + 1], l->words[first + 1].text, &p->rule.min);
    if (value_percent(l->words[first + 2].text, 100000, &percent) == VALUE_OK)
        p->rule.percent = (int)percent;
    else
        diag_error(r->report, l->words[first + 2].at, NULL, "'%.*s' is no percentage",
                   QUOTED_ARG(l->words[first + 2].text));
    read_minutes(r, &l->words[first + 3], l->words[first + 3].text, &p->rule.max);
    for (size_t i = first + 4; i < l->n; i++)
        read_option(r, &p->rule, &l->words[i]);
    s->refresh_ignores_reload |= p->rule.ignore_reload;
    s->refresh_ims |= p->rule.refresh_ims;
}

static void print_refresh(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_refresh; i++) {
        const struct refresh_setting *p = &s->refresh[i];

        sb_printf(out, "%s%s %s %" PRId64 " %d%% %" PRId64, d->name, p->ignore_case ? " -i" : "", p->pattern,
                  p->rule.min / 60, p->rule.percent, p->rule.max / 60);
        for (size_t o = 0; o < N_SWITCHES; o++)
            if (*(const bool *)((const char *)&p->rule + switches[o].at))
                sb_printf(out, " %s", switches[o].name);
        if (p->rule.max_stale >= 0)
            sb_printf(out, " max-stale=%" PRId64, p->rule.max_stale / 60);
        sb_char(out, '\n');
    }
}

const struct refresh_rule *settings_refresh_rule(const struct settings *s, struct span url)
{
    static const struct refresh_rule built_in[] = {
        { .max = 4320 * 60, .percent = 20, .max_stale = -1 },
        { .max = 4320 * 60, .percent = 20, .max_stale = -1, .vary_ignore_expire = true },
    };

    for (size_t i = 0; i < s->n_refresh; i++)
        if (s->refresh[i].regex == NULL || regex_set_matches(s->refresh[i].regex, url))
            return &s->refresh[i].rule;
    return &built_in[s->vary_ignore_expire];
}

void refresh_complete(struct reading *r)
{
    for (size_t i = 0; i < r->s->n_refresh; i++)
        r->s->refresh[i].rule.vary_ignore_expire = r->s->vary_ignore_expire;
}

const struct directive_kind kind_refresh = { parse_refresh, print_refresh };
