/* Limits of bandwidth: delay_pools, client_delay_pools, response_delay_pool and what belongs to them. */
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "conf/directive.h"
#include "conf/value.h"

#define POOLS_MAX 1000
#define RATE_MAX (INT64_C(1) << 40)

static struct delay_settings *all_of(struct settings *s, const struct directive *d)
{
    return (void *)((char *)s + d->at);
}

static struct delay_setting *add_pool(struct delay_settings *all)
{
    struct delay_setting *p = ARRAY_PUSH(all->pools, all->n_pools);

    for (int i = 0; i < DELAY_LEVELS; i++)
        p->config.rates[i].restore = -1;
    p->config.initial = -1;
    p->access = access_list_new(false);
    return p;
}

static void parse_pools(struct reading *r, const struct directive *d, const struct line *l)
{
    struct delay_settings *all = all_of(r->s, d);
    int64_t n;

    if (!words_between(r, l, 1, 1))
        return;
    if (value_count(l->words[1].text, 0, POOLS_MAX, &n) != VALUE_OK)
        diag_error(r->report, l->words[1].at, NULL, "'%.*s': a number of pools from 0 to %d is expected",
                   QUOTED_ARG(l->words[1].text), POOLS_MAX);
    else if (all->n_pools == 0)
        while (all->n_pools < (size_t)n)
            add_pool(all);
}

static void print_pools(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    sb_printf(out, "%s %zu\n", d->name, all_of((struct settings *)(uintptr_t)s, d)->n_pools);
}

/* The pool that word 1 numbers; NULL: an error that was told. */
static struct delay_setting *numbered(struct reading *r, const struct directive *d, const struct line *l)
{
    struct delay_settings *all = all_of(r->s, d);
    const char *counted = all == &r->s->delays ? "delay_pools" : "client_delay_pools";
    int64_t n;

    if (value_count(l->words[1].text, 1, POOLS_MAX, &n) == VALUE_OK && (size_t)n <= all->n_pools)
        return &all->pools[n - 1];
    if (all->n_pools == 0)
        diag_error(r->report, l->words[0].at, NULL, "%s must stand above this line, with the number of pools", counted);
    else
        diag_error(r->report, l->words[1].at, NULL, "'%.*s' is none of the %zu pools that %s has said above",
                   QUOTED_ARG(l->words[1].text), all->n_pools, counted);
    return NULL;
}

/* ---- delay_class ---- */

/* What the words of delay_parameters are, by class. */
static const struct {
    enum delay_level levels[4];
    size_t n;
} classes[] = {
    { { DELAY_ALL }, 1 },
    { { DELAY_ALL, DELAY_HOST }, 2 },
    { { DELAY_ALL, DELAY_NETWORK, DELAY_HOST }, 3 },
    { { DELAY_ALL, DELAY_NETWORK, DELAY_HOST, DELAY_NAME }, 4 },
    { { DELAY_NAME }, 1 },
};

static void parse_class(struct reading *r, const struct directive *d, const struct line *l)
{
    struct delay_setting *p;
    int64_t n;

    if (!words_between(r, l, 2, 2) || (p = numbered(r, d, l)) == NULL)
        return;
    if (value_count(l->words[2].text, 1, 5, &n) != VALUE_OK)
        diag_error(r->report, l->words[2].at, NULL, "'%.*s': a delay pool is of class 1, 2, 3, 4 or 5",
                   QUOTED_ARG(l->words[2].text));
    else
        p->class = (int)n;
}

static void print_class(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const struct delay_settings *all = all_of((struct settings *)(uintptr_t)s, d);

    for (size_t i = 0; i < all->n_pools; i++)
        if (all->pools[i].class != 0)
            sb_printf(out, "%s %zu %d\n", d->name, i + 1, all->pools[i].class);
}

/* ---- rates ---- */

/* RESTORE/MAX, none, or -1/-1. */
static bool read_rate(struct reading *r, const struct word *w, struct delay_rate *out)
{
    const char *slash = memchr(w->text.p, '/', w->text.len);
    struct span restore, max;

    if (span_eq(w->text, SPAN("none")) || span_eq(w->text, SPAN("-1/-1"))) {
        *out = (struct delay_rate){ -1, 0 };
        return true;
    }
    if (slash != NULL) {
        restore = span_of(w->text.p, (size_t)(slash - w->text.p));
        max = span_of(slash + 1, w->text.len - restore.len - 1);
        if (value_count(restore, 0, RATE_MAX, &out->restore) == VALUE_OK &&
            value_count(max, 1, RATE_MAX, &out->max) == VALUE_OK)
            return true;
    }
    diag_error(r->report, w->at, NULL,
               "'%.*s': bytes a second and bytes at the most are expected, as in 32000/64000, or none",
               QUOTED_ARG(w->text));
    return false;
}

