/* Time is an argument. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "base/hash.h"
#include "net/delay_pool.h"

#define SECOND INT64_C(1000000)

static struct delay_config config(void)
{
    struct delay_config c = { .initial = 50, .buckets_max = 100 };

    for (int i = 0; i < DELAY_LEVELS; i++)
        c.rates[i].restore = -1;
    return c;
}

static struct addr client(const char *text)
{
    struct addr a = { 0 };

    assert_true(addr_parse(span_str(text), &a));
    return a;
}

/* How many bytes go in `seconds`, taken in pieces of up to 1460. */
static uint64_t passed(struct delay_use *u, int64_t *now, int64_t seconds)
{
    int64_t end = *now + seconds * SECOND, wait;
    uint64_t sum = 0;

    while (*now < end) {
        size_t n = delay_allows(u, 1460, *now, &wait);

        if (n == 0) {
            assert_in_range(wait, 1, SECOND);
            *now += wait;
            continue;
        }
        assert_int_equal(wait, 0);
        delay_took(u, n, *now);
        sum += n;
    }
    return sum;
}

/* Where the bucket is smaller than what would be worth waking up for. */
static void a_small_bucket_lets_bytes_pass(void **state)
{
    struct delay_config c = config();
    struct delay_pool *p;
    struct delay_use u = { 0 };
    struct addr a = client("192.0.2.1");
    int64_t now = 0;

    (void)state;
    c.rates[DELAY_ALL] = (struct delay_rate){ .restore = 100000, .max = 1000 };
    p = delay_pool_new(&c, now);
    delay_begin(&u, p, &a, SPAN_NONE, now);
    assert_true(passed(&u, &now, 10) > 50000);
    delay_end(&u);
    delay_pool_unref(&p);
}

static void nothing_is_limited_without_a_pool(void **state)
{
    struct delay_use u = { 0 };
    int64_t wait;

    (void)state;
    delay_begin(&u, NULL, &(struct addr){ 0 }, SPAN_NONE, 0);
    assert_int_equal(delay_allows(&u, 1000000, 0, &wait), 1000000);
    delay_took(&u, 1000000, 0);
    delay_end(&u);
}

static void a_rate_is_kept(void **state)
{
    static const int64_t rates[] = { 100, 3000, 50000, 10000000 };

    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        struct delay_config c = config();
        struct delay_pool *p;
        struct delay_use u = { 0 };
        struct addr a = client("10.0.0.1");
        int64_t now = 5 * SECOND;
        uint64_t sum;

        c.rates[DELAY_ALL] = (struct delay_rate){ rates[i], rates[i] * 2 };
        p = delay_pool_new(&c, now);
        delay_begin(&u, p, &a, SPAN_NONE, now);
        sum = passed(&u, &now, 20);
        /* What was in it, and what 20 seconds give; less what isn't worth waking up for. */
        assert_in_range(sum, (uint64_t)rates[i] * 19, (uint64_t)rates[i] * 21 + 2920);
        delay_end(&u);
        delay_pool_unref(&p);
    }
}

static void a_bucket_holds_no_more_than_its_maximum(void **state)
{
    struct delay_config c = config();
    struct delay_pool *p;
    struct delay_use u = { 0 };
    struct addr a = client("10.0.0.1");
    int64_t wait;

    (void)state;
    c.rates[DELAY_ALL] = (struct delay_rate){ 1000, 5000 };
    p = delay_pool_new(&c, 0);
    delay_begin(&u, p, &a, SPAN_NONE, 0);
    assert_int_equal(delay_allows(&u, 100000, 0, &wait), 2500); /* half of it, to begin with */
    assert_int_equal(delay_allows(&u, 100000, 3600 * SECOND, &wait), 5000);
    assert_int_equal(delay_allows(&u, 100000, INT64_MAX / 2, &wait), 5000);
    delay_took(&u, 5000, INT64_MAX / 2);
    assert_int_equal(delay_allows(&u, 100000, INT64_MAX / 2, &wait), 0);
    assert_int_equal(wait, SECOND / 20);
    assert_int_equal(delay_allows(&u, 100000, INT64_MAX / 2 - SECOND, &wait), 0); /* a clock never gives back */
    delay_end(&u);
    delay_pool_unref(&p);
}

