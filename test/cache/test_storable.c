#include "heads.h"
#include "cache/storable.h"

#define DATE "Date: " T0_TEXT "\n"
#define AGED "Last-Modified: Sat, 05 Nov 1994 08:49:37 GMT\n"
#define FUTURE "Expires: Sun, 06 Nov 1994 18:49:37 GMT\n"
#define PAST "Expires: Sat, 05 Nov 1994 08:49:37 GMT\n"

struct row {
    const char *why;
    const char *method, *request;
    int status;
    const char *response;
    enum store_reason want;
    int64_t lifetime; /* of STORE_YES */
};

static enum store_reason ask(const struct row *row, const struct refresh_rule *rule, bool body, int64_t negative_ttl,
                             int64_t *lifetime, enum lifetime_source *source)
{
    static struct test_head request, response;
    const struct head *q = request_head(&request, row->method, row->request);
    const struct head *r = response_head(&response, row->status, row->response);
    struct cache_control q_cc = cache_control_parse(q, true), r_cc = cache_control_parse(r, false);
    struct response_times times = response_times_of(r, T0, T0);
    struct store_query query = {
        .request = q,
        .response = r,
        .request_cc = &q_cc,
        .response_cc = &r_cc,
        .times = &times,
        .rule = rule,
        .request_has_body = body || q->method == METHOD_POST,
        .negative_ttl = negative_ttl,
        .names_target = span_eq(head_value(r, TOKEN_CONTENT_LOCATION), SPAN("/here")),
        .refuse_set_cookie = span_eq(head_value(r, TOKEN_SET_COOKIE), SPAN("refuse")),
    };

    return storable(&query, lifetime, source);
}

static void check(const struct row *rows, size_t n, const struct refresh_rule *rule)
{
    for (size_t i = 0; i < n; i++) {
        enum lifetime_source source;
        int64_t lifetime;
        enum store_reason got = ask(&rows[i], rule, false, 0, &lifetime, &source);

        if (got != rows[i].want)
            fail_msg("%s (%d %s): %s", rows[i].why, rows[i].status, rows[i].response, store_reason_name(got));
        if (got == STORE_YES && lifetime != rows[i].lifetime)
            fail_msg("%s: lifetime %lld", rows[i].why, (long long)lifetime);
    }
}

#define GET "GET", ""
#define LASTS "Cache-Control: max-age=3600\n"

