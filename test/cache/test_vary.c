#include "heads.h"
#include "cache/vary.h"

static const struct {
    const char *why, *fields, *want; /* want NULL: star */
} lists[] = {
    { "none", "", "" },
    { "V15 lower case", "Vary: Accept-ENCODING", "accept-encoding" },
    { "V4 order is irrelevant", "Vary: Foo, bar", "bar, foo" },
    { "V04 two lines are one list", "Vary: X-Tenant\nVary: Accept-Encoding", "accept-encoding, x-tenant" },
    { "each name once", "Vary: a, A, b, a\nVary: B", "a, b" },
    { "a prefix sorts first", "Vary: ab, a", "a, ab" },
    { "V11 *", "Vary: *", NULL },
    { "V11 *, *", "Vary: *, *", NULL },
    { "V11 two lines", "Vary: *\nVary: *", NULL },
    { "V11 behind an empty member", "Vary: , *", NULL },
    { "V11 behind an empty line", "Vary:\nVary: *", NULL },
    { "V11 before a name", "Vary: *, Foo", NULL },
    { "V11 behind a name", "Vary: Foo, *", NULL },
    { "V15 blank in a name", "Vary: foo bar", NULL },
    { "V15 quoted", "Vary: \"other\"", NULL },
    { "V13 quotes around nothing", "Vary: \"\"", NULL },
    { "V13 quoted comma", "Vary: \" , \"", NULL },
    { "V13 empty", "Vary:", "" },
    { "V13 only commas", "Vary: , ,", "" },
};

static void names_are_normalised(void **state)
{
    static struct test_head head;

    (void)state;
    for (size_t i = 0; i < ROWS(lists); i++) {
        char out[VARY_NAMES_MAX];
        bool star;
        size_t n = vary_names(response_head(&head, 200, lists[i].fields), out, sizeof out, &star);

        if (star != (lists[i].want == NULL) || !span_eq(span_of(out, n), span_str(lists[i].want)))
            fail_msg("%s: %.*s", lists[i].why, (int)n, out);
    }
}

static void lists_that_do_not_fit_are_star(void **state)
{
    static struct test_head head;
    const struct head *h = response_head(&head, 200, "Vary: abc, def");
    char fields[2048] = "Vary: x", out[VARY_NAMES_MAX];
    bool star;

    (void)state;
    assert_int_equal(vary_names(h, out, 8, &star), 8);
    assert_false(star);
    assert_int_equal(vary_names(h, out, 7, &star), 0);
    assert_true(star);
    assert_int_equal(vary_names(h, out, 0, &star), 0);
    assert_true(star);
    for (int i = 0; i < 100; i++) /* short, but too many */
        snprintf(fields + strlen(fields), sizeof fields - strlen(fields), ",n%d", i);
    assert_int_equal(vary_names(response_head(&head, 200, fields), out, sizeof out, &star), 0);
    assert_true(star);
}

static struct hash128 print_of(const char *names, const char *fields)
{
    static struct test_head head;

    return vary_fingerprint(span_str(names), request_head(&head, "GET", fields));
}

