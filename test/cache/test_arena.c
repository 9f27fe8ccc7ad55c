#include <pthread.h>
#include <stdlib.h>
#include "cache/arena.h"
#include "heads.h"

#define MIB ((size_t)1 << 20)
#define THREADS 3

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void rounding_wastes_little_and_is_idempotent(void **state)
{
    size_t last = 0;

    (void)state;
    for (size_t n = 0; n <= ARENA_BLOCK_MAX; n++) {
        size_t r = arena_round(n);

        if (r < n || r < last || arena_round(r) != r || r % 16 != 0)
            fail_msg("%zu -> %zu", n, r);
        /* An eighth, plus what a grain and a page's end cost. */
        if (n > 64 && n < 8192 && r > n + n / 7 + 16)
            fail_msg("%zu -> %zu: too coarse", n, r);
        if (n >= 64 && (arena_round_down(n) > n || arena_round_down(n) * 2 < n))
            fail_msg("%zu down to %zu", n, arena_round_down(n));
        last = r;
    }
    assert_true(arena_round(ARENA_BLOCK_MAX + 65536) >= ARENA_BLOCK_MAX + 65536);
}

static const struct { const char *why; size_t asked; size_t want; } capacities[] = {
    { "small is raised",  1,               MIB },
    { "as asked",         4 * MIB,         4 * MIB },
    { "whole pages only", 4 * MIB + 12345, 4 * MIB },
};

static void capacity_is_a_bound(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(capacities); i++) {
        struct arena *a = arena_new(capacities[i].asked);

        if (arena_capacity(a) != capacities[i].want || arena_used(a) != 0 || arena_footprint(a) != 0)
            fail_msg("%s", capacities[i].why);
        assert_true(arena_same_capacity(a, capacities[i].asked));
        assert_false(arena_same_capacity(a, capacities[i].asked + 2 * MIB));
        assert_null(arena_alloc(a, ARENA_BLOCK_MAX + 1));
        arena_free(&a);
        assert_null(a);
    }
}

/* Fills the arena with blocks of n bytes; returns how many. */
static size_t fill_up(struct arena *a, size_t n, void **blocks, size_t max)
{
    size_t i = 0;

    while (i < max && (blocks[i] = arena_alloc(a, n)) != NULL) {
        assert_int_equal((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)i, n);
        i++;
    }
    return i;
}

static const size_t sizes[] = { 1, 16, 100, 500, 1100, 4000, 9000, 20000, 32768, 40000, ARENA_BLOCK_MAX };

/* One class after the other in the same arena: an emptied page serves any class. */
static void accounts_are_exact_and_pages_return(void **state)
{
    struct arena *a = arena_new(MIB);
    void **blocks = malloc(sizeof *blocks * 20000);

    (void)state;
    for (size_t k = 0; k < ROWS(sizes); k++) {
        size_t round = arena_round(sizes[k]), n = fill_up(a, sizes[k], blocks, 20000);

        if (n != MIB / 65536 * (65536 / round))
            fail_msg("%zu bytes: %zu blocks", sizes[k], n);
        assert_int_equal(arena_used(a), n * round);
        assert_int_equal(arena_footprint(a), MIB);
        assert_int_equal(arena_room(a, sizes[k]), 0);
        assert_int_equal(arena_unused(a), 0);
        assert_int_equal(arena_block_size(a, blocks[n / 2]), round);
        for (size_t i = 0; i < n; i++) {
            if (*(unsigned char *)blocks[i] != (unsigned char)i)
                fail_msg("block %zu of %zu bytes was overwritten", i, sizes[k]);
            arena_release(a, blocks[i], i % 2 ? sizes[k] : 0);
        }
        assert_int_equal(arena_used(a), 0);
        assert_int_equal(arena_footprint(a), 0);
        assert_int_equal(arena_unused(a), MIB);
    }
    free(blocks);
    arena_free(&a);
}

