#include "base/clock.h"
#include "lines.h"

static struct acl_set *example_set(void)
{
    struct acl_set *s = acl_set_new();

    define(s, "Safe_ports port 80 21 443 70 210 1025-65535 280 488 591 777");
    define(s, "SSL_ports port 443");
    define(s, "us src 192.0.2.0/24");
    define(s, "them src 198.51.100.0/24");
    define(s, "slow urlpath_regex ^/(a+)+$");
    return s;
}

static struct access_list *list_of(const struct acl_set *s, bool default_allow, const char *lines)
{
    struct access_list *l = access_list_new(default_allow);
    char *copy = xstrdup(lines), *rest = copy, *line, where[16];
    int number = 0;

    while ((line = strsep(&rest, ";")) != NULL) {
        struct acl_problem p;

        snprintf(where, sizeof where, "f:%d", ++number);
        if (line[strspn(line, " ")] != '\0' && !list_line(l, s, line, where, &p))
            fail_msg("%s: %s", line, p.text);
    }
    free(copy);
    return l;
}

/* The facts are the example's: client 192.0.2.7 (us), port 80, GET; dst unknown unless given. */
static const struct {
    const char *why, *lines;
    bool default_allow;
    const char *dst;
    enum access_answer want;
    const char *where, *last;
} rows[] = {
    { "no lines: the default", "", false, NULL, ACCESS_DENIED, "default", NULL },
    { "no lines: the other default", "", true, NULL, ACCESS_ALLOWED, "default", NULL },
    { "first match wins", "allow us; deny us", false, NULL, ACCESS_ALLOWED, "f:1", "us" },
    { "first match wins, deny", "deny us; allow us", false, NULL, ACCESS_DENIED, "f:1", "us" },
    { "the second line", "deny them; allow us", false, NULL, ACCESS_ALLOWED, "f:2", "us" },
    { "no match: opposite of a last allow", "deny them; allow them", true, NULL, ACCESS_DENIED, "default", NULL },
    { "no match: opposite of a last deny", "allow them; deny them", false, NULL, ACCESS_ALLOWED, "default", NULL },
    { "all words must match", "allow us them; deny all", false, NULL, ACCESS_DENIED, "f:2", "all" },
    { "negation", "allow us !them; deny all", false, NULL, ACCESS_ALLOWED, "f:1", "them" },
    { "negation of a match", "deny !us; allow all", false, NULL, ACCESS_ALLOWED, "f:2", "all" },
    { "all in front folds", "deny all them; allow all us", false, NULL, ACCESS_ALLOWED, "f:2", "us" },
    { "all behind is still the last", "allow us all", false, NULL, ACCESS_ALLOWED, "f:1", "all" },
    { "!all never matches", "allow us !all; deny all", false, NULL, ACCESS_DENIED, "f:2", "all" },
    { "a last !all counts as the last line", "allow them; deny !all", false, NULL, ACCESS_ALLOWED, "default", NULL },
    { "a name needs its addresses", "deny to_localhost; allow us", false, NULL, ACCESS_NEED_DST, "f:1", NULL },
    { "negated too", "allow !to_localhost", false, NULL, ACCESS_NEED_DST, "f:1", NULL },
    { "not when a word before says no", "deny them to_localhost; allow us", false, NULL, ACCESS_ALLOWED, "f:2", "us" },
    { "not when a line before decides", "allow us; deny to_localhost", false, NULL, ACCESS_ALLOWED, "f:1", "us" },
    { "known addresses", "deny to_localhost; allow us", false, "192.0.2.80", ACCESS_ALLOWED, "f:2", "us" },
    { "one of several is ours", "deny to_localhost; allow us", false, "192.0.2.80 127.0.0.1", ACCESS_DENIED, "f:1",
      "to_localhost" },
    { "no addresses", "deny to_localhost; allow us", false, "", ACCESS_ALLOWED, "f:2", "us" },
};

static void first_match_decides(void **state)
{
    struct acl_set *s = example_set();

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct access_list *l = list_of(s, rows[i].default_allow, rows[i].lines);
        struct access_facts f = example_facts();
        struct addr dst[LINE_WORDS];
        struct access_verdict v;

        if (rows[i].dst != NULL) {
            struct span words[LINE_WORDS];

            f.dst_known = true;
            f.dst = dst;
            f.n_dst = line_words(rows[i].dst, words);
            for (size_t d = 0; d < f.n_dst; d++)
                assert_true(addr_parse(words[d], &dst[d]));
        }
        v = access_check(l, &f);
        if (v.answer != rows[i].want || strcmp(v.where, rows[i].where) != 0 ||
            (v.last == NULL) != (rows[i].last == NULL) ||
            (v.last != NULL && !span_eq(acl_name(v.last), span_str(rows[i].last))))
            fail_msg("%s: %d at %s", rows[i].why, (int)v.answer, v.where);
        access_list_free(&l);
    }
    acl_set_free(&s);
}