static const struct row rules[] = {
    { "S1 nothing to go by", GET, 200, "", STORE_NO_FRESHNESS, 0 },
    { "S1 max-age", GET, 200, LASTS, STORE_YES, 3600 },
    { "S1 s-maxage", GET, 200, "Cache-Control: s-maxage=5", STORE_YES, 5 },
    { "S1 Expires", GET, 200, DATE FUTURE, STORE_YES, 36000 },
    { "S1 a heuristic", GET, 200, DATE AGED, STORE_YES, 17280 },
    { "S17 Set-Cookie", GET, 200, LASTS "Set-Cookie: a=b", STORE_YES, 3600 },
    { "S17 refused", GET, 200, LASTS "Set-Cookie: refuse", STORE_NO_SET_COOKIE, 0 },
    { "S1 public alone is no lifetime", GET, 599, "Cache-Control: public", STORE_NO_FRESHNESS, 0 },
    { "S1 an ETag to ask with", GET, 200, "ETag: \"a\"", STORE_YES, 0 },
    { "S1 neither lifetime nor status", GET, 302, "ETag: \"a\"", STORE_NO_STATUS, 0 },
    { "H1 public gives every status a heuristic", GET, 599, DATE AGED "Cache-Control: public", STORE_YES, 17280 },
    { "S3 stale on arrival, no validator", GET, 200, DATE PAST, STORE_NO_FRESHNESS, 0 },
    { "S3 stale by Age", GET, 200, "Age: 7200\n" LASTS, STORE_NO_FRESHNESS, 0 },
    { "S3 stale on arrival, but it can be asked about", GET, 200, DATE PAST AGED, STORE_YES, 0 },
    { "D8 Last-Modified that is no date is no validator", GET, 200, DATE PAST "Last-Modified: x", STORE_NO_FRESHNESS,
      0 },
    { "T1 useful while stale", GET, 200, "Cache-Control: max-age=0, stale-while-revalidate=60", STORE_YES, 0 },
    { "T3 useful while stale", GET, 200, "Cache-Control: max-age=0, stale-if-error=60", STORE_YES, 0 },
    { "S4 1xx", GET, 103, LASTS, STORE_NO_STATUS, 0 },
    { "S5 304", GET, 304, LASTS "ETag: \"a\"", STORE_NO_STATUS, 0 },
    { "S6 206", GET, 206, LASTS "Content-Range: bytes 0-1/9", STORE_NO_PARTIAL, 0 },
    { "not an HTTP status", GET, 600, LASTS, STORE_NO_STATUS, 0 },
    { "not an HTTP status", GET, 999, LASTS, STORE_NO_STATUS, 0 },
    { "S7 no-store wins", GET, 200, "Cache-Control: max-age=10000, No-StOrE\n" FUTURE, STORE_NO_NO_STORE, 0 },
    { "P8 whatever its argument", GET, 200, "Cache-Control: no-store=foo, max-age=1", STORE_NO_NO_STORE, 0 },
    { "P9 over public", GET, 200, "Cache-Control: public, max-age=1, no-store", STORE_NO_NO_STORE, 0 },
    { "P2 not inside quotes", GET, 200, "Cache-Control: x=\"no-store\", max-age=9", STORE_YES, 9 },
    { "S8 understood", GET, 200, "Cache-Control: max-age=3600, no-store, must-understand", STORE_YES, 3600 },
    { "S8 not understood, no-store", GET, 599, "Cache-Control: max-age=3600, no-store, must-understand",
      STORE_NO_NO_STORE, 0 },
    { "S8 not understood", GET, 599, "Cache-Control: max-age=3600, must-understand", STORE_NO_UNDERSTOOD, 0 },
    { "S10 private", GET, 200, "Cache-Control: private, max-age=3600", STORE_NO_PRIVATE, 0 },
    { "S10 qualified private", GET, 200, "Cache-Control: private=\"a, b\", max-age=3600", STORE_YES, 3600 },
    { "S11 no-cache, nothing to ask with", GET, 200, "Cache-Control: no-cache, max-age=3600", STORE_NO_FRESHNESS, 0 },
    { "S11 no-cache, an ETag", GET, 200, "Cache-Control: no-cache, max-age=3600\nETag: \"a\"", STORE_YES, 3600 },
    { "S12 qualified no-cache", GET, 200, "Cache-Control: no-cache=\"a\", max-age=3600", STORE_YES, 3600 },
    { "S13 Vary: *, nothing to ask with", GET, 200, LASTS "Vary: *", STORE_NO_FRESHNESS, 0 },
    { "S13 Vary: *, an ETag", GET, 200, LASTS "Vary: *\nETag: \"a\"", STORE_YES, 3600 },
    { "S15 the request's no-store", "GET", "Cache-Control: no-store", 200, LASTS, STORE_NO_REQUEST_NO_STORE, 0 },
    { "S16 HEAD", "HEAD", "", 200, LASTS, STORE_NO_METHOD, 0 },
    { "S16 POST (V07)", "POST", "", 200, LASTS, STORE_NO_METHOD, 0 },
    { "S14 POST that returns what it names", "POST", "", 200, LASTS "Content-Location: /here", STORE_YES, 3600 },
    { "S14 a heuristic is not enough", "POST", "", 200, DATE AGED "Content-Location: /here", STORE_NO_METHOD, 0 },
    { "S14 nor an error", "POST", "", 404, LASTS "Content-Location: /here", STORE_NO_METHOD, 0 },
    { "S14 nor another method", "PUT", "", 200, LASTS "Content-Location: /here", STORE_NO_METHOD, 0 },
    { "S14 nor against no-store", "POST", "", 200, "Cache-Control: no-store, max-age=5\nContent-Location: /here",
      STORE_NO_NO_STORE, 0 },
    { "S16 unknown", "BREW", "", 200, LASTS, STORE_NO_METHOD, 0 },
    { "S17 Set-Cookie is a field", GET, 200, LASTS "Set-Cookie: a=b", STORE_YES, 3600 },
    { "S17 so is Cookie", "GET", "Cookie: a=b", 200, LASTS, STORE_YES, 3600 },
    { "Z2 Authorization", "GET", "Authorization: Basic x", 200, LASTS, STORE_NO_AUTHORIZATION, 0 },
    { "Z3 public", "GET", "Authorization: Basic x", 200, "Cache-Control: max-age=9, public", STORE_YES, 9 },
    { "Z3 must-revalidate", "GET", "Authorization: Basic x", 200, "Cache-Control: max-age=9, must-revalidate",
      STORE_YES, 9 },
    { "Z3 s-maxage", "GET", "Authorization: Basic x", 200, "Cache-Control: s-maxage=9", STORE_YES, 9 },
    { "Z3 but not proxy-revalidate", "GET", "Authorization: Basic x", 200, "Cache-Control: max-age=9, proxy-revalidate",
      STORE_NO_AUTHORIZATION, 0 },
    { "V08 contradiction", GET, 200, "Cache-Control: max-age=300, max-age=0", STORE_NO_FRESHNESS, 0 },
    { "V09 404 without a word", GET, 404, "", STORE_NO_FRESHNESS, 0 },
    { "H6 Pragma in a response", GET, 200, LASTS "Pragma: no-cache", STORE_YES, 3600 },
    { "the first reason in order", "POST", "Cache-Control: no-store", 206, "Cache-Control: no-store, private",
      STORE_NO_METHOD, 0 },
};

static void rules_hold(void **state)
{
    (void)state;
    check(rules, ROWS(rules), NULL);
}