static const struct {
    const char *why, *names, *a, *b;
    bool same;
} pairs[] = {
    { "V4 equal", "foo", "Foo: 1", "foo: 1", true },
    { "V4 not equal", "foo", "Foo: 1", "Foo: 2", false },
    { "V4 absent and there", "foo", "", "Foo: 1", false },
    { "V4 absent and empty", "foo", "", "Foo:", false },
    { "V4 all absent", "foo, bar", "", "", true },
    { "V4 letter case of a value counts", "foo", "Foo: a", "Foo: A", false },
    { "V4 two fields", "bar, foo", "Foo: 1\nBar: abc", "Bar: abc\nFoo: 1", true },
    { "V4 two fields, one differs", "bar, foo", "Foo: 1\nBar: abc", "Foo: 1\nBar: abd", false },
    { "V4 two fields, values swapped", "bar, foo", "Foo: 1\nBar: 2", "Foo: 2\nBar: 1", false },
    { "V4 two fields, the other one absent", "bar, foo", "Foo: 1", "Bar: 1", false },
    { "V4 three fields", "a, b, c", "A: 1\nB: 2\nC: 3", "C: 3\nB: 2\nA: 1", true },
    { "V5 others don't count", "foo", "Foo: 1\nOther: 2", "Foo: 1\nOther: 3", true },
    { "V05 known fields too", "cookie", "Cookie: u=1", "Cookie: u=2", false },
    { "V05 equal", "cookie", "Cookie: u=1", "Cookie: u=1", true },
    { "V7 lines join", "foo", "Foo: 1\nFoo: 2", "Foo: 1, 2", true },
    { "V7 blanks around commas", "foo", "Foo: 1,2", "Foo:  1 ,\t 2 ", true },
    { "V7 known fields too", "user-agent", "User-Agent: a, b", "User-Agent: a ,b", true },
    { "V7 blanks within members count", "foo", "Foo: a b", "Foo: a  b", false },
    { "V7 and inside quotes", "foo", "Foo: \"a, b\"", "Foo: \"a,b\"", false },
    { "V7 escaped quotes don't end one", "foo", "Foo: \"\\\", b\"", "Foo: \"\\\",b\"", false },
    { "V7 order of members counts", "foo", "Foo: 1, 2", "Foo: 2, 1", false },
    { "V7 empty members count", "foo", "Foo: 1,,2", "Foo: 1,2", false },
    { "a value can't pass for two fields", "bar, foo", "Bar: 1\nFoo: 2", "Bar: 1, Foo: 2", false },

    { "V8 letter case", "accept-language", "Accept-Language: en, de", "Accept-Language: eN, De", true },
    { "V8 blanks", "accept-language", "Accept-Language: en, de", "Accept-Language:  en ,   de", true },
    { "V8 order of equal weights", "accept-language", "Accept-Language: en, de", "Accept-Language: de, en", true },
    { "V8 lines", "accept-language", "Accept-Language: en\nAccept-Language: de", "Accept-Language: de, en", true },
    { "V8 spellings of a weight", "accept-language", "Accept-Language: en;q=0.5", "Accept-Language: en ; Q=0.500",
      true },
    { "V8 spellings of 1", "accept-language", "Accept-Language: en", "Accept-Language: en;q=1.0", true },
    { "V8 weights count", "accept-language", "Accept-Language: en;q=0.5, de", "Accept-Language: en, de;q=0.5", false },
    { "V8 how much, too", "accept-language", "Accept-Language: en;q=0.5, de", "Accept-Language: en;q=0.4, de", false },
    { "V8 order of weighted ones doesn't", "accept-language", "Accept-Language: en;q=0.5, de",
      "Accept-Language: de, en;q=0.5", true },
    { "V8 another language", "accept-language", "Accept-Language: en", "Accept-Language: en-GB", false },
    { "V8 refused", "accept-language", "Accept-Language: en;q=0", "Accept-Language: en", false },
    { "V8 bad weights compare as they are", "accept-language", "Accept-Language: en;q=2, de",
      "Accept-Language: de, en;q=2", false },
    { "V8 and are not taken for good ones", "accept-language", "Accept-Language: en;q=2", "Accept-Language: en",
      false },
    { "V8 nor more than 1", "accept-language", "Accept-Language: en;q=1.5", "Accept-Language: en", false },
    { "V8 but still without letter case", "accept-language", "Accept-Language: en;q=2", "Accept-Language: EN;Q=2",
      true },

    { "V9 order", "accept-encoding", "Accept-Encoding: gzip, br", "Accept-Encoding: br,gzip", true },
    { "V9 case and alias", "accept-encoding", "Accept-Encoding: GZip", "Accept-Encoding: x-gzip", true },
    { "V9 how much doesn't count", "accept-encoding", "Accept-Encoding: gzip;q=0.5, br", "Accept-Encoding: gzip, br",
      true },
    { "V9 whether does", "accept-encoding", "Accept-Encoding: gzip;q=0, br", "Accept-Encoding: gzip, br", false },
    { "V9 refused is as good as not named", "accept-encoding", "Accept-Encoding: gzip;q=0, br", "Accept-Encoding: br",
      true },
    { "V9 but not beside *", "accept-encoding", "Accept-Encoding: gzip;q=0, *", "Accept-Encoding: *", false },
    { "V9 named beside * is in it", "accept-encoding", "Accept-Encoding: gzip, *", "Accept-Encoding: *", true },
    { "V9 identity goes without saying", "accept-encoding", "Accept-Encoding: gzip, identity", "Accept-Encoding: gzip",
      true },
    { "V9 unless refused", "accept-encoding", "Accept-Encoding: gzip, identity;q=0", "Accept-Encoding: gzip", false },
    { "V9 or refused by *", "accept-encoding", "Accept-Encoding: gzip, *;q=0", "Accept-Encoding: gzip", false },
    { "V9 * and its refusal", "accept-encoding", "Accept-Encoding: *;q=0", "Accept-Encoding: *", false },
    { "V9 which naming it undoes", "accept-encoding", "Accept-Encoding: gzip, *;q=0, identity",
      "Accept-Encoding: gzip, *;q=0", false },
    { "V9 unknown codings count", "accept-encoding", "Accept-Encoding: gzip, zz", "Accept-Encoding: gzip", false },
    { "V9 empty is not absent", "accept-encoding", "Accept-Encoding:", "", false },
    { "V9 a bad member spoils it", "accept-encoding", "Accept-Encoding: gzip;x=1, br", "Accept-Encoding: br, gzip;x=1",
      false },
};

