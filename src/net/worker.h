/* net/worker.h: a thread with its event loop, and how others talk to it.
 *
 * Threads: a worker's members are its own thread's; from outside only worker_post(), worker_stop() and reading
 * counters.
 *
 * A turn of the loop: wait, then callbacks. Every callback from net (streams, timers, messages, listeners) runs
 * inside the worker's epoch and sees one cached time; the epoch is left before the next wait. */
#pragma once
#include <event2/event.h>
#include <event2/event_struct.h>
#include <pthread.h>
#include <stdatomic.h>
#include "base/counters.h"
#include "base/epoch.h"
#include "base/list.h"

/* A message; embedded in its sender's memory, which lives until run() is called on the receiver's thread. */
struct worker_msg {
    struct worker_msg *next;
    void (*run)(struct worker_msg *m);
};

#define WORKER_SCRATCH 65536

struct worker {
    unsigned id; /* 0, 1, ... */
    struct event_base *base;
    struct epoch_thread *epoch;
    struct counters *counters;
    void *user;    /* what the room above hangs here; set before worker_start() */
    char *scratch; /* WORKER_SCRATCH bytes + 64 readable behind them: for one callback's use, such as recv() */
    bool in_turn;
    int64_t mono, wall; /* microseconds; of this turn: read through worker_mono(), worker_wall() */
    struct worker_inbox *inbox;
    struct event tick;
    struct list_node ticks; /* struct worker_tick */
    pthread_t thread;
    atomic_bool stopping;
};

/* With its event base, not running. Never NULL (exits with a message when the kernel refuses). */
struct worker *worker_new(unsigned id);
/* Not running. Runs the messages it never came to, in a last turn on the caller's thread. */
void worker_free(struct worker **holder);
/* The thread; runs start(w) first on it, then turns until worker_stop(). Signals are blocked in it. */
void worker_start(struct worker *w, void (*start)(struct worker *w));
/* Asks it to end after the current turn. Any thread. */
void worker_stop(struct worker *w);
void worker_join(struct worker *w);

/* Begins a turn if none is on: enters the epoch, reads the clocks. Every callback from libevent calls it first. */
void worker_turn_begin(struct worker *w);
static inline void worker_turn(struct worker *w)
{
    if (!w->in_turn)
        worker_turn_begin(w);
}
static inline int64_t worker_mono(const struct worker *w)
{
    return w->mono;
}
static inline int64_t worker_wall(const struct worker *w)
{
    return w->wall;
}

/* m->run(m) on w's thread, soon, in order of posting. Any thread; from w itself it costs no system call and runs
 * later in the same turn (or in the next, when that would keep the sockets waiting). m must not be posted again before
 * it runs; run() may post it, or free it. What a stopped worker has not come to is run by worker_free(). */
void worker_post(struct worker *w, struct worker_msg *m);

/* Called about once a second on the worker's thread, for sweeping time-outs. Embedded; list_remove() ends it. */
struct worker_tick {
    struct list_node node;
    void (*run)(struct worker_tick *t);
};
void worker_tick_add(struct worker *w, struct worker_tick *t);

/* A one-shot timer. */
struct worker_timer {
    struct event event;
    struct worker *worker;
    void (*run)(struct worker_timer *t);
    bool set;
};
/* Zeroed timer; (re)arms. */
void worker_timer_set(struct worker *w, struct worker_timer *t, int64_t us, void (*run)(struct worker_timer *t));
/* Runs it later in this turn, without a system call: a deferral that, unlike a message, can be cleared. Not for what
 * would go on for ever deferring itself: the sockets would wait. */
void worker_timer_soon(struct worker *w, struct worker_timer *t, void (*run)(struct worker_timer *t));
/* Idempotent. */
void worker_timer_clear(struct worker_timer *t);
