#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/hash.h"
#include "dns_server.h"
#include "net/resolve.h"

static struct dns_row rows[] = {
    { .name = "both.test", .ttl = 300, .a = { "192.0.2.1", "192.0.2.2", "192.0.2.3" }, .aaaa = { "2001:db8::1" } },
    { .name = "four.test", .ttl = 300, .a = { "192.0.2.4" } },
    { .name = "six.test", .ttl = 300, .aaaa = { "2001:db8::6" } },
    { .name = "alias.test", .ttl = 300, .a = { "192.0.2.5" }, .cname = "real.test", .cname_ttl = 300 },
    { .name = "brief-alias.test", .ttl = 300, .a = { "192.0.2.5" }, .cname = "real.test", .cname_ttl = 0 },
    { .name = "gone.test", .reply = DNS_NXDOMAIN },
    { .name = "empty.test" },
    { .name = "broken.test", .reply = DNS_SERVFAIL },
    { .name = "silent.test", .reply = DNS_SILENCE },
    { .name = "half.test", .reply = DNS_SILENT_AAAA, .ttl = 300, .a = { "192.0.2.6" } },
    { .name = "late.test", .reply = DNS_LATE_AAAA, .ttl = 300, .a = { "192.0.2.7" }, .aaaa = { "2001:db8::7" } },
    { .name = "fleeting.test", .ttl = 0, .a = { "192.0.2.8" } },
    { .name = "second.test", .ttl = 1, .a = { "192.0.2.9" } },
    { .name = "long.test", .ttl = 100000, .a = { "192.0.2.10" } },
    { .name = "short.corp.test", .ttl = 300, .a = { "192.0.2.11" } },
    { .name = "short", .ttl = 300, .a = { "192.0.2.12" } },
};

static struct worker *worker;
static struct resolver *resolver;
static struct resolver_config config;
static struct addr server;
static char hosts_path[] = "/tmp/loligo-test-hosts-XXXXXX";

/* One question, as its asker sees it. */
struct asking {
    struct resolve_query query;
    const char *host;
    bool cancel; /* at once */
    bool asking, from_within;
    unsigned told;
    enum resolve_status status;
    char text[512]; /* the addresses with their ports, blank-separated */
    int64_t took;
    bool negative;
    size_t cached;
    struct gate done;
};

static void print(char *out, size_t size, const struct addr *addrs, size_t n)
{
    size_t len = 0;

    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        char one[ADDR_TEXT_MAX];

        addr_print_port(&addrs[i], one);
        len += (size_t)snprintf(out + len, size - len, "%s%s", i > 0 ? " " : "", one);
    }
}

static void on_answer(struct resolve_query *q, enum resolve_status status, const struct addr *addrs, size_t n)
{
    struct asking *a = CONTAINER_OF(q, struct asking, query);

    a->from_within |= a->asking;
    a->told++;
    a->status = status;
    a->took = worker_mono(worker) - a->took;
    print(a->text, sizeof a->text, addrs, n);
    gate_open(&a->done);
}

static void ask(void *arg)
{
    struct asking *a = arg;

    a->took = worker_mono(worker);
    a->query.done = on_answer;
    a->asking = true;
    resolve(resolver, &a->query, span_str(a->host), 80);
    a->asking = false;
    if (a->cancel) {
        resolve_cancel(&a->query);
        resolve_cancel(&a->query);
    }
}

static void look(void *arg)
{
    struct asking *a = arg;
    struct addr addrs[RESOLVE_ADDRS_MAX];

    a->cached = resolve_cached(resolver, span_str(a->host), 80, false, addrs, &a->negative);
    print(a->text, sizeof a->text, addrs, a->cached);
}

static void make(void *arg)
{
    (void)arg;
    resolver = resolver_new(worker, &config);
}

static void unmake(void *arg)
{
    (void)arg;
    resolver_free(&resolver);
}

static void remake(void)
{
    call(worker, unmake, NULL);
    call(worker, make, NULL);
}

static struct asking asked(const char *host)
{
    struct asking a = { .host = host, .done = GATE_INIT };

    call(worker, ask, &a);
    assert_true(gate_passed(&a.done));
    pthread_mutex_lock(&a.done.lock);
    pthread_mutex_unlock(&a.done.lock);
    assert_int_equal(a.told, 1);
    assert_false(a.from_within);
    assert_false(a.query.pending);
    return a;
}

