#include <pthread.h>
#include "access/regex_posix.h"
#include "access/regex_set.h"
#include "base/clock.h"
#include "lines.h"

static const struct {
    const char *why, *pattern, *text;
    bool ignore_case, want;
} rows[] = {
    { "unanchored", "bar", "foobarbaz", false, true },
    { "case counts", "BAR", "foobarbaz", false, false },
    { "or not", "BAR", "foobarbaz", true, true },
    { "anchors", "^foo$", "foo", false, true },
    { "anchored at the start", "^foo", "a foo", false, false },
    { "$ is the very end", "foo$", "foo\n", false, false },
    { ". takes any byte", "a.b", "a\nb", false, true },
    { "bytes above 0x7f are no UTF-8", "^.$", "\xff", false, true },
    { "alternatives", "^(http|https)://", "https://x/", false, true },
    { "counts", "a{2,3}b", "aaab", false, true },
    { "counts from nothing", "^xa{,2}y$", "xy", false, true },
    { "counts from nothing, too many", "^xa{,2}y$", "xaaay", false, false },
    { "a class", "^[[:alpha:]]+$", "abc", false, true },
    { "a class, negated", "^[^[:alpha:]]+$", "abc", false, false },
    { "] in front is a member", "^[]a]+$", "]a", false, true },
    { "dot escaped in brackets", "^a[\\.]b$", "a.b", false, true },
    { "] escaped in brackets", "^[a\\]]+$", "a]", false, true },
    { "GNU word start", "\\<bar", "foo bar", false, true },
    { "GNU word start, inside a word", "\\<bar", "foobar", false, false },
    { "GNU word end", "foo\\>", "foo bar", false, true },
    { "GNU word end, inside a word", "foo\\>", "foobar", false, false },
    { "< in brackets is no word start", "[\\<]x", "<x", false, true },
    { "nor behind a ] in front", "^[]\\<]+$", "]<", false, true },
    { "a group by number", "(a)\\1", "aa", false, true },
    { "the empty pattern matches", "", "anything", false, true },
    { "a hash is no comment", "#x", "a#x", false, true },
};

static void patterns_mean_what_posix_means(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct regex_set *s = regex_set_new();
        char error[128];

        if (!regex_set_add(s, span_str(rows[i].pattern), rows[i].ignore_case, error))
            fail_msg("%s: %s", rows[i].why, error);
        for (int combined = 0; combined < 2; combined++) {
            if (regex_set_matches(s, span_str(rows[i].text)) != rows[i].want)
                fail_msg("%s", rows[i].why);
            regex_set_combine(s);
        }
        regex_set_free(&s);
    }
}

static void bad_patterns_say_why(void **state)
{
    static const char *const bad[] = { "(", "a)", "[a", "[^\\]", "*.example.org", "a{3,2}", "\\", "(?<n",
                                       "[[:nope:]]" };

    (void)state;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        struct regex_set *s = regex_set_new();
        char error[128] = "";

        if (regex_set_add(s, span_str(bad[i]), false, error) || error[0] == '\0')
            fail_msg("'%s' was taken, or no reason given", bad[i]);
        assert_int_equal(regex_set_count(s), 0);
        assert_false(regex_set_matches(s, span_str(bad[i])));
        regex_set_free(&s);
    }
}

static void add(struct regex_set *s, const char *pattern, bool ignore_case)
{
    char error[128];

    if (!regex_set_add(s, span_str(pattern), ignore_case, error))
        fail_msg("%s: %s", pattern, error);
}

/* Combined or not, at once or a pattern at a time. */
static void combining_changes_nothing(void **state)
{
    static const struct {
        const char *pattern;
        bool ignore_case;
    } patterns[] = {
        { "^one|two$", false },     { "THREE", true },     { "FOUR", false },    { "(f)(i)\\1", false },
        { "(?i:six)seven", false }, { "a(?=b)", false },   { "[x(?]y", false },  { "end$|^start", true },
        { "q(*COMMIT)z", false },  { "qy", false },
    };
    static const struct {
        const char *text;
        int want;
    } texts[] = {
        { "one hundred", 0 }, { "twenty two", 0 }, { "two hundred", -1 }, { "a three", 1 }, { "a four", -1 },
        { "a FOUR", 2 },      { "fif", 3 },        { "SIXseven", 4 },     { "SIXSEVEN", -1 }, { "ab", 5 },
        { "?y", 6 },          { "START", 7 },      { "the END", 7 },      { "THREE FOUR", 1 }, { "", -1 },
        { "qy", 9 },
    };

    (void)state;
    for (int way = 0; way < 3; way++) {
        struct regex_set *s = regex_set_new();

        for (size_t i = 0; i < LENGTH(patterns); i++) {
            add(s, patterns[i].pattern, patterns[i].ignore_case);
            if (way == 1)
                regex_set_combine(s);
        }
        if (way == 2)
            regex_set_combine(s);
        for (size_t i = 0; i < LENGTH(texts); i++) {
            if (regex_set_first(s, span_str(texts[i].text)) != texts[i].want)
                fail_msg("first of '%s', way %d", texts[i].text, way);
            if (regex_set_matches(s, span_str(texts[i].text)) != (texts[i].want >= 0))
                fail_msg("'%s', way %d", texts[i].text, way);
        }
        regex_set_free(&s);
    }
}

