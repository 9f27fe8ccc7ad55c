#include "proxy/error_accept.h"

#include "hdrs/field_list.h"

static const struct {
    struct span type, subtype;
} forms[ERROR_FORM_N] = {
    [ERROR_HTML] = { { "text", 4 }, { "html", 4 } },
    [ERROR_JSON] = { { "application", 11 }, { "json", 4 } },
    [ERROR_PROBLEM_JSON] = { { "application", 11 }, { "problem+json", 12 } },
    [ERROR_PLAIN] = { { "text", 4 }, { "plain", 5 } },
};

/* A client that lists thousands of ranges wants something else than an error page. */
#define RANGES_MAX 64

/* Thousandths; a weight that can't be read counts as 1, as if it were absent. */
static int weight_of(struct span parameters)
{
    while (parameters.len > 0) {
        const char *end = memchr(parameters.p, ';', parameters.len);
        struct span one = span_trim(span_of(parameters.p, end ? (size_t)(end - parameters.p) : parameters.len));
        int q = 0, place = 1000;

        if (one.len >= 3 && ascii_lower(one.p[0]) == 'q' && one.p[1] == '=') {
            if (one.p[2] == '1')
                return 1000;
            for (size_t i = 3; i < one.len && i < 7; i++)
                if (one.p[i] >= '0' && one.p[i] <= '9') {
                    place /= 10;
                    q += (one.p[i] - '0') * place;
                }
            return one.p[2] == '0' ? q : 1000;
        }
        if (end == NULL)
            break;
        parameters = span_of(end + 1, parameters.len - (size_t)(end + 1 - parameters.p));
    }
    return 1000;
}

/* 0: the range doesn't cover the form; 1: all types, 2: all of its type, 3: exactly it. */
static int specificity(struct span range, size_t form)
{
    const char *slash = range.len ? memchr(range.p, '/', range.len) : NULL;
    struct span type, subtype;

    if (slash == NULL)
        return 0;
    type = span_of(range.p, (size_t)(slash - range.p));
    subtype = span_of(slash + 1, range.len - type.len - 1);
    if (span_eq(type, SPAN("*")))
        return span_eq(subtype, SPAN("*")) ? 1 : 0;
    if (!span_eq_nocase(type, forms[form].type))
        return 0;
    if (span_eq(subtype, SPAN("*")))
        return 2;
    return span_eq_nocase(subtype, forms[form].subtype) ? 3 : 0;
}

enum error_form error_form_wanted(const struct head *request)
{
    int weight[ERROR_FORM_N] = { 0 }, known_by[ERROR_FORM_N] = { 0 };
    enum error_form best = ERROR_HTML;
    const struct head_field *f = NULL;
    int ranges = 0;

    if (request == NULL)
        return ERROR_HTML;
    while ((f = head_find_name(request, SPAN("Accept"), f)) != NULL) {
        struct span rest = field_value(request, f), member;

        while (ranges++ < RANGES_MAX && list_next(&rest, &member)) {
            const char *semicolon = member.len ? memchr(member.p, ';', member.len) : NULL;
            size_t n = semicolon ? (size_t)(semicolon - member.p) : member.len;
            struct span range = span_trim(span_of(member.p, n));
            int w = weight_of(semicolon ? span_of(semicolon + 1, member.len - n - 1) : SPAN_NONE);

            for (size_t i = 0; i < ERROR_FORM_N; i++) {
                int s = specificity(range, i);

                if (s > known_by[i]) {
                    known_by[i] = s;
                    weight[i] = w;
                }
            }
        }
    }
    for (size_t i = 1; i < ERROR_FORM_N; i++)
        if (weight[i] > weight[best])
            best = (enum error_form)i;
    return best;
}
