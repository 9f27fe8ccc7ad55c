#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include "base/hash.h"
#include "net/client_tally.h"

static struct addr client(const char *text, uint16_t port)
{
    struct addr a;

    assert_true(addr_parse(span_str(text), &a));
    a.port = port;
    return a;
}

static void connections_of_an_address_are_counted(void **state)
{
    struct client_tally *t = client_tally_new();
    struct addr one = client("192.0.2.1", 1000), again = client("::ffff:192.0.2.1", 2000),
                other = client("2001:db8::1", 1000);
    struct client_count *a = client_tally_add(t, &one, 2), *b = client_tally_add(t, &again, 2);
    struct client_count *c = client_tally_add(t, &other, 2), *none = NULL;

    (void)state;
    assert_non_null(a);
    assert_ptr_equal(a, b);
    assert_int_equal(client_count_now(a), 2);
    assert_int_equal(client_count_now(c), 1);
    assert_null(client_tally_add(t, &one, 2));
    assert_int_equal(client_count_now(a), 2);
    client_tally_remove(t, &b);
    assert_null(b);
    assert_int_equal(client_count_now(a), 1);
    assert_non_null(b = client_tally_add(t, &one, 2));
    client_tally_remove(t, &a);
    client_tally_remove(t, &b);
    client_tally_remove(t, &c);
    client_tally_remove(t, &none);
    assert_int_equal(client_count_now(NULL), 0);
    assert_null(client_tally_add(t, &one, 0));
    client_tally_free(&t);
}

/* Many addresses share buckets; each keeps its own number, in whatever order they go. */
static void buckets_are_shared(void **state)
{
    enum { N = 20000 };
    static struct client_count *counts[N];
    struct client_tally *t = client_tally_new();

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        struct addr a = { .family = AF_INET,
                          .bytes = { 10, (unsigned char)(i >> 16), (unsigned char)(i >> 8), i & 255 } };

        assert_non_null(counts[i] = client_tally_add(t, &a, 1));
    }
    for (unsigned i = 0; i < N; i++)
        assert_int_equal(client_count_now(counts[i]), 1);
    for (unsigned i = 0; i < N; i += 2)
        client_tally_remove(t, &counts[i]);
    for (unsigned i = 1; i < N; i += 2)
        client_tally_remove(t, &counts[i]);
    client_tally_free(&t);
}

static void *come_and_go(void *arg)
{
    struct client_tally *t = arg;
    struct addr a = client("192.0.2.1", 0);

    for (int i = 0; i < 20000; i++) {
        struct client_count *c = client_tally_add(t, &a, 3);

        if (client_count_now(c) > 3)
            return arg;
        client_tally_remove(t, &c);
    }
    return NULL;
}

static void workers_share_it(void **state)
{
    struct client_tally *t = client_tally_new();
    pthread_t threads[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, come_and_go, t), 0);
    for (int i = 0; i < 4; i++) {
        void *bad;

        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
    client_tally_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_of_an_address_are_counted),
        cmocka_unit_test(buckets_are_shared),
        cmocka_unit_test(workers_share_it),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
