#include "heads.h"
#include "cache/freshness.h"

static const struct {
    const char *why;
    struct response_times t;
    int64_t now, want;
} ages[] = {
    /*                                          request response date age           now  want */
    { "A1 time spent here counts",              { 100, 100, 100, 0 },               107, 7 },
    { "A1 origin's clock ahead: not < 0",       { 100, 100, 500, 0 },               107, 7 },
    { "A1 an old Date is an age",               { 100, 100, 40, 0 },                107, 67 },
    { "A1 an upstream cache's Age counts",      { 100, 102, 100, 30 },              102, 32 },
    { "A1 so does the wait for the answer",     { 100, 130, 130, 0 },               130, 30 },
    { "A1 the greater of the two",              { 100, 100, 40, 90 },               100, 90 },
    { "A2 slow origin clock, Age 25",           { 100, 100, 90, 25 },               100, 25 },
    { "A9 wall clock stepped back: not < 0",    { 100, 100, 100, 0 },               50, 0 },
    { "A9 stepped back while waiting",          { 100, 60, 60, 0 },                 60, 0 },
    { "A7 sums saturate",                       { 0, 100, 100, INT64_MAX },         INT64_MAX, INT64_MAX },
    { "A7 so do differences",                   { 0, INT64_MAX, INT64_MIN, 0 },     INT64_MAX, INT64_MAX },
    { "a negative age_value is none",           { 100, 100, 100, -5 },              100, 0 },
};

static void current_age_follows_rfc9111(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(ages); i++) {
        int64_t got = current_age(&ages[i].t, ages[i].now);

        if (got != ages[i].want)
            fail_msg("%s: %lld", ages[i].why, (long long)got);
    }
}

static const struct {
    const char *why, *fields;
    int64_t date, age;
} times[] = {
    { "plain", "Date: " T0_TEXT "\nAge: 30", T0, 30 },
    { "F6 no Date: time of reception", "Age: 1", T0 + 9, 1 },
    { "F6 bad Date: the same", "Date: foo", T0 + 9, 0 },
    { "D1 RFC 850 form", "Date: Sunday, 06-Nov-94 08:49:37 GMT", T0, 0 },
    { "A5 the first member", "Age: 7200, 0", T0 + 9, 7200 },
    { "A5 the first member", "Age: 0, 7200", T0 + 9, 0 },
    { "A5 the first line", "Age: 0\nAge: 7200", T0 + 9, 0 },
    { "A5 the first line", "Age: 7200\nAge: 0", T0 + 9, 7200 },
    { "A5 empty members are none", "Age: ,, 12", T0 + 9, 12 },
    { "A6 letters", "Age: abc", T0 + 9, 0 },
    { "A6 sign", "Age: -7200", T0 + 9, 0 },
    { "A6 fraction", "Age: 7200.0", T0 + 9, 0 },
    { "A6 parameter", "Age: 7200;foo=111", T0 + 9, 0 },
    { "A6 bad first member hides the second", "Age: abc, 7200", T0 + 9, 0 },
};

static void response_times_are_read(void **state)
{
    static struct test_head head;

    (void)state;
    for (size_t i = 0; i < ROWS(times); i++) {
        struct response_times t = response_times_of(response_head(&head, 200, times[i].fields), T0 + 8, T0 + 9);

        if (t.date_value != times[i].date || t.age_value != times[i].age || t.request_time != T0 + 8 ||
            t.response_time != T0 + 9)
            fail_msg("%s (%s): date %lld age %lld", times[i].why, times[i].fields, (long long)t.date_value,
                     (long long)t.age_value);
    }
}

static void huge_ages_are_stale(void **state)
{
    static const char *const values[] = { "2147483647", "2147483648", "2147483649", "999999999999999999999999999999" };
    static struct test_head head;

    (void)state;
    for (size_t i = 0; i < ROWS(values); i++) { /* A7 */
        char fields[80];
        struct response_times t;

        snprintf(fields, sizeof fields, "Age: %s", values[i]);
        t = response_times_of(response_head(&head, 200, fields), T0, T0);
        assert_true(current_age(&t, T0) >= INT64_C(2147483647));
    }
}

