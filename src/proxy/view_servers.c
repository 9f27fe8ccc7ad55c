/* A worker's connections to servers: those that rest, and what became of the others. */
#include "proxy/view.h"
#include "proxy/worker_state.h"

static void add_idle(const struct pool_idle_view *i, void *ctx)
{
    struct view_rows *rows = ctx;
    struct view_server *v = view_row(rows, sizeof *v);

    if (v == NULL)
        return;
    v->at = i->ends.peer;
    v->name = view_keep(rows, i->name);
}

static void add(struct worker *w, void *share)
{
    const struct proxy_worker *pw = view_worker(w);
    struct view_servers *v = share;

    v->rows.most = view_rows_most(w);
    pool_each(pw->pool, add_idle, &v->rows);
    pool_uses(pw->pool, v->uses);
    v->reads = pw->reads;
}

static void drop(void *share)
{
    view_rows_free(&((struct view_servers *)share)->rows);
}

const struct gather_kind view_servers = { sizeof(struct view_servers), add, drop };
