#include "proxy/reason_counts.h"

#include <stddef.h>

void reason_count(struct reason_counts *c, const char *reason)
{
    if (reason == NULL)
        return;
    /* By address: a text has one in each file that says it, and the page adds those up. The usual ones come first, so this is
     * a compare or two. */
    for (size_t i = 0; i < REASONS_MAX; i++) {
        const char *there = atomic_load_explicit(&c->rows[i].reason, memory_order_relaxed);

        if (there == NULL)
            atomic_store_explicit(&c->rows[i].reason, reason, memory_order_release);
        if (there == NULL || there == reason) {
            uint64_t n = atomic_load_explicit(&c->rows[i].n, memory_order_relaxed);

            atomic_store_explicit(&c->rows[i].n, n + 1, memory_order_relaxed);
            return;
        }
    }
}