/* Each level by its own key; the least of all counts. */
static void levels(void **state)
{
    static const struct {
        const char *one, *other, *one_name, *other_name;
        enum delay_level level;
        bool shared;
    } rows[] = {
        { "10.0.0.1", "10.9.9.9", "", "", DELAY_ALL, true },
        { "10.0.0.1", "10.0.0.2", "", "", DELAY_NETWORK, true },
        { "10.0.0.1", "10.0.1.1", "", "", DELAY_NETWORK, false },
        { "2001:db8::1", "2001:db8::2", "", "", DELAY_NETWORK, true },
        { "2001:db8::1", "2001:db8:0:1::2", "", "", DELAY_NETWORK, false },
        { "10.0.0.1", "10.0.0.1", "", "", DELAY_HOST, true },
        { "10.0.0.1", "10.0.0.2", "", "", DELAY_HOST, false },
        { "10.0.0.1", "10.0.0.2", "joe", "joe", DELAY_NAME, true },
        { "10.0.0.1", "10.0.0.1", "joe", "ann", DELAY_NAME, false },
        { "10.0.0.1", "10.0.0.1", "", "", DELAY_OWN, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct delay_config c = config();
        struct delay_pool *p;
        struct delay_use one = { 0 }, other = { 0 };
        struct addr a = client(rows[i].one), b = client(rows[i].other);
        int64_t wait;

        c.rates[rows[i].level] = (struct delay_rate){ 1000, 2000 };
        p = delay_pool_new(&c, 0);
        delay_begin(&one, p, &a, span_str(rows[i].one_name), 0);
        delay_begin(&other, p, &b, span_str(rows[i].other_name), 0);
        delay_took(&one, 1000, 0);
        assert_int_equal(delay_allows(&one, 500, 0, &wait), 0);
        assert_int_equal(delay_allows(&other, 500, 0, &wait), rows[i].shared ? 0 : 500);
        delay_end(&one);
        delay_end(&other);
        delay_end(&other);
        delay_pool_unref(&p);
    }
}

static void who_waits_gets_a_share(void **state)
{
    struct delay_config c = config();
    struct delay_pool *p;
    struct delay_use u[4] = { 0 };
    struct addr a = client("10.0.0.1");
    int64_t wait;

    (void)state;
    c.rates[DELAY_ALL] = (struct delay_rate){ 100000, 80000 };
    p = delay_pool_new(&c, 0);
    for (size_t i = 0; i < 4; i++)
        delay_begin(&u[i], p, &a, SPAN_NONE, 0);
    assert_int_equal(delay_allows(&u[0], 80000, 0, &wait), 10000);
    for (size_t i = 0; i < 4; i++)
        delay_end(&u[i]);
    delay_pool_unref(&p);
}

static void buckets_are_bounded_and_remembered(void **state)
{
    struct delay_config c = config();
    struct delay_pool *p;
    struct delay_use u = { 0 };
    struct delay_stats stats;
    struct addr first = client("10.0.0.1");
    int64_t wait;

    (void)state;
    c.buckets_max = 10;
    c.rates[DELAY_HOST] = (struct delay_rate){ 1000, 2000 };
    p = delay_pool_new(&c, 0);
    delay_begin(&u, p, &first, SPAN_NONE, 0);
    delay_took(&u, 1000, 0);
    delay_end(&u);
    delay_begin(&u, p, &first, SPAN_NONE, 0);
    assert_int_equal(delay_allows(&u, 500, 0, &wait), 0); /* it isn't as new again */
    for (int i = 0; i < 50; i++) {
        struct delay_use other = { 0 };
        struct addr a = client("10.0.1.0");

        a.bytes[3] = (uint8_t)i;
        delay_begin(&other, p, &a, SPAN_NONE, 0);
        delay_end(&other);
    }
    delay_pool_stats(p, 0, &stats);
    assert_int_equal(stats.buckets, 10);
    assert_int_equal(stats.uses, 1);
    assert_int_equal(delay_allows(&u, 500, 0, &wait), 0); /* what is in use stays */
    delay_pool_unref(&p);                                 /* the use holds it */
    delay_end(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_limited_without_a_pool),
        cmocka_unit_test(a_small_bucket_lets_bytes_pass),
        cmocka_unit_test(a_rate_is_kept),
        cmocka_unit_test(a_bucket_holds_no_more_than_its_maximum),
        cmocka_unit_test(levels),
        cmocka_unit_test(who_waits_gets_a_share),
        cmocka_unit_test(buckets_are_bounded_and_remembered),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
