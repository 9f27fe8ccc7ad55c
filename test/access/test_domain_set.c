#include "access/domain_set.h"
#include "base/clock.h"
#include "lines.h"

static const struct {
    const char *why, *names, *host;
    bool want;
} rows[] = {
    { "exact", "example.org", "example.org", true },
    { "exact covers nothing below", "example.org", "www.example.org", false },
    { "nor with a suffix as deep beside it", "example.org .other.test", "www.example.org", false },
    { "suffix", ".example.org", "www.example.org", true },
    { "suffix, deeper", ".example.org", "a.b.c.d.e.example.org", true },
    { "suffix covers the apex", ".example.org", "example.org", true },
    { "suffixes end at a dot", ".example.org", "notexample.org", false },
    { "suffix isn't a prefix", ".example.org", "example.org.evil.test", false },
    { "letter case of the list", "EXAMPLE.Org", "example.org", true },
    { "letter case of the host", ".example.org", "WWW.Example.ORG", true },
    { "trailing dot of the list", "example.org.", "example.org", true },
    { "trailing dot of the host", ".example.org", "www.example.org.", true },
    { "wide beats narrow", ".example.org example.org", "www.example.org", true },
    { "narrow, then wide", "example.org .example.org", "www.example.org", true },
    { "the other order of the fatal pair", "www.y.test .y.test", "z.y.test", true },
    { "a top-level domain", ".test", "a.b.test", true },
    { "not another one", ".test", "a.b.tes", false },
    { "a parent of the name", ".a.b.test", "b.test", false },
    { "one label", "localhost", "localhost", true },
    { "an address as text", "127.0.0.1", "127.0.0.1", true },
    { "IPv6 as text", "::1", "::1", true },
    { "no host", ".example.org", "", false },
    { "dots only", ".example.org", "....", false },
    { "an empty label in the host", ".example.org", "a..example.org", true },
    { "nothing in it", "", "example.org", false },
};

static struct domain_set *set_of(const char *names)
{
    struct span words[LINE_WORDS];
    size_t n = line_words(names, words);
    struct domain_set *s = domain_set_new();

    for (size_t i = 0; i < n; i++)
        assert_true(domain_set_add(s, words[i]));
    return s;
}

static void hosts_match_names_and_suffixes(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct domain_set *s = set_of(rows[i].names);

        if (domain_set_matches(s, span_str(rows[i].host)) != rows[i].want)
            fail_msg("%s", rows[i].why);
        domain_set_free(&s);
    }
}

static void what_is_no_name_is_refused(void **state)
{
    static const char *const bad[] = { "", ".", "..", "..example.org", "a..b", "example.org.." };
    char too_long[256];
    struct domain_set *s = domain_set_new();

    (void)state;
    for (size_t i = 0; i < LENGTH(bad); i++)
        if (domain_set_add(s, span_str(bad[i])))
            fail_msg("'%s' was taken", bad[i]);
    memset(too_long, 'a', sizeof too_long);
    assert_false(domain_set_add(s, span_of(too_long, 254)));
    assert_true(domain_set_add(s, span_of(too_long, 253)));
    assert_true(domain_set_matches(s, span_of(too_long, 253)));
    assert_false(domain_set_matches(s, span_of(too_long, 254)));
    assert_int_equal(domain_set_count(s), 1);
    domain_set_free(&s);
}

static void letters_have_a_case_and_nothing_else(void **state)
{
    char name[] = "0123456?89.test", host[] = "0123456?89.test";

    (void)state;
    for (int c = 1; c < 256; c++) {
        struct domain_set *s = domain_set_new();

        name[7] = (char)c;
        assert_true(domain_set_add(s, span_str(name)));
        for (int d = 1; d < 256; d++) {
            host[7] = (char)d;
            if (domain_set_matches(s, span_str(host)) != (ascii_lower((char)c) == ascii_lower((char)d)))
                fail_msg("%02x and %02x", c, d);
        }
        domain_set_free(&s);
    }
}

