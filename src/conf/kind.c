/* The plain kinds: sizes, times, numbers, words. Each is a parser and a printer that gives back what it takes. */
#include <inttypes.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/similar.h"
#include "conf/directive.h"
#include "conf/value.h"
#include "hdrs/scan.h"

#define THOUSAND_YEARS (INT64_C(365000) * 86400 * US_PER_S) /* beyond it, sums with the clock could overflow */
#define SIZE_MOST (INT64_C(1) << 60)

static void *field(const struct reading *r, const struct directive *d)
{
    return (char *)r->s + d->at;
}

static const void *field_of(const struct settings *s, const struct directive *d)
{
    return (const char *)s + d->at;
}

/* How a directive is written, where its meaning begins with that; else empty. */
static struct span usage_of(struct span name)
{
    int found = directive_find(name);
    const struct directive *d = found >= 0 ? directive_at((size_t)found) : NULL;

    if (d == NULL || !span_starts_nocase(span_str(d->meaning), span_str(d->name)) || d->meaning[strlen(d->name)] != ' ')
        return SPAN("");
    return span_of(d->meaning, strcspn(d->meaning, "\n"));
}

bool words_between(struct reading *r, const struct line *l, size_t min, size_t max)
{
    struct span name = l->words[0].text;

    if (l->n - 1 < min) {
        struct place end = lexer_place(r->lexer, l->words[l->n - 1].raw_to);
        struct span usage = usage_of(name);

        diag_error(r->report, end, NULL, "%.*s needs %zu words, here %s %zu%s%.*s", SPAN_ARG(name), min,
                   l->n == 2 ? "is" : "are", l->n - 1, usage.len > 0 ? ": " : "", SPAN_ARG(usage));
        return false;
    }
    if (l->n - 1 > max) {
        struct span extra = l->words[max + 1].text;

        diag_error(r->report, l->words[max + 1].at, NULL, "'%.*s' is one word too many for %.*s", QUOTED_ARG(extra),
                   SPAN_ARG(name));
        return false;
    }
    return true;
}

bool option_is(struct span word, const char *key, struct span *value)
{
    size_t n = strlen(key);

    if (word.len <= n || memcmp(word.p, key, n) != 0 || word.p[n] != '=')
        return false;
    *value = span_of(word.p + n + 1, word.len - n - 1);
    return true;
}

bool port_number(struct span text, uint16_t *out)
{
    int64_t n;

    if (value_count(text, 1, 65535, &n) != VALUE_OK)
        return false;
    *out = (uint16_t)n;
    return true;
}

/* The messages all number-like kinds share. False: it was an error. */
static bool number_ok(struct reading *r, const struct line *l, enum value_result result, const char *what,
                      const char *const *units)
{
    const struct word *number = &l->words[1], *unit = l->n > 2 ? &l->words[2] : number;

    switch (result) {
    case VALUE_OK:
    case VALUE_NO_UNIT: return true;
    case VALUE_NO_NUMBER:
        diag_error(r->report, number->at, NULL, "'%.*s' is no %s", QUOTED_ARG(number->text), what);
        return false;
    case VALUE_BAD_UNIT: {
        struct span written = unit->text;

        while (unit == number && written.len > 0 &&
               (written.p[0] == '.' || written.p[0] == '-' || (written.p[0] >= '0' && written.p[0] <= '9')))
            written.p++, written.len--;
        written = span_trim(written);
        diag_error(r->report, unit->at, similar_word(units, written), "unknown unit '%.*s'", QUOTED_ARG(written));
        return false;
    }
    case VALUE_TOO_LARGE:
        diag_error(r->report, number->at, NULL, "'%.*s' is out of range", QUOTED_ARG(number->text));
        return false;
    }
    return false;
}

static bool in_bounds(struct reading *r, const struct directive *d, const struct line *l, int64_t value, int64_t most)
{
    int64_t high = d->high != 0 ? d->high : most;

    if (value >= d->low && value <= high)
        return true;
    diag_error(r->report, l->words[1].at, NULL, "'%.*s' is out of range: %" PRId64 " to %" PRId64 " are allowed",
               QUOTED_ARG(l->words[1].text), d->low, high);
    return false;
}

static char *size_text(int64_t bytes)
{
    if (bytes >= INT64_C(1) << 20 && bytes % (INT64_C(1) << 20) == 0)
        return xasprintf("%" PRId64 " MB", bytes >> 20);
    return bytes >= 1024 && bytes % 1024 == 0 ? xasprintf("%" PRId64 " KB", bytes >> 10)
                                              : xasprintf("%" PRId64 " bytes", bytes);
}

