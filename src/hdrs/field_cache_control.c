#include "hdrs/field_cache_control.h"

#include "hdrs/field_list.h"
#include "hdrs/field_number.h"
#include "hdrs/scan.h"
#include "hdrs/structured.h"
#include "hdrs/word_find.h"

enum { NO_OFFSET = 0 };

/* What a directive means: a flag, seconds, or a flag that a list of field names may narrow. */
static const struct directive {
    uint32_t flag;           /* without an argument */
    uint32_t qualified_flag; /* with a list of names, kept in the span at names_at */
    size_t names_at;
    size_t seconds_at; /* else delta-seconds are kept here */
} directives[] = {
#define FLAG(name, flag) { flag, 0, NO_OFFSET, NO_OFFSET },
#define NAMES(name, flag, qualified, member) { flag, qualified, offsetof(struct cache_control, member), NO_OFFSET },
#define SECONDS(name, flag, member) { flag, 0, NO_OFFSET, offsetof(struct cache_control, member) },
#include "hdrs/cache_directive.def"
#undef FLAG
#undef NAMES
#undef SECONDS
};

static int64_t *seconds_of(struct cache_control *cc, const struct directive *d)
{
    return (int64_t *)(void *)((char *)cc + d->seconds_at);
}

static struct span *names_of(struct cache_control *cc, const struct directive *d)
{
    return (struct span *)(void *)((char *)cc + d->names_at);
}

/* NAME[=ARGUMENT], taken apart. */
struct member {
    struct span name, argument; /* quotes taken off */
    bool has_argument;
    bool odd; /* something else behind the name, or the quotes don't enclose the argument exactly */
};

static struct member member_split(struct span text)
{
    const char *end = text.p + text.len, *p = scan_tchars(text.p, end);
    struct member m = { .name = span_of(text.p, (size_t)(p - text.p)) };

    if (p == end)
        return m;
    if (*p != '=') {
        m.odd = true;
        return m;
    }
    m.has_argument = true;
    m.argument = span_of(p + 1, (size_t)(end - p - 1));
    if (m.argument.len > 0 && m.argument.p[0] == '"') {
        m.odd = m.argument.len < 2 || m.argument.p[m.argument.len - 1] != '"';
        if (!m.odd)
            m.argument = span_of(m.argument.p + 1, m.argument.len - 2);
        /* An escape, or a second string behind the first: nothing a number or a name list needs. */
        if (memchr(m.argument.p, '"', m.argument.len) != NULL || memchr(m.argument.p, '\\', m.argument.len) != NULL)
            m.odd = true;
    }
    return m;
}

static void apply_seconds(struct cache_control *cc, const struct directive *d, const struct member *m)
{
    int64_t *kept = seconds_of(cc, d), seconds;

    if (!m->has_argument && !m->odd && d->flag != 0) {
        cc->flags |= d->flag;
        return;
    }
    if (!m->has_argument || m->odd || !delta_seconds_parse(m->argument, &seconds)) {
        cc->flags |= CC_BAD_FRESHNESS;
        return;
    }
    if (*kept >= 0 && *kept != seconds)
        cc->flags |= CC_BAD_FRESHNESS;
    if (*kept < 0 || seconds < *kept)
        *kept = seconds;
}

static void apply_names(struct cache_control *cc, const struct directive *d, const struct member *m)
{
    struct span *kept = names_of(cc, d);

    /* One list is all there is room for; no list, a broken one or a second one: the whole response it is, the stricter
     * reading. */
    if (!m->has_argument || m->odd || span_trim(m->argument).len == 0 || kept->len > 0) {
        cc->flags |= d->flag;
        return;
    }
    *kept = m->argument;
    cc->flags |= d->qualified_flag;
}

static void apply(struct cache_control *cc, struct span text)
{
    struct member m = member_split(text);
    int row = word_find(&words_cache_directive, m.name);
    const struct directive *d;

    if (row < 0)
        return;
    d = &directives[row];
    if (d->seconds_at != NO_OFFSET)
        apply_seconds(cc, d, &m);
    else if (d->names_at != NO_OFFSET)
        apply_names(cc, d, &m);
    else
        cc->flags |= d->flag;
}

/* Does a quoted string start in this member and not end? */
static bool quote_is_open(struct span member)
{
    bool quoted = false;

    for (size_t i = 0; i < member.len; i++) {
        if (member.p[i] == '"')
            quoted = !quoted;
        else if (quoted && member.p[i] == '\\')
            i++;
    }
    return quoted;
}

static bool contains(struct span text, struct span word)
{
    for (; text.len >= word.len; text.p++, text.len--)
        if (span_starts_nocase(text, word))
            return true;
    return false;
}