static void parse_parameters(struct reading *r, const struct directive *d, const struct line *l)
{
    struct delay_setting *p;

    if (!words_between(r, l, 2, 5) || (p = numbered(r, d, l)) == NULL)
        return;
    if (p->class == 0) {
        diag_error(r->report, l->words[1].at, NULL, "delay_class has to say first of which class pool %.*s is",
                   QUOTED_ARG(l->words[1].text));
        return;
    }
    if (l->n - 2 != classes[p->class - 1].n) {
        diag_error(r->report, l->words[l->n - 1].at, NULL, "a pool of class %d has %zu rates, not %zu", p->class,
                   classes[p->class - 1].n, l->n - 2);
        return;
    }
    for (size_t i = 2; i < l->n; i++)
        if (!read_rate(r, &l->words[i], &p->config.rates[classes[p->class - 1].levels[i - 2]]))
            return;
    p->works = true;
}

static void print_rate(const struct delay_rate *r, struct strbuf *out)
{
    if (r->restore < 0)
        sb_str(out, " none");
    else
        sb_printf(out, " %lld/%lld", (long long)r->restore, (long long)r->max);
}

static void print_parameters(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const struct delay_settings *all = all_of((struct settings *)(uintptr_t)s, d);

    for (size_t i = 0; i < all->n_pools; i++) {
        const struct delay_setting *p = &all->pools[i];

        if (!p->works || p->class == 0)
            continue;
        sb_printf(out, "%s %zu", d->name, i + 1);
        for (size_t k = 0; k < classes[p->class - 1].n; k++)
            print_rate(&p->config.rates[classes[p->class - 1].levels[k]], out);
        sb_char(out, '\n');
    }
}

/* POOL RESTORE MAX */
static void parse_client_parameters(struct reading *r, const struct directive *d, const struct line *l)
{
    struct delay_setting *p;
    struct delay_rate rate;

    if (!words_between(r, l, 3, 3) || (p = numbered(r, d, l)) == NULL)
        return;
    if (value_count(l->words[2].text, 1, RATE_MAX, &rate.restore) != VALUE_OK ||
        value_count(l->words[3].text, 1, RATE_MAX, &rate.max) != VALUE_OK) {
        diag_error(r->report, l->words[2].at, NULL, "bytes a second and bytes at the most are expected");
        return;
    }
    p->config.rates[DELAY_HOST] = rate;
    p->works = true;
}

static void print_client_parameters(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const struct delay_settings *all = all_of((struct settings *)(uintptr_t)s, d);

    for (size_t i = 0; i < all->n_pools; i++)
        if (all->pools[i].works)
            sb_printf(out, "%s %zu %lld %lld\n", d->name, i + 1,
                      (long long)all->pools[i].config.rates[DELAY_HOST].restore,
                      (long long)all->pools[i].config.rates[DELAY_HOST].max);
}

/* ---- who ---- */

static void parse_access(struct reading *r, const struct directive *d, const struct line *l)
{
    struct delay_setting *p;

    if (words_between(r, l, 2, SIZE_MAX) && (p = numbered(r, d, l)) != NULL)
        access_add_words(r, p->access, l, 2, NULL);
}

static void print_access(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const struct delay_settings *all = all_of((struct settings *)(uintptr_t)s, d);

    for (size_t i = 0; i < all->n_pools; i++) {
        char *name = all->pools[i].name != NULL ? xasprintf("%s %s", d->name, all->pools[i].name)
                                                : xasprintf("%s %zu", d->name, i + 1);

        access_list_print(all->pools[i].access, name, out);
        free(name);
    }
}

/* ---- response_delay_pool ---- */

static struct delay_setting *named(struct delay_settings *all, struct span name)
{
    for (size_t i = 0; i < all->n_pools; i++)
        if (span_eq(span_str(all->pools[i].name), name))
            return &all->pools[i];
    return NULL;
}