/* Two pages half empty: the fuller one is served, so the emptier can empty. */
static void the_fullest_page_serves(void **state)
{
    struct arena *a = arena_new(MIB);
    void *b[16]; /* 8 blocks of 8 KiB a page */
    void *again;

    (void)state;
    for (int i = 0; i < 16; i++)
        b[i] = arena_alloc(a, 8192);
    for (int i = 0; i < 7; i++)
        arena_release(a, b[i], 8192);
    arena_release(a, b[8], 8192);
    again = arena_alloc(a, 8192);
    assert_ptr_equal(again, b[8]);
    arena_release(a, b[7], 8192);
    assert_int_equal(arena_footprint(a), 65536);
    arena_release(a, again, 8192);
    for (int i = 9; i < 16; i++)
        arena_release(a, b[i], 8192);
    assert_int_equal(arena_footprint(a), 0);
    arena_free(&a);
}

static void without_a_page_a_larger_block_will_do(void **state)
{
    struct arena *a = arena_new(MIB);
    void **blocks = malloc(sizeof *blocks * 20000), *p;
    size_t n = fill_up(a, 2000, blocks, 20000), used = arena_used(a);

    (void)state;
    assert_null(arena_alloc(a, 1200));
    arena_release(a, blocks[5], 2000);
    assert_null(arena_alloc(a, 64)); /* not out of all proportion */
    assert_true(arena_room(a, 1200) >= 1200);
    assert_non_null(p = arena_alloc(a, 1200));
    assert_ptr_equal(p, blocks[5]);
    assert_int_equal(arena_used(a), used);
    blocks[5] = p;
    for (size_t i = 0; i < n; i++)
        arena_release(a, blocks[i], 0);
    assert_int_equal(arena_used(a), 0);
    free(blocks);
    arena_free(&a);
}

struct owner {
    struct arena *arena;
    uint64_t random;
    size_t refused;
};

/* Random sizes held for random times; each block is stamped at both ends by its owner. */
static void *churn(void *ctx)
{
    struct owner *me = ctx;
    struct { unsigned char *p; size_t n; } held[400] = { { NULL, 0 } };

    for (int i = 0; i < 60000; i++) {
        uint64_t r = next_random(&me->random);
        size_t k = r % 400, n = 1 + (r >> 20) % ((r >> 60) < 14 ? 3000 : ARENA_BLOCK_MAX);

        if (held[k].p != NULL) {
            assert_int_equal(held[k].p[0], (unsigned char)k);
            assert_int_equal(held[k].p[held[k].n - 1], (unsigned char)k);
            arena_release(me->arena, held[k].p, held[k].n);
        }
        held[k].n = n;
        if ((held[k].p = arena_alloc(me->arena, n)) == NULL) {
            me->refused++;
            continue;
        }
        held[k].p[0] = held[k].p[n - 1] = (unsigned char)k;
        assert_true(arena_used(me->arena) <= arena_capacity(me->arena));
    }
    for (size_t k = 0; k < 400; k++)
        if (held[k].p != NULL)
            arena_release(me->arena, held[k].p, held[k].n);
    return NULL;
}

static void threads_share_it(void **state)
{
    struct owner owners[THREADS];
    pthread_t threads[THREADS];
    struct arena *a = arena_new(4 * MIB);
    size_t refused = 0;

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        owners[i] = (struct owner){ a, 88172645463325252u + (uint64_t)i * 7919, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, churn, &owners[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        refused += owners[i].refused;
    }
    assert_true(refused > 0); /* it was full at times, or the test shows little */
    assert_int_equal(arena_used(a), 0);
    assert_int_equal(arena_footprint(a), 0);
    arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_wastes_little_and_is_idempotent),
        cmocka_unit_test(capacity_is_a_bound),
        cmocka_unit_test(accounts_are_exact_and_pages_return),
        cmocka_unit_test(the_fullest_page_serves),
        cmocka_unit_test(without_a_page_a_larger_block_will_do),
        cmocka_unit_test(threads_share_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