/* More than a group holds, and groups PCRE2 finds too large as one (64 KB compiled). */
static void many_patterns_are_split(void **state)
{
    struct regex_set *s = regex_set_new();
    char text[4096];

    (void)state;
    for (unsigned i = 0; i < 300; i++) {
        size_t n = i % 3 ? 0 : 2000;

        memset(text, 'x', n);
        snprintf(text + n, sizeof text - n, "pattern%u[0-9]z", i);
        add(s, text, i >= 200);
    }
    regex_set_combine(s);
    for (unsigned i = 0; i < 300; i++) {
        size_t n = i % 3 ? 0 : 2000;

        memset(text, 'x', n);
        snprintf(text + n, sizeof text - n, "%s%u7z", i >= 200 ? "PATTERN" : "pattern", i);
        if (!regex_set_matches(s, span_str(text)))
            fail_msg("pattern %u is lost", i);
    }
    assert_false(regex_set_matches(s, SPAN("PATTERN17z")));
    regex_set_free(&s);
}

/* A client chooses the text: 2^n steps must end in neither yes nor no, and soon. */
static void endless_backtracking_is_given_up(void **state)
{
    struct regex_set *s = regex_set_new();

    (void)state;
    add(s, "^(a+)+$", false);
    assert_int_equal(regex_set_try(s, SPAN("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")), REGEX_GIVEN_UP);
    assert_false(regex_set_matches(s, SPAN("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")));
    assert_int_equal(regex_set_try(s, SPAN("aaaa")), REGEX_YES);
    assert_int_equal(regex_set_try(s, SPAN("b")), REGEX_NO);
    add(s, "!$", false); /* another pattern may still be sure */
    assert_int_equal(regex_set_try(s, SPAN("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")), REGEX_YES);
    regex_set_free(&s);
}

static void *match_often(void *p)
{
    const struct regex_set *s = p;

    for (int i = 0; i < 2000; i++)
        if (!regex_set_matches(s, SPAN("some two text")) || regex_set_matches(s, SPAN("some text")))
            return p;
    return NULL;
}

static void threads_match_at_once(void **state)
{
    struct regex_set *s = regex_set_new();
    pthread_t threads[4];

    (void)state;
    add(s, "on(e|f)", false);
    add(s, "tw(o|p)", false);
    regex_set_combine(s);
    for (size_t i = 0; i < LENGTH(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, match_often, s), 0);
    for (size_t i = 0; i < LENGTH(threads); i++) {
        void *failed;

        assert_int_equal(pthread_join(threads[i], &failed), 0);
        assert_null(failed);
    }
    regex_set_free(&s);
}

/* Printed, not judged: one by one against combined, for the choice of GROUP_MAX. */
static void time_combined_and_not(void **state)
{
    enum { PATTERNS = 100, ROUNDS = 2000 };
    static const char url[] = "http://www.example.org/some/where/else/index.html?with=a&query=string&of=usual&length=1";
    int64_t took[2];

    (void)state;
    for (int combined = 0; combined < 2; combined++) {
        struct regex_set *s = regex_set_new();
        char pattern[64];
        int64_t start;

        for (unsigned i = 0; i < PATTERNS; i++) {
            snprintf(pattern, sizeof pattern, i % 2 ? "(^|[/.])ad%x[.-]" : "word%xx?\\.(com|net)", i * 2654435761u);
            add(s, pattern, true);
        }
        if (combined)
            regex_set_combine(s);
        start = clock_mono_us();
        for (int i = 0; i < ROUNDS; i++)
            assert_false(regex_set_matches(s, SPAN(url)));
        took[combined] = clock_mono_us() - start;
        regex_set_free(&s);
    }
    print_message("%d patterns on a URL: one by one %.1f us, combined %.1f us\n", PATTERNS, (double)took[0] / ROUNDS,
                  (double)took[1] / ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_mean_what_posix_means),   cmocka_unit_test(bad_patterns_say_why),
        cmocka_unit_test(combining_changes_nothing),        cmocka_unit_test(many_patterns_are_split),
        cmocka_unit_test(endless_backtracking_is_given_up), cmocka_unit_test(threads_match_at_once),
        cmocka_unit_test(time_combined_and_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