static void parse_response(struct reading *r, const struct directive *d, const struct line *l)
{
    struct delay_settings *all = all_of(r->s, d);
    struct delay_setting *p;

    if (named(all, l->words[1].text) != NULL) {
        diag_error(r->report, l->words[1].at, NULL, "response_delay_pool '%.*s' is there already",
                   QUOTED_ARG(l->words[1].text));
        return;
    }
    p = add_pool(all);
    p->name = xspandup(l->words[1].text);
    p->works = true;
    for (size_t i = 2; i < l->n; i++) {
        const struct {
            const char *name;
            int64_t *at;
        } options[] = {
            { "individual-restore", &p->config.rates[DELAY_OWN].restore },
            { "individual-maximum", &p->config.rates[DELAY_OWN].max },
            { "aggregate-restore", &p->config.rates[DELAY_ALL].restore },
            { "aggregate-maximum", &p->config.rates[DELAY_ALL].max },
        };
        struct span value;
        int64_t n;
        bool ok = false;

        for (size_t k = 0; k < 4; k++)
            if (option_is(l->words[i].text, options[k].name, &value))
                ok = value_count(value, 0, RATE_MAX, options[k].at) == VALUE_OK ||
                     (span_eq(value, SPAN("-1")) && (*options[k].at = -1, true));
        if (option_is(l->words[i].text, "initial-bucket-level", &value) && value_count(value, 0, 100, &n) == VALUE_OK) {
            p->config.initial = (int)n;
            ok = true;
        }
        if (!ok)
            diag_error(r->report, l->words[i].at, NULL,
                       "'%.*s': individual-restore=, individual-maximum=, aggregate-restore=, aggregate-maximum= or "
                       "initial-bucket-level= with a number is expected",
                       QUOTED_ARG(l->words[i].text));
    }
    for (int k = 0; k < DELAY_LEVELS; k++)
        if (p->config.rates[k].restore >= 0 && p->config.rates[k].max <= 0)
            diag_error(r->report, l->words[1].at, NULL, "a rate needs its maximum, too");
}

static void print_response(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const struct delay_settings *all = all_of((struct settings *)(uintptr_t)s, d);

    for (size_t i = 0; i < all->n_pools; i++) {
        const struct delay_rate *own = &all->pools[i].config.rates[DELAY_OWN],
                                *sum = &all->pools[i].config.rates[DELAY_ALL];

        sb_printf(out, "%s %s", d->name, all->pools[i].name);
        if (own->restore >= 0)
            sb_printf(out, " individual-restore=%lld individual-maximum=%lld", (long long)own->restore,
                      (long long)own->max);
        if (sum->restore >= 0)
            sb_printf(out, " aggregate-restore=%lld aggregate-maximum=%lld", (long long)sum->restore,
                      (long long)sum->max);
        sb_char(out, '\n');
    }
}

static void parse_response_access(struct reading *r, const struct directive *d, const struct line *l)
{
    struct delay_setting *p;

    if (!words_between(r, l, 2, SIZE_MAX))
        return;
    if ((p = named(all_of(r->s, d), l->words[1].text)) == NULL)
        diag_error(r->report, l->words[1].at, NULL, "there is no response_delay_pool '%.*s' above",
                   QUOTED_ARG(l->words[1].text));
    else
        access_add_words(r, p->access, l, 2, NULL);
}

/* ---- once all is read ---- */

static void complete(struct reading *r, struct delay_settings *all, int initial)
{
    for (size_t i = 0; i < all->n_pools; i++) {
        struct delay_setting *p = &all->pools[i];

        if (p->config.initial < 0)
            p->config.initial = initial;
        p->config.buckets_max = (size_t)r->s->delay_buckets_max;
        if (p->works)
            p->pool = delay_pool_new(&p->config, clock_mono_us());
        else if (!access_list_is_empty(p->access))
            diag_error(r->report, (struct place){ r->s->file, 0, 0 }, NULL,
                       "pool %zu of those with access lines has no parameters", i + 1);
    }
}

void delays_complete(struct reading *r)
{
    complete(r, &r->s->delays, r->s->delay_initial);
    complete(r, &r->s->client_delays, r->s->client_delay_initial);
    complete(r, &r->s->response_delays, 50);
}

const struct directive_kind kind_delay_pools = { parse_pools, print_pools };
const struct directive_kind kind_delay_class = { parse_class, print_class };
const struct directive_kind kind_delay_parameters = { parse_parameters, print_parameters };
const struct directive_kind kind_client_delay_parameters = { parse_client_parameters, print_client_parameters };
const struct directive_kind kind_delay_access = { parse_access, print_access };
const struct directive_kind kind_response_delay = { parse_response, print_response };
const struct directive_kind kind_response_delay_access = { parse_response_access, print_access };
