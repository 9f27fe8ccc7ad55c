/* Values of the types about how a transaction goes (has, hier_code, squid_error, transaction_initiator), chance and
 * limits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include "access/acl_type.h"
#include "access/word_set.h"
#include "base/mem.h"
#include "base/similar.h"

/* ---- one of a few words ---- */

static bool is_among(const char *const *known, struct span word)
{
    for (; *known != NULL; known++)
        if (span_eq(span_str(*known), word))
            return true;
    return false;
}

/* A word that can't be, as a misspelt one, is an error: the line would never match. */
static bool known_words_parse(const struct acl_line *l, struct word_set *s, const char *const *known)
{
    for (size_t i = l->at; i < l->n; i++) {
        if (!is_among(known, l->words[i])) {
            acl_fail(l->problem, i, "acl type %s knows no '%.*s'", l->self->type->name, ACL_SHOWN(l->words[i]));
            l->problem->suggestion = span_str(similar_word(known, l->words[i]));
            return false;
        }
        word_set_add(s, l->words[i]);
    }
    return true;
}

static bool has_parse(const struct acl_line *l, void *values)
{
    static const char *const known[] = { "request", "response", "ALE", NULL };

    return known_words_parse(l, values, known);
}

static bool hier_parse(const struct acl_line *l, void *values)
{
    /* Squid's: those that never happen here may be asked for all the same. */
    static const char *const known[] = {
        "HIER_NONE",
        "HIER_DIRECT",
        "SIBLING_HIT",
        "PARENT_HIT",
        "DEFAULT_PARENT",
        "SINGLE_PARENT",
        "FIRSTUP_PARENT",
        "FIRST_PARENT_MISS",
        "CLOSEST_PARENT",
        "CLOSEST_PARENT_MISS",
        "CLOSEST_DIRECT",
        "NO_DIRECT_FAIL",
        "SOURCE_FASTEST",
        "CD_PARENT_HIT",
        "CD_SIBLING_HIT",
        "ROUNDROBIN_PARENT",
        "NO_CACHE_DIGEST_DIRECT",
        "CARP",
        "ANY_OLD_PARENT",
        "USERHASH_PARENT",
        "SOURCEHASH_PARENT",
        "PINNED",
        "ORIGINAL_DST",
        "STANDBY_POOL",
        NULL,
    };

    return known_words_parse(l, values, known);
}

static bool initiators_parse(const struct acl_line *l, void *values)
{
    static const char *const known[] = {
        "client", "all", "internal", "esi", "certificate-fetching", "cache-digest", "htcp", "icp", "icmp", "asn", NULL,
    };

    return known_words_parse(l, values, known);
}

const struct acl_kind acl_kind_has = { acl_words_make, has_parse, acl_words_print, acl_words_release };
const struct acl_kind acl_kind_hier = { acl_words_make, hier_parse, acl_words_print, acl_words_release };
const struct acl_kind acl_kind_initiators = { acl_words_make, initiators_parse, acl_words_print, acl_words_release };

/* ---- names of error pages ---- */

/* The pages themselves are the proxy's, which this room doesn't know: the form of a name must do. */
static bool errors_parse(const struct acl_line *l, void *values)
{
    for (size_t i = l->at; i < l->n; i++) {
        if (!(l->words[i].len > 4 && memcmp(l->words[i].p, "ERR_", 4) == 0))
            return acl_fail(l->problem, i, "the name of an error page starts with ERR_, unlike '%.*s'",
                            ACL_SHOWN(l->words[i]));
        word_set_add(values, l->words[i]);
    }
    return true;
}

const struct acl_kind acl_kind_errors = { acl_words_make, errors_parse, acl_words_print, acl_words_release };

/* ---- chance ---- */

struct chance {
    char *text;     /* as written; NULL: none yet */
    uint64_t below; /* of 2^32 */
    uint64_t salt;  /* two ACLs of one chance are two throws; and nobody outside can count along */
};

