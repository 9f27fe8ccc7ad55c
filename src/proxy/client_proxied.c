/* http_port require-proxy-header: the connection's first bytes say whose it is. */
#include "proxy/client_conn_private.h"

#include "access/access_list.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/proxy_header.h"

#define COMPLAIN_US (60 * US_PER_S)
/* Bytes read at a time: a header is rarely longer. */
#define HELPING 4096

/* Once a minute a worker: whoever sends these may send many. */
static void complain(struct client_conn *c, const char *why)
{
    char peer[ADDR_TEXT_MAX];
    const struct addr shown = addr_cut(&c->peer, c->pw->settings->client_netmask);
    int64_t now = worker_mono(c->pw->worker);

    if (c->pw->proxied_complaint != 0 && now - c->pw->proxied_complaint < COMPLAIN_US)
        return;
    c->pw->proxied_complaint = now;
    addr_print(&shown, peer);
    log_line(LOG_IMPORTANT, "WARNING: connection from %s to http_port %s closed: %s", peer, client_conn_port(c)->name,
             why);
}

bool client_conn_may_be_proxied(struct client_conn *c)
{
    const struct access_facts facts = {
        .client = c->peer,
        .local = c->local,
        .port_name = span_str(client_conn_port(c)->name),
    };

    if (access_check(c->pw->settings->proxy_protocol_access, &facts).answer == ACCESS_ALLOWED)
        return true;
    complain(c, "proxy_protocol_access doesn't allow it to send a PROXY header");
    return false;
}

enum client_proxied client_conn_read_proxied(struct client_conn *c)
{
    struct worker *w = c->pw->worker;
    struct proxy_header h;
    const char *why;
    ssize_t n;

    if (!c->readable)
        return c->eof ? CLIENT_PROXIED_REFUSED : CLIENT_PROXIED_WAIT;
    n = client_conn_receive(c, w->scratch, HELPING, false);
    if (n == STREAM_AGAIN)
        return CLIENT_PROXIED_WAIT;
    if (n <= 0)
        return CLIENT_PROXIED_REFUSED;
    client_conn_keep(c, w->scratch, (size_t)n);
    switch (proxy_header_parse(client_conn_kept(c), (uint32_t)c->pw->settings->request_header_max_size, &h, &why)) {
    case PROXY_HEADER_MORE: return CLIENT_PROXIED_WAIT;
    case PROXY_HEADER_BAD: complain(c, why); return CLIENT_PROXIED_REFUSED;
    case PROXY_HEADER_DONE: break;
    }
    if (h.has_addresses) {
        c->peer = h.from;
        c->local = h.to;
    }
    c->kept_at += h.len;
    c->kept_len -= h.len;
    if (c->kept_len == 0)
        client_conn_drop_kept(c);
    return CLIENT_PROXIED_DONE;
}