static struct asking looked(const char *host)
{
    struct asking a = { .host = host, .done = GATE_INIT };

    call(worker, look, &a);
    return a;
}

static struct dns_row *row(const char *name)
{
    for (size_t i = 0; i < LENGTH(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    abort();
}

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++)
        rows[i].asked_a = rows[i].asked_aaaa = 0;
    server = dns_server_start(rows, LENGTH(rows));
    config = (struct resolver_config){ .servers = &server,
                                       .n_servers = 1,
                                       .hosts_file = hosts_path,
                                       .timeout_us = 30 * US_PER_S,
                                       .retransmit_us = 5 * US_PER_S,
                                       .positive_ttl_max = 3600,
                                       .negative_ttl = 60,
                                       .cache_max = 100 };
    worker = worker_running();
    call(worker, make, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    call(worker, unmake, NULL);
    worker_end(&worker);
    dns_server_stop();
    return 0;
}

static const struct {
    const char *why, *host;
    enum resolve_status status;
    const char *addrs;
} answers[] = {
    { "both families by turns, IPv6 first", "both.test", RESOLVE_OK,
      "[2001:db8::1]:80 192.0.2.1:80 192.0.2.2:80 192.0.2.3:80" },
    { "IPv4 only", "four.test", RESOLVE_OK, "192.0.2.4:80" },
    { "IPv6 only", "six.test", RESOLVE_OK, "[2001:db8::6]:80" },
    { "an alias", "alias.test", RESOLVE_OK, "192.0.2.5:80" },
    { "fully qualified", "four.test.", RESOLVE_OK, "192.0.2.4:80" },
    { "NXDOMAIN", "gone.test", RESOLVE_NO_NAME, "" },
    { "neither A nor AAAA", "empty.test", RESOLVE_NO_NAME, "" },
    { "SERVFAIL", "broken.test", RESOLVE_FAILED, "" },
    { "a literal", "192.0.2.33", RESOLVE_OK, "192.0.2.33:80" },
    { "an IPv6 literal", "2001:db8::33", RESOLVE_OK, "[2001:db8::33]:80" },
    { "hosts file, two families", "local.name", RESOLVE_OK, "[2001:db8::99]:80 192.0.2.99:80 192.0.2.98:80" },
    { "hosts file, a second name, in another case", "ALIAS.name", RESOLVE_OK, "192.0.2.99:80" },
    { "hosts file before DNS", "six.test", RESOLVE_OK, "[2001:db8::6]:80" },
    { "hosts file: a comment is no name", "comment", RESOLVE_NO_NAME, "" },
    { "hosts file: a bad address gives nothing", "bad.name", RESOLVE_NO_NAME, "" },
    { "localhost without an entry", "localhost", RESOLVE_OK, "[::1]:80 127.0.0.1:80" },
    { "below localhost (RFC 6761)", "www.localhost", RESOLVE_OK, "[::1]:80 127.0.0.1:80" },
    { "nothing", "", RESOLVE_NO_NAME, "" },
    { "a dot", ".", RESOLVE_NO_NAME, "" },
    { "an empty label", "a..test", RESOLVE_NO_NAME, "" },
    { "an escape for c-ares", "a\\.test", RESOLVE_NO_NAME, "" },
    { "a label over 63", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test", RESOLVE_NO_NAME,
      "" },
};

static void names_are_answered(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(answers); i++) {
        struct asking a = asked(answers[i].host);

        if (a.status != answers[i].status || strcmp(a.text, answers[i].addrs) != 0)
            fail_msg("%s: %s: %s '%s'", answers[i].why, answers[i].host, resolve_status_text(a.status), a.text);
    }
}

static void too_long_a_name_does_not_exist(void **state)
{
    static char host[400];

    (void)state;
    for (size_t len = 250; len < sizeof host - 1; len++) {
        for (size_t i = 0; i < len; i++)
            host[i] = i % 50 == 49 ? '.' : 'a';
        host[len] = '\0';
        assert_int_equal(asked(host).status, RESOLVE_NO_NAME);
    }
}