/* Responses arrive at T0. */
#define DATE "Date: " T0_TEXT "\n"
#define IN_100 "Expires: Sun, 06 Nov 1994 08:51:17 GMT"
#define LONG_AGO "Expires: Sat, 05 Nov 1994 08:49:37 GMT"
#define LM_DAY_AGO "Last-Modified: Sat, 05 Nov 1994 08:49:37 GMT"
#define LM_MONTHS_AGO "Last-Modified: Wed, 06 Jul 1994 08:49:37 GMT"
#define LM_TOMORROW "Last-Modified: Mon, 07 Nov 1994 08:49:37 GMT"
#define DAY INT64_C(86400)

static const struct refresh_rule vary_hour = { .min = 3600, .max = 3 * DAY, .max_stale = -1,
                                               .vary_ignore_expire = true };
static const struct refresh_rule built_in = { .max = 3 * DAY, .percent = 20, .max_stale = -1 };
static const struct refresh_rule min_hour = { .min = 3600, .max = 3 * DAY, .percent = 20, .max_stale = -1 };
static const struct refresh_rule min_above_max = { .min = 3600, .max = 60, .percent = 20, .max_stale = -1 };
static const struct refresh_rule forced = { .min = 3600, .max = 3 * DAY, .percent = 20, .max_stale = -1,
                                            .override_expire = true };
static const struct refresh_rule forced_lm = { .min = DAY, .max = 3 * DAY, .percent = 20, .max_stale = -1,
                                               .override_lastmod = true };
static const struct refresh_rule half = { .max = 30 * DAY, .percent = 50, .max_stale = -1 };
static const struct refresh_rule huge = { .max = INT64_MAX, .percent = INT32_MAX, .max_stale = -1 };