/* Longer than any name, but what it ends with counts: it mustn't be a way around a deny line. */
static void overlong_hosts_match_their_suffix(void **state)
{
    struct domain_set *s = set_of(".example.org");
    char host[1024], dots[1024];

    (void)state;
    memset(host, 'a', sizeof host);
    memcpy(host + sizeof host - 12, ".example.org", 12);
    assert_true(domain_set_matches(s, span_of(host, sizeof host)));
    memset(dots, '.', sizeof dots);
    assert_false(domain_set_matches(s, span_of(dots, sizeof dots)));
    for (size_t i = 0; i < sizeof host - 12; i++)
        host[i] = i % 2 ? '.' : 'a';
    assert_true(domain_set_matches(s, span_of(host, sizeof host)));
    domain_set_free(&s);
}

static void deepest_names_match(void **state)
{
    char name[254];
    struct domain_set *s = domain_set_new();

    (void)state;
    for (size_t i = 0; i < sizeof name; i++)
        name[i] = i % 2 ? 'a' : '.';
    assert_true(domain_set_add(s, span_of(name, 254))); /* wide, 127 labels */
    assert_true(domain_set_matches(s, span_of(name + 1, 253)));
    assert_false(domain_set_matches(s, span_of(name + 3, 251)));
    domain_set_free(&s);
}

