/* Digest: RFC 7616's own example, hostile parameters, and nonces. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "access/digest.h"
#include "access/nonces.h"
#include "base/hash.h"

#define RFC_NONCE "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
#define RFC_CNONCE "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", "
#define RFC_START "username=\"Mufasa\", realm=\"http-auth@example.org\", uri=\"/dir/index.html\", "
#define RFC_END "nc=00000001, " RFC_CNONCE "qop=auth, opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
#define MD5_RESPONSE "response=\"8ca523f5e9506fed4657c9700eebdbec\", "
#define SHA_RESPONSE "response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1\", "

/* RFC 7616 section 3.9.1. */
static void the_rfc_s_example_is_right(void **state)
{
    static const char *const good[] = {
        RFC_START "algorithm=MD5, " RFC_NONCE MD5_RESPONSE RFC_END,
        RFC_START RFC_NONCE MD5_RESPONSE RFC_END, /* MD5 is what no algorithm means */
        RFC_START "algorithm=SHA-256, " RFC_NONCE SHA_RESPONSE RFC_END,
        RFC_START "ALGORITHM=\"sha-256\"," RFC_NONCE SHA_RESPONSE RFC_END,
    };

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct digest_credentials *c = malloc(sizeof *c);
        char ha1[DIGEST_HEX_MAX + 1], other[DIGEST_HEX_MAX + 1];
        const char *why = NULL;

        if (!digest_credentials_parse(span_str(good[i]), c, &why))
            fail_msg("%s: %s", good[i], why);
        assert_true(span_eq(c->user, SPAN("Mufasa")) && span_eq(c->uri, SPAN("/dir/index.html")) && c->nc == 1);
        assert_true(digest_ha1(c->algorithm, c->user, c->realm, SPAN("Circle of Life"), ha1));
        assert_true(digest_ha1(c->algorithm, c->user, c->realm, SPAN("Circle of life"), other));
        assert_true(digest_matches(c, span_str(ha1), SPAN("GET")));
        assert_false(digest_matches(c, span_str(ha1), SPAN("POST")));
        assert_false(digest_matches(c, span_str(other), SPAN("GET")));
        assert_false(digest_matches(c, SPAN("abc"), SPAN("GET")));
        c->nc_text = SPAN("00000002");
        assert_false(digest_matches(c, span_str(ha1), SPAN("GET")));
        free(c);
    }
}

/* -sess hashes nonce and cnonce into HA1 (section 3.4.2). Computed by Python's hashlib. */
static void sessions_are_computed(void **state)
{
    struct digest_credentials *c = malloc(sizeof *c);
    char ha1[DIGEST_HEX_MAX + 1];
    const char *why;

    (void)state;
    assert_true(
        digest_credentials_parse(SPAN("username=\"a\", realm=\"r\", nonce=\"n\", uri=\"/\", cnonce=\"c\", nc=00000001, "
                                      "qop=auth, algorithm=MD5-sess, response=\"ed58bc96239f1bb4a434529ff9f61daa\""),
                                 c, &why));
    assert_true(c->is_session);
    assert_true(digest_ha1(DIGEST_MD5, SPAN("a"), SPAN("r"), SPAN("p"), ha1));
    assert_true(digest_matches(c, span_str(ha1), SPAN("GET")));
    c->is_session = false;
    assert_false(digest_matches(c, span_str(ha1), SPAN("GET")));
    free(c);
}

#define OTHERS "realm=r, nonce=n, uri=/, cnonce=c, qop=auth, response=0123456789abcdef0123456789abcdef"

