#include "hdrs/field_cache_control.h"

#include "hdrs/field_list.h"
#include "hdrs/field_number.h"
#include "hdrs/scan.h"

enum { NO_OFFSET = 0 };

/* What a directive means: a flag, seconds, or a flag that a list of field names may narrow. */
static const struct directive {
    struct span name;
    uint32_t flag;           /* without an argument */
    uint32_t qualified_flag; /* with a list of names, kept in the span at names_at */
    size_t names_at;
    size_t seconds_at; /* else delta-seconds are kept here */
} directives[] = {
#define FLAG(text, flag)                                                                                               \
    {                                                                                                                  \
        { text, sizeof text - 1 }, flag, 0, NO_OFFSET, NO_OFFSET                                                       \
    }
#define NAMES(text, flag, qualified, member)                                                                           \
    {                                                                                                                  \
        { text, sizeof text - 1 }, flag, qualified, offsetof(struct cache_control, member), NO_OFFSET                  \
    }
#define SECONDS(text, flag, member)                                                                                    \
    {                                                                                                                  \
        { text, sizeof text - 1 }, flag, 0, NO_OFFSET, offsetof(struct cache_control, member)                          \
    }
    SECONDS("max-age", 0, max_age),
    FLAG("no-store", CC_NO_STORE),
    NAMES("no-cache", CC_NO_CACHE, CC_NO_CACHE_FIELDS, no_cache_fields),
    NAMES("private", CC_PRIVATE, CC_PRIVATE_FIELDS, private_fields),
    FLAG("public", CC_PUBLIC),
    FLAG("must-revalidate", CC_MUST_REVALIDATE),
    SECONDS("s-maxage", 0, s_maxage),
    FLAG("immutable", CC_IMMUTABLE),
    FLAG("proxy-revalidate", CC_PROXY_REVALIDATE),
    FLAG("no-transform", CC_NO_TRANSFORM),
    SECONDS("stale-while-revalidate", 0, stale_while_revalidate),
    SECONDS("stale-if-error", 0, stale_if_error),
    FLAG("must-understand", CC_MUST_UNDERSTAND),
    FLAG("only-if-cached", CC_ONLY_IF_CACHED),
    SECONDS("min-fresh", 0, min_fresh),
    SECONDS("max-stale", CC_MAX_STALE_ANY, max_stale),
};

static int64_t *seconds_of(struct cache_control *cc, const struct directive *d)
{
    return (int64_t *)(void *)((char *)cc + d->seconds_at);
}

static struct span *names_of(struct cache_control *cc, const struct directive *d)
{
    return (struct span *)(void *)((char *)cc + d->names_at);
}

static const struct directive *directive_find(struct span name)
{
    for (size_t i = 0; i < sizeof directives / sizeof directives[0]; i++)
        if (span_eq_nocase(directives[i].name, name))
            return &directives[i];
    return NULL;
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
    const struct directive *d = directive_find(m.name);

    if (d == NULL)
        return;
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

static bool pragma_no_cache(const struct head *h)
{
    for (const struct head_field *f = head_find(h, TOKEN_PRAGMA); f != NULL; f = head_next(h, f)) {
        struct span rest = field_value(h, f), member;

        while (list_next(&rest, &member))
            if (span_eq_nocase(member, SPAN("no-cache")))
                return true;
    }
    return false;
}

struct cache_control cache_control_parse(const struct head *h, bool is_request)
{
    struct cache_control cc = { .max_age = -1,
                                .s_maxage = -1,
                                .min_fresh = -1,
                                .max_stale = -1,
                                .stale_while_revalidate = -1,
                                .stale_if_error = -1 };
    const struct head_field *f = head_find(h, TOKEN_CACHE_CONTROL);
    bool broken = false;

    if (f == NULL) {
        if (is_request && pragma_no_cache(h))
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
