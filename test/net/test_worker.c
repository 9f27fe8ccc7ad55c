#include "harness.h"

#include <signal.h>
#include <stdlib.h>
#include "base/clock.h"

/* Messages. */

#define SENDERS 3
#define EACH 2000

struct numbered {
    struct worker_msg msg;
    unsigned sender, number;
};

static struct worker *receiver;
static unsigned next_of[SENDERS], out_of_order, arrived;
static bool outside_a_turn;
static struct gate all_here = GATE_INIT;

static void numbered_run(struct worker_msg *m)
{
    struct numbered *n = (struct numbered *)(void *)m;

    if (!receiver->in_turn || !epoch_inside(receiver->epoch))
        outside_a_turn = true;
    if (n->number != next_of[n->sender]++)
        out_of_order++;
    free(n);
    if (++arrived == SENDERS * EACH)
        gate_open(&all_here);
}

static void *sender(void *arg)
{
    for (unsigned i = 0; i < EACH; i++) {
        struct numbered *n = calloc(1, sizeof *n);

        n->msg.run = numbered_run;
        n->sender = (unsigned)(uintptr_t)arg;
        n->number = i;
        worker_post(receiver, &n->msg);
    }
    return NULL;
}

static void messages_keep_each_senders_order(void **state)
{
    pthread_t threads[SENDERS];

    (void)state;
    receiver = worker_running();
    for (uintptr_t i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, sender, (void *)i), 0);
    assert_true(gate_passed(&all_here));
    for (size_t i = 0; i < SENDERS; i++)
        pthread_join(threads[i], NULL);
    worker_end(&receiver);
    assert_int_equal(out_of_order, 0);
    assert_int_equal(arrived, SENDERS * EACH);
    assert_false(outside_a_turn);
}

/* A worker posting to itself. */

struct self {
    struct worker_msg msg;
    struct worker *worker;
    uint64_t loops[100];
    unsigned n;
    struct gate done;
};

static uint64_t loops_of(const struct worker *w)
{
    return counter_get(w->counters, SELECT_LOOPS);
}

static void self_run(struct worker_msg *m)
{
    struct self *s = (struct self *)(void *)m;

    s->loops[s->n++] = loops_of(s->worker);
    if (s->n < LENGTH(s->loops))
        worker_post(s->worker, m);
    else
        gate_open(&s->done);
}

static void own_messages_run_in_the_same_turn_but_not_for_ever(void **state)
{
    static struct self s = { .msg.run = self_run, .done = GATE_INIT };

    (void)state;
    s.worker = worker_running();
    worker_post(s.worker, &s.msg);
    assert_true(gate_passed(&s.done));
    worker_end(&s.worker);
    assert_int_equal(s.loops[1], s.loops[0]);
    assert_true(s.loops[99] > s.loops[0]);
}

/* The clock of a turn, timers. */

struct timing {
    struct worker *worker;
    struct worker_timer first, second, cleared, soon;
    int64_t start, fired_at[2];
    unsigned order[4], n;
    uint64_t soon_set_in, soon_ran_in;
    bool clocks_differ, cleared_ran;
    struct gate done;
};

static void timing_second(struct worker_timer *t)
{
    struct timing *x = CONTAINER_OF(t, struct timing, second);

    x->order[x->n++] = 2;
    x->fired_at[1] = clock_mono_us();
    gate_open(&x->done);
}

static void timing_first(struct worker_timer *t)
{
    struct timing *x = CONTAINER_OF(t, struct timing, first);

    x->order[x->n++] = 1;
    x->fired_at[0] = clock_mono_us();
    /* Re-armed while armed: the new time counts. */
    worker_timer_set(x->worker, &x->second, 20000, timing_second);
}

static void timing_cleared(struct worker_timer *t)
{
    CONTAINER_OF(t, struct timing, cleared)->cleared_ran = true;
}

static void timing_soon(struct worker_timer *t)
{
    struct timing *x = CONTAINER_OF(t, struct timing, soon);

    x->soon_ran_in = loops_of(x->worker);
}

static void timing_begin(void *arg)
{
    struct timing *x = arg;
    int64_t before = worker_mono(x->worker);

    x->start = before;
    worker_timer_set(x->worker, &x->second, 10 * US_PER_S, timing_second);
    worker_timer_set(x->worker, &x->first, 30000, timing_first);
    worker_timer_set(x->worker, &x->cleared, 1000, timing_cleared);
    worker_timer_clear(&x->cleared);
    worker_timer_soon(x->worker, &x->cleared, timing_cleared);
    worker_timer_clear(&x->cleared);
    worker_timer_clear(&x->cleared);
    worker_timer_soon(x->worker, &x->soon, timing_soon);
    x->soon_set_in = loops_of(x->worker);
    while (clock_mono_us() == before)
        ;
    x->clocks_differ = worker_mono(x->worker) != before;
}

