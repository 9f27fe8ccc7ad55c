/* test/proxy/test_client_records.c: clients that come, ask, go and are forgotten. */
#include "../net/harness.h"

#include <stdlib.h>
#include "base/hash.h"
#include "proxy/client_records.h"

static struct addr client(unsigned i)
{
    struct addr a = { .family = AF_INET,
                      .port = (uint16_t)(1024 + i),
                      .bytes = { 10, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i } };

    return a;
}

struct seen {
    unsigned n;
    unsigned first_place, last_place;
    const struct client_record *last;
};

static void see(const struct client_record *r, void *ctx)
{
    struct seen *s = ctx;

    if (s->n++ == 0)
        s->first_place = r->place;
    s->last_place = r->place;
    s->last = r;
}

static struct seen all_of(const struct client_records *c)
{
    struct seen s = { 0 };

    assert_int_equal(client_records_each(c, SIZE_MAX, see, &s), CLIENT_RECORD_PLACES);
    return s;
}

static void connections_of_an_address_share_a_record(void **state)
{
    struct client_records *c = client_records_new(10);
    struct addr a = client(1), again = client(1), other = client(2);
    struct client_record *one, *two, *three;
    struct client_totals t;

    (void)state;
    again.port = 9;
    one = client_records_take(c, &a);
    two = client_records_take(c, &again);
    three = client_records_take(c, &other);
    assert_ptr_equal(one, two);
    assert_ptr_not_equal(one, three);
    assert_int_equal(one->connections, 2);
    client_records_count(c, &again, TAG_TCP_MISS);
    client_records_count(c, &a, TAG_TCP_MEM_HIT);
    client_records_count(c, &other, TAG_TCP_DENIED);
    assert_int_equal(one->requests, 2);
    assert_int_equal(one->tags[TAG_TCP_MEM_HIT], 1);
    assert_int_equal(three->tags[TAG_TCP_DENIED], 1);
    t = client_records_totals(c);
    assert_int_equal(t.requests, 3);
    assert_int_equal(t.hits, 1);
    client_records_give(c, &one);
    client_records_give(c, &two);
    client_records_give(c, &three);
    assert_int_equal(all_of(c).n, 2); /* remembered */
    client_records_free(&c);
}

static void who_left_first_is_forgotten_first(void **state)
{
    struct client_records *c = client_records_new(2);
    struct client_record *r[4];
    struct addr a[4];

    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        a[i] = client(i);
        r[i] = client_records_take(c, &a[i]);
        client_records_count(c, &a[i], TAG_TCP_MISS);
    }
    assert_int_equal(client_records_number(c), 4); /* connections aren't limited here */
    for (unsigned i = 0; i < 4; i++)
        client_records_give(c, &r[3 - i]);
    assert_int_equal(client_records_number(c), 2);
    /* It was counted last and is forgotten: that isn't followed. */
    client_records_count(c, &a[3], TAG_TCP_MISS);
    assert_int_equal(client_records_totals(c).requests, 4);
    r[0] = client_records_take(c, &a[0]);
    assert_int_equal(r[0]->requests, 1);
    r[3] = client_records_take(c, &a[3]);
    assert_int_equal(r[3]->requests, 0);
    client_records_give(c, &r[0]);
    client_records_give(c, &r[3]);
    client_records_free(&c);
}

static void a_walk_stops_behind_a_whole_place(void **state)
{
    enum { N = 3000 };
    struct client_records *c = client_records_new(N);
    struct client_record *r[N];
    struct seen s = { 0 };
    unsigned end;

    (void)state;
    for (unsigned i = 0; i < N; i++) {
        struct addr a = client(i);

        r[i] = client_records_take(c, &a);
    }
    end = client_records_each(c, 100, see, &s);
    assert_in_range(s.n, 100, 130);
    assert_int_equal(end, s.last_place + 1);
    assert_int_equal(all_of(c).n, N);
    for (unsigned i = 0; i < N; i++)
        client_records_give(c, &r[i]);
    client_records_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_of_an_address_share_a_record),
        cmocka_unit_test(who_left_first_is_forgotten_first),
        cmocka_unit_test(a_walk_stops_behind_a_whole_place),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
