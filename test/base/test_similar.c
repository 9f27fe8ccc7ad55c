#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/similar.h"

static const char *const words[] = { "src", "dst", "dstdomain", "dstdom_regex", "http_access", "port", "proto", NULL };

static const struct {
    const char *why, *to, *want; /* want NULL: nothing close */
} rows[] = {
    { "the word itself", "dstdomain", "dstdomain" },
    { "a letter missing", "dstdoman", "dstdomain" },
    { "a letter too many", "dstdomaiin", "dstdomain" },
    { "another letter", "dstdomaim", "dstdomain" },
    { "neighbours swapped count once", "sr", "src" },
    { "swapped in a short word", "rsc", "src" },
    { "letter case doesn't count", "HTTP_ACCESS", "http_access" },
    { "the nearest of several", "http_acess", "http_access" },
    { "the first of equals", "xst", "dst" },
    { "something else", "workers", NULL },
    { "nothing", "", NULL },
    { "two of three letters", "sxx", NULL },
    { "too long for a typing error", "dstdomaindstdomaindstdomaindstdomaindstdomaindstdomaindstdomaindstdomain", NULL },
};

static void nearest_word_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *got = similar_word(words, span_str(rows[i].to));

        if ((got == NULL) != (rows[i].want == NULL) || (got != NULL && strcmp(got, rows[i].want) != 0))
            fail_msg("%s: '%s' gave %s", rows[i].why, rows[i].to, got ? got : "nothing");
    }
}

static void an_empty_list_has_nothing(void **state)
{
    static const char *const none[] = { NULL };

    (void)state;
    assert_null(similar_word(none, SPAN("src")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_word_is_found),
        cmocka_unit_test(an_empty_list_has_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
