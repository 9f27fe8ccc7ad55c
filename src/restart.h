/* restart.h: when a child that died is replaced. Pure: `now` is an argument, microseconds of a monotonic clock.
 *
 * The first death costs nothing: the next child starts at once. When several die young (within RESTART_YOUNG_S), the
 * next ones wait: 0.1 s, 0.2 s ... 4 s; RESTART_DEATHS within RESTART_WITHIN_S seconds end it all. A kill -9 comes from
 * outside (an operator, the kernel short of memory) and says nothing about the child: it is replaced at once and not
 * counted, unless it had not lived for half a second. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define RESTART_YOUNG_S 10
#define RESTART_DEATHS 5
#define RESTART_WITHIN_S 30
#define RESTART_GIVE_UP INT64_C(-1)

/* Starts zeroed. */
struct restart {
    int64_t died[RESTART_DEATHS]; /* when young, newest last */
    unsigned n;
    int64_t delay;
};

/* Microseconds until the next start, or RESTART_GIVE_UP. killed: by SIGKILL. */
int64_t restart_after(struct restart *r, int64_t now, int64_t lived, bool killed);
