#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/hash.h"
#include "dns_server.h"
#include "net/reverse.h"

static struct dns_row rows[] = {
    { .name = "1.2.0.192.in-addr.arpa", .ttl = 300, .ptr = { "Honest.test" } },
    { .name = "honest.test", .ttl = 300, .a = { "192.0.2.77", "192.0.2.1" } },
    { .name = "2.2.0.192.in-addr.arpa", .ttl = 300, .ptr = { "honest.test" } },
    { .name = "3.2.0.192.in-addr.arpa", .ttl = 300, .ptr = { "a b.test", "*.test", "third.test" } },
    { .name = "third.test", .ttl = 300, .a = { "192.0.2.3" } },
    { .name = "4.2.0.192.in-addr.arpa", .ttl = 300, .ptr = { "a b.test" } },
    { .name = "5.2.0.192.in-addr.arpa",
      .ttl = 300,
      .ptr = { "alias.test" },
      .cname = "5.0-25.2.0.192.in-addr.arpa",
      .cname_ttl = 300 },
    { .name = "alias.test", .ttl = 300, .a = { "192.0.2.5" } },
    { .name = "6.2.0.192.in-addr.arpa", .reply = DNS_SERVFAIL },
    { .name = "7.2.0.192.in-addr.arpa", .reply = DNS_SILENCE },
    { .name = "8.2.0.192.in-addr.arpa", .ttl = 300, .ptr = { "broken.test" } },
    { .name = "broken.test", .reply = DNS_SERVFAIL },
    { .name = "9.2.0.192.in-addr.arpa", .ttl = 0, .ptr = { "honest.test" } },
    { .name = "10.2.0.192.in-addr.arpa", .ttl = 300, .ptr = { "short" } },
    { .name = "short", .ttl = 300, .a = { "192.0.2.10" } },
    { .name = "short.corp.test", .ttl = 300, .a = { "192.0.2.11" } },
    { .name = "11.2.0.192.in-addr.arpa", .ttl = 300, .ptr = { "short" } },
    { .name = "12.2.0.192.in-addr.arpa", .ttl = 100000, .ptr = { "honest.test" } },
    { .name = "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa",
      .ttl = 300,
      .ptr = { "late.test" } },
    { .name = "late.test", .reply = DNS_LATE_AAAA, .ttl = 300, .a = { "192.0.2.13" }, .aaaa = { "2001:db8::1" } },
};

static struct worker *worker;
static struct resolver *resolver;
static struct resolver_config config;
static struct addr server;
static char hosts_path[] = "/tmp/loligo-test-hosts-XXXXXX";

struct asking {
    struct reverse_query query;
    const char *address;
    bool cancel, asking, from_within, at_once;
    unsigned told;
    enum name_trust trust;
    char name[HOST_NAME_MAX_LEN + 1];
    struct gate done;
};

static void on_name(struct reverse_query *q, enum name_trust trust, struct span name)
{
    struct asking *a = CONTAINER_OF(q, struct asking, query);

    a->from_within |= a->asking;
    a->told++;
    a->trust = trust;
    snprintf(a->name, sizeof a->name, "%.*s", SPAN_ARG(name));
    gate_open(&a->done);
}

static void ask(void *arg)
{
    struct asking *a = arg;
    struct addr of = { .port = 8080 };

    (void)addr_parse(span_str(a->address), &of);
    a->query.done = on_name;
    a->asking = true;
    reverse(resolver, &a->query, &of);
    a->asking = false;
    if (a->cancel) {
        reverse_cancel(&a->query);
        reverse_cancel(&a->query);
    }
}

static void look(void *arg)
{
    struct asking *a = arg;
    struct addr of = { .port = 8080 };

    (void)addr_parse(span_str(a->address), &of);
    a->at_once = reverse_cached(resolver, &of, &a->trust, a->name);
}

