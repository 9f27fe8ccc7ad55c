/* How a worker found out whether responses are fresh. */
#include <stdlib.h>
#include "base/mem.h"
#include "proxy/view.h"
#include "proxy/worker_state.h"

static void add(struct worker *w, void *share)
{
    struct refresh_counts *copy = share;

    *copy = view_worker(w)->refresh;
    copy->used = xcalloc(copy->n_used, sizeof *copy->used);
    memcpy(copy->used, view_worker(w)->refresh.used, copy->n_used * sizeof *copy->used);
}

static void drop(void *share)
{
    free(((struct refresh_counts *)share)->used);
}

const struct gather_kind view_refresh = { sizeof(struct refresh_counts), add, drop };