static void an_answer_is_kept_for_its_ttl(void **state)
{
    struct asking a;
    struct resolver_stats stats;

    (void)state;
    assert_int_equal(looked("four.test").cached, 0);
    asked("four.test");
    asked("four.test");
    asked("four.test."); /* the same name */
    a = looked("four.test");
    assert_int_equal(a.cached, 1);
    assert_string_equal(a.text, "192.0.2.4:80");
    assert_false(a.negative);
    assert_int_equal(row("four.test")->asked_a, 1);
    stats = resolver_stats(resolver, RESOLVE_ADDRESSES);
    assert_int_equal(stats.entries, 1);
    assert_int_equal(stats.lookups, 4);
    assert_int_equal(stats.hits, 3);

    /* Not worth keeping: TTL 0, of the address or of an alias on the way. */
    asked("fleeting.test");
    asked("fleeting.test");
    assert_int_equal(row("fleeting.test")->asked_a, 2);
    asked("brief-alias.test");
    asked("brief-alias.test");
    assert_int_equal(row("brief-alias.test")->asked_a, 2);
    assert_int_equal(resolver_stats(resolver, RESOLVE_ADDRESSES).entries, 1);

    /* A second later, by the worker's clock. */
    asked("second.test");
    assert_int_equal(looked("second.test").cached, 1);
    while (looked("second.test").cached == 1)
        ;
    asked("second.test");
    assert_int_equal(row("second.test")->asked_a, 2);
}

static void positive_dns_ttl_is_the_most(void **state)
{
    (void)state;
    config.positive_ttl_max = 0;
    remake();
    asked("long.test");
    asked("long.test");
    assert_int_equal(row("long.test")->asked_a, 2);
}

static void what_does_not_exist_is_kept_too(void **state)
{
    struct asking a;

    (void)state;
    asked("gone.test");
    a = asked("gone.test");
    assert_int_equal(a.status, RESOLVE_NO_NAME);
    assert_int_equal(row("gone.test")->asked_a, 1);
    a = looked("gone.test");
    assert_int_equal(a.cached, 0);
    assert_true(a.negative);
    /* A failure is kept (RFC 9520), but is no proof that the name doesn't exist. */
    asked("broken.test");
    unsigned before = row("broken.test")->asked_a;
    a = asked("broken.test");
    assert_int_equal(a.status, RESOLVE_FAILED);
    assert_int_equal(row("broken.test")->asked_a, before);
    assert_false(looked("broken.test").negative);

    config.negative_ttl = 0;
    remake();
    asked("gone.test");
    asked("gone.test");
    assert_int_equal(row("gone.test")->asked_a, 3);
}

static void silence_times_out(void **state)
{
    struct addr servers[8];
    struct asking a;

    (void)state;
    config.timeout_us = 200000;
    config.retransmit_us = 50000;
    remake();
    a = asked("silent.test");
    assert_int_equal(a.status, RESOLVE_TIMEOUT);
    assert_true(a.took >= 180000);
    assert_true(row("silent.test")->asked_a >= 2); /* asked again meanwhile */

    /* The whole time is dns_timeout, however many servers c-ares has yet to try: with these, 2 s. */
    for (size_t i = 0; i < LENGTH(servers); i++)
        servers[i] = server;
    config.servers = servers;
    config.n_servers = LENGTH(servers);
    config.retransmit_us = config.timeout_us = 250000;
    remake();
    a = asked("silent.test");
    assert_int_equal(a.status, RESOLVE_TIMEOUT);
    assert_true(a.took < 1500000);
}

static void a_family_that_is_never_answered_costs_a_moment(void **state)
{
    struct asking a = asked("half.test");

    (void)state;
    assert_int_equal(a.status, RESOLVE_OK);
    assert_string_equal(a.text, "192.0.2.6:80");
    assert_true(a.took < 4 * US_PER_S); /* a 50 ms pause, not a retransmission's 5 s */
    assert_int_equal(looked("half.test").cached, 1);
}

static void a_late_family_is_added_when_it_comes(void **state)
{
    struct asking a = asked("late.test");

    (void)state;
    assert_string_equal(a.text, "192.0.2.7:80");
    dns_server_release();
    do
        a = looked("late.test");
    while (a.cached == 1);
    assert_string_equal(a.text, "[2001:db8::7]:80 192.0.2.7:80");
}

static void many(void *arg)
{
    struct asking *a = arg;

    for (int i = 0; i < 10; i++)
        ask(&a[i]);
}