static const struct {
    const char *why, *text, *user; /* user NULL: refused */
} rows[] = {
    { "quoted, with an escape", "username=\"a\\\"b\\\\c\", nc=00000001," OTHERS, "a\"b\\c" },
    { "blanks and empty elements", " ,, username=a ,\tnc=0000000a,, " OTHERS " , ", "a" },
    { "others are of no matter", "username=a, x=y, userhash=false, nc=00000001, " OTHERS, "a" },
    { "no user", "nc=00000001, " OTHERS, NULL },
    { "an empty user", "username=\"\", nc=00000001, " OTHERS, NULL },
    { "no count", "username=a, " OTHERS, NULL },
    { "a count of 0", "username=a, nc=00000000, " OTHERS, NULL },
    { "a short count", "username=a, nc=1, " OTHERS, NULL },
    { "a count that is none", "username=a, nc=0000000g, " OTHERS, NULL },
    { "said twice", "username=a, username=b, nc=00000001, " OTHERS, NULL },
    { "never closed", "nc=00000001, " OTHERS ", username=\"a", NULL },
    { "ends in a backslash", "nc=00000001, " OTHERS ", username=\"a\\", NULL },
    { "no value", "username=, nc=00000001, " OTHERS, NULL },
    { "no =", "username, nc=00000001, " OTHERS, NULL },
    { "no comma", "username=\"a\"nc=00000001, " OTHERS, NULL },
    { "a quote in a word", "username=a\"b, nc=00000001, " OTHERS, NULL },
    { "nothing", "", NULL },
    { "another algorithm", "username=a, algorithm=MD6, nc=00000001, " OTHERS, NULL },
    { "a response of another length", "username=a, algorithm=SHA-256, nc=00000001, " OTHERS, NULL },
    { "auth-int",
      "username=a, realm=r, nonce=n, uri=/, cnonce=c, nc=00000001, qop=auth-int, "
      "response=0123456789abcdef0123456789abcdef",
      NULL },
    { "RFC 2069: no qop", "username=a, realm=r, nonce=n, uri=/, response=0123456789abcdef0123456789abcdef", NULL },
};

static void parameters_are_judged(void **state)
{
    struct digest_credentials *c = malloc(sizeof *c);

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *why = NULL;
        bool good = digest_credentials_parse(span_str(rows[i].text), c, &why);

        if (good != (rows[i].user != NULL) || (!good && why == NULL))
            fail_msg("%s: %d %s", rows[i].why, good, why ? why : "");
        if (good && !span_eq(c->user, span_str(rows[i].user)))
            fail_msg("%s: '%.*s'", rows[i].why, SPAN_ARG(c->user));
    }
    free(c);
}

static void values_are_bounded(void **state)
{
    struct digest_credentials *c = malloc(sizeof *c);
    char *text = malloc(DIGEST_VALUE_MAX + 1000);
    const char *why;
    int n;

    (void)state;
    n = snprintf(text, 1000, "username=%0256d, nc=00000001, " OTHERS, 1);
    assert_false(digest_credentials_parse(span_of(text, (size_t)n), c, &why));
    n = snprintf(text, 1000, "username=%0255d, nc=00000001, " OTHERS, 1);
    assert_true(digest_credentials_parse(span_of(text, (size_t)n), c, &why));
    memset(text + n, ',', DIGEST_VALUE_MAX);
    assert_true(digest_credentials_parse(span_of(text, DIGEST_VALUE_MAX), c, &why));
    assert_false(digest_credentials_parse(span_of(text, DIGEST_VALUE_MAX + 1), c, &why));
    free(text);
    free(c);
}

#define SECOND INT64_C(1000000)

static enum nonce_verdict use(struct nonces *t, const char *nonce, uint32_t count, const struct nonce_rules *rules,
                              int64_t now)
{
    return nonce_use(t, span_str(nonce), count, rules, now);
}

static void each_count_is_good_once(void **state)
{
    const struct nonce_rules rules = {
        .max_duration = 100 * SECOND, .max_count = 1000, .check_count = true, .most = 10
    };
    static const struct {
        uint32_t count;
        enum nonce_verdict want;
    } steps[] = {
        { 1, NONCE_GOOD },           { 1, NONCE_STALE },         { 3, NONCE_GOOD },
        { 2, NONCE_GOOD },           { 2, NONCE_STALE },         { 70, NONCE_GOOD },
        { 3, NONCE_STALE },          { 6, NONCE_STALE }, /* out of the window */
        { 7, NONCE_GOOD },           { 7, NONCE_STALE },         { 0xffffffff, NONCE_GOOD },
        { 0xffffffff, NONCE_STALE }, { 0xfffffffe, NONCE_GOOD },
    };
    struct nonces *t = nonces_new();
    char nonce[NONCE_TEXT + 1];

    (void)state;
    nonce_make(t, SECOND, nonce);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        if (use(t, nonce, steps[i].count, &rules, 2 * SECOND) != steps[i].want)
            fail_msg("step %zu", i);
    nonces_free(&t);
}

