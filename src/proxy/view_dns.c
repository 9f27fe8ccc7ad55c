/* A worker's talk with DNS servers. */
#include "proxy/view.h"
#include "proxy/worker_state.h"

struct maker {
    struct view_rows *rows;
    int64_t mono;
};

static void add_query(const struct dns_query_view *q, void *ctx)
{
    struct maker *m = ctx;
    struct view_query *v = view_row(m->rows, sizeof *v);

    if (v == NULL)
        return;
    v->id = q->id;
    v->sends = q->sends;
    v->size = q->size;
    v->first = m->mono - q->first;
    v->last = m->mono - q->last;
    v->name = view_keep(m->rows, span_str(q->name));
}

static void add(struct worker *w, void *share)
{
    struct view_dns *v = share;
    struct maker m = { &v->rows, worker_mono(w) };
    const struct resolver *r = view_worker(w)->resolver;
    size_t n;

    v->rows.most = view_rows_most(w);
    n = resolver_queries(r, v->rows.most, add_query, &m);
    v->rows.passed = n - v->rows.n;
    resolver_traffic(r, &v->traffic);
}

static void drop(void *share)
{
    view_rows_free(&((struct view_dns *)share)->rows);
}

const struct gather_kind view_dns = { sizeof(struct view_dns), add, drop };