static const struct {
    const char *why;
    int status;
    const char *fields;
    const struct refresh_rule *rule;
    int64_t want;
    enum lifetime_source source;
} lifetimes[] = {
    { "F1 max-age", 200, "Cache-Control: max-age=60", &built_in, 60, LIFETIME_EXPLICIT },
    { "F2 max-age beats Expires", 200, DATE "Cache-Control: max-age=60\n" LONG_AGO, &built_in, 60, LIFETIME_EXPLICIT },
    { "F2 max-age=0 too", 200, DATE "Cache-Control: max-age=0\n" IN_100, &built_in, 0, LIFETIME_EXPLICIT },
    { "F2 and a bad Expires", 200, "Cache-Control: max-age=60\nExpires: 0", &built_in, 60, LIFETIME_EXPLICIT },
    { "F3 s-maxage beats max-age", 200, "Cache-Control: max-age=3600, s-maxage=1", &built_in, 1, LIFETIME_EXPLICIT },
    { "F3 in either order", 200, "Cache-Control: s-maxage=3600\nCache-Control: max-age=0\n" LONG_AGO, &built_in, 3600,
      LIFETIME_EXPLICIT },
    { "F5 Expires - Date", 200, DATE IN_100, &built_in, 100, LIFETIME_EXPLICIT },
    { "F5 not minus our clock", 200, "Date: Sun, 06 Nov 1994 08:47:57 GMT\n" IN_100, &built_in, 200,
      LIFETIME_EXPLICIT },
    { "F5 Date behind Expires", 200, "Date: Sun, 06 Nov 1994 08:59:37 GMT\n" IN_100, &built_in, 0, LIFETIME_EXPLICIT },
    { "F4 Expires = Date is no time", 200, DATE "Expires: " T0_TEXT, &built_in, 0, LIFETIME_EXPLICIT },
    { "F6 bad Date: reception", 200, "Date: foo\n" IN_100, &built_in, 100, LIFETIME_EXPLICIT },
    { "F7 must-revalidate doesn't shorten", 200, "Cache-Control: max-age=60, must-revalidate", &built_in, 60,
      LIFETIME_EXPLICIT },
    { "F8 immutable adds nothing", 200, "Cache-Control: immutable", &built_in, 0, LIFETIME_NONE },
    { "D4 Expires 0", 200, DATE "Expires: 0\n" LM_DAY_AGO, &built_in, 0, LIFETIME_EXPLICIT },
    { "D4 Expires empty", 200, DATE "Expires:\n" LM_DAY_AGO, &built_in, 0, LIFETIME_EXPLICIT },
    { "D3 wrong zone", 200, DATE "Expires: Sun, 06 Nov 1994 08:51:17 UTC", &built_in, 0, LIFETIME_EXPLICIT },
    { "D5 two Expires lines", 200, DATE IN_100 "\n" IN_100, &built_in, 0, LIFETIME_EXPLICIT },
    { "D5 a list of them", 200, DATE IN_100 ", Sun, 06 Nov 1994 08:51:17 GMT", &built_in, 0, LIFETIME_EXPLICIT },
    { "D6 the year 9999", 200, DATE "Expires: Fri, 31 Dec 9999 23:59:59 GMT", &built_in,
      INT64_C(253402300799) - T0, LIFETIME_EXPLICIT },
    { "P4 a sign", 200, "Cache-Control: max-age=-3600\n" DATE LM_DAY_AGO, &built_in, 0, LIFETIME_EXPLICIT },
    { "P4 single quotes", 200, "Cache-Control: max-age='3600'", &built_in, 0, LIFETIME_EXPLICIT },
    { "P6 overflow is long, not negative", 200, "Cache-Control: max-age=99999999999999999999999999999999999999",
      &built_in, INT64_C(2147483648), LIFETIME_EXPLICIT },
    { "P7 twice, different", 200, "Cache-Control: max-age=1800, max-age=1", &built_in, 0, LIFETIME_EXPLICIT },
    { "P7 on two lines", 200, "Cache-Control: max-age=1\nCache-Control: max-age=1800", &built_in, 0,
      LIFETIME_EXPLICIT },
    { "P7 twice, equal", 200, "Cache-Control: max-age=1800, max-age=1800", &built_in, 1800, LIFETIME_EXPLICIT },

    { "H3 a fifth of a day", 200, DATE LM_DAY_AGO, &built_in, DAY / 5, LIFETIME_HEURISTIC },
    { "H3 no rule: the built-in one", 200, DATE LM_DAY_AGO, NULL, DAY / 5, LIFETIME_HEURISTIC },
    { "H3 at most three days", 200, DATE LM_MONTHS_AGO, &built_in, 3 * DAY, LIFETIME_HEURISTIC },
    { "H3 10 s ago: 2 s", 200, DATE "Last-Modified: Sun, 06 Nov 1994 08:49:27 GMT", &built_in, 2, LIFETIME_HEURISTIC },
    { "H3 30 s ago: 6 s", 200, DATE "Last-Modified: Sun, 06 Nov 1994 08:49:07 GMT", &built_in, 6, LIFETIME_HEURISTIC },
    { "H3 in the future: 0", 200, DATE LM_TOMORROW, &built_in, 0, LIFETIME_NONE },
    { "D8 LM is no date", 200, DATE "Last-Modified: yesterday", &built_in, 0, LIFETIME_NONE },
    { "H1 nothing at all", 200, DATE, &built_in, 0, LIFETIME_NONE },
    { "H6 response Pragma means nothing", 200, DATE LM_DAY_AGO "\nPragma: no-cache", &built_in, DAY / 5,
      LIFETIME_HEURISTIC },
    { "H1 public opens every status", 599, DATE LM_DAY_AGO "\nCache-Control: public", &built_in, DAY / 5,
      LIFETIME_HEURISTIC },
    { "percent of another rule", 200, DATE LM_DAY_AGO, &half, DAY / 2, LIFETIME_HEURISTIC },
    { "percents beyond a hundred", 200, DATE LM_MONTHS_AGO, &huge, 123 * DAY * INT32_MAX / 100, LIFETIME_HEURISTIC },

    { "vary_ignore_expire", 200, DATE "Vary: Accept\nExpires: " T0_TEXT, &vary_hour, 3600, LIFETIME_RULE },
    { "vary_ignore_expire off", 200, DATE "Vary: Accept\nExpires: " T0_TEXT, &min_hour, 0, LIFETIME_EXPLICIT },
    { "vary_ignore_expire: no Vary", 200, DATE "Expires: " T0_TEXT, &vary_hour, 0, LIFETIME_EXPLICIT },
    { "vary_ignore_expire: no Date", 200, "Vary: Accept\nExpires: " T0_TEXT, &vary_hour, 0, LIFETIME_EXPLICIT },
    { "vary_ignore_expire: later", 200, DATE "Vary: Accept\n" IN_100, &vary_hour, 100, LIFETIME_EXPLICIT },
    { "vary_ignore_expire: in the past", 200, DATE "Vary: Accept\n" LONG_AGO, &vary_hour, 0, LIFETIME_EXPLICIT },
    { "vary_ignore_expire: Cache-Control", 200, DATE "Vary: Accept\nCache-Control: max-age=0\nExpires: " T0_TEXT,
      &vary_hour, 0, LIFETIME_EXPLICIT },

    { "F9 min: without LM", 200, DATE, &min_hour, 3600, LIFETIME_RULE },
    { "F9 min: LM in the future", 200, DATE LM_TOMORROW, &min_hour, 3600, LIFETIME_RULE },
    { "F9 min: not beside a usable LM", 200, DATE "Last-Modified: Sun, 06 Nov 1994 08:49:27 GMT", &min_hour, 2,
      LIFETIME_HEURISTIC },
    { "F9 min: not beside explicit", 200, "Cache-Control: max-age=60", &min_hour, 60, LIFETIME_EXPLICIT },
    { "F9 min: not for any status", 302, DATE, &min_hour, 0, LIFETIME_NONE },
    { "F9 min: max is above it", 200, DATE, &min_above_max, 60, LIFETIME_RULE },
    { "F9 override-expire", 200, "Cache-Control: max-age=60", &forced, 3600, LIFETIME_RULE },
    { "F9 override-expire only lengthens", 200, "Cache-Control: max-age=7200", &forced, 7200, LIFETIME_EXPLICIT },
    { "F9 override-expire: Expires", 200, DATE LONG_AGO, &forced, 3600, LIFETIME_RULE },
    { "F9 but must-revalidate", 200, "Cache-Control: max-age=60, must-revalidate", &forced, 60, LIFETIME_EXPLICIT },
    { "F9 override-lastmod", 200, DATE LM_DAY_AGO, &forced_lm, DAY, LIFETIME_RULE },
    { "F9 override-lastmod leaves Expires", 200, DATE IN_100, &forced_lm, 100, LIFETIME_EXPLICIT },
};

