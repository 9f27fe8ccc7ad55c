/* mgr:events: periodic work. Timers of single connections come and go too fast to be worth a row. */
#include <inttypes.h>
#include "base/clock.h"
#include "mgr/gathered.h"

static void add_event(struct strbuf *out, const char *name, int64_t in)
{
    sb_printf(out, "%-25s\t%.3f sec\t%5d\t N/A\n", name, in > 0 ? (double)in / 1e6 : 0, 1);
}

void events_page(struct page_request *r, struct strbuf *out)
{
    const struct gathering *g = r->q->gathered;
    int64_t sampled = r->now.mono - history_last_tick(r->history), last_tick = INT64_MAX;
    char name[32];

    for (unsigned i = 0; i < gather_workers(g); i++) {
        const struct view_events *share = gather_share(g, i);

        if (share != NULL && share->has_tick && US_PER_S - share->tick_in < last_tick)
            last_tick = US_PER_S - share->tick_in;
    }
    sb_printf(out, "Last event to run: %s\n\n", last_tick <= sampled ? "workerTick" : "statSample");
    sb_printf(out, "%-25s\tNext Execution \tWeight\tCallback Valid?\n", "Operation");
    for (unsigned i = 0; i < gather_workers(g); i++) {
        const struct view_events *share = gather_share(g, i);

        if (share == NULL || !share->has_tick)
            continue;
        snprintf(name, sizeof name, "workerTick %u", i);
        add_event(out, name, share->tick_in);
    }
    add_event(out, "statSample", 60 * US_PER_S - sampled);
    add_missing(r, out, 0, "");
}
