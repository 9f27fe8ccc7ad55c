#include "heads.h"
#include <stdlib.h>
#include "base/clock.h"
#include "cache/response.h"
#include "cache/validate.h"

/* Stored at T0 on the wall and MONO on the monotonic clock, on the heap. */
#define MONO (1000 * US_PER_S)

static struct object *stored(int status, const char *fields, int64_t lifetime, const struct refresh_rule *rule)
{
    static struct test_head request, response;
    const struct head *h = response_head(&response, status, fields);
    struct cache_control cc = cache_control_parse(h, false);
    struct object_recipe recipe = {
        .url = SPAN("http://example.com/"),
        .request = request_head(&request, "GET", ""),
        .response = h,
        .response_cc = &cc,
        .times = response_times_of(h, T0, T0),
        .lifetime = lifetime,
        .mono = MONO,
        .rule = rule,
    };
    struct object *o = object_from_response(&recipe);

    assert_non_null(o);
    return o;
}

static const struct refresh_rule stale_10 = { .percent = 20, .max_stale = 10 };

/* Lifetime 60 s. */
static const struct {
    const char *why, *response, *request;
    const struct refresh_rule *rule;
    int64_t at; /* seconds after it was stored */
    enum reuse want;
    const char *word;
} reuses[] = {
    { "F4 fresh", "", "", NULL, 59, REUSE_FRESH, "fresh" },
    { "F4 equal is stale", "", "", NULL, 60, REUSE_VALIDATE, "stale" },
    { "A3 Age counts", "Age: 30", "", NULL, 29, REUSE_FRESH, "fresh" },
    { "A3 Age counts", "Age: 30", "", NULL, 30, REUSE_VALIDATE, "stale" },
    { "F7 must-revalidate", "Cache-Control: must-revalidate", "", NULL, 59, REUSE_FRESH, "fresh" },
    { "S11 no-cache", "Cache-Control: no-cache", "", NULL, 0, REUSE_VALIDATE, "response-no-cache" },
    { "S12 qualified no-cache", "Cache-Control: no-cache=\"a\"", "", NULL, 0, REUSE_FRESH, "fresh" },
    { "S13 Vary: *", "Vary: *", "", NULL, 0, REUSE_VALIDATE, "vary-star" },
    { "Q1 no-cache", "", "Cache-Control: no-cache", NULL, 0, REUSE_ASKED, "request-no-cache" },
    { "Q1 F8 immutable or not", "Cache-Control: immutable", "Cache-Control: no-cache", NULL, 0, REUSE_ASKED,
      "request-no-cache" },
    { "Q2 max-age=0 at once", "", "Cache-Control: max-age=0", NULL, 0, REUSE_ASKED, "max-age" },
    { "Q2 max-age=1, 1 s old", "", "Cache-Control: max-age=1", NULL, 1, REUSE_FRESH, "fresh" },
    { "Q2 max-age=1, 3 s old", "", "Cache-Control: max-age=1", NULL, 3, REUSE_ASKED, "max-age" },
    { "Q2 Age counts", "Age: 20", "Cache-Control: max-age=10", NULL, 0, REUSE_ASKED, "max-age" },
    { "Q3 min-fresh, enough left", "", "Cache-Control: min-fresh=50", NULL, 10, REUSE_FRESH, "fresh" },
    { "Q3 min-fresh, too little", "", "Cache-Control: min-fresh=51", NULL, 10, REUSE_ASKED, "min-fresh" },
    { "Q3 Age counts", "Age: 20", "Cache-Control: min-fresh=50", NULL, 0, REUSE_ASKED, "min-fresh" },
    { "Q4 max-stale", "", "Cache-Control: max-stale=1000", NULL, 63, REUSE_STALE_OK, "stale" },
    { "Q4 by just so much", "", "Cache-Control: max-stale=3", NULL, 63, REUSE_STALE_OK, "stale" },
    { "Q4 and no more", "", "Cache-Control: max-stale=2", NULL, 63, REUSE_VALIDATE, "stale" },
    { "Q4 any", "", "Cache-Control: max-stale", NULL, 1000000, REUSE_STALE_OK, "stale" },
    { "Q4 not against must-revalidate", "Cache-Control: must-revalidate", "Cache-Control: max-stale", NULL, 63,
      REUSE_VALIDATE, "stale" },
    { "Q4 nor proxy-revalidate", "Cache-Control: proxy-revalidate", "Cache-Control: max-stale", NULL, 63,
      REUSE_VALIDATE, "stale" },
    { "Q4 nor s-maxage", "Cache-Control: s-maxage=60", "Cache-Control: max-stale", NULL, 63, REUSE_VALIDATE, "stale" },
    { "Q4 nor no-cache", "Cache-Control: no-cache", "Cache-Control: max-stale", NULL, 63, REUSE_VALIDATE,
      "response-no-cache" },
    { "refresh_pattern's max-stale bounds it", "", "Cache-Control: max-stale", &stale_10, 71, REUSE_VALIDATE, "stale" },
    { "within it", "", "Cache-Control: max-stale", &stale_10, 70, REUSE_STALE_OK, "stale" },
    { "T1 stale-while-revalidate", "Cache-Control: stale-while-revalidate=5", "", NULL, 64, REUSE_STALE_MEANWHILE,
      "stale-while-revalidate" },
    { "T2 after its window", "Cache-Control: stale-while-revalidate=5", "", NULL, 65, REUSE_VALIDATE, "stale" },
    { "T2 nor with must-revalidate", "Cache-Control: stale-while-revalidate=5, must-revalidate", "", NULL, 64,
      REUSE_VALIDATE, "stale" },
    { "T2 nor when the client minds", "Cache-Control: stale-while-revalidate=5", "Cache-Control: max-age=60", NULL, 64,
      REUSE_ASKED, "max-age" },
    { "T2 nor when it wants it fresh", "Cache-Control: stale-while-revalidate=5", "Cache-Control: min-fresh=1", NULL,
      64, REUSE_VALIDATE, "stale" },
    { "Q5 no-store may hit", "", "Cache-Control: no-store", NULL, 0, REUSE_FRESH, "fresh" },
    { "Q7 Pragma alone", "", "Pragma: no-cache", NULL, 0, REUSE_ASKED, "request-no-cache" },
    { "Q7 Pragma beside Cache-Control", "", "Pragma: no-cache\nCache-Control: foo", NULL, 0, REUSE_FRESH, "fresh" },
    { "Q7 unknown Pragma", "", "Pragma: foo", NULL, 0, REUSE_FRESH, "fresh" },
    { "Q8 the rest is no matter", "", "Cache-Control: foo=1\nCookie: a=b\nRange: bytes=0-1", NULL, 0, REUSE_FRESH,
      "fresh" },
};