static int64_t lifetime_of(int status, const char *fields, const struct refresh_rule *rule,
                           enum lifetime_source *source)
{
    static struct test_head head;
    const struct head *h = response_head(&head, status, fields);
    struct cache_control cc = cache_control_parse(h, false);
    struct response_times t = response_times_of(h, T0, T0);

    return freshness_lifetime(h, &cc, &t, rule, source);
}

static void lifetimes_follow_the_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(lifetimes); i++) {
        enum lifetime_source source;
        int64_t got = lifetime_of(lifetimes[i].status, lifetimes[i].fields, lifetimes[i].rule, &source);

        if (got != lifetimes[i].want || source != lifetimes[i].source)
            fail_msg("%s: %lld from %d", lifetimes[i].why, (long long)got, (int)source);
    }
}

static void heuristics_are_for_some_statuses(void **state)
{
    static const struct {
        int status;
        bool allowed;
    } rows[] = {
        /* H1 */
        { 200, true }, { 203, true }, { 204, true }, { 206, true }, { 300, true }, { 301, true }, { 308, true },
        { 404, true }, { 405, true }, { 410, true }, { 414, true }, { 501, true },
        /* H2 */
        { 201, false }, { 202, false }, { 302, false }, { 303, false }, { 307, false }, { 400, false }, { 403, false },
        { 500, false }, { 502, false }, { 503, false }, { 504, false }, { 599, false },
    };

    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        enum lifetime_source source;
        int64_t got = lifetime_of(rows[i].status, DATE LM_DAY_AGO, &built_in, &source);

        if ((got > 0) != rows[i].allowed || status_is_heuristically_cacheable(rows[i].status) != rows[i].allowed)
            fail_msg("%d", rows[i].status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(current_age_follows_rfc9111),
        cmocka_unit_test(response_times_are_read),
        cmocka_unit_test(huge_ages_are_stale),
        cmocka_unit_test(lifetimes_follow_the_rules),
        cmocka_unit_test(heuristics_are_for_some_statuses),
    };

    return cmocka_run_group_tests_name("cache/freshness", tests, NULL, NULL);
}