/* A pattern that gave up opens nothing: whatever the line says, negated or not. */
static void undecided_is_never_allowed(void **state)
{
    static const struct {
        const char *lines;
        enum access_answer want;
    } undecided[] = {
        { "allow slow; deny all", ACCESS_DENIED },       { "deny slow; allow all", ACCESS_DENIED },
        { "allow !slow; deny all", ACCESS_DENIED },      { "deny !slow; allow all", ACCESS_DENIED },
        { "deny slow them; allow all", ACCESS_ALLOWED }, { "allow us; deny slow", ACCESS_ALLOWED },
        { "deny any; allow all", ACCESS_DENIED },        { "allow both; deny all", ACCESS_DENIED },
    };
    struct acl_set *s = example_set();
    struct access_facts f = example_facts();

    (void)state;
    define(s, "any any-of them slow");
    define(s, "both all-of us slow");
    f.path = SPAN("/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
    for (size_t i = 0; i < LENGTH(undecided); i++) {
        struct access_list *l = list_of(s, false, undecided[i].lines);

        if (access_check(l, &f).answer != undecided[i].want)
            fail_msg("%s", undecided[i].lines);
        access_list_free(&l);
    }
    acl_set_free(&s);
}

static const struct {
    const char *why, *line;
    size_t word;
    const char *says, *suggestion;
} bad_lines[] = {
    { "no action", "", 0, "allow", NULL },
    { "another action", "permit us", 0, "allow", NULL },
    { "letter case", "Allow us", 0, "allow", "allow" },
    { "letter case", "DENY us", 0, "allow", "deny" },
    { "no acl: not to be skipped", "deny", 0, "write 'all'", NULL },
    { "undefined", "deny us Safe_port", 2, "not defined", "Safe_ports" },
    { "undefined, negated", "deny !SSL_port", 1, "not defined", "SSL_ports" },
    { "undefined, like nothing", "deny frobnicated", 1, "not defined", NULL },
    { "! alone", "deny ! us", 1, "missing", NULL },
    { "!! is no name", "deny !!us", 1, "not defined", "us" },
};

static void bad_lines_are_refused(void **state)
{
    struct acl_set *s = example_set();

    (void)state;
    for (size_t i = 0; i < LENGTH(bad_lines); i++) {
        struct access_list *l = access_list_new(false);
        struct acl_problem p;

        if (list_line(l, s, bad_lines[i].line, "f:1", &p) || p.is_warning || p.word != bad_lines[i].word ||
            strstr(p.text, bad_lines[i].says) == NULL || !span_eq(p.suggestion, span_str(bad_lines[i].suggestion)))
            fail_msg("%s: word %zu: '%s', did you mean '%.*s'", bad_lines[i].why, p.word, p.text,
                     SPAN_ARG(p.suggestion));
        assert_true(access_list_is_empty(l));
        access_list_free(&l);
    }
    acl_set_free(&s);
}

/* It is what asking the rules would say. */
static void expect_constant(const struct access_list *l, const char *where, const char *last)
{
    struct access_verdict v, asked = access_check(l, NULL);

    assert_true(access_is_constant(l, &v));
    assert_int_equal(v.answer, asked.answer);
    assert_string_equal(v.where, where);
    assert_string_equal(asked.where, where);
    assert_ptr_equal(v.last, asked.last);
    assert_true(v.last == NULL ? last == NULL : span_eq(acl_name(v.last), span_str(last)));
}

static void constant_lists_fold(void **state)
{
    static const struct {
        const char *lines;
        bool default_allow, want;
        const char *where, *last; /* NULL: not constant */
    } constant[] = {
        { "", true, true, "default", NULL },
        { "", false, false, "default", NULL },
        { "allow all", false, true, "f:1", "all" },
        { "deny all", true, false, "f:1", "all" },
        { "allow all us", true, false, NULL, NULL },
        { "deny !all; allow all", false, true, "f:2", "all" },
        { "deny us; allow all", false, false, NULL, NULL },
        { "deny !all", false, true, "default", NULL },
        { "deny !all; allow !all", false, false, "default", NULL },
        { "allow !all", true, false, "default", NULL },
        { "allow all all", false, true, "f:1", "all" },
        { "allow everyone", false, true, "f:1", "everyone" },
        { "deny all; deny us", false, false, "f:1", "all" },
    };
    struct acl_set *s = example_set();
    struct access_verdict v;

    (void)state;
    define(s, "everyone src ipv4");
    define(s, "everyone src ipv6");
    assert_true(access_always_allows(NULL));
    assert_int_equal(access_check(NULL, NULL).answer, ACCESS_ALLOWED);
    expect_constant(NULL, "default", NULL);
    for (size_t i = 0; i < LENGTH(constant); i++) {
        struct access_list *l = list_of(s, constant[i].default_allow, constant[i].lines);

        if (access_always_allows(l) != constant[i].want)
            fail_msg("%s", constant[i].lines);
        if (constant[i].want) /* doesn't look at the facts */
            assert_int_equal(access_check(l, NULL).answer, ACCESS_ALLOWED);
        if (constant[i].where != NULL)
            expect_constant(l, constant[i].where, constant[i].last);
        else
            assert_false(access_is_constant(l, &v));
        access_list_free(&l);
    }
    acl_set_free(&s);
}

/* Squid's order of reading: values added to an ACL behind the line that uses it count. */
static void later_values_count(void **state)
{
    struct acl_set *s = example_set();
    struct access_list *l = list_of(s, false, "allow them; deny all");
    struct access_facts f = example_facts();

    (void)state;
    assert_int_equal(access_check(l, &f).answer, ACCESS_DENIED);
    define(s, "them src 192.0.2.7");
    assert_int_equal(access_check(l, &f).answer, ACCESS_ALLOWED);
    access_list_free(&l);
    acl_set_free(&s);
}

static void lists_are_printed_like_squids(void **state)
{
    struct acl_set *s = example_set();
    struct access_list *l = list_of(s, false, "deny !safe_ports; deny CONNECT !SSL_ports; allow all us");
    struct strbuf out = { 0 };

    (void)state;
    access_list_print(l, "http_access", &out);
    assert_string_equal(out.p, "http_access deny !Safe_ports \n"
                               " http_access deny CONNECT !SSL_ports \n"
                               " http_access allow all us \n");
    sb_free(&out);
    access_list_free(&l);
    acl_set_free(&s);
}

/* hostile-inputs J01-J08, J20, M01 with the recommended rules and the two SSRF guards. */
#define GUARDS                                                                                                         \
    "deny !Safe_ports; deny CONNECT !SSL_ports; allow localhost manager; deny manager; deny to_localhost; "            \
    "deny to_linklocal; allow us; deny all"

static const struct {
    const char *why, *client, *host;
    uint16_t port;
    enum http_method method;
    bool is_manager;
    enum access_answer want;
} hostile[] = {
    { "J01 SMTP at home", "192.0.2.7", "127.0.0.1", 25, METHOD_CONNECT, false, ACCESS_DENIED },
    { "J05 IPv6", "192.0.2.7", "::1", 443, METHOD_CONNECT, false, ACCESS_DENIED },
    { "J06 mapped", "192.0.2.7", "::ffff:127.0.0.1", 443, METHOD_CONNECT, false, ACCESS_DENIED },
    { "J07 any", "192.0.2.7", "0.0.0.0", 443, METHOD_CONNECT, false, ACCESS_DENIED },
    { "J08 metadata", "192.0.2.7", "169.254.169.254", 80, METHOD_GET, false, ACCESS_DENIED },
    { "J20 ssh", "192.0.2.7", "203.0.113.1", 22, METHOD_GET, false, ACCESS_DENIED },
    { "J02 a short form is a name to be resolved", "192.0.2.7", "127.1", 443, METHOD_CONNECT, false, ACCESS_NEED_DST },
    { "M01 manager from outside", "192.0.2.7", "203.0.113.1", 80, METHOD_GET, true, ACCESS_DENIED },
    { "manager from here", "127.0.0.1", "203.0.113.1", 80, METHOD_GET, true, ACCESS_ALLOWED },
    { "manager from another 127 address", "127.0.0.2", "203.0.113.1", 80, METHOD_GET, true, ACCESS_DENIED },
    { "a good tunnel", "192.0.2.7", "203.0.113.1", 443, METHOD_CONNECT, false, ACCESS_ALLOWED },
    { "a good request", "192.0.2.7", "203.0.113.1", 80, METHOD_GET, false, ACCESS_ALLOWED },
    { "a stranger", "203.0.113.9", "203.0.113.1", 80, METHOD_GET, false, ACCESS_DENIED },
};

static void hostile_requests_are_denied(void **state)
{
    struct acl_set *s = example_set();
    struct access_list *l = list_of(s, false, GUARDS);

    (void)state;
    for (size_t i = 0; i < LENGTH(hostile); i++) {
        struct access_facts f = example_facts();
        struct access_verdict v;

        f.client = addr_of(hostile[i].client, 1);
        f.port = hostile[i].port;
        f.method = hostile[i].method;
        f.is_manager = hostile[i].is_manager;
        set_host(&f, hostile[i].host);
        v = access_check(l, &f);
        if (v.answer != hostile[i].want)
            fail_msg("%s: %d at %s", hostile[i].why, (int)v.answer, v.where);
    }
    access_list_free(&l);
    acl_set_free(&s);
}

/* Printed, not judged: the budget is 40 ns on an idle machine, without sanitizers. */
static void time_the_default_rules(void **state)
{
    enum { ROUNDS = 1000000 };
    struct acl_set *s = example_set();
    struct access_list *l = list_of(s, false,
                                    "deny !Safe_ports; deny CONNECT !SSL_ports; allow localhost manager; "
                                    "deny manager; allow localhost; deny all");
    struct access_facts f = example_facts();
    int64_t start;
    size_t allowed = 0;

    (void)state;
    f.client = addr_of("127.0.0.1", 1);
    start = clock_mono_us();
    for (int i = 0; i < ROUNDS; i++)
        allowed += access_check(l, &f).answer == ACCESS_ALLOWED;
    print_message("default rules: %.1f ns a check\n", (double)(clock_mono_us() - start) * 1000 / ROUNDS);
    assert_int_equal(allowed, ROUNDS);
    access_list_free(&l);
    acl_set_free(&s);
}

/* ---- explained ---- */

struct told {
    char text[400];
};

static void tell(void *ctx, const struct access_line_seen *line)
{
    struct told *told = ctx;
    size_t n = strlen(told->text);

    n += (size_t)snprintf(told->text + n, sizeof told->text - n, "%s%s", line->where, line->decides ? "!" : "");
    for (size_t i = 0; i < line->n; i++)
        n += (size_t)snprintf(told->text + n, sizeof told->text - n, " %.*s=%c", SPAN_ARG(line->words[i].name),
                              line->words[i].is_asked ? "ny?lau"[line->words[i].answer] : '-');
    snprintf(told->text + n, sizeof told->text - n, ";");
}

static void an_explanation_has_the_same_verdict(void **state)
{
    struct acl_set *s = example_set();

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct access_list *l = list_of(s, rows[i].default_allow, rows[i].lines);
        struct access_facts f = example_facts();
        struct told told = { "" };
        struct access_verdict got, want;

        got = access_explain(l, &f, tell, &told);
        want = access_check(l, &f);
        if (got.answer != want.answer || strcmp(got.where, want.where) != 0 || got.last != want.last)
            fail_msg("%s: %d by %s", rows[i].why, (int)got.answer, got.where);
        access_list_free(&l);
    }
    acl_set_free(&s);
}