static void timers_fire_once_and_in_order(void **state)
{
    static struct timing x = { .done = GATE_INIT };

    (void)state;
    x.worker = worker_running();
    call(x.worker, timing_begin, &x);
    assert_true(gate_passed(&x.done));
    worker_end(&x.worker);
    assert_int_equal(x.n, 2);
    assert_int_equal(x.order[0], 1);
    assert_int_equal(x.order[1], 2);
    /* libevent's clock is the coarse one: a tick of the kernel early is as good as it gets. */
    assert_true(x.fired_at[0] - x.start >= 30000 - 10000);
    assert_true(x.fired_at[1] - x.start < 5 * US_PER_S);
    assert_false(x.cleared_ran);
    assert_int_equal(x.soon_ran_in, x.soon_set_in);
    assert_false(x.clocks_differ);
}

/* Ticks: may remove each other while they run. */

struct ticking {
    struct worker *worker;
    struct worker_tick a, b;
    unsigned a_ran, b_ran;
    struct gate done;
};

static void tick_a(struct worker_tick *t)
{
    struct ticking *x = CONTAINER_OF(t, struct ticking, a);

    if (x->a_ran++ == 0)
        list_remove(&x->b.node);
    else
        gate_open(&x->done);
}

static void tick_b(struct worker_tick *t)
{
    CONTAINER_OF(t, struct ticking, b)->b_ran++;
}

static void ticking_begin(void *arg)
{
    struct ticking *x = arg;

    worker_tick_add(x->worker, &x->a);
    worker_tick_add(x->worker, &x->b);
}

static void ticks_go_on_and_may_be_removed(void **state)
{
    static struct ticking x = { .a.run = tick_a, .b.run = tick_b, .done = GATE_INIT };

    (void)state;
    x.worker = worker_running();
    call(x.worker, ticking_begin, &x);
    assert_true(gate_passed(&x.done));
    worker_end(&x.worker);
    assert_true(x.a_ran >= 2);
    assert_int_equal(x.b_ran, 0);
}

/* Epochs: an idle worker frees what it retired. */

static struct gate released = GATE_INIT;
static bool released_inside;

static void release(void *p)
{
    struct worker *w = p;

    released_inside = epoch_inside(w->epoch);
    gate_open(&released);
}

static void retire(void *arg)
{
    struct worker *w = arg;

    epoch_retire(w->epoch, w, release);
}

static void an_idle_worker_frees_what_it_retired(void **state)
{
    struct worker *w = worker_running();

    (void)state;
    call(w, retire, w);
    assert_true(gate_passed(&released));
    worker_end(&w);
    assert_false(released_inside);
}

/* The end. */

struct late {
    struct worker_msg msg;
    struct worker *worker;
    unsigned ran;
    bool in_turn;
};

static void late_run(struct worker_msg *m)
{
    struct late *l = (struct late *)(void *)m;

    l->in_turn = epoch_inside(l->worker->epoch);
    if (l->ran++ == 0)
        worker_post(l->worker, m);
}

static void late_messages_run_when_the_worker_is_freed(void **state)
{
    struct late l = { .msg.run = late_run, .worker = worker_running() };
    struct worker *w = l.worker;

    (void)state;
    worker_stop(w);
    worker_join(w);
    worker_post(w, &l.msg);
    assert_int_equal(l.ran, 0);
    worker_free(&w);
    assert_int_equal(l.ran, 2);
    assert_true(l.in_turn);
}

/* Start and signals. */

static bool started_in_turn, blocked;
static struct gate started = GATE_INIT;

static void note_start(struct worker *w)
{
    sigset_t now;

    started_in_turn = w->in_turn && epoch_inside(w->epoch) && worker_mono(w) > 0 && worker_wall(w) > 0;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    blocked = sigismember(&now, SIGTERM) == 1 && sigismember(&now, SIGHUP) == 1;
    gate_open(&started);
}

static void start_runs_in_a_turn_with_signals_blocked(void **state)
{
    struct worker *w = worker_new(7);
    sigset_t now;

    (void)state;
    worker_start(w, note_start);
    assert_true(gate_passed(&started));
    worker_end(&w);
    assert_true(started_in_turn);
    assert_true(blocked);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    assert_int_equal(sigismember(&now, SIGTERM), 0);
    assert_null(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_keep_each_senders_order),
        cmocka_unit_test(own_messages_run_in_the_same_turn_but_not_for_ever),
        cmocka_unit_test(timers_fire_once_and_in_order),
        cmocka_unit_test(ticks_go_on_and_may_be_removed),
        cmocka_unit_test(an_idle_worker_frees_what_it_retired),
        cmocka_unit_test(late_messages_run_when_the_worker_is_freed),
        cmocka_unit_test(start_runs_in_a_turn_with_signals_blocked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
