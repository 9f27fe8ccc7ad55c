/* The kinds of values that are sets of plain things: how they are read, printed and freed. */
#include <stdlib.h>
#include "access/acl_type.h"
#include "access/addr_set.h"
#include "access/addr_text.h"
#include "access/domain_set.h"
#include "access/number_set.h"
#include "access/time_set.h"
#include "access/word_set.h"
#include "base/mem.h"
#include "base/similar.h"

/* -n ("no look-ups"), and --, which ends flags. False: a flag that isn't one of these types'. */
static bool read_flags(const struct acl_line *l, size_t *at, bool *no_lookup)
{
    for (*at = l->at; *at < l->n && !l->flags_ended; ++*at) {
        struct span word = l->words[*at];

        if (span_eq(word, SPAN("--"))) {
            ++*at;
            return true;
        }
        if (word.len < 2 || (word.p[0] != '-' && word.p[0] != '+'))
            return true;
        if (!span_eq(word, SPAN("-n")))
            return acl_fail(l->problem, *at, "acl type %s has no flag '%.*s'", l->self->type->name, ACL_SHOWN(word));
        if (!acl_no_lookup_parse(l, *at, no_lookup))
            return false;
    }
    return true;
}

/* ---- addresses ---- */

static void *addresses_make(const struct acl_type *type)
{
    (void)type;
    return addr_set_new();
}

static bool addresses_parse(const struct acl_line *l, void *values)
{
    struct addr_set *s = values;
    char why[160];
    bool good = true, no_lookup;
    size_t i;

    if (!read_flags(l, &i, &no_lookup))
        return false;
    for (; i < l->n && good; i++) {
        enum addr_text_result result = addr_text_add(s, l->words[i], why);

        if (result == ADDR_TEXT_DOUBTFUL)
            acl_warn(l->problem, i, "%s", why);
        if (result == ADDR_TEXT_BAD)
            good = acl_fail(l->problem, i, "%s", why);
    }
    addr_set_settle(s);
    return good;
}

static void addresses_print(const struct acl *a, struct strbuf *out)
{
    addr_set_print(a->values, out);
}

static void addresses_release(void *values)
{
    struct addr_set *s = values;

    addr_set_free(&s);
}

const struct acl_kind acl_kind_addresses = { addresses_make, addresses_parse, addresses_print, addresses_release };

/* ---- ports and status codes ---- */

static void *numbers_make(const struct acl_type *type)
{
    (void)type;
    return number_set_new();
}

static bool numbers_parse(const struct acl_line *l, void *values)
{
    for (size_t i = l->at; i < l->n; i++)
        if (!number_set_add_text(values, l->words[i]))
            return acl_fail(l->problem, i, "not a number of 0-65535 or a range of them: '%.*s'",
                            ACL_SHOWN(l->words[i]));
    return true;
}

static bool is_statuses(struct span text)
{
    return text.len == 3 || (text.len == 7 && text.p[3] == '-');
}

static bool statuses_parse(const struct acl_line *l, void *values)
{
    for (size_t i = l->at; i < l->n; i++)
        if (!is_statuses(l->words[i]) || l->words[i].p[0] == '0' || !number_set_add_text(values, l->words[i]))
            return acl_fail(l->problem, i, "not a status code or a range of them: '%.*s'", ACL_SHOWN(l->words[i]));
    return true;
}

static void numbers_print(const struct acl *a, struct strbuf *out)
{
    number_set_print(a->values, out);
}

const struct acl_kind acl_kind_numbers = { numbers_make, numbers_parse, numbers_print, free };
const struct acl_kind acl_kind_statuses = { numbers_make, statuses_parse, numbers_print, free };

/* ---- domains ---- */

static void *domains_make(const struct acl_type *type)
{
    struct acl_domains *d = xcalloc(1, sizeof *d);

    (void)type;
    d->set = domain_set_new();
    return d;
}

/* What can't be in a host, and is in lists all the same: "*.example.org", "http://example.org/", "example.org:80".
 * Such a line never matches, so its deny denies nothing: say so. */
static void warn_if_hopeless(const struct acl_line *l, size_t i)
{
    struct span name = l->words[i];

    if (name.len > 2 && name.p[0] == '*' && name.p[1] == '.')
        acl_warn(l->problem, i, "'*' is no wildcard here, this never matches: write '%.*s'",
                 ACL_SHOWN(span_of(name.p + 1, name.len - 1)));
    if (span_starts_nocase(name, SPAN("parameters(\""))) {
        acl_warn(l->problem, i,
                 "this names a list file only after `configuration_includes_quoted_values on`; here write the "
                 "path in quotes, without parameters()");
        return;
    }
    for (size_t at = 0; at < name.len; at++)
        if (memchr("*/:@ \\", name.p[at], 6) != NULL)
            acl_warn(l->problem, i, "'%.*s' is not a host name, so it never matches", ACL_SHOWN(name));
}

/* IP literals compare as text: in the one form hosts have, IPv6 without brackets. */
static bool add_literal(struct domain_set *s, struct span name)
{
    char text[ADDR_TEXT_MAX];
    struct addr literal;

    if (!addr_parse(name, &literal))
        return false;
    return domain_set_add(s, span_of(text, addr_print(&literal, text)));
}