static void covered_names_are_found(void **state)
{
    static const struct {
        const char *names, *narrow, *wide;
    } covered[] = {
        { ".x.test www.x.test", "www.x.test", "x.test" },
        { "www.y.test .y.test", "www.y.test", "y.test" },
        { ".z.test .a.b.z.test", "a.b.z.test", "z.test" },
        { ".x.test x.test", NULL, NULL },
        { "x.test www.x.test", NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(covered); i++) {
        struct domain_set *s = set_of(covered[i].names);
        struct span narrow, wide;
        bool found = domain_set_find_covered(s, &narrow, &wide);

        if (found != (covered[i].narrow != NULL))
            fail_msg("%s", covered[i].names);
        if (found) {
            assert_true(span_eq(narrow, span_str(covered[i].narrow)));
            assert_true(span_eq(wide, span_str(covered[i].wide)));
        }
        assert_false(domain_set_find_covered(s, &narrow, &wide)); /* told once */
        domain_set_free(&s);
    }
}

static void names_are_printed_in_order(void **state)
{
    struct domain_set *s = set_of("B.test .a.test b.test c.test .c.test");
    struct strbuf out = { 0 };

    (void)state;
    domain_set_print(s, &out);
    assert_string_equal(out.p, "b.test .a.test .c.test ");
    sb_free(&out);
    domain_set_free(&s);
}

/* Names of a few labels each, so that they lie below each other and come twice, against a list tried one by one. */
struct listed {
    char name[64];
    bool wide;
};

enum { LISTED = 3000, ASKED = 4000 };

static const char *random_name(char out[64], unsigned *seed)
{
    static const char *const labels[] = { "a", "b", "cc", "www", "example", "org", "x-1", "longer-label" };
    unsigned n = 1 + (unsigned)rand_r(seed) % 5;
    size_t len = 0;

    for (unsigned i = 0; i < n; i++)
        len += (size_t)snprintf(out + len, 64 - len, "%s%s%.0u", i ? "." : "", labels[(unsigned)rand_r(seed) % 8],
                                (unsigned)rand_r(seed) % 3);
    return out;
}

/* As people may write it: capitals, a dot behind it. */
static struct span spelled(char out[80], const char *before, const char *name, unsigned *seed)
{
    size_t n = (size_t)snprintf(out, 80, "%s%s%s", before, name, rand_r(seed) % 4 == 0 ? "." : "");

    for (size_t i = 0; i < n; i++)
        if (rand_r(seed) % 8 == 0 && out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 32);
    return span_of(out, n);
}

static bool naively_matches(const struct listed *list, size_t n, const char *host)
{
    size_t len = strlen(host);

    for (size_t i = 0; i < n; i++) {
        size_t name_len = strlen(list[i].name);

        if (strcmp(list[i].name, host) == 0 || (list[i].wide && len > name_len && host[len - name_len - 1] == '.' &&
                                                strcmp(host + len - name_len, list[i].name) == 0))
            return true;
    }
    return false;
}

static void random_names_match_a_naive_list(void **state)
{
    struct listed *list = xcalloc(LISTED, sizeof *list);
    unsigned seed = 815;

    (void)state;
    for (int round = 0; round < 12; round++) {
        struct domain_set *s = domain_set_new();
        size_t n = round < 9 ? (size_t)round : LISTED, hits = 0;
        char name[64], text[80];

        for (size_t i = 0; i < n; i++) {
            random_name(list[i].name, &seed);
            list[i].wide = rand_r(&seed) % 64 == 0;
            assert_true(domain_set_add(s, spelled(text, list[i].wide ? "." : "", list[i].name, &seed)));
        }
        for (size_t i = 0; i < ASKED; i++) {
            bool want = naively_matches(list, n, random_name(name, &seed));

            if (domain_set_matches(s, spelled(text, "", name, &seed)) != want)
                fail_msg("round %d: '%s' should %smatch", round, text, want ? "" : "not ");
            hits += want;
        }
        if (n == LISTED) /* both answers were to be given */
            assert_in_range(hits, ASKED / 10, ASKED - ASKED / 10);
        domain_set_free(&s);
    }
    free(list);
}

/* Every other name is wide. */
static size_t numbered(char out[64], unsigned i, bool as_host)
{
    return (size_t)snprintf(out, 64, "%shost-%x.zone%u.test", as_host ? (i % 2 ? "deep.www." : "") : (i % 2 ? "." : ""),
                            i * 2654435761u, i % 1000);
}

enum { NAMES = 1000000, LOOKUPS = 500000 };

/* Hosts from number `from` on, in leaps; returns how many match. */
static size_t time_lookups(const struct domain_set *s, unsigned from, const char *what)
{
    char(*hosts)[64] = xcalloc(LOOKUPS, sizeof *hosts);
    size_t hits = 0;
    int64_t start;

    for (unsigned i = 0; i < LOOKUPS; i++)
        numbered(hosts[i], from + i * 7919u % NAMES, true);
    start = clock_mono_us();
    for (unsigned i = 0; i < LOOKUPS; i++)
        hits += domain_set_matches(s, span_str(hosts[i]));
    print_message("%d hosts %s: %.1f ns each\n", LOOKUPS, what, (double)(clock_mono_us() - start) * 1000 / LOOKUPS);
    free(hosts);
    return hits;
}

/* Times are printed, not judged: the budget is 150 ns a look-up on an idle machine, without sanitizers. */
static void a_million_names(void **state)
{
    struct domain_set *s = domain_set_new();
    int64_t start = clock_mono_us(), built;
    struct span narrow, wide;
    char text[64];

    (void)state;
    for (unsigned i = 0; i < NAMES; i++)
        assert_true(domain_set_add(s, span_of(text, numbered(text, i, false))));
    built = clock_mono_us();
    assert_false(domain_set_find_covered(s, &narrow, &wide));
    assert_int_equal(domain_set_count(s), NAMES);
    print_message("%d names: built in %lld ms, checked in %lld ms\n", NAMES, (long long)(built - start) / 1000,
                  (long long)(clock_mono_us() - built) / 1000);
    assert_int_equal(time_lookups(s, 0, "in the set"), LOOKUPS);
    assert_int_equal(time_lookups(s, NAMES, "not in it"), 0);
    domain_set_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_match_names_and_suffixes),
        cmocka_unit_test(what_is_no_name_is_refused),
        cmocka_unit_test(letters_have_a_case_and_nothing_else),
        cmocka_unit_test(overlong_hosts_match_their_suffix),
        cmocka_unit_test(deepest_names_match),
        cmocka_unit_test(covered_names_are_found),
        cmocka_unit_test(names_are_printed_in_order),
        cmocka_unit_test(random_names_match_a_naive_list),
        cmocka_unit_test(a_million_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
