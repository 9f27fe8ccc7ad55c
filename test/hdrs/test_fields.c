/* field_date, field_etag, field_number, field_range: one table each. */
#include <time.h>
#include "heads.h"
#include "hdrs/field_date.h"
#include "hdrs/field_etag.h"
#include "hdrs/field_number.h"
#include "hdrs/field_range.h"

#define NOW INT64_C(1700000000) /* November 2023 */
#define NEVER INT64_MIN

static const struct { const char *why, *text; int64_t want; } dates[] = {
    { "the RFC's own", "Sun, 06 Nov 1994 08:49:37 GMT", 784111777 },
    { "D1 RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", 784111777 },
    { "D1 asctime", "Sun Nov  6 08:49:37 1994", 784111777 },
    { "D1 asctime, two digits", "Wed Nov 16 08:49:37 1994", 784975777 },
    { "D1 RFC 850, ahead", "Thursday, 18-Aug-50 02:01:18 GMT", 2544400878 },
    { "D1 RFC 850, 50 years ahead", "Thursday, 18-Aug-73 02:01:18 GMT", 3270247278 },
    { "D1 RFC 850, more than that", "Thursday, 18-Aug-74 02:01:18 GMT", 146023278 },
    { "D1 asctime, 2050", "Thu Aug 18 02:01:18 2050", 2544400878 },
    { "D2 letter case", "THU, 18 AUG 2050 02:01:18 gMT", 2544400878 },
    { "D3 UTC", "Thu, 18 Aug 2050 02:01:18 UTC", NEVER },
    { "D3 AEST", "Thu, 18 Aug 2050 02:01:18 AEST", NEVER },
    { "D3 +0000", "Thu, 18 Aug 2050 02:01:18 +0000", NEVER },
    { "D3 asctime with a zone", "Sun Nov  6 08:49:37 1994 GMT", NEVER },
    { "D3 none", "Thu, 18 Aug 2050 02:01:18", NEVER },
    { "D4 two-digit year", "Thu, 18 Aug 50 02:01:18 GMT", NEVER },
    { "D4 comma missing", "Thu 18 Aug 2050 02:01:18 GMT", NEVER },
    { "D4 two blanks", "Thu,  18 Aug 2050 02:01:18 GMT", NEVER },
    { "D4 two blanks inside", "Thu, 18 Aug 2050  02:01:18 GMT", NEVER },
    { "D4 dashes with a long year", "Thu, 18-Aug-2050 02:01:18 GMT", NEVER },
    { "D4 dashes with a long year and day", "Thursday, 18-Aug-2050 02:01:18 GMT", NEVER },
    { "D4 dots", "Thu, 18 Aug 2050 02.01.18 GMT", NEVER },
    { "D4 one-digit hour", "Thu, 18 Aug 2050 2:01:18 GMT", NEVER },
    { "D4 one-digit day", "Thu, 8 Aug 2050 02:01:18 GMT", NEVER },
    { "D4 asctime, zero-padded day", "Sun Nov 06 08:49:37 1994", 784111777 },
    { "D4 zero", "0", NEVER },
    { "D4 minus one", "-1", NEVER },
    { "D4 empty", "", NEVER },
    { "D4 trailing text", "Thu, 18 Aug 2050 02:01:18 GMT;", NEVER },
    { "D5 a list", "Thu, 18 Aug 2050 02:01:18 GMT, Thu, 18 Aug 2050 02:01:18 GMT", NEVER },
    { "D6 past 2^31", "Tue, 19 Jan 2038 14:14:08 GMT", 2147523248 },
    { "D6 2286", "Thu, 21 Nov 2286 04:46:39 GMT", 10000039599 },
    { "D6 year 9999", "Fri, 31 Dec 9999 23:59:59 GMT", INT64_C(253402300799) },
    { "year 0", "Sat, 01 Jan 0000 00:00:00 GMT", INT64_C(-62167219200) },
    { "D6 leap second", "Sat, 31 Dec 2016 23:59:60 GMT", 1483228800 },
    { "D6 second 61", "Sat, 31 Dec 2016 23:59:61 GMT", NEVER },
    { "D6 minute 60", "Sat, 31 Dec 2016 23:60:00 GMT", NEVER },
    { "D6 hour 24", "Sat, 31 Dec 2016 24:00:00 GMT", NEVER },
    { "D6 day 0", "Sat, 00 Dec 2016 00:00:00 GMT", NEVER },
    { "D6 31 June", "Sat, 31 Jun 2016 00:00:00 GMT", NEVER },
    { "D6 29 February", "Mon, 29 Feb 2016 00:00:00 GMT", 1456704000 },
    { "D6 29 February of no leap year", "Mon, 29 Feb 2100 00:00:00 GMT", NEVER },
    { "D6 29 February 2000", "Tue, 29 Feb 2000 00:00:00 GMT", 951782400 },
    { "D7 another weekday", "Mon, 06 Nov 1994 08:49:37 GMT", 784111777 },
    { "no weekday", "06 Nov 1994 08:49:37 GMT", NEVER },
    { "no such weekday", "Foo, 06 Nov 1994 08:49:37 GMT", NEVER },
    { "no such month", "Sun, 06 Nob 1994 08:49:37 GMT", NEVER },
};

