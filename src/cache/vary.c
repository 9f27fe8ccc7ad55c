#include "cache/vary.h"

#include "cache/vary_value.h"
#include "hdrs/field_list.h"

/* More different names than this in one Vary tell nothing apart any more: "*". */
#define NAMES_MAX 64

/* token (RFC 9110 section 5.6.2) */
static bool is_token(struct span s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];
        bool letter_or_digit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

        if (!letter_or_digit && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL))
            return false;
    }
    return s.len > 0;
}

static int compare_nocase(struct span a, struct span b)
{
    for (size_t i = 0; i < a.len && i < b.len; i++) {
        int d = (unsigned char)ascii_lower(a.p[i]) - (unsigned char)ascii_lower(b.p[i]);

        if (d != 0)
            return d;
    }
    return (a.len > b.len) - (a.len < b.len);
}

struct name_set {
    struct span names[NAMES_MAX]; /* sorted, each once */
    size_t n;
};

/* False when it is full. Binary search: an origin may send thousands of names. */
static bool name_set_add(struct name_set *set, struct span name)
{
    size_t low = 0, high = set->n;

    while (low < high) {
        size_t middle = (low + high) / 2;
        int d = compare_nocase(name, set->names[middle]);

        if (d == 0)
            return true;
        if (d < 0)
            high = middle;
        else
            low = middle + 1;
    }
    if (set->n == NAMES_MAX)
        return false;
    memmove(&set->names[low + 1], &set->names[low], (set->n - low) * sizeof set->names[0]);
    set->names[low] = name;
    set->n++;
    return true;
}

/* False: the response matches no request ("*", or something that may mean anything: caching-rules V11, V15). */
static bool collect_names(const struct head *response, struct name_set *set)
{
    for (const struct head_field *f = head_find(response, TOKEN_VARY); f != NULL; f = head_next(response, f)) {
        struct span rest = field_value(response, f), member;

        while (list_next(&rest, &member))
            if (span_eq(member, SPAN("*")) || !is_token(member) || !name_set_add(set, member))
                return false;
    }
    return true;
}

size_t vary_names(const struct head *response, char *out, size_t capacity, bool *star)
{
    struct name_set set;
    size_t len = 0;

    set.n = 0;
    *star = !collect_names(response, &set);
    if (*star)
        return 0;
    for (size_t i = 0; i < set.n; i++) {
        struct span name = set.names[i];
        size_t comma = i > 0 ? 2 : 0;

        if (capacity - len < comma + name.len) {
            *star = true;
            return 0;
        }
        memcpy(out + len, ", ", comma);
        len += comma;
        for (size_t k = 0; k < name.len; k++)
            out[len++] = ascii_lower(name.p[k]);
    }
    return len;
}

struct hash128 vary_fingerprint(struct span names, const struct head *request)
{
    struct value_sink sink = { .len = 0 };
    struct span rest = names, name;

    if (names.len == 0)
        return (struct hash128){ 0, 0 };
    /* The names too: the same value of another field is another variant. No value has a line feed in it, so the
     * pieces can't run into one another. */
    sink_add(&sink, names);
    while (list_next(&rest, &name)) {
        sink_char(&sink, '\n');
        sink_field(&sink, request, name);
    }
    return sink_hash(&sink);
}