static void every_final_status_with_explicit_freshness(void **state)
{
    static const int statuses[] = { 200, 203, 204, 299, 301, 302, 303, 307, 308,
                                    400, 404, 410, 499, 500, 502, 503, 504, 599 };

    (void)state;
    for (size_t i = 0; i < ROWS(statuses); i++) {
        struct row fresh = { "S2", GET, statuses[i], "Cache-Control: max-age=100000", STORE_YES, 100000 };
        struct row stale = { "S3", GET, statuses[i], DATE PAST, STORE_NO_FRESHNESS, 0 };

        check(&fresh, 1, NULL);
        check(&stale, 1, NULL);
    }
}

static void refresh_pattern_options(void **state)
{
    static const struct refresh_rule no_store = { .percent = 20, .max_stale = -1, .ignore_no_store = true };
    static const struct refresh_rule privates = { .percent = 20, .max_stale = -1, .ignore_private = true };
    static const struct refresh_rule stale = { .percent = 20, .max_stale = -1, .store_stale = true };
    static const struct refresh_rule minute = { .min = 60, .max = 3600, .percent = 20, .max_stale = -1 };
    static const struct row rows[] = {
        { "ignore-no-store", GET, 200, "Cache-Control: max-age=9, no-store", STORE_YES, 9 },
        { "ignore-private", GET, 200, "Cache-Control: max-age=9, private", STORE_YES, 9 },
        { "store-stale", GET, 200, "", STORE_YES, 0 },
        { "min", GET, 200, "", STORE_YES, 60 },
    };

    (void)state;
    check(&rows[0], 1, &no_store);
    check(&rows[1], 1, &privates);
    check(&rows[2], 1, &stale);
    check(&rows[3], 1, &minute);
    for (size_t i = 0; i < ROWS(rows); i++) { /* each does what it says and no more */
        int64_t lifetime;
        enum lifetime_source source;

        if (i != 0)
            assert_int_not_equal(ask(&rows[i], &no_store, false, 0, &lifetime, &source), STORE_YES);
        if (i != 1)
            assert_int_not_equal(ask(&rows[i], &privates, false, 0, &lifetime, &source), STORE_YES);
    }
}

static void negative_ttl(void **state)
{
    static const struct {
        const char *why;
        struct row row;
        int64_t lifetime; /* 0: not stored */
        enum lifetime_source source;
    } rows[] = {
        { "404", { "", GET, 404, "", STORE_YES, 0 }, 30, LIFETIME_NEGATIVE },
        { "503", { "", GET, 503, "", STORE_YES, 0 }, 30, LIFETIME_NEGATIVE },
        { "explicit goes first", { "", GET, 404, "Cache-Control: max-age=5", STORE_YES, 0 }, 5, LIFETIME_EXPLICIT },
        { "the longer of two guesses", { "", GET, 404, DATE AGED, STORE_YES, 0 }, 17280, LIFETIME_HEURISTIC },
        { "400 blames one request", { "", GET, 400, "", STORE_NO_STATUS, 0 }, 0, LIFETIME_NONE },
        { "so does 401", { "", GET, 401, "", STORE_NO_STATUS, 0 }, 0, LIFETIME_NONE },
        { "no error", { "", GET, 200, "", STORE_NO_FRESHNESS, 0 }, 0, LIFETIME_NONE },
        { "no-store", { "", GET, 404, "Cache-Control: no-store", STORE_NO_NO_STORE, 0 }, 30, LIFETIME_NEGATIVE },
    };

    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        enum lifetime_source source;
        int64_t lifetime;
        enum store_reason got = ask(&rows[i].row, NULL, false, 30, &lifetime, &source);

        if (got != rows[i].row.want || lifetime != rows[i].lifetime || source != rows[i].source)
            fail_msg("%s: %s %lld %d", rows[i].why, store_reason_name(got), (long long)lifetime, (int)source);
    }
}

static void a_get_with_a_body_bypasses(void **state)
{
    static const struct row row = { "", GET, 200, LASTS, STORE_YES, 0 };
    enum lifetime_source source;
    int64_t lifetime;

    (void)state;
    assert_int_equal(ask(&row, NULL, true, 0, &lifetime, &source), STORE_NO_REQUEST_BODY);
    assert_int_equal(ask(&row, NULL, false, 0, &lifetime, &source), STORE_YES);
}

static void reasons_have_names(void **state)
{
    (void)state;
    for (int r = 0; r < STORE_REASON_N; r++) {
        assert_non_null(store_reason_name((enum store_reason)r));
        for (int other = 0; other < r; other++)
            assert_string_not_equal(store_reason_name((enum store_reason)r),
                                    store_reason_name((enum store_reason)other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_hold),
        cmocka_unit_test(every_final_status_with_explicit_freshness),
        cmocka_unit_test(refresh_pattern_options),
        cmocka_unit_test(negative_ttl),
        cmocka_unit_test(a_get_with_a_body_bypasses),
        cmocka_unit_test(reasons_have_names),
    };

    return cmocka_run_group_tests_name("cache/storable", tests, NULL, NULL);
}
