#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "conf/value.h"

#define KB INT64_C(1024)
#define S INT64_C(1000000)

static const struct {
    const char *number, *unit;
    int64_t bare;
    enum value_result result;
    int64_t want;
} sizes[] = {
    { "64", "KB", 1, VALUE_OK, 64 * KB },
    { "64KB", "", 1, VALUE_OK, 64 * KB },
    { "64mb", "", 1, VALUE_OK, 64 * KB * KB },
    { "1", "GB", 1, VALUE_OK, KB * KB * KB },
    { "1.5", "GB", 1, VALUE_OK, 3 * KB * KB * KB / 2 },
    { "7", "bytes", 1024, VALUE_OK, 7 },
    { "64", "", 1, VALUE_NO_UNIT, 64 },
    { "64", "", 1024, VALUE_NO_UNIT, 64 * KB },
    { "0", "", 1, VALUE_OK, 0 },
    { "-1", "", 1024, VALUE_OK, -1 },
    { "-1", "KB", 1, VALUE_OK, -1 },
    { "", "", 1, VALUE_NO_NUMBER, 0 },
    { "KB", "", 1, VALUE_NO_NUMBER, 0 },
    { "-", "", 1, VALUE_NO_NUMBER, 0 },
    { ".", "", 1, VALUE_NO_NUMBER, 0 },
    { "1.2.3", "MB", 1, VALUE_NO_NUMBER, 0 },
    { "1-2", "MB", 1, VALUE_BAD_UNIT, 0 },
    { "0x10", "", 1, VALUE_BAD_UNIT, 0 },
    { "1e3", "", 1, VALUE_BAD_UNIT, 0 },
    { "64", "KiB", 1, VALUE_BAD_UNIT, 0 },
    { "64KB", "MB", 1, VALUE_BAD_UNIT, 0 },
    { "9223372036854775808", "", 1, VALUE_TOO_LARGE, 0 },
    { "9007199254740992", "KB", 1, VALUE_TOO_LARGE, 0 },
};

static void sizes_have_units(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t got = 0;
        enum value_result r = value_size(span_str(sizes[i].number), span_str(sizes[i].unit), sizes[i].bare, &got);

        if (r != sizes[i].result || (r <= VALUE_NO_UNIT && got != sizes[i].want))
            fail_msg("%s %s: %d, %" PRId64, sizes[i].number, sizes[i].unit, r, got);
    }
}

static const struct {
    const char *number, *unit;
    int64_t bare;
    enum value_result result;
    int64_t want;
} durations[] = {
    { "1", "second", S, VALUE_OK, S },
    { "30", "seconds", S, VALUE_OK, 30 * S },
    { "30s", "", S, VALUE_OK, 30 * S },
    { "2", "minutes", S, VALUE_OK, 120 * S },
    { "1", "Hour", S, VALUE_OK, 3600 * S },
    { "1", "day", S, VALUE_OK, 86400 * S },
    { "2", "weeks", S, VALUE_OK, 14 * 86400 * S },
    { "1", "month", S, VALUE_OK, 30 * 86400 * S },
    { "1", "year", S, VALUE_OK, 365 * 86400 * S },
    { "1.5", "minutes", S, VALUE_OK, 90 * S },
    { "250", "ms", S, VALUE_OK, S / 4 },
    { "250", "", 1000, VALUE_OK, S / 4 },
    { "5", "", S, VALUE_OK, 5 * S },
    { "-1", "seconds", S, VALUE_NO_NUMBER, 0 },
    { "5", "secnds", S, VALUE_BAD_UNIT, 0 },
    { "soon", "", S, VALUE_NO_NUMBER, 0 },
    { "999999999999", "years", S, VALUE_TOO_LARGE, 0 },
};

static void durations_have_units(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        int64_t got = 0;
        enum value_result r =
            value_duration(span_str(durations[i].number), span_str(durations[i].unit), durations[i].bare, &got);

        if (r != durations[i].result || (r == VALUE_OK && got != durations[i].want))
            fail_msg("%s %s: %d, %" PRId64, durations[i].number, durations[i].unit, r, got);
    }
}

static const struct {
    const char *text;
    int64_t low, high;
    enum value_result result;
    int64_t want;
} counts[] = {
    { "0", 0, 10, VALUE_OK, 0 },
    { "10", 0, 10, VALUE_OK, 10 },
    { "11", 0, 10, VALUE_TOO_LARGE, 0 },
    { "-1", -1, 10, VALUE_OK, -1 },
    { "-2", -1, 10, VALUE_TOO_LARGE, 0 },
    { "007", 0, 10, VALUE_OK, 7 },
    { "", 0, 10, VALUE_NO_NUMBER, 0 },
    { "1.0", 0, 10, VALUE_NO_NUMBER, 0 },
    { "1x", 0, 10, VALUE_NO_NUMBER, 0 },
    { "--1", -10, 10, VALUE_NO_NUMBER, 0 },
    { "99999999999999999999", 0, INT64_MAX, VALUE_TOO_LARGE, 0 },
};

static void counts_have_bounds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int64_t got = 0;
        enum value_result r = value_count(span_str(counts[i].text), counts[i].low, counts[i].high, &got);

        if (r != counts[i].result || (r == VALUE_OK && got != counts[i].want))
            fail_msg("%s: %d, %" PRId64, counts[i].text, r, got);
    }
}

static void percentages_may_say_so(void **state)
{
    int64_t n;

    (void)state;
    assert_int_equal(value_percent(SPAN("20%"), 100, &n), VALUE_OK);
    assert_int_equal(n, 20);
    assert_int_equal(value_percent(SPAN("20"), 100, &n), VALUE_OK);
    assert_int_equal(value_percent(SPAN("101%"), 100, &n), VALUE_TOO_LARGE);
    assert_int_equal(value_percent(SPAN("%"), 100, &n), VALUE_NO_NUMBER);
    assert_int_equal(value_percent(SPAN("-1"), 100, &n), VALUE_TOO_LARGE);
    assert_int_equal(value_percent(SPAN(""), 100, &n), VALUE_NO_NUMBER);
}

static void switches_have_four_words(void **state)
{
    static const struct {
        const char *text;
        bool ok, on;
    } rows[] = {
        { "on", true, true },       { "off", true, false }, { "enable", true, true }, { "disable", true, false },
        { "ON", true, true },       { "yes", false, false }, { "1", false, false },   { "", false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool on;
        bool ok = value_switch(span_str(rows[i].text), &on) == VALUE_OK;

        if (ok != rows[i].ok || (ok && on != rows[i].on))
            fail_msg("'%s'", rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_units),       cmocka_unit_test(durations_have_units),
        cmocka_unit_test(counts_have_bounds),     cmocka_unit_test(percentages_may_say_so),
        cmocka_unit_test(switches_have_four_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
