/* Regular expressions as values: on the URL, the host, or a header field. */
#include <stdlib.h>
#include "access/acl_type.h"
#include "access/regex_set.h"
#include "base/mem.h"

struct acl_patterns {
    struct regex_set *set;
    char *field;      /* NULL: not about a field, or not named yet */
    enum token token; /* field's */
    bool names_field; /* the first value is the field's name */
    bool no_lookup;   /* -n */
};

static void *patterns_make(const struct acl_type *type)
{
    struct acl_patterns *p = xcalloc(1, sizeof *p);

    p->set = regex_set_new();
    p->names_field = type->kind == &acl_kind_field && type->field == NULL;
    if (type->field != NULL) {
        p->field = xstrdup(type->field);
        p->token = token_lookup(span_str(type->field));
    }
    return p;
}

static void patterns_release(void *values)
{
    struct acl_patterns *p = values;

    regex_set_free(&p->set);
    free(p->field);
    free(p);
}

/* -i and +i stand anywhere before a -- and hold for the patterns behind them on the line. */
static bool add_patterns(const struct acl_line *l, struct acl_patterns *p, size_t from)
{
    bool ignore_case = false, flags_ended = l->flags_ended;
    char error[128];

    for (size_t i = from; i < l->n; i++) {
        struct span word = l->words[i];

        if (!flags_ended && span_eq(word, SPAN("-i")))
            ignore_case = true;
        else if (!flags_ended && span_eq(word, SPAN("+i")))
            ignore_case = false;
        else if (!flags_ended && span_eq(word, SPAN("--")))
            flags_ended = true;
        else if (!flags_ended && span_eq(word, SPAN("-n"))) {
            if (!acl_no_lookup_parse(l, i, &p->no_lookup))
                return false;
        } else if (!regex_set_add(p->set, word, ignore_case, error))
            return acl_fail(l->problem, i, "bad pattern '%.*s': %s", ACL_SHOWN(word), error);
    }
    regex_set_combine(p->set);
    return true;
}

static bool patterns_parse(const struct acl_line *l, void *values)
{
    return add_patterns(l, values, l->at);
}

static bool field_parse(const struct acl_line *l, void *values)
{
    struct acl_patterns *p = values;
    struct span name;

    if (!p->names_field)
        return add_patterns(l, p, l->at);
    if (l->at == l->n)
        return acl_fail(l->problem, l->n - 1, "acl type %s needs the name of a field, then patterns",
                        l->self->type->name);
    name = l->words[l->at];
    if (p->field != NULL && !span_eq_nocase(name, span_str(p->field)))
        return acl_fail(l->problem, l->at, "acl '%s' is about field '%s' already: give another field an acl of its own",
                        l->self->name, p->field);
    if (p->field == NULL) {
        p->field = xspandup(name);
        p->token = token_lookup(name);
    }
    if (l->at + 1 == l->n)
        acl_warn(l->problem, l->at, "no patterns behind the field's name: it never matches");
    return add_patterns(l, p, l->at + 1);
}

/* Flags are printed where they change. */
static void patterns_print(const struct acl *a, struct strbuf *out)
{
    const struct acl_patterns *p = a->values;
    bool ignoring = false;

    if (p->names_field && p->field != NULL)
        sb_printf(out, "%s ", p->field);
    if (p->no_lookup)
        sb_str(out, "-n ");
    for (size_t i = 0; i < regex_set_count(p->set); i++) {
        bool ignore_case;
        struct span pattern = regex_set_pattern(p->set, i, &ignore_case);

        if (ignore_case != ignoring)
            sb_str(out, ignore_case ? "-i " : "+i ");
        ignoring = ignore_case;
        sb_span(out, pattern);
        sb_char(out, ' ');
    }
}

enum acl_answer acl_patterns_match(const struct acl_patterns *p, struct span text)
{
    static const enum acl_answer answers[] = {
        [REGEX_NO] = ACL_NO,
        [REGEX_YES] = ACL_YES,
        [REGEX_GIVEN_UP] = ACL_UNDECIDED,
    };

