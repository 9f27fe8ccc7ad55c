#include "cache/vary_value.h"

#include "hdrs/field_list.h"

/* Members of Accept-Language and Accept-Encoding taken apart. A longer field is compared as it stands. */
#define MEMBERS_MAX 32

/* Marks what follows. Controls: no field value has any but HTAB. */
enum mark { MARK_ABSENT = 1, MARK_PLAIN, MARK_LANGUAGES, MARK_CODINGS, MARK_REFUSED };

void sink_add(struct value_sink *s, struct span bytes)
{
    while (bytes.len > 0) {
        size_t room = sizeof s->bytes - s->len;
        size_t n = bytes.len < room ? bytes.len : room;

        memcpy(s->bytes + s->len, bytes.p, n);
        s->len += n;
        bytes = span_of(bytes.p + n, bytes.len - n);
        if (s->len == sizeof s->bytes) {
            struct hash128 h = sink_hash(s);

            memcpy(s->bytes, &h, sizeof h);
            s->len = sizeof h;
        }
    }
}

void sink_char(struct value_sink *s, char c)
{
    /* Never the last place: filling the buffer is sink_add()'s business. */
    if (s->len + 1 < sizeof s->bytes)
        s->bytes[s->len++] = c;
    else
        sink_add(s, span_of(&c, 1));
}

struct hash128 sink_hash(const struct value_sink *s)
{
    return hash128(s->bytes, s->len);
}

static void sink_add_lower(struct value_sink *s, struct span bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        sink_char(s, ascii_lower(bytes.p[i]));
}

/* Where the member at the start of s ends: its comma, one inside quotes not counting, or the end. */
static size_t member_end(struct span s)
{
    bool quoted = false;
    size_t i;

    for (i = 0; i < s.len && (quoted || s.p[i] != ','); i++) {
        if (s.p[i] == '"')
            quoted = !quoted;
        else if (quoted && s.p[i] == '\\')
            i++;
    }
    return i < s.len ? i : s.len;
}

/* One line, without blanks around its commas (V7). Unlike list_next() this keeps empty members: of a field we know
 * nothing about, as little as possible is taken to be the same. */
static void sink_line(struct value_sink *s, struct span line, bool lower)
{
    for (;;) {
        size_t end = member_end(line);
        struct span member = span_trim(span_of(line.p, end));

        if (lower)
            sink_add_lower(s, member);
        else
            sink_add(s, member);
        if (end == line.len)
            return;
        sink_char(s, ',');
        line = span_of(line.p + end + 1, line.len - end - 1);
    }
}

static const struct head_field *next_line(const struct head *h, struct span name, enum token t,
                                          const struct head_field *f)
{
    if (t == TOKEN_OTHER)
        return head_find_name(h, name, f);
    return f == NULL ? head_find(h, t) : head_next(h, f);
}

/* Every line as if joined with commas. */
static void sink_plain(struct value_sink *s, const struct head *h, struct span name, enum token t, bool lower)
{
    const struct head_field *f = next_line(h, name, t, NULL);

    sink_char(s, MARK_PLAIN);
    while (f != NULL) {
        sink_line(s, field_value(h, f), lower);
        f = next_line(h, name, t, f);
        if (f != NULL)
            sink_char(s, ',');
    }
}

struct weighted {
    struct span what; /* coding or language range */
    int weight;       /* thousandths */
};

/* qvalue (RFC 9110 section 12.4.2) in thousandths, or -1. */
static int qvalue(struct span s)
{
    int q = 0, unit = 100;

    if (s.len == 0 || s.len > 5 || (s.p[0] != '0' && s.p[0] != '1') || (s.len > 1 && s.p[1] != '.'))
        return -1;
    q = (s.p[0] - '0') * 1000;
    for (size_t i = 2; i < s.len; i++, unit /= 10) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return -1;
        q += (s.p[i] - '0') * unit;
    }
    return q <= 1000 ? q : -1;
}

/* "what" or "what;q=0.5", nothing else. */
static bool weighted_parse(struct span member, struct weighted *w)
{
    const char *semicolon = memchr(member.p, ';', member.len);
    struct span parameter;

    *w = (struct weighted){ member, 1000 };
    if (semicolon == NULL)
        return true;
    w->what = span_trim(span_of(member.p, (size_t)(semicolon - member.p)));
    parameter = span_trim(span_of(semicolon + 1, member.len - (size_t)(semicolon - member.p) - 1));
    if (w->what.len == 0 || !span_starts_nocase(parameter, SPAN("q=")))
        return false;
    w->weight = qvalue(span_of(parameter.p + 2, parameter.len - 2));
    return w->weight >= 0;
}