static void rules_of_nonces_hold(void **state)
{
    struct nonce_rules rules = { .max_duration = 100 * SECOND, .max_count = 3, .check_count = true, .most = 10 };
    struct nonces *t = nonces_new(), *others = nonces_new();
    char nonce[NONCE_TEXT + 1], foreign[NONCE_TEXT + 1];

    (void)state;
    nonce_make(t, 0, nonce);
    assert_int_equal(nonce_check(t, span_str(nonce), &rules, 100 * SECOND), NONCE_GOOD);
    assert_int_equal(nonce_check(t, span_str(nonce), &rules, 101 * SECOND), NONCE_STALE);
    nonce_make(others, 0, foreign);
    assert_int_equal(nonce_check(t, span_str(foreign), &rules, 0), NONCE_UNKNOWN);
    assert_int_equal(use(t, foreign, 1, &rules, 0), NONCE_UNKNOWN);
    assert_int_equal(use(t, "", 1, &rules, 0), NONCE_UNKNOWN);
    nonce[3] = nonce[3] == '0' ? '1' : '0'; /* older or younger than it is */
    assert_int_equal(use(t, nonce, 1, &rules, 0), NONCE_UNKNOWN);
    assert_int_equal(nonces_count(t), 0);

    nonce_make(t, 0, nonce); /* so many uses */
    for (uint32_t i = 1; i <= 4; i++)
        assert_int_equal(use(t, nonce, i, &rules, 0), i <= 3 ? NONCE_GOOD : NONCE_STALE);
    rules.strict = true;
    nonce_make(t, 0, nonce);
    assert_int_equal(use(t, nonce, 2, &rules, 0), NONCE_STALE);
    assert_int_equal(use(t, nonce, 1, &rules, 0), NONCE_GOOD);
    assert_int_equal(use(t, nonce, 3, &rules, 0), NONCE_STALE);
    assert_int_equal(use(t, nonce, 2, &rules, 0), NONCE_GOOD);
    rules.check_count = false;
    assert_int_equal(use(t, nonce, 2, &rules, 0), NONCE_GOOD);
    nonces_sweep(t, &rules, 50 * SECOND);
    assert_int_equal(nonces_count(t), 2);
    nonces_sweep(t, &rules, 101 * SECOND);
    assert_int_equal(nonces_count(t), 0);
    nonces_free(&t);
    nonces_free(&others);
}

/* One that had to give way can't be said again: it is stale, as are those of its time that were never seen. */
static void what_gave_way_is_not_good_again(void **state)
{
    const struct nonce_rules rules = { .max_duration = 100 * SECOND, .max_count = 9, .check_count = true, .most = 2 };
    struct nonces *t = nonces_new();
    char nonces[4][NONCE_TEXT + 1];

    (void)state;
    for (int i = 0; i < 4; i++)
        nonce_make(t, i * SECOND, nonces[i]);
    for (int i = 1; i < 4; i++)
        assert_int_equal(use(t, nonces[i], 1, &rules, 5 * SECOND), NONCE_GOOD);
    assert_int_equal(nonces_count(t), 2);
    assert_int_equal(use(t, nonces[1], 1, &rules, 5 * SECOND), NONCE_STALE);
    assert_int_equal(use(t, nonces[0], 1, &rules, 5 * SECOND), NONCE_STALE);
    nonces_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rfc_s_example_is_right),      cmocka_unit_test(sessions_are_computed),
        cmocka_unit_test(parameters_are_judged),           cmocka_unit_test(values_are_bounded),
        cmocka_unit_test(each_count_is_good_once),         cmocka_unit_test(rules_of_nonces_hold),
        cmocka_unit_test(what_gave_way_is_not_good_again),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