    return answers[regex_set_try(p->set, text)];
}

bool acl_patterns_forbid_lookup(const struct acl_patterns *p)
{
    return p->no_lookup;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t unescape(struct span text, char *out)
{
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        int high = -1, low = -1;

        if (text.p[i] == '%' && i + 2 < text.len) {
            high = hex_digit(text.p[i + 1]);
            low = hex_digit(text.p[i + 2]);
        }
        if (high >= 0 && low >= 0) {
            out[n++] = (char)(high << 4 | low);
            i += 2;
        } else {
            out[n++] = text.p[i];
        }
    }
    return n;
}

enum acl_answer acl_patterns_match_unescaped(const struct acl_patterns *p, struct span text)
{
    char small[1024], *plain = small;
    enum acl_answer answer;

    if (text.len == 0 || memchr(text.p, '%', text.len) == NULL)
        return acl_patterns_match(p, text);
    if (text.len > sizeof small) /* bounded by the largest request head */
        plain = xmalloc(text.len);
    answer = acl_patterns_match(p, span_of(plain, unescape(text, plain)));
    if (plain != small)
        free(plain);
    return answer;
}

/* The next line of p's field, behind `after`; NULL starts. */
static const struct head_field *next_field(const struct acl_patterns *p, const struct head *h,
                                           const struct head_field *after)
{
    if (p->token == TOKEN_OTHER)
        return head_find_name(h, span_str(p->field), after);
    return after ? head_next(h, after) : head_find(h, p->token);
}

enum acl_answer acl_patterns_match_field(const struct acl_patterns *p, const struct head *h)
{
    const struct head_field *first;
    enum acl_answer answer;
    struct strbuf all = { 0 };

    if (h == NULL || p->field == NULL || (first = next_field(p, h, NULL)) == NULL)
        return ACL_NO;
    if (next_field(p, h, first) == NULL)
        return acl_patterns_match(p, field_value(h, first));
    for (const struct head_field *f = first; f != NULL; f = next_field(p, h, f)) {
        sb_str(&all, f == first ? "" : ", ");
        sb_span(&all, field_value(h, f));
    }
    answer = acl_patterns_match(p, sb_view(&all));
    sb_free(&all);
    return answer;
}

/* The next `Name: value` line of p's field; *at moves behind it. */
static bool next_block_value(const struct acl_patterns *p, struct span block, size_t *at, struct span *value)
{
    size_t name_len = strlen(p->field);

    while (*at < block.len) {
        const char *from = block.p + *at, *end = memchr(from, '\n', block.len - *at);
        size_t len = end ? (size_t)(end - from) : block.len - *at;

        *at += len + (end != NULL);
        if (len > 0 && from[len - 1] == '\r')
            len--;
        if (len > name_len && from[name_len] == ':' && span_eq_nocase(span_of(from, name_len), span_str(p->field))) {
            *value = span_trim(span_of(from + name_len + 1, len - name_len - 1));
            return true;
        }
    }
    return false;
}

enum acl_answer acl_patterns_match_block(const struct acl_patterns *p, struct span block)
{
    struct strbuf all = { 0 };
    struct span first, more;
    enum acl_answer answer;
    size_t at = 0;

    if (p->field == NULL || !next_block_value(p, block, &at, &first))
        return ACL_NO;
    if (!next_block_value(p, block, &at, &more))
        return acl_patterns_match(p, first);
    sb_span(&all, first);
    do {
        sb_str(&all, ", ");
        sb_span(&all, more);
    } while (next_block_value(p, block, &at, &more));
    answer = acl_patterns_match(p, sb_view(&all));
    sb_free(&all);
    return answer;
}

const struct acl_kind acl_kind_patterns = { patterns_make, patterns_parse, patterns_print, patterns_release };
const struct acl_kind acl_kind_field = { patterns_make, field_parse, patterns_print, patterns_release };
