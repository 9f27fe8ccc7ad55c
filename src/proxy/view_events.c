/* When a worker's periodic work is due. */
#include <sys/time.h>
#include "proxy/view.h"

static void add(struct worker *w, void *share)
{
    struct view_events *v = share;
    struct timeval due, now;

    if (!event_pending(&w->tick, EV_TIMEOUT, &due))
        return;
    gettimeofday(&now, NULL);
    v->tick_in = (int64_t)(due.tv_sec - now.tv_sec) * 1000000 + (due.tv_usec - now.tv_usec);
    v->has_tick = true;
}

static void drop(void *share)
{
    (void)share;
}

const struct gather_kind view_events = { sizeof(struct view_events), add, drop };
