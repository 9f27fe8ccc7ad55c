#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/strbuf.h"
#include "conf/page_template.h"

/* Taken apart and put together again: codes in braces. */
static const struct {
    const char *text, *want;
} cases[] = {
    { "", "" },
    { "plain", "plain" },
    { "%U", "{U}" },
    { "a%Ub%cd", "a{U}b{c}d" },
    { "%U%U", "{U}{U}" },
    { "100%", "100%" },
    { "100% sure", "100% sure" },
    { "100%% %U", "100% {U}" },
    { "%%U", "%U" },
    { "%%%U", "%{U}" },
    { "%1 %; %", "%1 %; %" },
    { "%q%y%k%", "%q%y%k%" },
};

static void codes_are_found_and_percent_signs_kept(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct page_template *t = page_template_new(span_str(cases[i].text));
        struct strbuf got = { 0 };

        for (size_t k = 0; k < t->n; k++) {
            sb_span(&got, t->pieces[k].text);
            if (t->pieces[k].code != 0)
                sb_printf(&got, "{%c}", t->pieces[k].code);
        }
        assert_int_equal(got.len, strlen(cases[i].want));
        assert_memory_equal(got.p ? got.p : "", cases[i].want, got.len);
        sb_free(&got);
        page_template_free(&t);
        assert_null(t);
    }
}

static void a_nul_is_text(void **state)
{
    struct page_template *t = page_template_new(SPAN("a%\0b"));

    (void)state;
    assert_int_equal(t->n, 1);
    assert_int_equal(t->pieces[0].text.len, 4);
    page_template_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_found_and_percent_signs_kept),
        cmocka_unit_test(a_nul_is_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
