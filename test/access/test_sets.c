/* The small sets: numbers, words, times. */
#include "access/number_set.h"
#include "access/time_set.h"
#include "access/word_set.h"
#include "lines.h"

static const struct {
    const char *why, *texts, *print; /* print NULL: the last text is refused */
} numbers[] = {
    { "one", "80", "80 " },
    { "several", "443 80", "80 443 " },
    { "a range", "1025-65535", "1025-65535 " },
    { "touching", "80 81 82-90", "80-90 " },
    { "both ends", "0 65535", "0 65535 " },
    { "a range of one", "21-21", "21 " },
    { "everything", "0-65535", "0-65535 " },
    { "beyond 16 bits", "65536", NULL },
    { "a range beyond", "80-65536", NULL },
    { "backwards", "90-80", NULL },
    { "no number", "http", NULL },
    { "sign", "+80", NULL },
    { "half a range", "80-", NULL },
    { "other half", "-80", NULL },
    { "blank inside", "8o", NULL },
    { "very long", "00000000000080", NULL },
};

static void number_texts_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(numbers); i++) {
        struct number_set *s = number_set_new();
        struct span words[LINE_WORDS];
        size_t n = line_words(numbers[i].texts, words);
        struct strbuf out = { 0 };
        bool good = true;

        for (size_t w = 0; w < n; w++)
            good = number_set_add_text(s, words[w]);
        number_set_print(s, &out);
        if (good != (numbers[i].print != NULL) ||
            !span_eq(sb_view(&out), span_str(numbers[i].print ? numbers[i].print : "")))
            fail_msg("%s: printed '%.*s'", numbers[i].why, SPAN_ARG(sb_view(&out)));
        sb_free(&out);
        free(s);
    }
}

static void numbers_at_the_edges(void **state)
{
    struct number_set *s = number_set_new();

    (void)state;
    assert_true(number_set_add_text(s, SPAN("64-127")));
    assert_false(number_set_contains(s, 63));
    assert_true(number_set_contains(s, 64));
    assert_true(number_set_contains(s, 127));
    assert_false(number_set_contains(s, 128));
    free(s);
}

static void words_are_compared_exactly(void **state)
{
    struct word_set s = { 0 };
    struct strbuf out = { 0 };

    (void)state;
    word_set_add(&s, SPAN("PROPFIND"));
    word_set_add(&s, SPAN("x"));
    word_set_add(&s, SPAN("PROPFIND"));
    assert_true(word_set_contains(&s, SPAN("PROPFIND")));
    assert_false(word_set_contains(&s, SPAN("propfind")));
    assert_false(word_set_contains(&s, SPAN("PROP")));
    assert_false(word_set_contains(&s, SPAN("")));
    word_set_print(&s, &out);
    assert_string_equal(out.p, "PROPFIND x ");
    sb_free(&out);
    word_set_clear(&s);
}

static const struct {
    const char *why, *words, *print; /* print NULL: refused */
    size_t bad_at;
} times[] = {
    { "days and hours", "MTWHF 08:00-18:00", "MTWHF 08:00-18:00 ", 0 },
    { "hours alone: every day", "08:00-18:00", "SMTWHFA 08:00-18:00 ", 0 },
    { "days alone: all day", "AS", "SA 00:00-24:00 ", 0 },
    { "D is Monday to Friday", "D 9:30-10:00", "MTWHF 09:30-10:00 ", 0 },
    { "days in several words", "M T 08:00-09:00", "MT 08:00-09:00 ", 0 },
    { "hours twice, the same days", "M 08:00-12:00 13:00-17:00", "M 08:00-12:00 M 13:00-17:00 ", 0 },
    { "other days behind", "M 08:00-12:00 A", "M 08:00-12:00 A 00:00-24:00 ", 0 },
    { "other days with hours behind", "M 08:00-12:00 A 10:00-11:00", "M 08:00-12:00 A 10:00-11:00 ", 0 },
    { "over midnight", "22:00-06:00", NULL, 0 },
    { "no such day", "MX", NULL, 0 },
    { "lower case", "mtw", NULL, 0 },
    { "no such hour", "M 08:00-25:00", NULL, 1 },
    { "beyond a day", "M 08:00-24:01", NULL, 1 },
    { "no such minute", "08:60-09:00", NULL, 0 },
    { "one end", "08:00", NULL, 0 },
    { "one digit of minutes", "08:0-09:00", NULL, 0 },
    { "something behind", "08:00-09:00x", NULL, 0 },
};

static void time_texts_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(times); i++) {
        struct time_set s = { 0 };
        struct span words[LINE_WORDS];
        size_t n = line_words(times[i].words, words), at;
        struct strbuf out = { 0 };
        const char *why = NULL;
        bool good = time_set_add(&s, words, n, &at, &why);

        if (good != (times[i].print != NULL))
            fail_msg("%s: %s", times[i].why, good ? "taken" : why);
        if (good) {
            time_set_print(&s, &out);
            assert_string_equal(out.p, times[i].print);
        } else {
            assert_int_equal(at, times[i].bad_at);
            assert_non_null(why);
        }
        sb_free(&out);
        time_set_clear(&s);
    }
}

static void periods_contain_both_ends(void **state)
{
    struct span words[] = { SPAN("MH"), SPAN("08:00-18:00"), SPAN("A") };
    struct time_set s = { 0 };
    const char *why;
    size_t at;

    (void)state;
    assert_true(time_set_add(&s, words, 3, &at, &why));
    assert_true(time_set_contains(&s, 1, 8 * 60));
    assert_true(time_set_contains(&s, 1, 18 * 60));
    assert_false(time_set_contains(&s, 1, 8 * 60 - 1));
    assert_false(time_set_contains(&s, 1, 18 * 60 + 1));
    assert_true(time_set_contains(&s, 4, 12 * 60));
    assert_false(time_set_contains(&s, 2, 12 * 60));
    assert_true(time_set_contains(&s, 6, 23 * 60 + 59));
    time_set_clear(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_texts_are_read), cmocka_unit_test(numbers_at_the_edges),
        cmocka_unit_test(words_are_compared_exactly), cmocka_unit_test(time_texts_are_read),
        cmocka_unit_test(periods_contain_both_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