/* Behind a quote nobody closed: nobody can tell what is a directive, so whatever might forbid does (P10). */
static void apply_broken(struct cache_control *cc, struct span text)
{
    if (contains(text, SPAN("no-store")))
        cc->flags |= CC_NO_STORE;
    if (contains(text, SPAN("no-cache")))
        cc->flags |= CC_NO_CACHE;
    if (contains(text, SPAN("private")))
        cc->flags |= CC_PRIVATE;
    if (contains(text, SPAN("must-revalidate")))
        cc->flags |= CC_MUST_REVALIDATE;
    if (contains(text, SPAN("proxy-revalidate")))
        cc->flags |= CC_PROXY_REVALIDATE;
    if (contains(text, SPAN("max-age")) || contains(text, SPAN("s-maxage")))
        cc->flags |= CC_BAD_FRESHNESS;
}

static const struct cache_control nothing_said = {
    .max_age = -1, .s_maxage = -1, .min_fresh = -1, .max_stale = -1, .stale_while_revalidate = -1, .stale_if_error = -1
};

struct cache_control cache_control_parse(const struct head *h, bool is_request)
{
    struct cache_control cc = nothing_said;
    const struct head_field *f = head_find(h, TOKEN_CACHE_CONTROL);
    bool broken = false;

    if (f == NULL) {
        if (is_request && head_lists(h, TOKEN_PRAGMA, SPAN("no-cache")))
            cc.flags |= CC_NO_CACHE;
        return cc;
    }
    cc.flags |= CC_PRESENT;
    for (; f != NULL; f = head_next(h, f)) {
        struct span rest = field_value(h, f), member;

        while (list_next(&rest, &member)) {
            broken = broken || quote_is_open(member);
            if (broken)
                apply_broken(&cc, member);
            else
                apply(&cc, member);
        }
    }
    return cc;
}

/* --- targeted fields -------------------------------------------------------------------------------------------- */

/* A string with escapes in it names no field: then it is the whole response, the stricter reading. */
static void apply_sf_names(struct cache_control *cc, const struct directive *d, const struct sf_member *m)
{
    cc->flags &= ~(d->flag | d->qualified_flag);
    if (m->type == SF_STRING && m->text.len > 0 && memchr(m->text.p, '\\', m->text.len) == NULL) {
        *names_of(cc, d) = m->text;
        cc->flags |= d->qualified_flag;
    } else if (m->type == SF_STRING || (m->type == SF_BOOLEAN && m->boolean)) {
        cc->flags |= d->flag;
    }
}

/* The last member with a key counts, whatever the earlier ones were; one of the wrong type says nothing (G4). */
static void apply_sf_member(struct cache_control *cc, const struct sf_member *m)
{
    int row = word_find(&words_cache_directive, m->key);
    const struct directive *d = row >= 0 ? &directives[row] : NULL;

    if (d == NULL)
        return;
    if (d->seconds_at != NO_OFFSET) {
        *seconds_of(cc, d) = m->type == SF_INTEGER && m->integer >= 0 ? m->integer : -1;
    } else if (d->names_at != NO_OFFSET) {
        apply_sf_names(cc, d, m);
    } else {
        cc->flags &= ~d->flag;
        if (m->type == SF_BOOLEAN && m->boolean)
            cc->flags |= d->flag;
    }
}

/* False: it isn't there, is malformed or empty (RFC 9213 section 2.1, G3). */
static bool targeted_parse(const struct head *h, struct span name, struct cache_control *cc)
{
    bool any = false;

    *cc = nothing_said;
    cc->flags = CC_TARGETED;
    for (const struct head_field *f = head_find_name(h, name, NULL); f != NULL; f = head_find_name(h, name, f)) {
        struct span rest = field_value(h, f);
        struct sf_member m;
        enum sf_result r;

        while ((r = sf_dictionary_next(&rest, &m)) == SF_MEMBER) {
            apply_sf_member(cc, &m);
            any = true;
        }
        if (r == SF_BAD)
            return false;
    }
    return any;
}

struct cache_control cache_control_of_response(const struct head *h, struct span targets)
{
    struct cache_control cc;

    while (targets.len > 0) {
        const char *blank = memchr(targets.p, ' ', targets.len);
        size_t n = blank != NULL ? (size_t)(blank - targets.p) : targets.len;

        if (targeted_parse(h, span_of(targets.p, n), &cc))
            return cc;
        n += blank != NULL;
        targets = span_of(targets.p + n, targets.len - n);
    }
    return cache_control_parse(h, false);
}
