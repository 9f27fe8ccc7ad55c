/* proxy/log_writer.h: the thread that takes lines out of the rings and writes them.
 *
 * Threads: log_writer_nudge() by workers; log_writer_add() and the rest by the main thread. */
#pragma once
#include <pthread.h>
#include "proxy/log_place.h"

/* Places a process may see in its life, over all reloads: they are never removed, so that nobody needs a lock to walk
 * them. */
#define LOG_PLACES_MAX 64

enum log_writer_state {
    LOG_WRITER_AWAKE,
    LOG_WRITER_LINGERS, /* will look again in 10 ms by itself: wake it only when a ring fills up */
    LOG_WRITER_SLEEPS,  /* wake it */
};

struct log_writer {
    _Atomic uint32_t state; /* enum log_writer_state; a futex */
    struct log_place *places[LOG_PLACES_MAX];
    atomic_uint n_places;   /* release: the place is complete */
    atomic_int rotate_keep; /* -1: no request */
    atomic_bool stopping;
    pthread_t thread;
    bool running;
};

void log_writer_init(struct log_writer *w);
/* Takes it over. False: LOG_PLACES_MAX. */
bool log_writer_add(struct log_writer *w, struct log_place *p);
void log_writer_start(struct log_writer *w);
/* At the next opportunity (at once when the thread isn't running); requests that come before that are one. */
void log_writer_rotate(struct log_writer *w, int keep);
/* Writes what is there (half a second at most for a reader that doesn't read), ends the thread, frees the places. */
void log_writer_stop(struct log_writer *w);

void log_writer_wake(struct log_writer *w);
/* After a line was put into r. */
static inline void log_writer_nudge(struct log_writer *w, struct log_ring *r)
{
    uint32_t state = atomic_load_explicit(&w->state, memory_order_seq_cst);

    if (state == LOG_WRITER_SLEEPS || (state == LOG_WRITER_LINGERS && log_ring_used(r) > LOG_RING_BYTES / 2))
        log_writer_wake(w);
}
