#include "heads.h"
#include "hdrs/field_cache_control.h"

#define P CC_PRESENT
#define BAD_FRESHNESS (CC_PRESENT | CC_BAD_FRESHNESS)
/* Whichever seconds come out of it, the flag decides. */
#define ANY INT64_C(-2)

static const struct {
    const char *why, *fields;
    uint32_t flags;
    int64_t max_age, s_maxage;
} responses[] = {
    { "absent", "", 0, -1, -1 },
    { "empty", "Cache-Control:\r\n", P, -1, -1 },
    { "H6 Pragma means nothing here", "Pragma: no-cache\r\n", 0, -1, -1 },
    { "P1 letter case", "Cache-Control: MaX-aGe=3600\r\n", P, 3600, -1 },
    { "P1 unknown first", "Cache-Control: foobar, max-age=3600\r\n", P, 3600, -1 },
    { "P1 empty members", "Cache-Control: ,, max-age=60\t,\r\n", P, 60, -1 },
    { "P1 lines join", "Cache-Control: public\r\nX: 1\r\ncache-control: max-age=5, no-transform\r\n",
      P | CC_PUBLIC | CC_NO_TRANSFORM, 5, -1 },
    { "P2 quoted first", "Cache-Control: extension=\"max-age=3600\", max-age=1\r\n", P, 1, -1 },
    { "P2 quoted last", "Cache-Control: max-age=1, extension=\"max-age=3600, no-store\"\r\n", P, 1, -1 },
    { "P2 escaped quote", "Cache-Control: x=\"\\\", max-age=3600\", max-age=1\r\n", P, 1, -1 },
    { "P3 quoted argument", "Cache-Control: max-age=\"3600\"\r\n", P, 3600, -1 },
    { "P4 minus", "Cache-Control: max-age=-3600\r\n", BAD_FRESHNESS, ANY, -1 },
    { "P4 single quotes", "Cache-Control: max-age='3600'\r\n", BAD_FRESHNESS, ANY, -1 },
    { "P4 blank before =", "Cache-Control: max-age =3600\r\n", BAD_FRESHNESS, ANY, -1 },
    { "P4 blank after =", "Cache-Control: max-age= 3600\r\n", BAD_FRESHNESS, ANY, -1 },
    { "P4 decimals", "Cache-Control: max-age=3600.5\r\n", BAD_FRESHNESS, ANY, -1 },
    { "P4 letter in front", "Cache-Control: max-age=a3600\r\n", BAD_FRESHNESS, ANY, -1 },
    { "P4 letter behind", "Cache-Control: max-age=3600a\r\n", BAD_FRESHNESS, ANY, -1 },
    { "P4 empty", "Cache-Control: max-age=\r\n", BAD_FRESHNESS, ANY, -1 },
    { "P4 empty quotes", "Cache-Control: max-age=\"\"\r\n", BAD_FRESHNESS, ANY, -1 },
    { "P4 missing", "Cache-Control: max-age\r\n", BAD_FRESHNESS, ANY, -1 },
    { "P4 two strings", "Cache-Control: max-age=\"1\"\"2\"\r\n", BAD_FRESHNESS, ANY, -1 },
    { "P4 s-maxage too", "Cache-Control: max-age=5, s-maxage=x\r\n", BAD_FRESHNESS, 5, ANY },
    { "P4 stale-while-revalidate too", "Cache-Control: max-age=5, stale-while-revalidate=x\r\n", BAD_FRESHNESS, 5, -1 },
    { "P5 leading zeros", "Cache-Control: max-age=003600\r\n", P, 3600, -1 },
    { "P6 2^31 - 1", "Cache-Control: max-age=2147483647\r\n", P, 2147483647, -1 },
    { "P6 2^31 + 1", "Cache-Control: max-age=2147483649\r\n", P, INT64_C(1) << 31, -1 },
    { "P6 40 digits", "Cache-Control: max-age=1234567890123456789012345678901234567890\r\n", P, INT64_C(1) << 31, -1 },
    { "P7 twice, different", "Cache-Control: max-age=1800, max-age=1\r\n", BAD_FRESHNESS, 1, -1 },
    { "P7 the other way", "Cache-Control: max-age=1, max-age=1800\r\n", BAD_FRESHNESS, 1, -1 },
    { "P7 on two lines", "Cache-Control: max-age=1\r\nCache-Control: max-age=1800\r\n", BAD_FRESHNESS, 1, -1 },
    { "P7 equal values are fine", "Cache-Control: max-age=7, max-age=07\r\n", P, 7, -1 },
    { "P8 argument of a flag", "Cache-Control: no-store=foo\r\n", P | CC_NO_STORE, -1, -1 },
    { "P8 blank behind a flag", "Cache-Control: no-store =foo\r\n", P | CC_NO_STORE, -1, -1 },
    { "P9 all are reported", "Cache-Control: public, no-store, max-age=1\r\n", P | CC_PUBLIC | CC_NO_STORE, 1, -1 },
    { "P10 open quote hides freshness", "Cache-Control: max-age=9, x=\"max-age=3600\r\n", BAD_FRESHNESS, 9, -1 },
    { "P10 and means no-store", "Cache-Control: max-age=9, x=\"a, No-Store\r\n", P | CC_NO_STORE, 9, -1 },
    { "P10 also lines behind it", "Cache-Control: x=\"a\r\nCache-Control: private, public\r\n", P | CC_PRIVATE, -1,
      -1 },
    { "P10 no new freshness behind it", "Cache-Control: x=\"a\r\nCache-Control: max-age=3600\r\n", BAD_FRESHNESS, -1,
      -1 },
    { "no-store is no prefix", "Cache-Control: no-store-x, xno-store\r\n", P, -1, -1 },
    { "S10 qualified", "Cache-Control: private=\"a, b\", max-age=1\r\n", P | CC_PRIVATE_FIELDS, 1, -1 },
    { "S12 qualified", "Cache-Control: no-cache=\"a\", max-age=1\r\n", P | CC_NO_CACHE_FIELDS, 1, -1 },
    { "qualified by a token", "Cache-Control: no-cache=a\r\n", P | CC_NO_CACHE_FIELDS, -1, -1 },
    { "qualified by nothing", "Cache-Control: private=\"\"\r\n", P | CC_PRIVATE, -1, -1 },
    { "qualified by an escape", "Cache-Control: private=\"a\\b\"\r\n", P | CC_PRIVATE, -1, -1 },
    { "both forms", "Cache-Control: private=\"a\", private\r\n", P | CC_PRIVATE | CC_PRIVATE_FIELDS, -1, -1 },
    { "two lists", "Cache-Control: private=\"a\", private=\"b\"\r\n", P | CC_PRIVATE | CC_PRIVATE_FIELDS, -1, -1 },
    { "every flag",
      "Cache-Control: no-store, no-cache, private, public, must-revalidate, proxy-revalidate, no-transform, "
      "only-if-cached, must-understand, immutable, max-stale\r\n",
      P | CC_NO_STORE | CC_NO_CACHE | CC_PRIVATE | CC_PUBLIC | CC_MUST_REVALIDATE | CC_PROXY_REVALIDATE |
          CC_NO_TRANSFORM | CC_ONLY_IF_CACHED | CC_MUST_UNDERSTAND | CC_IMMUTABLE | CC_MAX_STALE_ANY,
      -1, -1 },
};