/* Into *arg: are there addresses for late.test, if only one family's? */
static void look_for_late(void *arg)
{
    struct addr addrs[RESOLVE_ADDRS_MAX];
    bool negative;

    *(bool *)arg = resolve_cached(resolver, SPAN("late.test"), 0, false, addrs, &negative) > 0;
}

static struct asking asked(const char *address)
{
    struct asking a = { .address = address, .done = GATE_INIT };

    call(worker, ask, &a);
    assert_true(gate_passed(&a.done));
    pthread_mutex_lock(&a.done.lock);
    pthread_mutex_unlock(&a.done.lock);
    assert_int_equal(a.told, 1);
    assert_false(a.from_within);
    return a;
}

static struct asking looked(const char *address)
{
    struct asking a = { .address = address, .done = GATE_INIT };

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

static int setup(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++)
        rows[i].asked_a = rows[i].asked_aaaa = rows[i].asked_ptr = 0;
    server = dns_server_start(rows, LENGTH(rows));
    config = (struct resolver_config){ .servers = &server,
                                       .n_servers = 1,
                                       .hosts_file = hosts_path,
                                       .timeout_us = 30 * US_PER_S,
                                       .retransmit_us = 5 * US_PER_S,
                                       .positive_ttl_max = 3600,
                                       .negative_ttl = 60,
                                       .cache_max = 100,
                                       .named_max = 100 };
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
    const char *why, *address;
    enum name_trust trust;
    const char *name;
} names[] = {
    { "looking it up gives the address", "192.0.2.1", NAME_CONFIRMED, "honest.test" },
    { "the name is another's", "192.0.2.2", NAME_UNCONFIRMED, "honest.test" },
    { "the first that is a name", "192.0.2.3", NAME_CONFIRMED, "third.test" },
    { "none is a name", "192.0.2.4", NAME_NONE, "" },
    { "an alias (RFC 2317)", "192.0.2.5", NAME_CONFIRMED, "alias.test" },
    { "SERVFAIL", "192.0.2.6", NAME_NONE, "" },
    { "no such name", "192.0.2.99", NAME_NONE, "" },
    { "the name can't be looked up", "192.0.2.8", NAME_UNCONFIRMED, "broken.test" },
    { "a name without a dot", "192.0.2.10", NAME_CONFIRMED, "short" },
    { "append_domain confirms nothing", "192.0.2.11", NAME_UNCONFIRMED, "short" },
    { "hosts file: the first name", "192.0.2.50", NAME_CONFIRMED, "first.name" },
    { "hosts file: without a dot", "192.0.2.51", NAME_CONFIRMED, "bare" },
    { "hosts file: the first that is a name", "192.0.2.52", NAME_CONFIRMED, "good.name" },
    { "hosts file, IPv6", "2001:db8::50", NAME_CONFIRMED, "six.name" },
    { "this machine", "127.0.0.1", NAME_CONFIRMED, "localhost" },
    { "this machine, IPv6", "::1", NAME_CONFIRMED, "localhost" },
};

static void addresses_have_names(void **state)
{
    (void)state;
    config.append_domain = ".corp.test";
    remake();
    for (size_t i = 0; i < LENGTH(names); i++) {
        struct asking a = asked(names[i].address);

        if (a.trust != names[i].trust || strcmp(a.name, names[i].name) != 0)
            fail_msg("%s: %s: %d '%s'", names[i].why, names[i].address, a.trust, a.name);
    }
}

