/* test/proxy/test_gather.c: shares of several workers, of which some are held up, and askers that leave. ASan sees that every share is
 * freed once. */
#include "../net/harness.h"

#include <stdlib.h>
#include "base/mem.h"
#include "proxy/gather.h"

#define WORKERS 3

struct share {
    char *who;
};

static atomic_uint added, dropped;

static void add(struct worker *w, void *p)
{
    struct share *s = p;

    s->who = xasprintf("worker %u", w->id);
    atomic_fetch_add(&added, 1);
}

static void drop(void *p)
{
    struct share *s = p;

    if (s->who != NULL)
        atomic_fetch_add(&dropped, 1);
    free(s->who);
}

static const struct gather_kind kind = { sizeof(struct share), add, drop };

struct asker {
    struct worker *workers[WORKERS];
    bool runs[WORKERS];
    int64_t wait_us;
    struct gathering *g;
    char *who[WORKERS]; /* as gathered; NULL: missing */
    unsigned missing, calls;
    bool keep; /* g is left to a later end() */
    struct gate done;
};

static void gathered(void *owner)
{
    struct asker *a = owner;

    a->calls++;
    a->missing = gather_missing(a->g);
    for (unsigned i = 0; i < gather_workers(a->g); i++) {
        const struct share *s = gather_share(a->g, i);

        a->who[i] = s != NULL ? xstrdup(s->who) : NULL;
    }
    if (!a->keep)
        gather_end(&a->g);
    gate_open(&a->done);
}

static void start(void *arg)
{
    struct asker *a = arg;
    const struct gather_plan plan = {
        .kind = &kind,
        .workers = a->workers,
        .n = WORKERS,
        .asker = a->workers[0],
        .wait_us = a->wait_us,
        .done = gathered,
        .owner = a,
    };

    a->g = gather_start(&plan);
}

static void end(void *arg)
{
    struct asker *a = arg;

    gather_end(&a->g);
}

static void start_and_end(void *arg)
{
    start(arg);
    end(arg);
}

/* stuck: never comes to its messages. */
static void begin(struct asker *a, int stuck, int64_t wait_us)
{
    *a = (struct asker){ .wait_us = wait_us, .done = GATE_INIT };
    atomic_store(&added, 0);
    atomic_store(&dropped, 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        a->workers[i] = worker_new(i);
        a->runs[i] = (int)i != stuck;
        if (a->runs[i])
            worker_start(a->workers[i], NULL);
    }
}

/* As the proxy ends: all stop, then each is freed, in order. */
static void finish(struct asker *a)
{
    for (unsigned i = 0; i < WORKERS; i++)
        worker_stop(a->workers[i]);
    for (unsigned i = 0; i < WORKERS; i++)
        if (a->runs[i])
            worker_join(a->workers[i]);
    for (unsigned i = 0; i < WORKERS; i++) {
        worker_free(&a->workers[i]);
        free(a->who[i]);
    }
    assert_int_equal(atomic_load(&dropped), atomic_load(&added));
}

static void all_shares_come_together(void **state)
{
    struct asker a;

    (void)state;
    begin(&a, -1, PATIENCE_S * 1000000);
    call(a.workers[0], start, &a);
    assert_true(gate_passed(&a.done));
    assert_int_equal(a.missing, 0);
    assert_string_equal(a.who[0], "worker 0");
    assert_string_equal(a.who[1], "worker 1");
    assert_string_equal(a.who[2], "worker 2");
    finish(&a);
    assert_int_equal(a.calls, 1);
}

static void a_stuck_worker_is_waited_for_so_long_only(void **state)
{
    struct asker a;

    (void)state;
    begin(&a, 2, 50000);
    call(a.workers[0], start, &a);
    assert_true(gate_passed(&a.done));
    assert_int_equal(a.missing, 1);
    assert_string_equal(a.who[1], "worker 1");
    assert_null(a.who[2]);
    finish(&a);
    assert_int_equal(a.calls, 1);
    assert_int_equal(atomic_load(&added), 2);
}

static void nothing(void *arg)
{
    (void)arg;
}

/* Its share comes after all while the page is being put together: what was missing stays so. */
static void a_late_share_changes_nothing(void **state)
{
    struct asker a;

    (void)state;
    begin(&a, 2, 50000);
    a.keep = true;
    call(a.workers[0], start, &a);
    assert_true(gate_passed(&a.done));
    worker_start(a.workers[2], NULL);
    a.runs[2] = true;
    call(a.workers[2], nothing, NULL); /* behind the part */
    assert_null(gather_share(a.g, 2));
    assert_int_equal(gather_missing(a.g), 1);
    call(a.workers[0], end, &a);
    finish(&a);
    assert_int_equal(a.calls, 1);
}

static void who_leaves_is_not_called(void **state)
{
    struct asker a;

    (void)state;
    begin(&a, -1, 1000);
    call(a.workers[0], start_and_end, &a);
    finish(&a);
    assert_int_equal(a.calls, 0);
}

/* What a stopped worker has is gone, and so is the asker, freed before it. */
static void all_stop_meanwhile(void **state)
{
    struct asker a;

    (void)state;
    begin(&a, 2, PATIENCE_S * 1000000);
    call(a.workers[0], start, &a);
    call(a.workers[0], end, &a);
    finish(&a);
    assert_int_equal(a.calls, 0);
    assert_true(atomic_load(&added) <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_shares_come_together),     cmocka_unit_test(a_stuck_worker_is_waited_for_so_long_only),
        cmocka_unit_test(a_late_share_changes_nothing), cmocka_unit_test(who_leaves_is_not_called),
        cmocka_unit_test(all_stop_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
