#include "stored.h"

#define MIB ((size_t)1 << 20)

static const struct { const char *why; uint64_t length; } lengths[] = {
    { "one byte",                    1 },
    { "small",                       100 },
    { "1 KiB",                       1024 },
    { "10 KiB: one block",           10240 },
    { "between two large classes",   40000 },
    { "just what a block takes",     ARENA_BLOCK_MAX },
    { "several blocks",              300000 },
};

static void bodies_come_back_as_they_were(void **state)
{
    (void)state;
    for (int heap = 0; heap < 2; heap++)
        for (size_t i = 0; i < ROWS(lengths); i++) {
            struct arena *a = arena_new(2 * MIB), *from = heap ? NULL : a;
            struct object *o = test_stored(from, i, lengths[i].length);
            uint64_t n = lengths[i].length;

            assert_int_equal(object_length(o), n);
            if (!body_is(o->body, i, 0, n) || !body_is(o->body, i, n - 1, 1) || !body_is(o->body, i, n / 3, n / 2) ||
                !body_is(o->body, i, n, 0))
                fail_msg("%s", lengths[i].why);
            assert_int_equal(object_charge(o), arena_used(a));
            object_unref(&o);
            assert_null(o);
            assert_int_equal(arena_used(a), 0);
            arena_free(&a);
        }
}

static void segments_waste_little(void **state)
{
    struct arena *a = arena_new(4 * MIB);

    (void)state;
    for (uint64_t n = 600; n < 500000; n += n / 50) {
        struct body *b = test_body(a, 1, n);

        if (arena_used(a) > n + n / 6 + 200)
            fail_msg("%llu bytes take %zu", (unsigned long long)n, arena_used(a));
        assert_int_equal(body_charge(b), arena_used(a));
        body_unref(&b);
    }
    assert_int_equal(arena_used(a), 0);
    arena_free(&a);
}

static void a_body_lives_as_long_as_one_of_its_objects(void **state)
{
    struct arena *a = arena_new(MIB);
    struct object *o = test_stored(a, 1, 5000), *updated = test_object(a, 1, NULL, NULL), *held = object_ref(o);
    size_t before;

    (void)state;
    updated->body = body_ref(o->body);
    object_unref(&o);
    before = arena_used(a);
    assert_true(body_is(held->body, 1, 0, 5000));
    object_unref(&held);
    assert_true(arena_used(a) < before);
    assert_true(body_is(updated->body, 1, 0, 5000));
    object_unref(&updated);
    assert_int_equal(arena_used(a), 0);
    object_unref(&updated); /* NULL is fine */
    arena_free(&a);
}

static void a_full_arena_says_so(void **state)
{
    struct arena *a = arena_new(MIB);
    struct body *b = test_body(a, 1, 900000), *none;

    (void)state;
    assert_non_null(b);
    none = test_body(a, 1, 900000);
    assert_null(none);
    while (test_object(a, 1, NULL, NULL) != NULL)
        ;
    assert_null(test_stored(a, 1, 10));
    body_unref(&b);
    arena_free(&a); /* with the objects in it */
}

static void dropping_from_the_front_frees_as_it_goes(void **state)
{
    struct arena *a = arena_new(MIB);
    struct body *b = test_body(a, 1, 200000);
    size_t last = arena_used(a);

    (void)state;
    body_drop_first(&b); /* its own block: stays until the last */
    assert_int_equal(arena_used(a), last);
    while (b != NULL) {
        body_drop_first(&b);
        assert_true(arena_used(a) < last);
        last = arena_used(a);
    }
    assert_int_equal(last, 0);
    arena_free(&a);
}

static void age_is_floored_and_never_negative(void **state)
{
    static const struct { int64_t base, mono, want; } ages[] = {
        { 0, 0, 0 }, { 0, 999999, 0 }, { 0, 1000000, 1 }, { 5000000, 1000000, 0 }, { -3000000, 500000, 3 },
    };
    struct object o = { 0 };

    (void)state;
    for (size_t i = 0; i < ROWS(ages); i++) {
        o.age_base = ages[i].base;
        assert_int_equal(object_age(&o, ages[i].mono), ages[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_come_back_as_they_were),
        cmocka_unit_test(segments_waste_little),
        cmocka_unit_test(a_body_lives_as_long_as_one_of_its_objects),
        cmocka_unit_test(a_full_arena_says_so),
        cmocka_unit_test(dropping_from_the_front_frees_as_it_goes),
        cmocka_unit_test(age_is_floored_and_never_negative),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