static void names_are_kept(void **state)
{
    struct asking a;

    (void)state;
    assert_false(looked("192.0.2.1").at_once);
    asked("192.0.2.1");
    asked("192.0.2.1");
    a = looked("192.0.2.1");
    assert_true(a.at_once);
    assert_int_equal(a.trust, NAME_CONFIRMED);
    assert_string_equal(a.name, "honest.test");
    assert_int_equal(row("1.2.0.192.in-addr.arpa")->asked_ptr, 1);
    assert_int_equal(row("honest.test")->asked_a, 1);
    asked("192.0.2.99");
    a = looked("192.0.2.99");
    assert_true(a.at_once && a.trust == NAME_NONE && a.name[0] == '\0');
    assert_int_equal(resolver_stats(resolver, RESOLVE_NAMES).entries, 2);
    assert_int_equal(resolver_stats(resolver, RESOLVE_ADDRESSES).entries, 1);

    asked("192.0.2.9"); /* TTL 0 */
    asked("192.0.2.9");
    assert_int_equal(row("9.2.0.192.in-addr.arpa")->asked_ptr, 2);
    config.positive_ttl_max = 0;
    remake();
    asked("192.0.2.12");
    asked("192.0.2.12");
    assert_int_equal(row("12.2.0.192.in-addr.arpa")->asked_ptr, 2);
}

static void as_many_as_there_is_room_for(void **state)
{
    (void)state;
    config.named_max = 2;
    remake();
    asked("192.0.2.1");
    asked("192.0.2.3");
    asked("192.0.2.5");
    assert_int_equal(resolver_stats(resolver, RESOLVE_NAMES).entries, 2);
    assert_false(looked("192.0.2.1").at_once);
    assert_true(looked("192.0.2.5").at_once);
    assert_int_equal(resolver_stats(resolver, RESOLVE_ADDRESSES).entries, 3); /* a limit of its own */
}

static void silence_ends(void **state)
{
    (void)state;
    config.timeout_us = 200000;
    config.retransmit_us = 50000;
    remake();
    assert_int_equal(asked("192.0.2.7").trust, NAME_NONE);
    assert_true(row("7.2.0.192.in-addr.arpa")->asked_ptr >= 2);
}

/* The address that confirms it comes after the other family's. */
static void a_late_family_is_waited_for(void **state)
{
    struct asking a = { .address = "2001:db8::1", .done = GATE_INIT };
    bool half_there = false;

    (void)state;
    call(worker, ask, &a);
    while (!half_there)
        call(worker, look_for_late, &half_there);
    assert_int_equal(a.told, 0);
    dns_server_release();
    assert_true(gate_passed(&a.done));
    pthread_mutex_lock(&a.done.lock);
    pthread_mutex_unlock(&a.done.lock);
    assert_int_equal(a.trust, NAME_CONFIRMED);
}

/* The asker's memory may go at once: for the address sanitizer. */
static void cancel_and_free(void *arg)
{
    const char *const *address = arg;
    struct asking *a = calloc(1, sizeof *a);

    a->address = *address;
    a->cancel = true;
    ask(a);
    free(a);
}

static void cancelled_is_never_told(void **state)
{
    static const char *const addresses[] = { "192.0.2.50", "192.0.2.1", "192.0.2.7" };

    (void)state;
    for (size_t i = 0; i < LENGTH(addresses); i++)
        call(worker, cancel_and_free, (void *)(uintptr_t)&addresses[i]);
    asked("192.0.2.1");
    assert_int_equal(row("1.2.0.192.in-addr.arpa")->asked_ptr, 1);
}

static void write_hosts(void)
{
    static const char text[] = "192.0.2.50 first.name second.name\n"
                               "192.0.2.50 a.name\n"
                               "192.0.2.51 bare\n"
                               "192.0.2.52 b*d.name good.name\n"
                               "2001:db8::50 six.name\n";
    int fd = mkstemp(hosts_path);

    if (fd < 0 || write(fd, text, sizeof text - 1) != (ssize_t)(sizeof text - 1))
        abort();
    close(fd);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(addresses_have_names),         TEST(names_are_kept),
        TEST(as_many_as_there_is_room_for), TEST(silence_ends),
        TEST(a_late_family_is_waited_for),  TEST(cancelled_is_never_told),
    };
    int failed;

    write_hosts();
    hash_init();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(hosts_path);
    return failed;
}
