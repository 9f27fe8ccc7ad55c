/* mgr:reasons: why requests were hits, misses or refused: how often each %Sr decided. Ours; Squid has none. */
#include <inttypes.h>
#include <stdlib.h>
#include "mgr/page.h"
#include "proxy/proxy.h"

struct row {
    const char *reason;
    uint64_t n;
};

static int by_count(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return strcmp(x->reason, y->reason);
}

static void add(struct row *rows, size_t *n, const char *reason, uint64_t count)
{
    size_t i = 0;

    while (i < *n && strcmp(rows[i].reason, reason) != 0)
        i++;
    if (i == *n) {
        if (*n == REASONS_MAX)
            return;
        rows[(*n)++] = (struct row){ reason, 0 };
    }
    rows[i].n += count;
}

void reasons_page(struct page_request *r, struct strbuf *out)
{
    struct row rows[REASONS_MAX];
    size_t n = 0;

    for (unsigned w = 0; w < proxy_workers(r->proxy); w++) {
        const struct reason_counts *c = proxy_reasons(r->proxy, w);

        for (size_t i = 0; i < REASONS_MAX; i++) {
            const char *reason =
                atomic_load_explicit(&((struct reason_counts *)(uintptr_t)c)->rows[i].reason, memory_order_acquire);

            if (reason == NULL)
                break;
            add(rows, &n, reason,
                atomic_load_explicit(&((struct reason_counts *)(uintptr_t)c)->rows[i].n, memory_order_relaxed));
        }
    }
    qsort(rows, n, sizeof rows[0], by_count);
    for (size_t i = 0; i < n; i++)
        sb_printf(out, "%s = %" PRIu64 "\n", rows[i].reason, rows[i].n);
}
