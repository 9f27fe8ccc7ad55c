/* What a worker's resolver keeps, in both directions. */
#include "net/hosts.h"
#include "proxy/view.h"
#include "proxy/worker_state.h"

/* One line for each; their order is the order to try. */
static struct view_text keep_addresses(struct view_rows *rows, const struct addr *addrs, size_t n)
{
    struct view_text t = { rows->text.len, 0 };
    char text[ADDR_TEXT_MAX];

    for (size_t i = 0; i < n; i++) {
        (void)view_keep(rows, span_of(text, addr_print(&addrs[i], text)));
        sb_char(&rows->text, '\n');
    }
    t.len = rows->text.len - t.at;
    return t;
}

static struct view_name *add_entry(struct view_rows *rows, const struct resolver_entry *e)
{
    struct view_name *v = view_row(rows, sizeof *v);

    if (v == NULL)
        return NULL;
    v->text = view_keep(rows, e->text);
    v->negative = e->status != RESOLVE_OK;
    v->ttl = e->ttl;
    v->unused = e->unused;
    return v;
}

static void add_addresses_of(const struct resolver_entry *e, void *ctx)
{
    struct view_rows *rows = ctx;
    struct view_name *v = add_entry(rows, e);

    if (v == NULL)
        return;
    v->told = keep_addresses(rows, e->addrs, e->n);
    v->n = (unsigned)e->n;
}

static void add_name_of(const struct resolver_entry *e, void *ctx)
{
    struct view_rows *rows = ctx;
    struct view_name *v = add_entry(rows, e);

    if (v == NULL || e->called.len == 0)
        return;
    v->told = view_keep(rows, e->called);
    v->n = 1;
}

/* The lines of a name stand one after the other. */
static void add_host(const char *name, const struct addr *a, void *ctx)
{
    struct view_rows *rows = ctx;
    struct view_name *v = rows->n > 0 ? &((struct view_name *)rows->p)[rows->n - 1] : NULL;

    if (v == NULL || !v->of_hosts || !span_eq(view_span(&rows->text, v->text), span_str(name))) {
        if ((v = view_row(rows, sizeof *v)) == NULL)
            return;
        v->of_hosts = true;
        v->text = view_keep(rows, span_str(name));
        v->told.at = rows->text.len;
    }
    v->told.len += keep_addresses(rows, a, 1).len;
    v->n++;
}

static void add_host_address(const char *name, const struct addr *a, void *ctx)
{
    struct view_rows *rows = ctx;
    struct view_name *v = view_row(rows, sizeof *v);
    char text[ADDR_TEXT_MAX];

    if (v == NULL)
        return;
    v->of_hosts = true;
    v->text = view_keep(rows, span_of(text, addr_print(a, text)));
    v->told = view_keep(rows, span_str(name));
    v->n = 1;
}

/* Names that were asked for first; what room they leave is the hosts file's. */
static void add(struct worker *w, struct view_names *v, enum resolve_direction d)
{
    const struct resolver *r = view_worker(w)->resolver;
    bool addresses = d == RESOLVE_ADDRESSES;
    size_t most, n, told;

    v->stats = resolver_stats(r, d);
    v->rows.most = view_rows_most(w);
    told = resolver_each(r, d, v->rows.most, addresses ? add_addresses_of : add_name_of, &v->rows);
    if (v->stats.entries > told)
        v->rows.passed = v->stats.entries - told;
    if (w->id != 0)
        return;
    most = v->rows.most - v->rows.n;
    n = addresses ? hosts_each(resolver_hosts(r), most, add_host, &v->rows)
                  : hosts_each_address(resolver_hosts(r), most, add_host_address, &v->rows);
    if (n > most)
        v->rows.passed += n - most;
}

static void add_addresses(struct worker *w, void *share)
{
    add(w, share, RESOLVE_ADDRESSES);
}

static void add_names(struct worker *w, void *share)
{
    add(w, share, RESOLVE_NAMES);
}

static void drop(void *share)
{
    view_rows_free(&((struct view_names *)share)->rows);
}

const struct gather_kind view_addresses = { sizeof(struct view_names), add_addresses, drop };
const struct gather_kind view_names = { sizeof(struct view_names), add_names, drop };