static void reuse_follows_both_sides(void **state)
{
    static struct test_head head;

    (void)state;
    for (size_t i = 0; i < ROWS(reuses); i++) {
        struct object *o = stored(200, reuses[i].response, 60, reuses[i].rule);
        struct cache_control cc = cache_control_parse(request_head(&head, "GET", reuses[i].request), true);
        const char *word = NULL;
        enum reuse got = reuse_of(o, &cc, false, MONO + reuses[i].at * US_PER_S, &word);

        object_unref(&o);
        if (got != reuses[i].want || strcmp(word, reuses[i].word) != 0)
            fail_msg("%s: %d, %s", reuses[i].why, (int)got, word);
    }
}

static void clients_can_be_ignored(void **state)
{
    static const struct {
        const char *response, *request;
        int64_t at;
        enum reuse want;
    } rows[] = {
        /* Q9 */
        { "", "Cache-Control: no-cache", 0, REUSE_FRESH },       { "", "Cache-Control: max-age=0", 0, REUSE_FRESH },
        { "", "Cache-Control: min-fresh=1000", 0, REUSE_FRESH }, { "", "Cache-Control: max-stale", 61, REUSE_VALIDATE },
        { "Cache-Control: no-cache", "", 0, REUSE_VALIDATE },
    };
    static struct test_head head;

    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct object *o = stored(200, rows[i].response, 60, NULL);
        struct cache_control cc = cache_control_parse(request_head(&head, "GET", rows[i].request), true);
        const char *word;

        assert_int_equal(reuse_of(o, &cc, true, MONO + rows[i].at * US_PER_S, &word), rows[i].want);
        object_unref(&o);
    }
}

