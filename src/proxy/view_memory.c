/* What a worker holds memory for, by kind. The store's is not a worker's. */
#include "proxy/client_conn.h"
#include "proxy/fetch_private.h"
#include "proxy/transaction_private.h"
#include "proxy/tunnel.h"
#include "proxy/view.h"

static void count_pool(struct view_memory *v, enum view_pool p, size_t n, size_t bytes)
{
    v->pools[p].n += n;
    v->pools[p].bytes += bytes;
}

static void add_client(struct view_memory *v, const struct client_conn *c)
{
    count_pool(v, POOL_CLIENT_CONN, 1, sizeof *c);
    if (c->kept != NULL)
        count_pool(v, POOL_KEPT, 1, c->kept_capacity);
    if (c->tx != NULL)
        count_pool(v, POOL_TRANSACTION, 1, sizeof *c->tx);
    for (struct transaction *t = c->ahead; t != NULL; t = *transaction_behind(t))
        count_pool(v, POOL_TRANSACTION, 1, sizeof *t);
    if (c->tunnel != NULL)
        count_pool(v, POOL_TUNNEL, 1, tunnel_memory(c->tunnel));
}

static void add_fetch(struct view_memory *v, const struct fetch *f)
{
    count_pool(v, POOL_FETCH, 1, sizeof *f);
    if (f->out.capacity > 0)
        count_pool(v, POOL_FETCH_OUT, 1, f->out.capacity);
}

static void add(struct worker *w, void *share)
{
    const struct proxy_worker *pw = view_worker(w);
    struct view_memory *v = share;
    size_t n, bytes;

    for (const struct list_node *at = pw->clients.next; at != &pw->clients; at = at->next)
        add_client(v, CONTAINER_OF(at, struct client_conn, node));
    for (struct list_node *at = pw->fetches.next; at != &pw->fetches; at = at->next)
        add_fetch(v, fetch_of(at));
    n = client_records_number(pw->records);
    count_pool(v, POOL_CLIENT_RECORD, n, n * sizeof(struct client_record));
    for (int d = 0; d < RESOLVE_DIRECTIONS; d++) {
        struct resolver_stats stats = resolver_stats(pw->resolver, d);

        count_pool(v, POOL_RESOLVER_ENTRY, stats.entries, stats.bytes);
    }
    n = auth_logins(pw->auth, &bytes);
    count_pool(v, POOL_LOGIN, n, bytes);
}

static void drop(void *share)
{
    (void)share;
}

const struct gather_kind view_memory = { sizeof(struct view_memory), add, drop };