static bool size_in_bounds(struct reading *r, const struct directive *d, const struct line *l, int64_t bytes)
{
    int64_t high = d->high != 0 ? d->high : SIZE_MOST;
    char *given = size_text(bytes), *bound = size_text(bytes < d->low ? d->low : high);
    bool fits = bytes >= d->low && bytes <= high;

    if (!fits)
        diag_error(r->report, l->words[1].at, NULL, "%s is too %s for %s: %s at the %s", given,
                   bytes < d->low ? "little" : "much", d->name, bound, bytes < d->low ? "least" : "most");
    free(given);
    free(bound);
    return fits;
}

static bool read_size(struct reading *r, const struct directive *d, const struct line *l, int64_t *bytes)
{
    bool kb = d->flags & UNIT_KB;
    enum value_result result;

    if (!words_between(r, l, 1, 2))
        return false;
    if (span_eq(l->words[1].text, SPAN("none")) && (d->flags & MAY_BE_NEGATIVE)) {
        *bytes = -1;
        return true;
    }
    result = value_size(l->words[1].text, l->n > 2 ? l->words[2].text : SPAN_NONE, kb ? 1024 : 1, bytes);
    if (!number_ok(r, l, result, "size (such as 64 MB)", value_size_units))
        return false;
    if (result == VALUE_NO_UNIT)
        diag_warning(r->report, l->words[1].at, NULL, "no unit: '%.*s' is taken as %s", QUOTED_ARG(l->words[1].text),
                     kb ? "KB" : "bytes");
    if (*bytes == -1 && (d->flags & MAY_BE_NEGATIVE))
        return true;
    return size_in_bounds(r, d, l, *bytes);
}

static void parse_size(struct reading *r, const struct directive *d, const struct line *l)
{
    int64_t bytes;

    if (read_size(r, d, l, &bytes))
        *(uint64_t *)field(r, d) = (uint64_t)bytes;
}

static void print_size(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    sb_printf(out, "%s %" PRIu64 " bytes\n", d->name, *(const uint64_t *)field_of(s, d));
}

static void parse_signed_size(struct reading *r, const struct directive *d, const struct line *l)
{
    int64_t bytes;

    if (read_size(r, d, l, &bytes))
        *(int64_t *)field(r, d) = bytes;
}

static void print_signed_size(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    int64_t bytes = *(const int64_t *)field_of(s, d);

    if ((d->flags & UNIT_KB) && (bytes < 0 || bytes % 1024 == 0))
        sb_printf(out, "%s %" PRId64 " KB\n", d->name, bytes < 0 ? -1 : bytes / 1024);
    else
        sb_printf(out, "%s %" PRId64 " bytes\n", d->name, bytes);
}

size_t duration_words(struct reading *r, const struct line *l, int64_t *us)
{
    struct span number = l->words[1].text, unit = SPAN_NONE;

    for (const char *const *u = value_duration_units; l->n > 2 && !value_has_unit(number) && *u != NULL; u++)
        if (span_eq_nocase(l->words[2].text, span_str(*u)))
            unit = l->words[2].text;
    if (!number_ok(r, l, value_duration(number, unit, US_PER_S, us), "time (such as 30 seconds)", value_duration_units))
        return 0;
    if (*us > THOUSAND_YEARS) {
        diag_error(r->report, l->words[1].at, NULL, "'%.*s' is out of range", QUOTED_ARG(number));
        return 0;
    }
    return unit.p != NULL ? 2 : 1;
}

static void parse_duration(struct reading *r, const struct directive *d, const struct line *l)
{
    int64_t us, bare = d->flags & UNIT_MS ? 1000 : US_PER_S;
    struct span unit;

    if (!words_between(r, l, 1, 2))
        return;
    unit = l->n > 2 ? l->words[2].text : SPAN_NONE;
    if (!number_ok(r, l, value_duration(l->words[1].text, unit, bare, &us), "time (such as 30 seconds)",
                   value_duration_units))
        return;
    if (us > THOUSAND_YEARS || us < d->low)
        diag_error(r->report, l->words[1].at, NULL, "'%.*s' is out of range", QUOTED_ARG(l->words[1].text));
    else
        *(int64_t *)field(r, d) = us;
}

static void print_duration(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    int64_t us = *(const int64_t *)field_of(s, d);

    if (d->flags & UNIT_MS)
        sb_printf(out, "%s %" PRId64 "\n", d->name, us / 1000);
    else if (us % US_PER_S == 0)
        sb_printf(out, "%s %" PRId64 " seconds\n", d->name, us / US_PER_S);
    else
        sb_printf(out, "%s %" PRId64 " microseconds\n", d->name, us);
}

