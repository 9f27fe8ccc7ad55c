/* auth_schemes: which schemes are offered to whom. */
#include <stdlib.h>
#include "base/mem.h"
#include "conf/directive.h"

/* False: no scheme's name. */
static bool find_scheme(struct span name, enum auth_scheme *out)
{
    for (int i = 0; i < AUTH_SCHEME_N; i++)
        if (span_eq_nocase(name, span_str(auth_scheme_name((enum auth_scheme)i)))) {
            *out = (enum auth_scheme)i;
            return true;
        }
    return false;
}

static bool add_scheme(struct reading *r, const struct word *w, struct span name, struct auth_offer *o)
{
    enum auth_scheme scheme;

    if (!find_scheme(name, &scheme)) {
        diag_error(r->report, w->at, NULL, "'%.*s' is none of Basic, Digest, Negotiate and ALL", QUOTED_ARG(name));
        return false;
    }
    for (unsigned i = 0; i < o->n; i++)
        if (o->order[i] == scheme) {
            diag_error(r->report, w->at, NULL, "'%.*s' is named twice", QUOTED_ARG(name));
            return false;
        }
    o->order[o->n++] = scheme;
    return true;
}

static void parse_auth_schemes(struct reading *r, const struct directive *d, const struct line *l)
{
    struct auth_offer_setting *o = ARRAY_PUSH(r->s->auth_offers, r->s->n_auth_offers);
    struct span left = l->words[1].text;

    (void)d;
    o->written = xspandup(left);
    while (!span_eq(l->words[1].text, SPAN("ALL")) && left.len > 0) {
        const char *comma = memchr(left.p, ',', left.len);
        size_t n = comma != NULL ? (size_t)(comma - left.p) : left.len;

        if (!add_scheme(r, &l->words[1], span_of(left.p, n), &o->offer))
            return;
        n += comma != NULL;
        left = span_of(left.p + n, left.len - n);
    }
    if (l->n > 2) {
        o->when = access_list_new(false);
        access_add_words(r, o->when, l, 2, "allow");
    }
}

static void print_auth_schemes(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_auth_offers; i++) {
        sb_printf(out, "%s %s", d->name, s->auth_offers[i].written);
        if (s->auth_offers[i].when != NULL)
            access_list_print_acls(s->auth_offers[i].when, out);
        sb_char(out, '\n');
    }
}

const struct directive_kind kind_auth_schemes = { parse_auth_schemes, print_auth_schemes };