static void dates_are_parsed_strictly(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(dates); i++) {
        size_t len = strlen(dates[i].text);
        int64_t got = NEVER;

        date_parse(span_str(dates[i].text), NOW, &got);
        if (got != dates[i].want)
            fail_msg("%s: %lld", dates[i].why, (long long)got);
        for (size_t n = 0; n < len; n++) {
            char *cut = xmalloc(n ? n : 1);

            memcpy(cut, dates[i].text, n);
            if (dates[i].want != NEVER && date_parse(span_of(cut, n), NOW, &got))
                fail_msg("%s: %zu bytes of it", dates[i].why, n);
            free(cut);
        }
    }
}

/* Against the C library, over all years HTTP can write, and back again. */
static void dates_are_printed_as_they_parse(void **state)
{
    char text[DATE_BYTES], want[64];

    (void)state;
    for (int64_t t = INT64_C(-62167219200); t <= INT64_C(253402300799); t += 86400 * 13 + 3607) {
        time_t libc_time = (time_t)t;
        struct tm tm;
        int64_t back;

        date_print(text, t);
        gmtime_r(&libc_time, &tm);
        strftime(want, sizeof want, "%a, %d %b ", &tm);
        sprintf(want + strlen(want), "%04d %02d:%02d:%02d GMT", tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
        assert_span("date", span_of(text, DATE_BYTES), span_str(want));
        assert_true(date_parse(span_of(text, DATE_BYTES), NOW, &back));
        assert_int_equal(back, t);
    }
    date_print(text, INT64_MAX);
    assert_span("far ahead", span_of(text, DATE_BYTES), SPAN("Fri, 31 Dec 9999 23:59:59 GMT"));
    date_print(text, INT64_MIN);
    assert_span("far back", span_of(text, DATE_BYTES), SPAN("Sat, 01 Jan 0000 00:00:00 GMT"));
}

static const struct { const char *why, *a, *b; bool weak, strong; } tags[] = {
    { "equal", "\"x\"", "\"x\"", true, true },
    { "one weak", "W/\"x\"", "\"x\"", true, false },
    { "both weak", "W/\"x\"", "W/\"x\"", true, false },
    { "different", "\"x\"", "\"y\"", false, false },
    { "letter case matters", "\"x\"", "\"X\"", false, false },
    { "empty tags", "\"\"", "\"\"", true, true },
    { "W14 high bytes", "\"\x80\xff\"", "\"\x80\xff\"", true, true },
    { "W14 no quotes", "abcdef", "abcdef", true, false },
    { "W14 quotes are not added", "abcdef", "\"abcdef\"", false, false },
    { "W14 lower-case w", "w/\"x\"", "w/\"x\"", true, false },
    { "W14 and is no W", "w/\"x\"", "\"x\"", false, false },
    { "W14 backslash", "W\\\"x\"", "W\\\"x\"", true, false },
    { "W14 slash missing", "W\"x\"", "W\"x\"", true, false },
    { "W/ of something malformed", "W/x", "x", false, false },
    { "nothing equals nothing", "", "", false, false },
};

static void tags_are_compared(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tags); i++) {
        struct span a = span_str(tags[i].a), b = span_str(tags[i].b);

        if (etag_weak_match(a, b) != tags[i].weak || etag_weak_match(b, a) != tags[i].weak)
            fail_msg("%s, weakly", tags[i].why);
        if (etag_strong_match(a, b) != tags[i].strong || etag_strong_match(b, a) != tags[i].strong)
            fail_msg("%s, strongly", tags[i].why);
    }
}

