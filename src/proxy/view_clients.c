/* Clients by address, and what they have asked for, on a worker. */
#include "proxy/view.h"
#include "proxy/worker_state.h"

struct maker {
    struct proxy_worker *pw;
    struct view_clients *v;
};

static void add_client(const struct client_record *r, void *ctx)
{
    struct maker *m = ctx;
    struct view_client *row = view_row(&m->v->rows, sizeof *row);
    char name[HOST_NAME_MAX_LEN + 1];

    row->client = r->client;
    row->place = r->place;
    row->connections = r->connections;
    row->requests = r->requests;
    memcpy(row->tags, r->tags, sizeof row->tags);
    if (resolve_name_of_cached(m->pw->resolver, &r->client, name))
        row->name = view_keep(&m->v->rows, span_str(name));
}

static void add(struct worker *w, void *share)
{
    struct maker m = { view_worker(w), share };
    const struct client_records *records = m.pw->records;

    m.v->rows.most = SIZE_MAX;
    m.v->end = client_records_each(records, view_rows_most(w), add_client, &m);
    m.v->rows.passed = client_records_number(records) - m.v->rows.n;
    m.v->totals = client_records_totals(records);
}

static void drop(void *share)
{
    view_rows_free(&((struct view_clients *)share)->rows);
}

const struct gather_kind view_clients = { sizeof(struct view_clients), add, drop };