static bool read_count(struct reading *r, const struct directive *d, const struct line *l, int64_t *n)
{
    return words_between(r, l, 1, 1) &&
           number_ok(r, l, value_count(l->words[1].text, INT64_MIN, INT64_MAX, n), "number", NULL) &&
           in_bounds(r, d, l, *n, INT32_MAX);
}

static void parse_count(struct reading *r, const struct directive *d, const struct line *l)
{
    int64_t n;
    bool on;

    if ((d->flags & MAY_BE_NEGATIVE) && l->n == 2 && span_eq(l->words[1].text, SPAN("-1")))
        *(int *)field(r, d) = -1;
    else if ((d->flags & MAY_BE_SWITCH) && l->n == 2 && value_switch(l->words[1].text, &on) == VALUE_OK)
        *(int *)field(r, d) = on;
    else if (read_count(r, d, l, &n))
        *(int *)field(r, d) = (int)n;
}

static void print_int(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    sb_printf(out, "%s %d\n", d->name, *(const int *)field_of(s, d));
}

static void parse_count64(struct reading *r, const struct directive *d, const struct line *l)
{
    int64_t n;

    if (read_count(r, d, l, &n))
        *(uint64_t *)field(r, d) = (uint64_t)n;
}

static void print_count64(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    sb_printf(out, "%s %" PRIu64 "\n", d->name, *(const uint64_t *)field_of(s, d));
}

static void parse_percent(struct reading *r, const struct directive *d, const struct line *l)
{
    enum value_result result;
    int64_t n;

    if (!words_between(r, l, 1, 1))
        return;
    result = value_percent(l->words[1].text, 100, &n);
    if (result == VALUE_TOO_LARGE)
        diag_error(r->report, l->words[1].at, NULL, "'%.*s' is out of range: 0 to 100 percent are allowed",
                   QUOTED_ARG(l->words[1].text));
    else if (number_ok(r, l, result, "percentage", NULL))
        *(int *)field(r, d) = (int)n;
}

static bool read_switch(struct reading *r, const struct line *l, bool *on)
{
    if (!words_between(r, l, 1, 1))
        return false;
    if (value_switch(l->words[1].text, on) == VALUE_OK)
        return true;
    diag_error(r->report, l->words[1].at, similar_word(value_switch_words, l->words[1].text),
               "'%.*s' is neither on nor off", QUOTED_ARG(l->words[1].text));
    return false;
}

static void parse_switch(struct reading *r, const struct directive *d, const struct line *l)
{
    bool on;

    if (read_switch(r, l, &on))
        *(bool *)field(r, d) = on;
}

static void print_switch(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    sb_printf(out, "%s %s\n", d->name, *(const bool *)field_of(s, d) ? "on" : "off");
}

/* Squid also has `warn`: on, with a line in cache.log. */
static void parse_relaxed(struct reading *r, const struct directive *d, const struct line *l)
{
    if (l->n == 2 && span_eq_nocase(l->words[1].text, SPAN("warn")))
        *(bool *)field(r, d) = true;
    else
        parse_switch(r, d, l);
}

static void parse_tristate(struct reading *r, const struct directive *d, const struct line *l)
{
    bool on;

    if (l->n == 2 && span_eq(l->words[1].text, SPAN("auto")))
        *(enum tristate *)field(r, d) = TRI_UNSET;
    else if (read_switch(r, l, &on))
        *(enum tristate *)field(r, d) = on ? TRI_ON : TRI_OFF;
}

static void print_tristate(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    static const char *const words[] = { [TRI_UNSET] = "auto", [TRI_OFF] = "off", [TRI_ON] = "on" };

    sb_printf(out, "%s %s\n", d->name, words[*(const enum tristate *)field_of(s, d)]);
}

static void parse_string(struct reading *r, const struct directive *d, const struct line *l)
{
    char **at = field(r, d);
    struct span text;

    if (!words_between(r, l, 1, 1))
        return;
    text = l->words[1].text;
    if (text.len == 0 || memchr(text.p, '\0', text.len) != NULL) {
        diag_error(r->report, l->words[1].at, NULL, "%s can't be '%.*s'", d->name, QUOTED_ARG(text));
        return;
    }
    free(*at);
    *at = (d->flags & NONE_IS_NULL) && span_eq(text, SPAN("none")) ? NULL : xspandup(text);
}

static void print_string(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const char *text = *(char *const *)field_of(s, d);

    if (text == NULL && !(d->flags & NONE_IS_NULL))
        return;
    if (d->kind == &kind_string && text != NULL && strchr(text, ' ') != NULL)
        sb_printf(out, "%s \"%s\"\n", d->name, text);
    else
        sb_printf(out, "%s %s\n", d->name, text != NULL ? text : "none");
}