static const struct { const char *why, *list, *tag; bool want; } tag_lists[] = {
    { "W9 star", "*", "\"x\"", true },
    { "W9 star, no tag", " * ", "", true },
    { "W9 first", "\"x\", \"y\", \"z\"", "\"x\"", true },
    { "W9 middle", "\"x\", \"y\",\"z\"", "\"y\"", true },
    { "W9 last, weak", "\"x\", \"y\", W/\"z\"", "\"z\"", true },
    { "none", "\"x\", \"y\"", "\"z\"", false },
    { "no tag", "\"x\", \"y\"", "", false },
    { "comma in a tag", "\"a,b\"", "\"b\"", false },
    { "comma in a tag, whole", "\"c\", \"a,b\"", "\"a,b\"", true },
    { "backslash is no escape", "\"a\\\", \"b\"", "\"b\"", true },
    { "backslash in the tag", "\"a\\\", \"b\"", "\"a\\\"", true },
    { "empty members", ",, \"x\" ,,", "\"x\"", true },
    { "star among others is nothing", "\"x\", *", "\"y\"", false },
    { "W14 malformed, whole", "a, b\"c", "a, b\"c", true },
    { "W14 malformed, a member", "\"x\", abcdef", "abcdef", true },
    { "text behind a tag makes another", "\"a\"b, \"c\"", "\"a\"", false },
    { "and the next one still counts", "\"a\"b, \"c\"", "\"c\"", true },
    { "open quote", "\"a, \"b\"", "\"b\"", false },
    { "empty", "", "\"x\"", false },
};

static void lists_of_tags_match(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tag_lists); i++)
        if (etag_list_matches(span_str(tag_lists[i].list), span_str(tag_lists[i].tag)) != tag_lists[i].want)
            fail_msg("%s", tag_lists[i].why);
}

static const struct { const char *text; bool number, delta; uint64_t n; int64_t seconds; } numbers[] = {
    { "0", true, true, 0, 0 },
    { "0042", true, true, 42, 42 },
    { "2147483647", true, true, 2147483647, 2147483647 },
    { "2147483648", true, true, 2147483648, 2147483648 },
    { "2147483649", true, true, 2147483649, 2147483648 },
    { "9223372036854775807", true, true, INT64_MAX, 2147483648 },
    { "9223372036854775808", false, true, 0, 2147483648 },
    { "18446744073709551621", false, true, 0, 2147483648 },
    { "00000000000000000000000000000000000000001", true, true, 1, 1 },
    { "99999999999999999999999999999999999999999", false, true, 0, 2147483648 },
    { "", false, false, 0, 0 }, { "+1", false, false, 0, 0 }, { "-1", false, false, 0, 0 }, { "1 ", false, false, 0,
      0 },
    { " 1", false, false, 0, 0 }, { "1.0", false, false, 0, 0 }, { "0x1", false, false, 0, 0 }, { "1,1", false,
      false, 0, 0 },
    { "\xb2", false, false, 0, 0 },
};

static void numbers_are_digits_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        uint64_t n = 0;
        int64_t seconds = 0;

        if (number_parse(span_str(numbers[i].text), &n) != numbers[i].number || n != numbers[i].n)
            fail_msg("number_parse(\"%s\")", numbers[i].text);
        if (delta_seconds_parse(span_str(numbers[i].text),
          &seconds) != numbers[i].delta || seconds != numbers[i].seconds)
            fail_msg("delta_seconds_parse(\"%s\")", numbers[i].text);
    }
}

