#include "net/worker.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

/* A poll of the epochs reads a cache line per thread; so not on every turn that retired something, but when that many
 * wait, or after so long. The tick gives an idle worker its turn. */
#define EPOCH_BATCH 32
#define EPOCH_POLL_US 1000

/* A worker that keeps posting to itself must still get to its sockets: after that many rounds of messages in one turn
 * the next one waits for the kernel's wake-up, which comes with the other events. */
#define ROUNDS_IN_TURN 16

/* What others posted, newest first: pushing is one CAS, taking all of it one exchange, and the taker turns it round. */
struct worker_inbox {
    alignas(64) _Atomic(struct worker_msg *) newest;
    alignas(64) struct worker_msg *todo; /* taken, in order of posting */
    struct event event;
    int fd; /* an eventfd */
    unsigned rounds;
};

/* Whose thread this is; NULL on others. */
static _Thread_local struct worker *current;

static void refused(const char *what)
{
    log_line(LOG_ERROR, "FATAL: cannot make a worker: %s: %s", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static struct event_base *new_base(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base;

    /* NOLOCK: one thread only. No changelist: a descriptor is registered once in its life, there is nothing to merge.
     * No precise timers: they cost a timerfd_settime() a turn. */
    if (config == NULL || event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV) != 0 ||
        event_config_require_features(config, EV_FEATURE_ET | EV_FEATURE_O1 | EV_FEATURE_EARLY_CLOSE) != 0)
        refused("event_config");
    if ((base = event_base_new_with_config(config)) == NULL)
        refused("event_base");
    event_config_free(config);
    return base;
}

static void *aligned_zeroed(size_t n)
{
    void *p = NULL;

    if (posix_memalign(&p, 64, n) != 0) {
        fputs("loligo: out of memory\n", stderr);
        abort();
    }
    return memset(p, 0, n);
}

/* True when there is something to run. */
static bool inbox_take(struct worker_inbox *in)
{
    struct worker_msg *m, *following;

    assert(in->todo == NULL);
    for (m = atomic_exchange_explicit(&in->newest, NULL, memory_order_acquire); m != NULL; m = following) {
        following = m->next;
        m->next = in->todo;
        in->todo = m;
    }
    return in->todo != NULL;
}

static void inbox_run(struct worker_inbox *in)
{
    while (in->todo != NULL) {
        struct worker_msg *m = in->todo;

        in->todo = m->next;
        m->next = NULL;
        m->run(m); /* m may be gone, or posted again, after that */
    }
}

static void on_inbox(evutil_socket_t fd, short what, void *arg)
{
    struct worker *w = arg;
    struct worker_inbox *in = w->inbox;

    (void)fd, (void)what;
    worker_turn(w);
    /* The eventfd is edge-triggered: every write is an edge, so its count is never read back. What run() posts comes
     * in another round. */
    if (inbox_take(in))
        inbox_run(in);
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct worker *w = arg;
    struct list_node due;

    (void)fd, (void)what;
    worker_turn(w);
    if (list_empty(&w->ticks))
        return;
    /* Each goes back before it runs: it, or another one, may be removed by what runs. */
    due = w->ticks;
    due.next->prev = due.prev->next = &due;
    list_init(&w->ticks);
    while (!list_empty(&due)) {
        struct list_node *n = due.next;
        struct worker_tick *t = CONTAINER_OF(n, struct worker_tick, node);

        list_remove(n);
        list_append(&w->ticks, n);
        t->run(t);
    }
}

void worker_turn_begin(struct worker *w)
{
    w->in_turn = true;
    epoch_enter(w->epoch);
    w->mono = clock_mono_us();
    w->wall = clock_wall_us();
}

static void turn_end(struct worker *w)
{
    if (!w->in_turn)
        return;
    w->in_turn = false;
    epoch_exit(w->epoch);
}

struct worker *worker_new(unsigned id)
{
    struct worker *w = xcalloc(1, sizeof *w);
    struct worker_inbox *in = aligned_zeroed(sizeof *in);
    const struct timeval second = { .tv_sec = 1 };

    w->id = id;
    w->inbox = in;
    w->base = new_base();
    w->epoch = epoch_register();
    w->counters = aligned_zeroed(sizeof *w->counters);
    w->scratch = xcalloc(1, WORKER_SCRATCH + 64);
    w->mono = clock_mono_us();
    w->wall = clock_wall_us();
    list_init(&w->ticks);
    if ((in->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0)
        refused("eventfd");
    event_assign(&in->event, w->base, in->fd, EV_READ | EV_ET | EV_PERSIST, on_inbox, w);
    event_assign(&w->tick, w->base, -1, EV_PERSIST, on_tick, w);
    if (event_add(&in->event, NULL) != 0 || event_add(&w->tick, &second) != 0)
        refused("event_add");
    return w;
}

void worker_free(struct worker **holder)
{
    struct worker *w = *holder;

    *holder = NULL;
    if (w == NULL)
        return;
    event_del(&w->inbox->event);
    event_del(&w->tick);
    /* What it never came to: such a message frees itself, or finds its owner gone. */
    worker_turn(w);
    while (inbox_take(w->inbox))
        inbox_run(w->inbox);
    turn_end(w);
    event_base_free(w->base);
    close(w->inbox->fd);
    epoch_unregister(&w->epoch);
    free(w->inbox);
    free(w->counters);
    free(w->scratch);
    free(w);
}

static void run_turns(struct worker *w)
{
    int64_t polled = clock_mono_us();

    while (!atomic_load_explicit(&w->stopping, memory_order_acquire)) {
        size_t retired;

        w->inbox->rounds = 0;
        if (event_base_loop(w->base, EVLOOP_ONCE) < 0) {
            /* Nothing a peer does gets us here. */
            log_line(LOG_ERROR, "FATAL: worker %u: event loop: %s", w->id, strerror(errno));
            abort();
        }
        turn_end(w);
        count(w->counters, SELECT_LOOPS, 1);
        retired = epoch_pending(w->epoch);
        if (retired > 0 && (retired >= EPOCH_BATCH || w->mono - polled >= EPOCH_POLL_US)) {
            epoch_poll(w->epoch);
            polled = w->mono;
        }
    }
}

/* What the new thread is handed; the thread's to free. */
struct beginning {
    struct worker *worker;
    void (*start)(struct worker *w);
};

static void *thread_main(void *arg)
{
    struct beginning b = *(struct beginning *)arg;
    struct worker *w = b.worker;

    free(arg);
    current = w;
    if (b.start != NULL) {
        worker_turn(w);
        b.start(w);
        turn_end(w);
    }
    run_turns(w);
    current = NULL;
    return NULL;
}

void worker_start(struct worker *w, void (*start)(struct worker *w))
{
    static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
    struct beginning *b = xmalloc(sizeof *b);
    sigset_t all, before;
    char name[16];
    int error;

    *b = (struct beginning){ w, start };
    /* Blocked before the thread is there: no signal finds it open. Not those of our own bugs, which would kill without
     * the handler that says where. */
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&w->thread, NULL, thread_main, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        errno = error;
        refused("pthread_create");
    }
    snprintf(name, sizeof name, "worker %u", w->id % 10000);
    pthread_setname_np(w->thread, name);
}

static void wake(struct worker *w)
{
    const uint64_t one = 1;

    while (write(w->inbox->fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

void worker_stop(struct worker *w)
{
    atomic_store_explicit(&w->stopping, true, memory_order_release);
    wake(w);
}

void worker_join(struct worker *w)
{
    int error = pthread_join(w->thread, NULL);

    assert(error == 0);
    (void)error;
}

void worker_post(struct worker *w, struct worker_msg *m)
{
    struct worker_inbox *in = w->inbox;
    struct worker_msg *newest = atomic_load_explicit(&in->newest, memory_order_relaxed);

    /* Release: what the sender wrote is there when run() looks. */
    do
        m->next = newest;
    while (!atomic_compare_exchange_weak_explicit(&in->newest, &newest, m, memory_order_release, memory_order_relaxed));
    /* Whoever found it empty wakes; the others' messages go with that one. m may be gone already. */
    if (newest != NULL)
        return;
    if (current == w && in->rounds < ROUNDS_IN_TURN) {
        in->rounds++;
        event_active(&in->event, EV_READ, 0);
    } else {
        wake(w);
    }
}

void worker_tick_add(struct worker *w, struct worker_tick *t)
{
    list_append(&w->ticks, &t->node);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct worker_timer *t = arg;

    (void)fd, (void)what;
    t->set = false;
    worker_turn(t->worker);
    t->run(t); /* may free t */
}

static void timer_prepare(struct worker *w, struct worker_timer *t, void (*run)(struct worker_timer *t))
{
    if (t->worker != w) {
        assert(!t->set);
        t->worker = w;
        event_assign(&t->event, w->base, -1, 0, on_timer, t);
    }
    t->run = run;
    t->set = true;
}

void worker_timer_set(struct worker *w, struct worker_timer *t, int64_t us, void (*run)(struct worker_timer *t))
{
    struct timeval after = { 0 };

    if (us > 0) {
        after.tv_sec = us / US_PER_S;
        after.tv_usec = us % US_PER_S;
    }
    timer_prepare(w, t, run);
    event_add(&t->event, &after);
}

void worker_timer_soon(struct worker *w, struct worker_timer *t, void (*run)(struct worker_timer *t))
{
    timer_prepare(w, t, run);
    event_active(&t->event, EV_TIMEOUT, 0);
}

void worker_timer_clear(struct worker_timer *t)
{
    if (!t->set)
        return;
    t->set = false;
    event_del(&t->event);
}