/* Names of fields, or none. */
static void parse_field_names(struct reading *r, const struct directive *d, const struct line *l)
{
    char **at = field(r, d);
    struct strbuf names = { 0 };

    if (!words_between(r, l, 1, SIZE_MAX))
        return;
    if (l->n > 2 || !span_eq(l->words[1].text, SPAN("none")))
        for (size_t i = 1; i < l->n; i++) {
            struct span name = l->words[i].text;

            if (name.len == 0 || scan_tchars(name.p, name.p + name.len) != name.p + name.len) {
                diag_error(r->report, l->words[i].at, NULL, "%s: '%.*s' is no name", d->name, QUOTED_ARG(name));
                sb_free(&names);
                return;
            }
            if (names.len > 0)
                sb_char(&names, ' ');
            sb_span(&names, name);
        }
    free(*at);
    *at = names.len > 0 ? xspandup(sb_view(&names)) : NULL;
    sb_free(&names);
}

static void print_field_names(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const char *names = *(char *const *)field_of(s, d);

    sb_printf(out, "%s %s\n", d->name, names != NULL ? names : "none");
}

/* The rest of the line as written. */
static void parse_text(struct reading *r, const struct directive *d, const struct line *l)
{
    char **at = field(r, d);

    if (!words_between(r, l, 1, SIZE_MAX))
        return;
    free(*at);
    *at = xspandup(line_rest(l, 1));
}

static const char *const eviction_words[] = { "s3fifo", "lru", "heap", NULL };
static const char *const heap_words[] = { "GDSF", "LFUDA", "LRU", NULL };
/* The first name of a policy is how it is printed. */
static const struct {
    const char *name, *heap; /* heap: the word after it */
    enum eviction_policy policy;
} policy_names[] = {
    { "s3fifo", NULL, EVICT_S3FIFO }, { "lru", NULL, EVICT_LRU },       { "heap", "LRU", EVICT_LRU },
    { "heap", "GDSF", EVICT_GDSF },   { "heap", "LFUDA", EVICT_LFUDA },
};
#define N_POLICY_NAMES (sizeof policy_names / sizeof policy_names[0])

static void read_eviction(struct reading *r, const struct line *l, enum eviction_policy *at)
{
    struct span word = l->words[1].text;
    bool heap = span_eq(word, SPAN("heap"));
    const struct word *bad;

    if (!words_between(r, l, heap ? 2 : 1, heap ? 2 : 1))
        return;
    for (size_t i = 0; i < N_POLICY_NAMES; i++)
        if (span_eq(word, span_str(policy_names[i].name)) &&
            (!heap || span_eq(l->words[2].text, span_str(policy_names[i].heap)))) {
            *at = policy_names[i].policy;
            return;
        }
    bad = &l->words[heap ? 2 : 1];
    diag_error(r->report, bad->at, similar_word(heap ? heap_words : eviction_words, bad->text),
               "unknown replacement policy '%.*s'", QUOTED_ARG(bad->text));
}

static void parse_eviction(struct reading *r, const struct directive *d, const struct line *l)
{
    read_eviction(r, l, field(r, d));
}

/* Of a cache that isn't there; what is wrong with it is said all the same. */
static void judge_eviction(struct reading *r, const struct directive *d, const struct line *l)
{
    enum eviction_policy unused;

    (void)d;
    if (words_between(r, l, 1, 2))
        read_eviction(r, l, &unused);
}

static void print_eviction(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    enum eviction_policy policy = *(const enum eviction_policy *)field_of(s, d);
    size_t i = 0;

    while (policy_names[i].policy != policy)
        i++;
    sb_printf(out, "%s %s%s%s\n", d->name, policy_names[i].name, policy_names[i].heap != NULL ? " " : "",
              policy_names[i].heap != NULL ? policy_names[i].heap : "");
}

static const char *const forwarded_words[] = {
    [FORWARDED_FOR_ON] = "on",
    [FORWARDED_FOR_OFF] = "off",
    [FORWARDED_FOR_TRANSPARENT] = "transparent",
    [FORWARDED_FOR_TRUNCATE] = "truncate",
    [FORWARDED_FOR_DELETE] = "delete",
    NULL,
};