static void numbers_are_printed(void **state)
{
    (void)state;
    for (uint64_t n = UINT64_MAX;; n /= 7) {
        char out[20], want[24];

        sprintf(want, "%llu", (unsigned long long)n);
        assert_span("number", span_of(out, number_print(out, n)), span_str(want));
        if (n == 0)
            break;
    }
}

static const struct {
    const char *why, *value;
    uint64_t length;
    enum range_result want;
    uint64_t first, last;
} ranges[] = {
    { "R1 a-b", "bytes=0-1", 11, RANGE_ONE, 0, 1 },
    { "R1 a-", "bytes=1-", 11, RANGE_ONE, 1, 10 },
    { "R1 -n", "bytes=-1", 11, RANGE_ONE, 10, 10 },
    { "R1 cut at the end", "bytes=5-99", 11, RANGE_ONE, 5, 10 },
    { "last byte", "bytes=10-10", 11, RANGE_ONE, 10, 10 },
    { "suffix longer than all", "bytes=-99", 11, RANGE_ONE, 0, 10 },
    { "unit in any case", "Bytes=0-0", 11, RANGE_ONE, 0, 0 },
    { "empty members", "bytes=,0-0 ,,", 11, RANGE_ONE, 0, 0 },
    { "R3 behind the end", "bytes=11-", 11, RANGE_UNSATISFIABLE, 0, 0 },
    { "R3 suffix of none", "bytes=-0", 11, RANGE_UNSATISFIABLE, 0, 0 },
    { "R3 nothing there", "bytes=0-", 0, RANGE_UNSATISFIABLE, 0, 0 },
    { "R3 suffix of nothing", "bytes=-5", 0, RANGE_UNSATISFIABLE, 0, 0 },
    { "R4 several", "bytes=0-0,2-2", 11, RANGE_SEVERAL, 0, 0 },
    { "one of them satisfiable", "bytes=99-,2-2", 11, RANGE_ONE, 2, 2 },
    { "none of them", "bytes=99-,88-90", 11, RANGE_UNSATISFIABLE, 0, 0 },
    { "K02 large start", "bytes=9223372036854775807-", 11, RANGE_UNSATISFIABLE, 0, 0 },
    { "K02 large suffix", "bytes=-18446744073709551616", 11, RANGE_ONE, 0, 10 },
    { "K02 large end", "bytes=1-99999999999999999999999", 11, RANGE_ONE, 1, 10 },
    { "K02 large both", "bytes=99999999999999999999999-99999999999999999999999", 11, RANGE_UNSATISFIABLE, 0, 0 },
    { "K02 letters", "bytes=a-b", 11, RANGE_IGNORE, 0, 0 },
    { "K02 empty", "bytes=", 11, RANGE_IGNORE, 0, 0 },
    { "K02 two minus", "bytes=--1", 11, RANGE_IGNORE, 0, 0 },
    { "K02 backwards", "bytes=1-0,2-1", 11, RANGE_IGNORE, 0, 0 },
    { "K02 other unit", "octets=0-1", 11, RANGE_IGNORE, 0, 0 },
    { "minus alone", "bytes=-", 11, RANGE_IGNORE, 0, 0 },
    { "number alone", "bytes=5", 11, RANGE_IGNORE, 0, 0 },
    { "blanks inside", "bytes=0 - 1", 11, RANGE_IGNORE, 0, 0 },
    { "blank before =", "bytes =0-1", 11, RANGE_IGNORE, 0, 0 },
    { "one bad among good", "bytes=0-1,x", 11, RANGE_IGNORE, 0, 0 },
    { "no =", "bytes", 11, RANGE_IGNORE, 0, 0 },
    { "nothing", "", 11, RANGE_IGNORE, 0, 0 },
};

static void ranges_are_cut_to_the_representation(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(ranges); i++) {
        struct byte_range got[16] = { { 0, 0 } };
        size_t n;
        enum range_result r = range_parse(span_str(ranges[i].value), ranges[i].length, got, COUNT_OF(got), &n);

        if (r != ranges[i].want || (r == RANGE_ONE && (got[0].first != ranges[i].first || got[0].last != ranges[i].last)))
            fail_msg("%s: %d, %llu-%llu", ranges[i].why, (int)r, (unsigned long long)got[0].first,
                     (unsigned long long)got[0].last);
        assert_int_equal(r == RANGE_ONE, n == 1 && r != RANGE_IGNORE);
    }
}

