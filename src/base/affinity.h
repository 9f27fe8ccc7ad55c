/* base/affinity.h: which processors the calling thread runs on.
 *
 * Threads: each for itself. The main thread is never pinned: its set is the process's. */
#pragma once
#include <sched.h>
#include <stdbool.h>

#define AFFINITY_CPUS_MAX 1024 /* what a cpu_set_t holds */

/* Only on this processor, 0 to AFFINITY_CPUS_MAX - 1. False: the process may not use it; the thread stays as it was. */
bool affinity_pin(int cpu);
/* On all that the process may use: also for threads that inherited a worker's. */
void affinity_unpin(void);

/* What is started in between inherits the process's set, not a pinned thread's. */
struct affinity {
    cpu_set_t cpus;
    bool known;
};
struct affinity affinity_leave(void);
void affinity_return(const struct affinity *a);
