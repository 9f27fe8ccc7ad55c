#include "base/affinity.h"

#include <sched.h>
#include <unistd.h>

/* getpid() is the main thread's number. */
static bool process_cpus(cpu_set_t *cpus)
{
    return sched_getaffinity(getpid(), sizeof *cpus, cpus) == 0;
}

bool affinity_pin(int cpu)
{
    cpu_set_t all, one;

    if (!process_cpus(&all) || !CPU_ISSET(cpu, &all))
        return false;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

void affinity_unpin(void)
{
    cpu_set_t all;

    if (process_cpus(&all))
        (void)sched_setaffinity(0, sizeof all, &all); /* what it has already can't be denied */
}

struct affinity affinity_leave(void)
{
    struct affinity a;

    a.known = sched_getaffinity(0, sizeof a.cpus, &a.cpus) == 0;
    affinity_unpin();
    return a;
}

void affinity_return(const struct affinity *a)
{
    if (a->known)
        (void)sched_setaffinity(0, sizeof a->cpus, &a->cpus); /* it had it a moment ago */
}
