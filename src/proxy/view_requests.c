/* Requests that are being answered on a worker. Those answered from memory at once are over before anybody could look. */
#include "net/socket_bytes.h"
#include "proxy/client_conn.h"
#include "proxy/transaction.h"
#include "proxy/transaction_owner.h"
#include "proxy/tunnel.h"
#include "proxy/view.h"

static void fill(struct view_request *v, struct view_rows *rows, const struct client_conn *c, const struct request *r,
                 const struct log_entry *log)
{
    struct socket_bytes bytes = socket_bytes(c->stream.fd);

    v->fd = c->stream.fd;
    v->received = bytes.received;
    v->sent = bytes.sent;
    v->kept = c->kept_len;
    v->room = c->kept_capacity - c->kept_len;
    v->remote = c->peer;
    v->local = c->local;
    v->requests = c->requests;
    v->url = view_keep_url(rows, request_log_url(r));
    if (r->user_state == USER_KNOWN)
        v->user = view_keep(rows, r->user);
    v->tag = log->tag;
    v->request_bytes = r->bytes_in;
    v->has_key = r->method != METHOD_CONNECT && !r->is_internal;
    v->key = r->key;
    v->start_wall = r->start_wall;
    v->age = worker_mono(c->pw->worker) - r->start_mono;
}

static void add_transaction(struct view_rows *rows, const struct client_conn *c, struct transaction *t)
{
    const struct log_entry *log = transaction_log(t);
    struct view_request *v = view_row(rows, sizeof *v);

    if (v == NULL)
        return;
    fill(v, rows, c, transaction_request(t), log);
    v->out = log->bytes_out;
    v->delayed = transaction_is_delayed(t);
    v->doing = t == c->tx ? "Request" : "Request behind another one";
}

static void add_tunnel(struct view_rows *rows, const struct client_conn *c)
{
    struct view_request *v = view_row(rows, sizeof *v);

    if (v == NULL)
        return;
    fill(v, rows, c, tunnel_request(c->tunnel), tunnel_log(c->tunnel));
    v->out = tunnel_bytes_down(c->tunnel);
    v->doing = "Tunnel";
}

static void add_client(struct view_rows *rows, const struct client_conn *c)
{
    if (c->tx != NULL)
        add_transaction(rows, c, c->tx);
    for (struct transaction *t = c->ahead; t != NULL; t = *transaction_behind(t))
        add_transaction(rows, c, t);
    if (c->tunnel != NULL)
        add_tunnel(rows, c);
}

static void add(struct worker *w, void *share)
{
    struct view_rows *rows = share;
    const struct list_node *clients = &view_worker(w)->clients;

    rows->most = view_rows_most(w);
    for (const struct list_node *n = clients->next; n != clients; n = n->next)
        add_client(rows, CONTAINER_OF(n, struct client_conn, node));
}

static void drop(void *share)
{
    view_rows_free(share);
}

const struct gather_kind view_requests = { sizeof(struct view_rows), add, drop };