static void parse_forwarded_for(struct reading *r, const struct directive *d, const struct line *l)
{
    struct span word = l->words[1].text;
    bool on;

    if (!words_between(r, l, 1, 1))
        return;
    if (value_switch(word, &on) == VALUE_OK) { /* enable and disable, too */
        *(enum forwarded_for *)field(r, d) = on ? FORWARDED_FOR_ON : FORWARDED_FOR_OFF;
        return;
    }
    for (size_t i = 0; forwarded_words[i] != NULL; i++)
        if (span_eq_nocase(word, span_str(forwarded_words[i]))) {
            *(enum forwarded_for *)field(r, d) = (enum forwarded_for)i;
            return;
        }
    diag_error(r->report, l->words[1].at, similar_word(forwarded_words, word),
               "%s is on, off, transparent, truncate or delete, not '%.*s'", d->name, QUOTED_ARG(word));
}

static void print_forwarded_for(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    sb_printf(out, "%s %s\n", d->name, forwarded_words[*(const enum forwarded_for *)field_of(s, d)]);
}

/* ALL,1 33,2 rotate=1: the level of ALL counts; sections are Squid's own and mean nothing here. */
static void parse_debug_options(struct reading *r, const struct directive *d, const struct line *l)
{
    for (size_t i = 1; i < l->n; i++) {
        struct span word = l->words[i].text, ignored;
        const char *comma = memchr(word.p ? word.p : "", ',', word.len);
        int64_t section = 0, level;

        if (option_is(word, "rotate", &ignored))
            continue;
        if (comma == NULL ||
            value_count(span_of(comma + 1, (size_t)(word.p + word.len - comma) - 1), -1, 99, &level) != VALUE_OK) {
            diag_error(r->report, l->words[i].at, NULL, "'%.*s' isn't of the form SECTION,LEVEL", QUOTED_ARG(word));
            continue;
        }
        word.len = (size_t)(comma - word.p);
        if (span_eq_nocase(word, SPAN("ALL")))
            *(int *)field(r, d) = level < 0 ? 0 : level > 9 ? 9 : (int)level;
        else if (value_count(word, 0, 99, &section) != VALUE_OK)
            diag_error(r->report, l->words[i].at, NULL, "'%.*s' is neither ALL nor a section's number",
                       QUOTED_ARG(word));
    }
}

static void print_debug_options(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    sb_printf(out, "%s ALL,%d\n", d->name, *(const int *)field_of(s, d));
}

static void parse_nameservers(struct reading *r, const struct directive *d, const struct line *l)
{
    struct settings *s = r->s;

    for (size_t i = 1; i < l->n; i++) {
        struct addr a;

        if (!addr_parse(l->words[i].text, &a)) {
            diag_error(r->report, l->words[i].at, NULL, "%s: '%.*s' is no IP address", d->name,
                       QUOTED_ARG(l->words[i].text));
            continue;
        }
        a.port = 53;
        *ARRAY_PUSH(s->nameservers, s->n_nameservers) = a;
    }
}

static void print_nameservers(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    char text[ADDR_TEXT_MAX];

    if (s->n_nameservers == 0)
        return;
    sb_str(out, d->name);
    for (size_t i = 0; i < s->n_nameservers; i++) {
        addr_print(&s->nameservers[i], text);
        sb_printf(out, " %s", text);
    }
    sb_char(out, '\n');
}

static void parse_quoted_values(struct reading *r, const struct directive *d, const struct line *l)
{
    (void)d;
    read_switch(r, l, &r->quoted_values);
}

const struct directive_kind kind_size = { parse_size, print_size };
const struct directive_kind kind_signed_size = { parse_signed_size, print_signed_size };
const struct directive_kind kind_duration = { parse_duration, print_duration };
const struct directive_kind kind_count = { parse_count, print_int };
const struct directive_kind kind_count64 = { parse_count64, print_count64 };
const struct directive_kind kind_percent = { parse_percent, print_int };
const struct directive_kind kind_switch = { parse_switch, print_switch };
const struct directive_kind kind_tristate = { parse_tristate, print_tristate };
const struct directive_kind kind_string = { parse_string, print_string };
const struct directive_kind kind_text = { parse_text, print_string };
const struct directive_kind kind_field_names = { parse_field_names, print_field_names };
const struct directive_kind kind_eviction = { parse_eviction, print_eviction };
const struct directive_kind kind_eviction_judged = { judge_eviction, NULL };
const struct directive_kind kind_forwarded_for = { parse_forwarded_for, print_forwarded_for };
const struct directive_kind kind_relaxed = { parse_relaxed, print_switch };
const struct directive_kind kind_debug_options = { parse_debug_options, print_debug_options };
const struct directive_kind kind_nameservers = { parse_nameservers, print_nameservers };
const struct directive_kind kind_quoted_values = { parse_quoted_values, NULL };