#define LM "Last-Modified: Sat, 05 Nov 1994 08:49:37 GMT"
#define DATE "Date: " T0_TEXT

static const struct {
    const char *why, *method;
    int status;
    const char *response, *request;
    enum condition want;
} conditions[] = {
    { "no condition", "GET", 200, "ETag: \"a\"\n" LM, "", CONDITION_SEND },
    { "W9 first", "GET", 200, "ETag: \"a\"", "If-None-Match: \"a\", \"b\", \"c\"", CONDITION_NOT_MODIFIED_ETAG },
    { "W9 middle", "GET", 200, "ETag: \"b\"", "If-None-Match: \"a\", \"b\", \"c\"", CONDITION_NOT_MODIFIED_ETAG },
    { "W9 last", "GET", 200, "ETag: \"c\"", "If-None-Match: \"a\", \"b\", \"c\"", CONDITION_NOT_MODIFIED_ETAG },
    { "W9 another line", "GET", 200, "ETag: \"c\"", "If-None-Match: \"a\"\nIf-None-Match: \"c\"",
      CONDITION_NOT_MODIFIED_ETAG },
    { "W9 none of them", "GET", 200, "ETag: \"d\"", "If-None-Match: \"a\", \"b\", \"c\"", CONDITION_SEND },
    { "W9 *", "GET", 200, "", "If-None-Match: *", CONDITION_NOT_MODIFIED_ETAG },
    { "W9 weak comparison", "GET", 200, "ETag: W/\"a\"", "If-None-Match: \"a\"", CONDITION_NOT_MODIFIED_ETAG },
    { "W9 weak comparison", "GET", 200, "ETag: \"a\"", "If-None-Match: W/\"a\"", CONDITION_NOT_MODIFIED_ETAG },
    { "W9 no ETag stored", "GET", 200, LM, "If-None-Match: \"a\"", CONDITION_SEND },
    { "HEAD asks too", "HEAD", 200, "ETag: \"a\"", "If-None-Match: \"a\"", CONDITION_NOT_MODIFIED_ETAG },
    { "W10 If-None-Match hides a failed date", "GET", 200, "ETag: \"a\"\n" LM,
      "If-None-Match: \"a\"\nIf-Modified-Since: Fri, 04 Nov 1994 08:49:37 GMT", CONDITION_NOT_MODIFIED_ETAG },
    { "W10 and a good one", "GET", 200, "ETag: \"a\"\n" LM,
      "If-None-Match: \"b\"\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", CONDITION_SEND },
    { "W10 even empty", "GET", 200, "ETag: \"a\"\n" LM,
      "If-None-Match:\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", CONDITION_SEND },
    { "W11 equal", "GET", 200, LM, "If-Modified-Since: Sat, 05 Nov 1994 08:49:37 GMT", CONDITION_NOT_MODIFIED_DATE },
    { "W11 later", "GET", 200, LM, "If-Modified-Since: Sat, 05 Nov 1994 08:49:38 GMT", CONDITION_NOT_MODIFIED_DATE },
    { "W11 earlier", "GET", 200, LM, "If-Modified-Since: Sat, 05 Nov 1994 08:49:36 GMT", CONDITION_SEND },
    { "W11 RFC 850 form", "GET", 200, LM, "If-Modified-Since: Saturday, 05-Nov-94 08:49:37 GMT",
      CONDITION_NOT_MODIFIED_DATE },
    { "W11 no LM: Date", "GET", 200, DATE, "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
      CONDITION_NOT_MODIFIED_DATE },
    { "W11 no LM: before Date", "GET", 200, DATE, "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT", CONDITION_SEND },
    { "W11 no LM, no Date: reception", "GET", 200, "", "If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT",
      CONDITION_SEND },
    { "D8 bad date", "GET", 200, LM, "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 UTC", CONDITION_SEND },
    { "two dates are none", "GET", 200, LM,
      "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
      CONDITION_SEND },
    { "W14 malformed, equal", "GET", 200, "ETag: abcdef", "If-None-Match: abcdef", CONDITION_NOT_MODIFIED_ETAG },
    { "W14 quotes aren't added", "GET", 200, "ETag: \"abcdef\"", "If-None-Match: abcdef", CONDITION_SEND },
    { "W14 nor stripped", "GET", 200, "ETag: abcdef", "If-None-Match: \"abcdef\"", CONDITION_SEND },
    { "W16 If-Match is the origin's", "GET", 200, "ETag: \"a\"", "If-Match: \"b\"", CONDITION_SEND },
    { "a 304 stands for a 200", "GET", 404, "ETag: \"a\"", "If-None-Match: \"a\"", CONDITION_SEND },
    { "only GET and HEAD", "POST", 200, "ETag: \"a\"\n" LM, "If-None-Match: \"a\"", CONDITION_SEND },
};