static void requests_are_told_apart(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(pairs); i++) {
        struct hash128 a = print_of(pairs[i].names, pairs[i].a), b = print_of(pairs[i].names, pairs[i].b);

        if (hash128_eq(a, b) != pairs[i].same)
            fail_msg("%s: %s and %s", pairs[i].why, pairs[i].a, pairs[i].b);
    }
}

static void the_names_are_part_of_it(void **state)
{
    (void)state;
    assert_false(hash128_eq(print_of("a", "A: 1\nB: 1"), print_of("b", "A: 1\nB: 1"))); /* V12 */
    assert_false(hash128_eq(print_of("a", ""), print_of("b", "")));
    assert_true(hash128_eq(print_of("", "A: 1"), print_of("", "A: 2")));
}

/* Longer than any buffer, with the difference at every place. */
static void long_values_count_to_the_last_byte(void **state)
{
    char fields[3000], changed[3000];
    struct hash128 whole;

    (void)state;
    memset(fields, 'x', sizeof fields);
    memcpy(fields, "Foo: ", 5);
    fields[sizeof fields - 1] = '\0';
    whole = print_of("foo", fields);
    assert_true(hash128_eq(whole, print_of("foo", fields)));
    for (size_t i = 5; i < sizeof fields - 1; i += 7) {
        memcpy(changed, fields, sizeof fields);
        changed[i] = 'y';
        assert_false(hash128_eq(whole, print_of("foo", changed)));
    }
    for (size_t n = sizeof fields - 2; n > 2000; n -= 13) {
        memcpy(changed, fields, sizeof fields);
        changed[n] = '\0';
        assert_false(hash128_eq(whole, print_of("foo", changed)));
    }
}

/* hostile-inputs U04: no limit is reached by accident, none is overrun. */
static void many_members(void **state)
{
    char fields[8000] = "Accept-Encoding: a0", reversed[8000] = "Accept-Encoding: ";

    (void)state;
    for (int i = 1; i < 900; i++)
        snprintf(fields + strlen(fields), sizeof fields - strlen(fields), ",a%d", i);
    for (int i = 899; i >= 0; i--)
        snprintf(reversed + strlen(reversed), sizeof reversed - strlen(reversed), "%sa%d", i < 899 ? "," : "", i);
    assert_false(hash128_eq(print_of("accept-encoding", fields), print_of("accept-encoding", reversed)));
    assert_true(hash128_eq(print_of("accept-encoding", fields), print_of("accept-encoding", fields)));
    memcpy(reversed, fields, sizeof fields);
    reversed[strlen(reversed) - 1] = 'z'; /* the last of all counts too */
    assert_false(hash128_eq(print_of("accept-encoding", fields), print_of("accept-encoding", reversed)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_normalised),
        cmocka_unit_test(lists_that_do_not_fit_are_star),
        cmocka_unit_test(requests_are_told_apart),
        cmocka_unit_test(the_names_are_part_of_it),
        cmocka_unit_test(long_values_count_to_the_last_byte),
        cmocka_unit_test(many_members),
    };

    hash_init();
    return cmocka_run_group_tests_name("cache/vary", tests, NULL, NULL);
}
