#include "hdrs/field_range.h"

#include "hdrs/field_list.h"

enum spec { SPEC_BAD, SPEC_UNSATISFIABLE, SPEC_RANGE };

/* *DIGIT, saturating: a position beyond any length stays beyond it. Returns how many digits. */
static size_t digits(struct span s, uint64_t *out)
{
    size_t i;
    uint64_t n = 0;

    for (i = 0; i < s.len && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        n = n > (UINT64_MAX - 9) / 10 ? UINT64_MAX : n * 10 + (uint64_t)(s.p[i] - '0');
    *out = n;
    return i;
}

/* FIRST "-" [LAST] or "-" SUFFIX. */
static enum spec spec_parse(struct span s, uint64_t length, uint64_t *first, uint64_t *last)
{
    uint64_t a, b;
    size_t n_a = digits(s, &a), n_b;

    if (n_a == s.len || s.p[n_a] != '-')
        return SPEC_BAD;
    s = span_of(s.p + n_a + 1, s.len - n_a - 1);
    n_b = digits(s, &b);
    if (n_b != s.len || n_a + n_b == 0)
        return SPEC_BAD;
    if (n_a == 0) { /* the last b bytes */
        if (b == 0 || length == 0)
            return SPEC_UNSATISFIABLE;
        *first = b < length ? length - b : 0;
        *last = length - 1;
        return SPEC_RANGE;
    }
    if (n_b > 0 && b < a)
        return SPEC_BAD;
    if (a >= length)
        return SPEC_UNSATISFIABLE;
    *first = a;
    *last = n_b > 0 && b < length ? b : length - 1;
    return SPEC_RANGE;
}

enum range_result range_parse(struct span value, uint64_t length, struct byte_range *out, size_t max, size_t *n)
{
    struct span rest = span_trim(value), member;
    size_t members = 0;
    uint64_t total = 0;

    *n = 0;
    if (!span_starts_nocase(rest, SPAN("bytes=")))
        return RANGE_IGNORE;
    rest = span_of(rest.p + 6, rest.len - 6);
    while (list_next(&rest, &member)) {
        struct byte_range r;

        members++;
        if (length == UINT64_MAX && (member.p[0] == '-' || members > 1))
            return RANGE_IGNORE;
        switch (spec_parse(member, length, &r.first, &r.last)) {
        case SPEC_BAD: return RANGE_IGNORE;
        case SPEC_UNSATISFIABLE: break;
        case SPEC_RANGE:
            if (*n == max)
                return RANGE_IGNORE;
            out[(*n)++] = r;
            total += r.last - r.first + 1; /* max times a length: no overflow that matters before it is too much */
            if (*n > 1 && total > length)
                return RANGE_IGNORE;
            break;
        }
    }
    if (members == 0)
        return RANGE_IGNORE;
    if (*n == 0)
        return RANGE_UNSATISFIABLE;
    return *n == 1 ? RANGE_ONE : RANGE_SEVERAL;
}