static void client_conditions(void **state)
{
    static struct test_head head;

    (void)state;
    for (size_t i = 0; i < ROWS(conditions); i++) {
        struct object *o = stored(conditions[i].status, conditions[i].response, 60, NULL);
        enum condition got =
            client_condition(request_head(&head, conditions[i].method, conditions[i].request), o, T0 + 9);

        object_unref(&o);
        if (got != conditions[i].want)
            fail_msg("%s: %d", conditions[i].why, (int)got);
    }
}

static void heads_tell_of_what_is_stored(void **state)
{
    static const struct {
        const char *why, *stored, *said;
        enum head_verdict want;
    } rows[] = {
        { "E2 both", "ETag: \"a\"\n" LM, "ETag: \"a\"\n" LM "\nContent-Length: 0", HEAD_AGREES },
        { "E2 one of two", "ETag: \"a\"\n" LM, LM, HEAD_AGREES },
        { "E2 weak ones too", "ETag: W/\"a\"", "ETag: W/\"a\"", HEAD_AGREES },
        { "E2 weak is another", "ETag: \"a\"", "ETag: W/\"a\"", HEAD_DIFFERS },
        { "E2 ETag", "ETag: \"a\"\n" LM, "ETag: \"b\"\n" LM, HEAD_DIFFERS },
        { "E2 a new ETag", LM, "ETag: \"b\"\n" LM, HEAD_DIFFERS },
        { "E2 Last-Modified", "ETag: \"a\"\n" LM, "ETag: \"a\"\nLast-Modified: Sat, 05 Nov 1994 08:49:38 GMT",
          HEAD_DIFFERS },
        { "E2 length", "ETag: \"a\"", "ETag: \"a\"\nContent-Length: 1", HEAD_DIFFERS },
        { "E2 length alone", "", "Content-Length: 1", HEAD_DIFFERS },
        { "E2 nothing", "ETag: \"a\"\n" LM, "Content-Length: 0", HEAD_SAYS_NOTHING },
    };
    static struct test_head head;

    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct object *o = stored(200, rows[i].stored, 60, NULL);

        if (head_verdict_of(o, response_head(&head, 200, rows[i].said)) != rows[i].want)
            fail_msg("%s", rows[i].why);
        object_unref(&o);
    }
}

static void conditional_requests_are_seen(void **state)
{
    static const struct {
        const char *fields;
        bool want;
    } rows[] = {
        { "", false },
        { "Accept: x\nIf: y\nX-If-Match: z", false },
        { "if-none-match: \"a\"", true },
        { "If-Modified-Since: x", true },
        { "If-Match: *", true },
        { "If-Unmodified-Since: x", true },
        { "If-Range: x", true },
        { "Range: bytes=0-", true },
    };
    static struct test_head head;

    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++)
        if (request_is_conditional(request_head(&head, "GET", rows[i].fields)) != rows[i].want)
            fail_msg("%s", rows[i].fields);
}

