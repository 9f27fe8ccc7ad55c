#include "restart.h"

#include <string.h>
#include "base/clock.h"

#define DELAY_FIRST (US_PER_S / 10)
#define DELAY_MOST (4 * US_PER_S)

static void forget_before(struct restart *r, int64_t then)
{
    unsigned old = 0;

    while (old < r->n && r->died[old] < then)
        old++;
    r->n -= old;
    memmove(r->died, r->died + old, r->n * sizeof r->died[0]);
}

int64_t restart_after(struct restart *r, int64_t now, int64_t lived, bool killed)
{
    int64_t wait;

    if (killed && lived >= US_PER_S / 2)
        return 0;
    if (lived >= RESTART_YOUNG_S * US_PER_S)
        return 0;
    forget_before(r, now - RESTART_WITHIN_S * US_PER_S);
    r->died[r->n++] = now;
    if (r->n == RESTART_DEATHS)
        return RESTART_GIVE_UP;
    if (r->n == 1)
        r->delay = 0;
    wait = r->delay;
    r->delay = wait == 0 ? DELAY_FIRST : wait * 2 < DELAY_MOST ? wait * 2 : DELAY_MOST;
    return wait;
}
