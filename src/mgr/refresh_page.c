/* mgr:refresh: which refresh_pattern responses fall under, and whether stored ones were fresh when they were wanted. */
#include <inttypes.h>
#include <stdlib.h>
#include "base/mem.h"
#include "mgr/gathered.h"

struct sums {
    uint64_t *used; /* n_refresh + 1 */
    uint64_t lookups[REUSE_N], stored[LIFETIME_N];
};

static void add_up(struct sums *sum, const struct refresh_counts *c, const struct settings *s)
{
    for (int i = 0; i < REUSE_N; i++)
        sum->lookups[i] += c->lookups[i];
    for (int i = 0; i < LIFETIME_N; i++)
        sum->stored[i] += c->stored[i];
    /* A worker that has other settings by now has other patterns. */
    for (size_t i = 0; c->settings == s && i < c->n_used; i++)
        sum->used[i] += c->used[i];
}

static void add_pattern(struct strbuf *out, uint64_t used, uint64_t checks, const char *option, const char *pattern)
{
    sb_printf(out, "%12" PRIu64 "\t%10" PRIu64 "\t%6.2f\t%s%s\n", used, checks, percentage(used, checks), option,
              pattern);
}

/* One is looked at when none before it has matched. */
static void add_patterns(struct strbuf *out, const struct sums *sum, const struct settings *s)
{
    uint64_t checks = 0;

    for (size_t i = 0; i <= s->n_refresh; i++)
        checks += sum->used[i];
    sb_str(out, "\nRefresh pattern usage:\n\n  Used      \tChecks    \t% Matches\tPattern\n");
    for (size_t i = 0; i < s->n_refresh; i++) {
        add_pattern(out, sum->used[i], checks, s->refresh[i].ignore_case ? "-i " : "", s->refresh[i].pattern);
        checks -= sum->used[i];
    }
    if (checks > 0)
        add_pattern(out, checks, checks, "", "(none matches)");
}

static uint64_t total_of(const uint64_t *n, size_t count)
{
    uint64_t total = 0;

    for (size_t i = 0; i < count; i++)
        total += n[i];
    return total;
}

static void add_histogram(struct strbuf *out, const char *title, const uint64_t *n, size_t count,
                          const char *const *names)
{
    uint64_t total = total_of(n, count);

    sb_printf(out, "\n\n%s histogram:\nCount\t%%Total\tCategory\n", title);
    for (size_t i = 0; i < count; i++)
        sb_printf(out, "%6" PRIu64 "\t%6.2f\t%s\n", n[i], percentage(n[i], total), names[i]);
}

static void add_calls(struct strbuf *out, const struct sums *sum)
{
    const struct {
        const char *name;
        uint64_t n;
    } rows[] = {
        { "HTTP", total_of(sum->lookups, REUSE_N) },       { "ICP", 0 }, { "HTCP", 0 }, { "Cache Digests", 0 },
        { "On Store", total_of(sum->stored, LIFETIME_N) },
    };
    uint64_t all = rows[0].n + rows[4].n;

    sb_str(out, "\nRefreshCheck calls per protocol\n\nProtocol\t#Calls\t%Calls\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        sb_printf(out, "%10s\t%6" PRIu64 "\t%6.2f\n", rows[i].name, rows[i].n, percentage(rows[i].n, all));
}

void refresh_page(struct page_request *r, struct strbuf *out)
{
    static const char *const lookups[REUSE_N] = {
        [REUSE_FRESH] = "Fresh: expires time not reached",         [REUSE_STALE_OK] = "Fresh: request max-stale value",
        [REUSE_STALE_MEANWHILE] = "Fresh: stale-while-revalidate", [REUSE_VALIDATE] = "Stale: expires time reached",
        [REUSE_ASKED] = "Stale: request has no-cache directive",
    };
    static const char *const stored[LIFETIME_N] = {
        [LIFETIME_NONE] = "Stale: by default",
        [LIFETIME_EXPLICIT] = "Fresh: expires time not reached",
        [LIFETIME_HEURISTIC] = "Fresh: refresh_pattern last-mod factor percentage",
        [LIFETIME_RULE] = "Fresh: refresh_pattern min value",
        [LIFETIME_NEGATIVE] = "Fresh: negative_ttl",
    };
    const struct settings *s = r->q->settings;
    struct sums sum = { .used = xcalloc(s->n_refresh + 1, sizeof *sum.used) };

    for (unsigned i = 0; i < gather_workers(r->q->gathered); i++) {
        const struct refresh_counts *share = gather_share(r->q->gathered, i);

        if (share != NULL)
            add_up(&sum, share, s);
    }
    add_patterns(out, &sum, s);
    add_calls(out, &sum);
    sb_str(out, "\n\nRefreshCheck histograms for various protocols\n");
    add_histogram(out, "HTTP", sum.lookups, REUSE_N, lookups);
    add_histogram(out, "On Store", sum.stored, LIFETIME_N, stored);
    add_missing(r, out, 0, "");
    free(sum.used);
}