static const struct {
    const char *why, *stored, *update;
    bool want;
} updates[] = {
    { "W6 same strong ETag", "ETag: \"a\"", "ETag: \"a\"", true },
    { "W6 V11 another strong ETag", "ETag: \"a\"", "ETag: \"b\"", false },
    { "W6 strong against weak", "ETag: W/\"a\"", "ETag: \"a\"", false },
    { "W6 strong against none", LM, "ETag: \"a\"\n" LM, false },
    { "W6 same strong ETag, other date", "ETag: \"a\"\n" LM, "ETag: \"a\"\nLast-Modified: " T0_TEXT, true },
    { "W6 same weak ETag", "ETag: W/\"a\"", "ETag: W/\"a\"", true },
    { "W6 another weak ETag", "ETag: W/\"a\"", "ETag: W/\"b\"", false },
    { "W6 weak for a strong one", "ETag: \"a\"", "ETag: W/\"a\"", true },
    { "W6 same Last-Modified", LM, LM, true },
    { "W6 same Last-Modified beside an ETag", "ETag: \"a\"\n" LM, LM, true },
    { "W6 the same time in another form", LM, "Last-Modified: Saturday, 05-Nov-94 08:49:37 GMT", true },
    { "W6 another Last-Modified", LM, "Last-Modified: " T0_TEXT, false },
    { "W6 Last-Modified where there was none", "ETag: \"a\"", LM, false },
    { "W6 none: it answers our own validator", "ETag: \"a\"", "Cache-Control: max-age=9", true },
    { "W6 none: it answers our own date", LM, "", true },
    { "W6 none on either side", "", "Cache-Control: max-age=9", true },
    { "D8 a bad Last-Modified is none", "", "Last-Modified: x", true },
    { "D8 on the other side", "Last-Modified: x", "", true },
    { "W14 malformed but equal", "ETag: abc", "ETag: abc", true },
    { "W14 malformed and not equal", "ETag: \"abc\"", "ETag: abc", false },
};

static void updates_need_the_same_validator(void **state)
{
    static struct test_head head;

    (void)state;
    for (size_t i = 0; i < ROWS(updates); i++) {
        struct object *o = stored(200, updates[i].stored, 60, NULL);
        bool got = may_update(o, response_head(&head, 304, updates[i].update));

        object_unref(&o);
        if (got != updates[i].want)
            fail_msg("%s", updates[i].why);
    }
}

static void validators_are_seen(void **state)
{
    static const struct {
        const char *fields;
        bool want;
    } rows[] = {
        { "", false }, { "ETag: \"a\"", true }, { "ETag:", false }, { LM, true }, { "Last-Modified: x", false },
    };
    static struct test_head head;

    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++)
        assert_int_equal(response_has_validator(response_head(&head, 200, rows[i].fields), T0), rows[i].want);
}

static void what_a_304_carries(void **state)
{
    static const enum token in[] = { TOKEN_ETAG,    TOKEN_DATE, TOKEN_CACHE_CONTROL, TOKEN_CONTENT_LOCATION,
                                     TOKEN_EXPIRES, TOKEN_VARY, TOKEN_LAST_MODIFIED, TOKEN_VIA };
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < ROWS(in); i++) /* W12 */
        assert_true(belongs_in_304(in[i]));
    for (int t = 0; t < TOKEN_N; t++)
        n += belongs_in_304((enum token)t);
    assert_int_equal(n, ROWS(in));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reuse_follows_both_sides),
        cmocka_unit_test(clients_can_be_ignored),
        cmocka_unit_test(client_conditions),
        cmocka_unit_test(heads_tell_of_what_is_stored),
        cmocka_unit_test(conditional_requests_are_seen),
        cmocka_unit_test(updates_need_the_same_validator),
        cmocka_unit_test(validators_are_seen),
        cmocka_unit_test(what_a_304_carries),
    };

    hash_init();
    return cmocka_run_group_tests_name("cache/validate", tests, NULL, NULL);
}
