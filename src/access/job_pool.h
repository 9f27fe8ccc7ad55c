/* access/job_pool.h: a few threads for what takes too long for a worker (a password's hash: up to 100 ms). A job is worked
 * at on one of them and comes back to its worker through worker_post().
 *
 * Threads: job_pool_add() from any worker; the rest from one thread. */
#pragma once
#include "net/worker.h"

/* Embedded in its owner's memory, which lives until done() is called. */
struct job {
    struct worker_msg msg; /* job_pool.c's */
    struct job *next;      /* job_pool.c's */
    struct worker *worker;
    void (*work)(struct job *j); /* on a thread of the pool; touches nothing of the worker's */
    void (*done)(struct job *j); /* on the worker's thread; may free j */
    bool worked;                 /* false in done(): the pool was freed first */
};

struct job_pool;
/* Without a thread: they are started when there is work. Never NULL. */
struct job_pool *job_pool_new(void);
/* Waits for the jobs in hand; the rest come back unworked. No worker may add any more. */
void job_pool_free(struct job_pool **holder);
/* threads, waiting: the most threads there may be and the most jobs that may wait for one, from the settings in force.
 * False: too many wait; done() won't be called. */
bool job_pool_add(struct job_pool *p, struct job *j, unsigned threads, unsigned waiting);