static void *chance_make(const struct acl_type *type)
{
    (void)type;
    return xcalloc(1, sizeof(struct chance));
}

/* 0.25, 1/4 or 1:3 (matches to the rest). */
static bool chance_parse_text(struct span text, double *share)
{
    char *copy = xspandup(text);
    double a, b;
    char sign, more;
    int n = sscanf(copy, "%lf%c%lf%c", &a, &sign, &b, &more);
    /* sscanf() also reads nan, inf and hexadecimals. */
    bool plain = strspn(copy, "0123456789.:/") == text.len;

    free(copy);
    if (!plain || (n != 1 && n != 3) || (n == 3 && sign != '/' && sign != ':'))
        return false;
    *share = n == 1 ? a : sign == '/' ? a / b : a / (a + b);
    return isfinite(*share) && *share >= 0 && *share <= 1;
}

static bool chance_parse(const struct acl_line *l, void *values)
{
    struct chance *c = values;
    double share;

    if (l->n - l->at != 1 || c->text != NULL)
        return acl_fail(l->problem, l->at < l->n ? l->at : 1, "acl type random has one value: 0.25, 1/4 or 1:3");
    if (!chance_parse_text(l->words[l->at], &share))
        return acl_fail(l->problem, l->at, "not a chance such as 0.25, 1/4 or 1:3: '%.*s'", ACL_SHOWN(l->words[l->at]));
    c->text = xspandup(l->words[l->at]);
    c->below = (uint64_t)(share * 4294967296.0);
    /* It can't fail for so few bytes; if it does, the chance is still one. */
    if (getrandom(&c->salt, sizeof c->salt, 0) != (ssize_t)sizeof c->salt)
        c->salt = (uintptr_t)c;
    return true;
}

static void chance_print(const struct acl *a, struct strbuf *out)
{
    const struct chance *c = a->values;

    if (c->text != NULL)
        sb_printf(out, "%s ", c->text);
}

static void chance_release(void *values)
{
    struct chance *c = values;

    free(c->text);
    free(c);
}

/* splitmix64: draws are numbers in a row, the salt is unknown. */
bool chance_hits(const struct chance *c, uint64_t draw)
{
    uint64_t x = c->salt + draw * UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x >> 32 < c->below;
}

const struct acl_kind acl_kind_chance = { chance_make, chance_parse, chance_print, chance_release };

/* ---- limits ---- */

struct limit {
    bool is_set;
    unsigned most;
};

static void *limit_make(const struct acl_type *type)
{
    (void)type;
    return xcalloc(1, sizeof(struct limit));
}

bool acl_number_parse(const struct acl_line *l, size_t at, unsigned *n)
{
    struct span text = l->words[at];

    *n = 0;
    for (size_t i = 0; i < text.len && text.len <= 9; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return acl_fail(l->problem, at, "not a number: '%.*s'", ACL_SHOWN(text));
        *n = *n * 10 + (unsigned)(text.p[i] - '0');
    }
    return (text.len > 0 && text.len <= 9) ||
           acl_fail(l->problem, at, "not a number up to 999999999: '%.*s'", ACL_SHOWN(text));
}

static bool limit_parse(const struct acl_line *l, void *values)
{
    struct limit *limit = values;

    if (l->n - l->at != 1 || limit->is_set)
        return acl_fail(l->problem, l->at < l->n ? l->at : 1, "acl type %s has one value, a number",
                        l->self->type->name);
    limit->is_set = acl_number_parse(l, l->at, &limit->most);
    return limit->is_set;
}

static void limit_print(const struct acl *a, struct strbuf *out)
{
    const struct limit *limit = a->values;

    if (limit->is_set)
        sb_printf(out, "%u ", limit->most);
}

bool limit_is_exceeded(const struct limit *l, unsigned n)
{
    return l->is_set && n > l->most;
}

const struct acl_kind acl_kind_limit = { limit_make, limit_parse, limit_print, free };