static void one_question_serves_all_who_ask(void **state)
{
    static struct asking a[10];
    const struct gate shut = GATE_INIT;

    (void)state;
    for (int i = 0; i < 10; i++)
        a[i] = (struct asking){ .host = "both.test", .cancel = i == 3, .done = shut };
    call(worker, many, a);
    for (int i = 0; i < 10; i++)
        if (i != 3)
            assert_true(gate_passed(&a[i].done));
    assert_int_equal(a[3].told, 0);
    assert_int_equal(row("both.test")->asked_a, 1);
    assert_int_equal(row("both.test")->asked_aaaa, 1);
    assert_int_equal(counter_get(worker->counters, DNS_LOOKUPS), 1);
}

/* The asker's memory may go at once, though the answer was already on its way: for the address sanitizer. */
static void cancel_and_free(void *arg)
{
    const char *const *host = arg;
    struct asking *a = calloc(1, sizeof *a);

    a->host = *host;
    a->cancel = true;
    ask(a);
    free(a);
}

static void cancelled_is_never_told(void **state)
{
    static const char *const hosts[] = { "192.0.2.1", "localhost", "four.test", "silent.test" };

    (void)state;
    for (size_t i = 0; i < LENGTH(hosts); i++)
        call(worker, cancel_and_free, (void *)(uintptr_t)&hosts[i]);
    while (looked("four.test").cached == 0) /* the answer comes, and is kept */
        ;
}

static void the_cache_has_its_limit(void **state)
{
    (void)state;
    config.cache_max = 2;
    remake();
    asked("four.test");
    asked("six.test");
    assert_int_equal(looked("four.test").cached, 1); /* used: six.test is the oldest now */
    asked("both.test");
    assert_int_equal(resolver_stats(resolver, RESOLVE_ADDRESSES).entries, 2);
    assert_int_equal(looked("four.test").cached, 1);
    assert_int_equal(looked("six.test").cached, 0);

    config.cache_max = 0;
    remake();
    assert_int_equal(asked("four.test").status, RESOLVE_OK);
    assert_int_equal(resolver_stats(resolver, RESOLVE_ADDRESSES).entries, 0);
}

static void append_domain_completes_dotless_names(void **state)
{
    (void)state;
    assert_string_equal(asked("short").text, "192.0.2.12:80");
    config.append_domain = ".corp.test";
    remake();
    assert_string_equal(asked("short").text, "192.0.2.11:80");
    assert_string_equal(asked("four.test").text, "192.0.2.4:80");
    assert_string_equal(asked("inhosts").text, "192.0.2.97:80");
    assert_string_equal(asked("short.").text, "192.0.2.12:80"); /* a dot: complete */
}

static void outstanding_questions_die_with_the_resolver(void **state)
{
    struct asking a = { .host = "silent.test", .cancel = true, .done = GATE_INIT };

    (void)state;
    call(worker, ask, &a);
    remake();
    assert_int_equal(a.told, 0);
}

static void write_hosts(void)
{
    static const char text[] = "# comment 1.2.3.4\n"
                               "192.0.2.99\tlocal.name alias.name # comment\n"
                               "2001:db8::99 local.name\n"
                               "192.0.2.98 LOCAL.name\r\n"
                               "192.0.2.99 local.name\n"
                               "not-an-address bad.name\n"
                               "fe80::1%lo0 bad.name\n"
                               "192.0.2.97 inhosts.corp.test";
    int fd = mkstemp(hosts_path);

    if (fd < 0 || write(fd, text, sizeof text - 1) != (ssize_t)(sizeof text - 1))
        abort();
    close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_are_answered),
        TEST(too_long_a_name_does_not_exist),
        TEST(an_answer_is_kept_for_its_ttl),
        TEST(positive_dns_ttl_is_the_most),
        TEST(what_does_not_exist_is_kept_too),
        TEST(silence_times_out),
        TEST(a_family_that_is_never_answered_costs_a_moment),
        TEST(a_late_family_is_added_when_it_comes),
        TEST(one_question_serves_all_who_ask),
        TEST(cancelled_is_never_told),
        TEST(the_cache_has_its_limit),
        TEST(append_domain_completes_dotless_names),
        TEST(outstanding_questions_die_with_the_resolver),
    };
    int failed;

    write_hosts();
    hash_init();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(hosts_path);
    return failed;
}