static bool domains_parse(const struct acl_line *l, void *values)
{
    struct acl_domains *d = values;
    struct span narrow, wide;
    size_t i;

    if (!read_flags(l, &i, &d->no_lookup))
        return false;
    for (; i < l->n; i++) {
        if (add_literal(d->set, l->words[i]))
            continue;
        warn_if_hopeless(l, i);
        if (!domain_set_add(d->set, l->words[i]))
            return acl_fail(l->problem, i, "not a host name: '%.*s'", ACL_SHOWN(l->words[i]));
    }
    if (domain_set_find_covered(d->set, &narrow, &wide))
        acl_warn(l->problem, l->at, "'%.*s' is covered by '.%.*s' already", ACL_SHOWN(narrow), ACL_SHOWN(wide));
    return true;
}

static void domains_print(const struct acl *a, struct strbuf *out)
{
    const struct acl_domains *d = a->values;

    if (d->no_lookup)
        sb_str(out, "-n ");
    domain_set_print(d->set, out);
}

static void domains_release(void *values)
{
    struct acl_domains *d = values;

    domain_set_free(&d->set);
    free(d);
}

const struct acl_kind acl_kind_domains = { domains_make, domains_parse, domains_print, domains_release };

/* ---- words ---- */

void *acl_words_make(const struct acl_type *type)
{
    (void)type;
    return xcalloc(1, sizeof(struct word_set));
}

static bool words_parse(const struct acl_line *l, void *values)
{
    for (size_t i = l->at; i < l->n; i++)
        word_set_add(values, l->words[i]);
    return true;
}

void acl_words_print(const struct acl *a, struct strbuf *out)
{
    word_set_print(a->values, out);
}

void acl_words_release(void *values)
{
    word_set_clear(values);
    free(values);
}

const struct acl_kind acl_kind_words = { acl_words_make, words_parse, acl_words_print, acl_words_release };

/* ---- schemes ---- */

static bool is_known_scheme(const char *const *known, const char *scheme)
{
    for (; *known != NULL; known++)
        if (strcmp(*known, scheme) == 0)
            return true;
    return false;
}

static bool schemes_parse(const struct acl_line *l, void *values)
{
    static const char *const known[] = { "http", "https", "ftp", "cache_object", "urn", "ws", "wss", NULL };

    for (size_t i = l->at; i < l->n; i++) {
        char *scheme = xspandup(l->words[i]);

        for (char *c = scheme; *c != '\0'; c++)
            *c = ascii_lower(*c);
        if (!is_known_scheme(known, scheme)) {
            acl_warn(l->problem, i, "'%.*s' is no scheme that requests have here", ACL_SHOWN(l->words[i]));
            if (l->problem->word == i)
                l->problem->suggestion = span_str(similar_word(known, l->words[i]));
        }
        word_set_add(values, span_str(scheme));
        free(scheme);
    }
    return true;
}

const struct acl_kind acl_kind_schemes = { acl_words_make, schemes_parse, acl_words_print, acl_words_release };

/* ---- methods ---- */

struct method_set {
    uint32_t known; /* 1 << enum http_method */
    struct word_set other;
};

_Static_assert(METHOD_N <= 32, "method_set.known has a bit for every known method");

static void *methods_make(const struct acl_type *type)
{
    (void)type;
    return xcalloc(1, sizeof(struct method_set));
}

/* Methods are case-sensitive (RFC 9110 section 9.1): `acl x method post` matches no POST. */
static void warn_if_lower(const struct acl_line *l, size_t i)
{
    for (int m = METHOD_OTHER + 1; m < METHOD_N; m++)
        if (span_eq_nocase(l->words[i], span_str(method_name((enum http_method)m)))) {
            acl_warn(l->problem, i, "methods are case-sensitive: '%.*s' is not %s", ACL_SHOWN(l->words[i]),
                     method_name((enum http_method)m));
            if (l->problem->word == i)
                l->problem->suggestion = span_str(method_name((enum http_method)m));
        }
}

static bool methods_parse(const struct acl_line *l, void *values)
{
    struct method_set *s = values;

    for (size_t i = l->at; i < l->n; i++) {
        enum http_method m = method_lookup(l->words[i]);

        if (m != METHOD_OTHER) {
            s->known |= UINT32_C(1) << m;
            continue;
        }
        warn_if_lower(l, i);
        word_set_add(&s->other, l->words[i]);
    }
    return true;
}

bool method_set_contains(const struct method_set *s, enum http_method method, struct span name)
{
    return method == METHOD_OTHER ? word_set_contains(&s->other, name) : s->known >> method & 1;
}

static void methods_print(const struct acl *a, struct strbuf *out)
{
    const struct method_set *s = a->values;

    for (int m = METHOD_OTHER + 1; m < METHOD_N; m++)
        if (s->known >> m & 1)
            sb_printf(out, "%s ", method_name((enum http_method)m));
    word_set_print(&s->other, out);
}

static void methods_release(void *values)
{
    struct method_set *s = values;

    word_set_clear(&s->other);
    free(s);
}

const struct acl_kind acl_kind_methods = { methods_make, methods_parse, methods_print, methods_release };

/* ---- times ---- */

static void *times_make(const struct acl_type *type)
{
    (void)type;
    return xcalloc(1, sizeof(struct time_set));
}

static bool times_parse(const struct acl_line *l, void *values)
{
    const char *why;
    size_t at;

    if (time_set_add(values, l->words + l->at, l->n - l->at, &at, &why))
        return true;
    return acl_fail(l->problem, l->at + at, "%s: '%.*s'", why, ACL_SHOWN(l->words[l->at + at]));
}

static void times_print(const struct acl *a, struct strbuf *out)
{
    time_set_print(a->values, out);
}

static void times_release(void *values)
{
    time_set_clear(values);
    free(values);
}

const struct acl_kind acl_kind_times = { times_make, times_parse, times_print, times_release };
