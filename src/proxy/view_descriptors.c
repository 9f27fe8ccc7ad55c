/* A worker's sockets. Files, pipes and what belongs to no worker are seen by whoever makes the page. */
#include "base/clock.h"
#include "net/socket_bytes.h"
#include "proxy/client_conn.h"
#include "proxy/fetch.h"
#include "proxy/transaction.h"
#include "proxy/tunnel.h"
#include "proxy/view.h"

/* NULL: no room. */
static struct view_descriptor *add_socket(struct view_rows *rows, int fd, const struct addr *remote, const char *what)
{
    struct view_descriptor *v;
    struct socket_bytes bytes;

    if (fd < 0 || (v = view_row(rows, sizeof *v)) == NULL)
        return NULL;
    bytes = socket_bytes(fd);
    v->fd = fd;
    v->received = bytes.received;
    v->sent = bytes.sent;
    v->remote = *remote;
    v->what = what;
    return v;
}

static int64_t seconds_left(int64_t whole, int64_t passed)
{
    return whole > passed ? (whole - passed) / US_PER_S : 0;
}

/* Between two requests, or before the first. */
static void describe_resting(struct view_descriptor *v, const struct client_conn *c, int64_t mono)
{
    const struct settings *s = c->pw->settings;

    v->what = c->head_began != 0 ? "Reading request" : "Reading next request";
    v->reading = !v->writing;
    v->timeout =
        seconds_left(c->requests > 0 ? s->client_idle_pconn_timeout : s->request_start_timeout, mono - c->stamp);
}

static void add_client(struct view_rows *rows, const struct client_conn *c, int64_t mono)
{
    struct view_descriptor *v = add_socket(rows, c->stream.fd, &c->peer, "");

    if (v == NULL)
        return;
    v->is_client = true;
    v->writing = out_queue_waits(&c->out);
    if (c->state == CLIENT_LINGER) {
        v->what = "Waiting for the client's end";
        v->reading = true;
    } else if (c->tx != NULL || c->tunnel != NULL) {
        v->timeout = seconds_left(c->pw->settings->client_lifetime, mono - c->opened);
        v->url = view_keep_url(rows,
                               request_log_url(c->tx != NULL ? transaction_request(c->tx) : tunnel_request(c->tunnel)));
    } else {
        describe_resting(v, c, mono);
    }
}

static void add_tunnel(struct view_rows *rows, const struct tunnel *t)
{
    struct addr server;
    int fd = tunnel_server(t, &server);
    struct view_descriptor *v = add_socket(rows, fd, &server, "");

    if (v == NULL)
        return;
    v->reading = true;
    v->url = view_keep_url(rows, request_log_url(tunnel_request(t)));
}

static void add_fetch(struct view_rows *rows, const struct fetch *f, int64_t mono)
{
    struct fetch_facts facts = fetch_facts(f);
    struct view_descriptor *v = add_socket(rows, facts.fd, &facts.server, "");

    if (v == NULL)
        return;
    v->writing = facts.writing;
    v->reading = !facts.writing;
    v->timeout = seconds_left(facts.timeout, mono - facts.stamp);
    v->url = view_keep_url(rows, facts.url);
}

static void add_listener(int fd, const struct addr *at, void *ctx)
{
    struct view_descriptor *v = add_socket(ctx, fd, at, "HTTP Socket");

    if (v != NULL)
        v->reading = true;
}

struct idle_maker {
    struct view_rows *rows;
    int64_t mono;
};

static void add_idle(const struct pool_idle_view *i, void *ctx)
{
    struct idle_maker *m = ctx;
    struct view_descriptor *v = add_socket(m->rows, i->fd, &i->ends.peer, "Idle server: ");

    if (v == NULL)
        return;
    v->reading = true;
    v->timeout = seconds_left(i->expires, m->mono);
    v->name = view_keep(m->rows, i->name);
}

static void add_dns(int fd, void *ctx)
{
    const struct addr local = stream_local_addr(fd);
    struct view_descriptor *v =
        add_socket(ctx, fd, &local, local.family == AF_INET6 ? "DNS Socket IPv6" : "DNS Socket IPv4");

    if (v != NULL)
        v->reading = true;
}

static void add(struct worker *w, void *share)
{
    struct view_rows *rows = share;
    struct proxy_worker *pw = view_worker(w);
    struct idle_maker idle = { rows, worker_mono(w) };
    struct list_node *n, *following;

    rows->most = view_rows_most(w);
    proxy_worker_listeners(pw, add_listener, rows);
    resolver_sockets(pw->resolver, add_dns, rows);
    LIST_EACH (n, following, &pw->fetches)
        add_fetch(rows, fetch_of(n), worker_mono(w));
    LIST_EACH (n, following, &pw->clients) {
        const struct client_conn *c = CONTAINER_OF(n, struct client_conn, node);

        add_client(rows, c, worker_mono(w));
        if (c->tunnel != NULL)
            add_tunnel(rows, c->tunnel);
    }
    pool_each(pw->pool, add_idle, &idle);
}

static void drop(void *share)
{
    view_rows_free(share);
}

const struct gather_kind view_descriptors = { sizeof(struct view_rows), add, drop };