static struct head h;

static struct cache_control of_response(const char *fields)
{
    static char text[512];

    sprintf(text, "HTTP/1.1 200 OK\r\n%s\r\n", fields);
    head_of_response(&h, text);
    return cache_control_parse(&h, false);
}

static struct cache_control of_request(const char *fields)
{
    static char text[512];

    sprintf(text, "GET / HTTP/1.1\r\n%s\r\n", fields);
    head_of_request(&h, text);
    return cache_control_parse(&h, true);
}

static void response_directives(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(responses); i++) {
        struct cache_control cc = of_response(responses[i].fields);

        if (cc.flags != responses[i].flags || (responses[i].max_age != ANY && cc.max_age != responses[i].max_age) ||
            (responses[i].s_maxage != ANY && cc.s_maxage != responses[i].s_maxage))
            fail_msg("%s: flags %x, max-age %lld, s-maxage %lld", responses[i].why, cc.flags, (long long)cc.max_age,
                     (long long)cc.s_maxage);
    }
}

static void names_stand_inside_the_quotes(void **state)
{
    struct cache_control cc = of_response("Cache-Control: private=\"a, b\", no-cache=\"C\"\r\n");

    (void)state;
    assert_span("private", cc.private_fields, SPAN("a, b"));
    assert_span("no-cache", cc.no_cache_fields, SPAN("C"));
}

static void seconds_of_every_kind(void **state)
{
    struct cache_control cc = of_response("Cache-Control: s-maxage=1, stale-while-revalidate=2, stale-if-error=3\r\n");

    (void)state;
    assert_int_equal(cc.s_maxage, 1);
    assert_int_equal(cc.stale_while_revalidate, 2);
    assert_int_equal(cc.stale_if_error, 3);
    cc = of_request("Cache-Control: max-age=0, min-fresh=4, max-stale=5\r\n");
    assert_int_equal(cc.max_age, 0);
    assert_int_equal(cc.min_fresh, 4);
    assert_int_equal(cc.max_stale, 5);
    assert_int_equal(cc.flags, CC_PRESENT);
    cc = of_request("Cache-Control: max-stale=x\r\n");
    assert_int_equal(cc.max_stale, -1);
    assert_false(cc.flags & CC_MAX_STALE_ANY);
}

static void pragma_counts_where_nothing_else_does(void **state)
{
    static const struct {
        const char *why, *fields;
        uint32_t flags;
    } requests[] = {
        { "Q7 Pragma", "Pragma: No-Cache\r\n", CC_NO_CACHE },
        { "Q7 among others", "Pragma: x=y, no-cache\r\n", CC_NO_CACHE },
        { "Q7 unknown pragma", "Pragma: foo\r\n", 0 },
        { "Q7 not beside Cache-Control", "Pragma: no-cache\r\nCache-Control: max-age=1\r\n", CC_PRESENT },
        { "Q1 no-cache", "Cache-Control: no-cache\r\n", CC_PRESENT | CC_NO_CACHE },
        { "Q6 only-if-cached", "Cache-Control: only-if-cached\r\n", CC_PRESENT | CC_ONLY_IF_CACHED },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(requests); i++)
        if (of_request(requests[i].fields).flags != requests[i].flags)
            fail_msg("%s", requests[i].why);
}

