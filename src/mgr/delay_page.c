/* mgr:delay: how full the delay pools are. */
#include <inttypes.h>
#include "mgr/page.h"

static void add_level(struct strbuf *out, const char *name, const struct delay_rate *rate)
{
    if (rate->restore < 0)
        sb_printf(out, "\t%s:\n\t\tDisabled.\n", name);
    else
        sb_printf(out, "\t%s:\n\t\tMax: %" PRId64 "\n\t\tRestore: %" PRId64 "\n", name, rate->max, rate->restore);
}

/* Of whom there are many buckets, only their number is told: their owners are nobody's business but the log's. */
static void add_pool(struct page_request *r, struct strbuf *out, const char *kind, size_t number,
                     const struct delay_setting *d)
{
    static const char *const names[DELAY_LEVELS] = {
        [DELAY_ALL] = "Aggregate", [DELAY_NETWORK] = "Network", [DELAY_HOST] = "Individual",
        [DELAY_NAME] = "User",     [DELAY_OWN] = "Transaction",
    };
    struct delay_stats stats = { 0 };

    if (d->name != NULL)
        sb_printf(out, "\n%s: %s\n", kind, d->name);
    else
        sb_printf(out, "\n%s: %zu\n", kind, number);
    if (d->class != 0)
        sb_printf(out, "\tClass: %d\n", d->class);
    if (d->pool == NULL) {
        sb_str(out, "\tMisconfigured pool.\n");
        return;
    }
    delay_pool_stats(d->pool, r->now.mono, &stats);
    for (int i = 0; i < DELAY_LEVELS; i++) {
        add_level(out, names[i], &d->config.rates[i]);
        if (i == DELAY_ALL && d->config.rates[i].restore >= 0)
            sb_printf(out, "\t\tCurrent: %" PRId64 "\n", stats.level[i]);
    }
    sb_printf(out, "\tBuckets: %zu\n\tTransfers: %zu\n", stats.buckets, stats.uses);
}

static void add_pools(struct page_request *r, struct strbuf *out, const char *kind, const struct delay_settings *all)
{
    for (size_t i = 0; i < all->n_pools; i++)
        add_pool(r, out, kind, i + 1, &all->pools[i]);
}

void delay_page(struct page_request *r, struct strbuf *out)
{
    const struct settings *s = r->q->settings;

    sb_printf(out, "Delay pools configured: %zu\n", s->delays.n_pools);
    add_pools(r, out, "Pool", &s->delays);
    add_pools(r, out, "Client pool", &s->client_delays);
    add_pools(r, out, "Response pool", &s->response_delays);
}