/* All members of all lines; false when one isn't understood or there are too many. */
static bool collect_weighted(const struct head *h, enum token t, struct weighted *out, size_t *n)
{
    *n = 0;
    for (const struct head_field *f = head_find(h, t); f != NULL; f = head_next(h, f)) {
        struct span rest = field_value(h, f), member;

        while (list_next(&rest, &member))
            if (*n == MEMBERS_MAX || !weighted_parse(member, &out[(*n)++]))
                return false;
    }
    return true;
}

static int compare_what(const struct weighted *x, const struct weighted *y)
{
    size_t n = x->what.len < y->what.len ? x->what.len : y->what.len;

    for (size_t i = 0; i < n; i++) {
        int d = (unsigned char)ascii_lower(x->what.p[i]) - (unsigned char)ascii_lower(y->what.p[i]);

        if (d != 0)
            return d;
    }
    return (x->what.len > y->what.len) - (x->what.len < y->what.len);
}

/* Heaviest first, then by name. */
static int by_weight(const struct weighted *x, const struct weighted *y)
{
    return x->weight != y->weight ? y->weight - x->weight : compare_what(x, y);
}

static int by_name(const struct weighted *x, const struct weighted *y)
{
    int d = compare_what(x, y);

    return d != 0 ? d : y->weight - x->weight;
}

static void sink_weight(struct value_sink *s, int weight)
{
    char text[2] = { (char)(weight >> 8), (char)(weight & 0xFF) };

    sink_char(s, ';'); /* no language range has one in it, so what follows can't be taken for one */
    sink_add(s, span_of(text, sizeof text));
}

/* Insertion: this runs for a hit, on a handful of members; qsort() took twice as long. */
static inline void sort(struct weighted *members, size_t n,
                        int (*compare)(const struct weighted *, const struct weighted *))
{
    for (size_t i = 1; i < n; i++) {
        struct weighted m = members[i];
        size_t at = i;

        for (; at > 0 && compare(&members[at - 1], &m) > 0; at--)
            members[at] = members[at - 1];
        members[at] = m;
    }
}

/* V8: letter case means nothing, nor the order of members of equal weight. Weights stay: an origin may multiply them
 * with its own (RFC 9110 section 12.5.1). */
static void sink_languages(struct value_sink *s, struct weighted *members, size_t n)
{
    sort(members, n, by_weight);
    sink_char(s, MARK_LANGUAGES);
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && by_weight(&members[i - 1], &members[i]) == 0)
            continue;
        sink_add_lower(s, members[i].what);
        sink_weight(s, members[i].weight);
    }
}

/* The registered alias is the same coding (RFC 9110 section 8.4.1.1, 8.4.1.3). */
static struct span coding_name(struct span what)
{
    if (span_eq_nocase(what, SPAN("x-gzip")) || span_eq_nocase(what, SPAN("x-compress")))
        return span_of(what.p + 2, what.len - 2);
    return what;
}

/* V9: which codings may be sent; how much each is liked does not count. Naming a coding adds nothing where it may be
 * sent anyway, refusing one nothing where it may not. What isn't named goes by "*", and without that only identity
 * may be sent. */
static void sink_codings(struct value_sink *s, struct weighted *members, size_t n)
{
    bool others = false, unnamed_identity = true;

    for (size_t i = 0; i < n; i++) {
        members[i].what = coding_name(members[i].what);
        if (span_eq(members[i].what, SPAN("*")))
            others = unnamed_identity = members[i].weight > 0;
    }
    sort(members, n, by_name);
    sink_char(s, MARK_CODINGS);
    for (size_t i = 0; i < n; i++) {
        struct weighted *m = &members[i];
        bool refused = m->weight == 0;
        bool anyway = span_eq_nocase(m->what, SPAN("identity")) ? unnamed_identity : others;

        if (i > 0 && compare_what(&members[i - 1], m) == 0)
            continue; /* named twice: the heavier one stood first */
        if (!span_eq(m->what, SPAN("*")) && refused != anyway)
            continue;
        if (refused)
            sink_char(s, MARK_REFUSED);
        sink_add_lower(s, m->what);
        sink_char(s, ',');
    }
}

void sink_field(struct value_sink *s, const struct head *request, struct span name)
{
    enum token t = token_lookup(name);
    struct weighted members[MEMBERS_MAX];
    size_t n;

    if (next_line(request, name, t, NULL) == NULL)
        sink_char(s, MARK_ABSENT);
    else if (t == TOKEN_ACCEPT_LANGUAGE && collect_weighted(request, t, members, &n))
        sink_languages(s, members, n);
    else if (t == TOKEN_ACCEPT_ENCODING && collect_weighted(request, t, members, &n))
        sink_codings(s, members, n);
    else
        sink_plain(s, request, name, t, t == TOKEN_ACCEPT_LANGUAGE || t == TOKEN_ACCEPT_ENCODING);
}