#define T CC_TARGETED
#define CC "Cache-Control: max-age=7\r\n"
static const struct {
    const char *why, *fields;
    uint32_t flags;
    int64_t max_age;
} targeted[] = {
    { "G1 absent", CC, P, 7 },
    { "G1 the first listed", CC "CDN-Cache-Control: max-age=2\r\nMy-Cache-Control: max-age=1\r\n", T, 1 },
    { "G1 the second listed", CC "CDN-Cache-Control: max-age=2\r\nMy-Cache-Control: &\r\n", T, 2 },
    { "G2 empty", CC "CDN-Cache-Control:\r\n", P, 7 },
    { "G2 alone", CC "CDN-Cache-Control: no-store\r\n", T | CC_NO_STORE, -1 },
    { "G3 trailing comma", CC "CDN-Cache-Control: max-age=1,\r\n", P, 7 },
    { "G3 upper case", CC "CDN-Cache-Control: Max-age=1\r\n", P, 7 },
    { "G3 no string", CC "CDN-Cache-Control: max-age=1, a=\"b\r\n", P, 7 },
    { "G3 an escape of nothing", CC "CDN-Cache-Control: max-age=1, a=\"b\\c\"\r\n", P, 7 },
    { "G3 beyond ASCII", CC "CDN-Cache-Control: max-age=1, a=\"\xe4\"\r\n", P, 7 },
    { "G3 no number", CC "CDN-Cache-Control: max-age=1, a=-\r\n", P, 7 },
    { "G3 no fraction", CC "CDN-Cache-Control: max-age=1, a=1.\r\n", P, 7 },
    { "G3 a long fraction", CC "CDN-Cache-Control: max-age=1, a=1.1234\r\n", P, 7 },
    { "G3 16 digits", CC "CDN-Cache-Control: max-age=1, a=1234567890123456\r\n", P, 7 },
    { "G3 13 digits and a fraction", CC "CDN-Cache-Control: max-age=1, a=1234567890123.1\r\n", P, 7 },
    { "G3 no boolean", CC "CDN-Cache-Control: max-age=1, a=?2\r\n", P, 7 },
    { "G3 half a boolean", CC "CDN-Cache-Control: max-age=1, a=?\r\n", P, 7 },
    { "G3 no bytes", CC "CDN-Cache-Control: max-age=1, a=:b\r\n", P, 7 },
    { "G3 no value", CC "CDN-Cache-Control: max-age=1, a=\r\n", P, 7 },
    { "G3 no parameter", CC "CDN-Cache-Control: max-age=1;\r\n", P, 7 },
    { "G3 no list", CC "CDN-Cache-Control: max-age=1, a=(b\r\n", P, 7 },
    { "G3 a list without blanks", CC "CDN-Cache-Control: max-age=1, a=(\"b\"c)\r\n", P, 7 },
    { "G4 every type",
      CC "CDN-Cache-Control: a=-12.5;p=1; q, b=\"\\\"\", c=*t/:x, d=:YQ==:, e=?0, f=( 1  a;x ), max-age=1\r\n", T, 1 },
    { "G4 a string is no number", CC "CDN-Cache-Control: max-age=\"1\"\r\n", T, -1 },
    { "G4 the last of several", CC "CDN-Cache-Control: max-age=1, private, max-age=3, private=?0\r\n", T, 3 },
    { "G4 whatever it is", CC "CDN-Cache-Control: max-age=1, max-age=a\r\n", T, -1 },
    { "G4 names", CC "CDN-Cache-Control: private=\"a\"\r\n", T | CC_PRIVATE_FIELDS, -1 },
    { "G4 no names", CC "CDN-Cache-Control: private=\"\"\r\n", T | CC_PRIVATE, -1 },
    { "G5 15 digits", CC "CDN-Cache-Control: max-age=999999999999999\r\n", T, INT64_C(999999999999999) },
};

static void targeted_fields(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(targeted); i++) {
        struct cache_control cc;

        (void)of_response(targeted[i].fields);
        cc = cache_control_of_response(&h, SPAN("My-Cache-Control CDN-Cache-Control"));
        if (cc.flags != targeted[i].flags || cc.max_age != targeted[i].max_age)
            fail_msg("%s: flags %x, max-age %lld", targeted[i].why, cc.flags, (long long)cc.max_age);
        (void)of_response(targeted[i].fields);
        assert_int_equal(cache_control_of_response(&h, SPAN_NONE).max_age, 7);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(response_directives),   cmocka_unit_test(names_stand_inside_the_quotes),
        cmocka_unit_test(seconds_of_every_kind), cmocka_unit_test(pragma_counts_where_nothing_else_does),
        cmocka_unit_test(targeted_fields),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