static void an_explanation_has_every_line_tried(void **state)
{
    static const struct {
        const char *lines, *want;
    } explained[] = {
        { "deny !Safe_ports; deny them us; allow us !them; deny all",
          "f:1 Safe_ports=y;f:2 them=n us=-;f:3! us=y them=n;" },
        { "deny to_localhost us; allow all", "f:1! to_localhost=a us=-;" },
        { "allow them; deny us !all", "f:1 them=n;f:2 us=y all=y;" },
        { "allow slow us; deny slow !them us; allow all", "f:1 slow=? us=y;f:2! slow=? them=n us=y;" },
        { "", "" },
    };
    struct acl_set *s = example_set();

    (void)state;
    for (size_t i = 0; i < LENGTH(explained); i++) {
        struct access_list *l = list_of(s, false, explained[i].lines);
        struct access_facts f = example_facts();
        struct told told = { "" };

        if (strstr(explained[i].lines, "slow") != NULL)
            f.path = SPAN("/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!");
        (void)access_explain(l, &f, tell, &told);
        assert_string_equal(told.text, explained[i].want);
        access_list_free(&l);
    }
    acl_set_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_explanation_has_the_same_verdict),
        cmocka_unit_test(an_explanation_has_every_line_tried),
        cmocka_unit_test(first_match_decides),
        cmocka_unit_test(undecided_is_never_allowed),
        cmocka_unit_test(bad_lines_are_refused),
        cmocka_unit_test(constant_lists_fold),
        cmocka_unit_test(later_values_count),
        cmocka_unit_test(lists_are_printed_like_squids),
        cmocka_unit_test(hostile_requests_are_denied),
        cmocka_unit_test(time_the_default_rules),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
