/* The values were worked out apart from this code, from the draft. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "net/carp.h"
#include "net/server_health.h"

static void hashes(void **state)
{
    (void)state;
    assert_int_equal(carp_member_hash(SPAN("proxy1")), 2156981077u);
    assert_int_equal(carp_member_hash(SPAN("proxy2")), 2908566968u);
    assert_int_equal((uint32_t)carp_score(SPAN("http://a.example/"), carp_member_hash(SPAN("proxy1")), 1), 777438955u);
    assert_int_equal((uint32_t)carp_score(SPAN("http://b.example/x"), carp_member_hash(SPAN("proxy3")), 1),
                     4028347503u);
    assert_int_equal((uint32_t)carp_score(SPAN("10.0.0.1"), carp_member_hash(SPAN("proxy2")), 1), 2493486729u);
}

static void near(double is, double should)
{
    if (is < should - 1e-9 || is > should + 1e-9)
        fail_msg("%.12f, not %.12f", is, should);
}

static void multipliers(void **state)
{
    double x[3];

    (void)state;
    carp_multipliers((const double[]){ 1, 1 }, 2, x);
    near(x[0], 1);
    near(x[1], 1);
    carp_multipliers((const double[]){ 3, 1 }, 2, x);
    near(x[0], 1.414213562373);
    near(x[1], 0.707106781187);
    carp_multipliers((const double[]){ 1, 2, 3 }, 3, x);
    near(x[0], 0.793700525984);
    near(x[1], 1.024662973004);
    near(x[2], 1.229595567605);
}

/* Of many texts each gets about its share. */
static void shares(void **state)
{
    const double loads[] = { 1, 2, 3 };
    const struct span names[] = { SPAN("proxy1"), SPAN("proxy2"), SPAN("proxy3") };
    double x[3];
    unsigned got[3] = { 0 };

    (void)state;
    carp_multipliers(loads, 3, x);
    for (int j = 0; j < 60000; j++) {
        char url[64];
        double best = -1;
        size_t who = 0;

        snprintf(url, sizeof url, "http://h%d.example/%d", j % 97, j);
        for (size_t i = 0; i < 3; i++) {
            double s = carp_score(span_str(url), carp_member_hash(names[i]), x[i]);

            if (s > best) {
                best = s;
                who = i;
            }
        }
        got[who]++;
    }
    for (size_t i = 0; i < 3; i++)
        assert_in_range(got[i], (unsigned)(loads[i] * 9500), (unsigned)(loads[i] * 10500));
}

static void health(void **state)
{
    struct server_health *h = server_health_new(), *a, *b;

    (void)state;
    assert_true(server_health_take(h, 2));
    assert_true(server_health_take(h, 2));
    assert_false(server_health_take(h, 2));
    assert_true(server_health_take(h, 0));
    assert_int_equal(server_health_connections(h), 3);
    a = b = h;
    server_health_give(&a);
    assert_null(a);
    server_health_give(&b);
    assert_true(server_health_take(h, 2));
    for (a = h; a != NULL;)
        server_health_give(&a);
    a = h;
    server_health_give(&a);
    assert_int_equal(server_health_connections(h), 0);

    assert_int_equal(server_health_last_failure(h), 0);
    assert_false(server_health_failed(h, 3, 77));
    assert_int_equal(server_health_last_failure(h), 77);
    server_health_count_request(h);
    server_health_count_request(h);
    assert_int_equal(server_health_requests(h), 2);
    assert_false(server_health_failed(h, 3, 77));
    assert_false(server_health_answered(h)); /* not in a row */
    assert_false(server_health_failed(h, 3, 77));
    assert_false(server_health_failed(h, 3, 77));
    assert_false(server_health_is_dead(h));
    assert_false(server_health_wants_probe(h, 1000, 10));
    assert_true(server_health_failed(h, 3, 77));
    assert_false(server_health_failed(h, 3, 77)); /* said once */
    assert_true(server_health_is_dead(h));
    assert_true(server_health_wants_probe(h, 1000, 10));
    assert_false(server_health_wants_probe(h, 1009, 10));
    assert_true(server_health_wants_probe(h, 1010, 10));
    assert_true(server_health_answered(h));
    assert_false(server_health_answered(h));
    server_health_unref(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes),
        cmocka_unit_test(multipliers),
        cmocka_unit_test(shares),
        cmocka_unit_test(health),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