static void several_ranges_come_in_order_and_within_limits(void **state)
{
    struct byte_range got[3];
    size_t n;

    (void)state;
    assert_int_equal(range_parse(SPAN("bytes=8-,0-1,4-4"), 10, got, 3, &n), RANGE_SEVERAL);
    assert_int_equal(n, 3);
    assert_true(got[0].first == 8 && got[0].last == 9 && got[1].first == 0 && got[1].last == 1 && got[2].first == 4);
    assert_int_equal(range_parse(SPAN("bytes=8-,0-1,4-4,99-"), 10, got, 3, &n), RANGE_SEVERAL);
    assert_int_equal(range_parse(SPAN("bytes=8-,0-1,4-4,5-5"), 10, got, 3, &n), RANGE_IGNORE);
    /* the whole once is no amplification, more is */
    assert_int_equal(range_parse(SPAN("bytes=0-4,5-9"), 10, got, 3, &n), RANGE_SEVERAL);
    assert_int_equal(range_parse(SPAN("bytes=0-5,5-9"), 10, got, 3, &n), RANGE_IGNORE);
    assert_int_equal(range_parse(SPAN("bytes=0-,0-"), 10, got, 3, &n), RANGE_IGNORE);
}

static void of_an_unknown_length_one_with_a_first_position(void **state)
{
    struct byte_range got[3];
    size_t n;

    (void)state;
    assert_int_equal(range_parse(SPAN("bytes=5-9"), UINT64_MAX, got, 3, &n), RANGE_ONE);
    assert_true(got[0].first == 5 && got[0].last == 9);
    assert_int_equal(range_parse(SPAN("bytes=5-"), UINT64_MAX, got, 3, &n), RANGE_ONE);
    assert_int_equal(range_parse(SPAN("bytes=-5"), UINT64_MAX, got, 3, &n), RANGE_IGNORE);
    assert_int_equal(range_parse(SPAN("bytes=1-2,4-5"), UINT64_MAX, got, 3, &n), RANGE_IGNORE);
}

/* The usual form is read by a short cut: every day of eight years, and a second of each. */
static void dates_come_back(void **state)
{
    (void)state;
    for (int64_t n = 0, t = INT64_C(1700000000); n < 8 * 366; n++, t += 86400 + 1) {
        char text[DATE_BYTES];
        int64_t got;

        date_print(text, t);
        assert_true(date_parse(span_of(text, DATE_BYTES), 0, &got));
        assert_int_equal(got, t);
        for (size_t i = 0; i < DATE_BYTES; i++) {
            char kept = text[i];

            text[i] = '/';
            assert_false(date_parse(span_of(text, DATE_BYTES), 0, &got));
            text[i] = kept;
        }
    }
}

static void only_months_are_months(void **state)
{
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

    (void)state;
    for (int m = 0; m < 12; m++)
        for (int c = 0; c < 3 * 256; c++) {
            char text[] = "Sun, 06 Nov 1994 08:49:37 GMT";
            bool is_month = false;
            int64_t got;

            memcpy(text + 8, months + 3 * m, 3);
            text[8 + c / 256] = (char)c;
            for (int k = 0; k < 12; k++)
                is_month |= span_eq_nocase(span_of(text + 8, 3), span_of(months + 3 * k, 3));
            assert_int_equal(date_parse(span_of(text, DATE_BYTES), 0, &got), is_month);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dates_are_parsed_strictly),
        cmocka_unit_test(dates_are_printed_as_they_parse),
        cmocka_unit_test(dates_come_back),
        cmocka_unit_test(only_months_are_months),
        cmocka_unit_test(tags_are_compared),
        cmocka_unit_test(lists_of_tags_match),
        cmocka_unit_test(numbers_are_digits_only),
        cmocka_unit_test(numbers_are_printed),
        cmocka_unit_test(ranges_are_cut_to_the_representation),
        cmocka_unit_test(several_ranges_come_in_order_and_within_limits),
        cmocka_unit_test(of_an_unknown_length_one_with_a_first_position),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
