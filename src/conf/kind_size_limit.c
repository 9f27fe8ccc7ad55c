/* Sizes with conditions: reply_body_max_size, range_offset_limit. */
#include <inttypes.h>
#include <stdlib.h>
#include "base/mem.h"
#include "conf/directive.h"
#include "conf/value.h"

static bool is_unit(struct span word)
{
    for (const char *const *u = value_size_units; *u != NULL; u++)
        if (span_eq_nocase(word, span_str(*u)))
            return true;
    return false;
}

/* The words of the size: 1 or 2; 0 after an error that was told. */
static size_t parse_limit(struct reading *r, const struct line *l, int64_t *max)
{
    struct span number = l->words[1].text, unit = SPAN_NONE;

    if (span_eq(number, SPAN("none"))) {
        *max = -1;
        return 1;
    }
    if (!value_has_unit(number) && l->n > 2 && is_unit(l->words[2].text))
        unit = l->words[2].text;
    switch (value_size(number, unit, 1, max)) {
    case VALUE_OK: break;
    case VALUE_NO_UNIT:
        if (*max > 0)
            diag_warning(r->report, l->words[1].at, NULL, "no unit: '%.*s' is taken as bytes", QUOTED_ARG(number));
        break;
    case VALUE_TOO_LARGE:
        diag_error(r->report, l->words[1].at, NULL, "'%.*s' is out of range", QUOTED_ARG(number));
        return 0;
    default:
        diag_error(r->report, l->words[1].at, NULL, "'%.*s' is no size (such as 64 MB) and not none",
                   QUOTED_ARG(number));
        return 0;
    }
    return unit.p != NULL ? 2 : 1;
}

static void parse_size_limit(struct reading *r, const struct directive *d, const struct line *l)
{
    struct size_limits *all = (void *)((char *)r->s + d->at);
    struct size_limit *limit;
    int64_t max;
    size_t words;

    if (!words_between(r, l, 1, SIZE_MAX) || (words = parse_limit(r, l, &max)) == 0)
        return;
    /* 0 means no limit, as it did in Squid 2 and does in its `none`. */
    if (max == 0 && (d->flags & ZERO_IS_NONE))
        max = -1;
    limit = ARRAY_PUSH(all->p, all->n);
    limit->max = max;
    limit->where = place_text(l->words[0].at);
    if (l->n > 1 + words) {
        limit->when = access_list_new(false);
        access_add_words(r, limit->when, l, 1 + words, "allow");
    }
}

static void print_size_limit(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const struct size_limits *all = (const void *)((const char *)s + d->at);

    for (size_t i = 0; i < all->n; i++) {
        const struct size_limit *l = &all->p[i];

        if (l->max < 0)
            sb_printf(out, "%s none", d->name);
        else
            sb_printf(out, "%s %" PRId64 " bytes", d->name, l->max);
        if (l->when != NULL)
            access_list_print_acls(l->when, out);
        sb_char(out, '\n');
    }
}

const struct directive_kind kind_size_limit = { parse_size_limit, print_size_limit };
