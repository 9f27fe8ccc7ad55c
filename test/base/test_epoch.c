#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "base/epoch.h"
#include <cmocka.h>

#define THREADS 4
#define ROUNDS 20000
#define ALIVE 0x600D600Du

static unsigned released;

static void count_release(void *p)
{
    (void)p;
    released++;
}

/* One thread alone: its own exit is all there is to wait for. */
static void nothing_is_freed_inside(void **state)
{
    struct epoch_thread *t = epoch_register();

    (void)state;
    released = 0;
    assert_false(epoch_inside(t));
    epoch_enter(t);
    assert_true(epoch_inside(t));
    for (int i = 0; i < 100; i++)
        epoch_retire(t, &released, count_release);
    assert_int_equal(released, 0);
    assert_int_equal(epoch_pending(t), 100);
    epoch_exit(t);
    assert_int_equal(released, 0);
    epoch_poll(t);
    assert_int_equal(released, 100);
    assert_int_equal(epoch_pending(t), 0);
    epoch_unregister(&t);
    assert_null(t);
}

static void another_reader_holds_it_up(void **state)
{
    struct epoch_thread *writer = epoch_register(), *reader = epoch_register(), *late = epoch_register();

    (void)state;
    released = 0;
    epoch_enter(reader);
    epoch_retire(writer, &released, count_release);
    for (int i = 0; i < 10; i++)
        epoch_poll(writer);
    assert_int_equal(released, 0);
    epoch_enter(late); /* who came after it was unlinked may hold it up for a while, but not see it */
    epoch_exit(reader);
    for (int i = 0; i < 10; i++)
        epoch_poll(writer);
    epoch_exit(late);
    epoch_poll(writer);
    assert_int_equal(released, 1);
    epoch_unregister(&late);
    epoch_unregister(&reader);
    epoch_unregister(&writer);
}

/* Somebody who waits outside holds nothing up. */
static void a_sleeper_does_not(void **state)
{
    struct epoch_thread *writer = epoch_register(), *sleeper = epoch_register();

    (void)state;
    released = 0;
    epoch_enter(sleeper);
    epoch_exit(sleeper);
    epoch_retire(writer, &released, count_release);
    epoch_poll(writer);
    assert_int_equal(released, 1);
    epoch_unregister(&sleeper);
    epoch_unregister(&writer);
}

static struct epoch_thread *chained;

static void retire_more(void *p)
{
    unsigned *left = p;

    released++;
    if (--*left > 0)
        epoch_retire(chained, p, retire_more);
}

static void a_release_may_retire(void **state)
{
    unsigned left = 5;
    struct epoch_thread *t = epoch_register();

    (void)state;
    released = 0;
    chained = t;
    epoch_retire(t, &left, retire_more);
    epoch_unregister(&t); /* waits for all of it */
    assert_int_equal(released, 5);
}

static void slots_are_used_again(void **state)
{
    (void)state;
    for (int i = 0; i < 3 * EPOCH_THREADS_MAX; i++) {
        struct epoch_thread *t = epoch_register();

        epoch_unregister(&t);
    }
}

struct thing {
    atomic_uint alive;
    unsigned value;
};

static _Atomic(struct thing *) shared[8];
static atomic_size_t made, freed;

static struct thing *thing_new(unsigned value)
{
    struct thing *x = malloc(sizeof *x);

    atomic_init(&x->alive, ALIVE);
    x->value = value;
    atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
    return x;
}

static void thing_free(void *p)
{
    struct thing *x = p;

    atomic_store_explicit(&x->alive, 0, memory_order_relaxed);
    free(x);
    atomic_fetch_add_explicit(&freed, 1, memory_order_relaxed);
}

/* Reads plain memory of what others replace and free: a sanitizer sees every use after free and every race. */
static void *read_and_replace(void *ctx)
{
    struct epoch_thread *t = epoch_register();
    unsigned seed = *(unsigned *)ctx;

    for (int i = 0; i < ROUNDS; i++) {
        epoch_enter(t);
        for (int k = 0; k < 8; k++) {
            struct thing *x = atomic_load_explicit(&shared[k], memory_order_acquire);

            if (atomic_load_explicit(&x->alive, memory_order_relaxed) != ALIVE || x->value % 8 != (unsigned)k)
                abort();
            if ((seed = seed * 1103515245u + 12345u) >> 28 == 0)
                epoch_retire(t, atomic_exchange(&shared[k], thing_new(8 * seed + (unsigned)k)), thing_free);
        }
        epoch_exit(t);
        if (i % 4 == 0)
            epoch_poll(t);
    }
    epoch_unregister(&t);
    return NULL;
}

static void threads_read_what_others_free(void **state)
{
    pthread_t threads[THREADS];
    unsigned seeds[THREADS];

    (void)state;
    for (unsigned k = 0; k < 8; k++)
        atomic_store(&shared[k], thing_new(k));
    for (unsigned i = 0; i < THREADS; i++) {
        seeds[i] = 77 + i;
        assert_int_equal(pthread_create(&threads[i], NULL, read_and_replace, &seeds[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(made, freed + 8);
    assert_true(freed > ROUNDS / 4);
    for (int k = 0; k < 8; k++)
        thing_free(atomic_load(&shared[k]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_freed_inside),
        cmocka_unit_test(another_reader_holds_it_up),
        cmocka_unit_test(a_sleeper_does_not),
        cmocka_unit_test(a_release_may_retire),
        cmocka_unit_test(slots_are_used_again),
        cmocka_unit_test(threads_read_what_others_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
