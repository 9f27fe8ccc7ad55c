/* test/proxy/test_log_ring.c: the ring between a worker and the log thread, in one thread; test_access_log.c has them
 * both. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include "base/mem.h"
#include "proxy/log_ring.h"

static void a_ring_keeps_bytes_in_order(void **state)
{
    struct log_ring r = { .bytes = xcalloc(1, LOG_RING_BYTES) };
    unsigned char in = 0, out = 0, chunk[1000];
    struct iovec v[2];

    (void)state;
    assert_int_equal(log_ring_peek(&r, v), 0);
    for (size_t i = 0; i < 5000; i++) {
        size_t n = 1 + i * 7919 % sizeof chunk;
        int pieces;

        for (size_t k = 0; k < n; k++)
            chunk[k] = in++;
        assert_true(log_ring_push(&r, (char *)chunk, n));
        if (i % 3 != 0)
            continue;
        pieces = log_ring_peek(&r, v);
        for (int p = 0; p < pieces; p++) {
            for (size_t k = 0; k < v[p].iov_len; k++)
                assert_int_equal(((unsigned char *)v[p].iov_base)[k], out++);
            log_ring_advance(&r, v[p].iov_len);
        }
    }
    while (log_ring_used(&r) + sizeof chunk <= LOG_RING_BYTES)
        assert_true(log_ring_push(&r, (char *)chunk, sizeof chunk));
    assert_false(log_ring_push(&r, (char *)chunk, sizeof chunk));
    assert_int_equal(atomic_load(&r.dropped), 1);
    assert_null(log_ring_direct(&r, sizeof chunk));
    free(r.bytes);
}

static void part_of_a_line_is_remembered_and_skipped(void **state)
{
    struct log_ring r = { .bytes = xcalloc(1, LOG_RING_BYTES) };
    struct iovec v[2];

    (void)state;
    assert_true(log_ring_push(&r, "first\nsecond\n", 13));
    log_ring_advance(&r, 6);
    assert_false(r.mid_line);
    log_ring_advance(&r, 3);
    assert_true(r.mid_line);
    assert_true(log_ring_push(&r, "third\n", 6));
    log_ring_skip_line(&r);
    assert_false(r.mid_line);
    assert_int_equal(log_ring_peek(&r, v), 1);
    assert_int_equal(v[0].iov_len, 6);
    assert_memory_equal(v[0].iov_base, "third\n", 6);
    free(r.bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_keeps_bytes_in_order),
        cmocka_unit_test(part_of_a_line_is_remembered_and_skipped),
    };

    return cmocka_run_group_tests_name("log_ring", tests, NULL, NULL);
}
