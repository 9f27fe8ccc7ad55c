/* proxy/log_writer.c
 *
 * Wake-ups: a worker that makes a line every few microseconds must not make a system call for each. So the thread, once
 * woken, looks again every 10 ms as long as it finds something, and says that it sleeps only when it found nothing: a
 * busy worker wakes it never, an idle one once. */
#include "proxy/log_writer.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"

#define LINGER_US 10000
#define STUCK_US 20000
#define SLEEP_US (60 * US_PER_S) /* to close what is no longer wanted */
#define CLOSE_AFTER_US (60 * US_PER_S)
#define LAST_TRY_US (US_PER_S / 2)

void log_writer_init(struct log_writer *w)
{
    memset(w, 0, sizeof *w);
    atomic_init(&w->rotate_keep, -1);
}

bool log_writer_add(struct log_writer *w, struct log_place *p)
{
    unsigned n = atomic_load_explicit(&w->n_places, memory_order_relaxed);

    if (n == LOG_PLACES_MAX)
        return false;
    w->places[n] = p;
    atomic_store_explicit(&w->n_places, n + 1, memory_order_release);
    return true;
}

static void futex_wait(_Atomic uint32_t *word, uint32_t expected, int64_t us)
{
    struct timespec t = { .tv_sec = us / US_PER_S, .tv_nsec = us % US_PER_S * 1000 };

    (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, &t, NULL, 0);
}

void log_writer_wake(struct log_writer *w)
{
    if (atomic_exchange_explicit(&w->state, LOG_WRITER_AWAKE, memory_order_seq_cst) != LOG_WRITER_AWAKE)
        (void)syscall(SYS_futex, &w->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static bool has_orders(struct log_writer *w)
{
    return atomic_load(&w->stopping) || atomic_load(&w->rotate_keep) >= 0;
}

static bool has_lines(struct log_writer *w)
{
    unsigned n = atomic_load_explicit(&w->n_places, memory_order_acquire);

    for (unsigned i = 0; i < n; i++)
        if (!log_place_empty(w->places[i]))
            return true;
    return false;
}

/* Says that it will sleep, looks once more, sleeps. */
static void rest(struct log_writer *w, enum log_writer_state state, int64_t us)
{
    atomic_store_explicit(&w->state, state, memory_order_seq_cst);
    if (!has_orders(w) && (state == LOG_WRITER_LINGERS || !has_lines(w)))
        futex_wait(&w->state, state, us);
    atomic_store_explicit(&w->state, LOG_WRITER_AWAKE, memory_order_seq_cst);
}

struct pass {
    bool wrote, stuck;
};

/* Everything that can be written now. */
static struct pass write_all(struct log_writer *w)
{
    struct pass all = { false, false };
    unsigned n = atomic_load_explicit(&w->n_places, memory_order_acquire);

    for (unsigned i = 0; i < n; i++) {
        struct log_place *p = w->places[i];
        int64_t now = clock_mono_us();
        enum log_place_result r;

        /* Bounded, so that one place that fills as fast as it is written doesn't keep the others waiting. */
        for (int runs = 0; (r = log_place_write(p, now)) == LOG_PLACE_WROTE && runs < 256; runs++)
            all.wrote = true;
        all.stuck |= r == LOG_PLACE_STUCK;
        log_place_tell_drops(p, now, false);
        if (p->fd >= 0 && !atomic_load(&p->wanted) && r == LOG_PLACE_IDLE && now - p->idle_since > CLOSE_AFTER_US) {
            close(p->fd);
            p->fd = -1;
        }
    }
    return all;
}

static void carry_out_rotation(struct log_writer *w)
{
    int keep = atomic_exchange(&w->rotate_keep, -1);
    unsigned n = atomic_load_explicit(&w->n_places, memory_order_acquire);

    for (unsigned i = 0; keep >= 0 && i < n; i++)
        if (atomic_load(&w->places[i]->wanted))
            log_place_rotate(w->places[i], keep);
}

/* The workers are done. */
static void write_the_rest(struct log_writer *w)
{
    int64_t deadline = clock_mono_us() + LAST_TRY_US;

    for (;;) {
        struct pass p = write_all(w);

        if ((!p.wrote && !p.stuck) || clock_mono_us() >= deadline)
            break;
        if (!p.wrote)
            futex_wait(&w->state, LOG_WRITER_AWAKE, STUCK_US);
    }
    for (unsigned i = 0; i < atomic_load(&w->n_places); i++)
        log_place_tell_drops(w->places[i], clock_mono_us(), true);
}

static void *run(void *ctx)
{
    struct log_writer *w = ctx;

    for (;;) {
        bool stop = atomic_load(&w->stopping);
        struct pass p = write_all(w);

        carry_out_rotation(w);
        if (stop)
            break;
        if (p.wrote)
            rest(w, LOG_WRITER_LINGERS, LINGER_US);
        else if (p.stuck)
            rest(w, LOG_WRITER_LINGERS, STUCK_US);
        else
            rest(w, LOG_WRITER_SLEEPS, SLEEP_US);
    }
    write_the_rest(w);
    return NULL;
}

void log_writer_start(struct log_writer *w)
{
    sigset_t all, before;

    if (w->running)
        return;
    /* SIGPIPE too: a reader that goes away is an error of write(), no more. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if ((errno = pthread_create(&w->thread, NULL, run, w)) != 0) {
        log_line(LOG_ERROR, "FATAL: can't start the log thread: %s", strerror(errno));
        abort();
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    w->running = true;
}

void log_writer_rotate(struct log_writer *w, int keep)
{
    atomic_store(&w->rotate_keep, keep < 0 ? 0 : keep);
    if (w->running) {
        log_writer_wake(w);
    } else {
        (void)write_all(w);
        carry_out_rotation(w);
    }
}

void log_writer_stop(struct log_writer *w)
{
    if (w->running) {
        atomic_store(&w->stopping, true);
        log_writer_wake(w);
        pthread_join(w->thread, NULL);
        w->running = false;
    } else {
        write_the_rest(w);
    }
    for (unsigned i = 0; i < atomic_load(&w->n_places); i++)
        log_place_free(&w->places[i]);
    atomic_store(&w->n_places, 0);
}
