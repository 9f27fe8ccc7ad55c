#include "net/dns_wire.h"

#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/list.h"
#include "base/mem.h"

#define HEADER 12 /* RFC 1035 section 4.1.1 */
#define PLACES 256u
/* More than the resolver lets be asked at a time: the oldest are forgotten beyond. */
#define QUERIES_MAX 16384

/* A query without a reply. c-ares sends it again under the same ID. */
struct query {
    struct list_node place, age;
    struct dns_query_view view;
    char name[HOST_NAME_MAX_LEN + 1];
};

struct wire_socket {
    struct list_node node;
    int fd;
    unsigned server; /* index into traffic.servers; DNS_SERVERS_SHOWN: none of those */
    bool tcp;
    bool at_head; /* TCP: what comes next begins a message */
};

struct dns_wire {
    struct worker *worker;
    int64_t forget_us;
    struct dns_traffic traffic;
    struct list_node sockets;
    struct list_node places[PLACES]; /* struct query, by ID */
    struct list_node age;            /* the same; sent first in front */
    size_t n_queries;
};

static struct wire_socket *find_socket(struct dns_wire *d, int fd)
{
    struct list_node *n, *following;

    LIST_EACH (n, following, &d->sockets) {
        struct wire_socket *s = CONTAINER_OF(n, struct wire_socket, node);

        if (s->fd == fd)
            return s;
    }
    return NULL;
}

/* --- queries ---------------------------------------------------------------------------------------------------- */

static unsigned id_of(const unsigned char *message)
{
    return (unsigned)message[0] << 8 | message[1];
}

static struct query *find_query(struct dns_wire *d, unsigned id)
{
    struct list_node *n, *following;

    LIST_EACH (n, following, &d->places[id % PLACES]) {
        struct query *q = CONTAINER_OF(n, struct query, place);

        if (q->view.id == id)
            return q;
    }
    return NULL;
}

static void drop_query(struct dns_wire *d, struct query *q)
{
    list_remove(&q->place);
    list_remove(&q->age);
    d->n_queries--;
    free(q);
}

static struct query *oldest(struct dns_wire *d)
{
    return CONTAINER_OF(d->age.next, struct query, age);
}

static bool is_forgotten(const struct dns_wire *d, const struct query *q)
{
    return worker_mono(d->worker) - q->view.first > d->forget_us;
}

static void forget_old(struct dns_wire *d)
{
    while (d->n_queries > 0 && (d->n_queries >= QUERIES_MAX || is_forgotten(d, oldest(d))))
        drop_query(d, oldest(d));
}

/* The name asked about, which we have made: no pointers in it. */
static void read_name(const unsigned char *message, size_t len, char out[HOST_NAME_MAX_LEN + 1])
{
    size_t at = HEADER, n = 0;

    while (at < len && message[at] != 0 && message[at] < 64) {
        size_t label = message[at++];

        if (at + label > len || n + label + 1 > HOST_NAME_MAX_LEN)
            break;
        if (n > 0)
            out[n++] = '.';
        memcpy(out + n, message + at, label);
        n += label;
        at += label;
    }
    out[n] = '\0';
}

static void note_query(struct dns_wire *d, struct wire_socket *s, const unsigned char *message, size_t len)
{
    unsigned id = id_of(message);
    struct query *q = find_query(d, id);
    int64_t now = worker_mono(d->worker);

    if (s->server < DNS_SERVERS_SHOWN)
        d->traffic.servers[s->server].queries++;
    if (q != NULL && is_forgotten(d, q)) {
        drop_query(d, q);
        q = NULL;
    }
    if (q == NULL) {
        forget_old(d);
        q = xcalloc(1, sizeof *q);
        q->view = (struct dns_query_view){ .id = id, .size = len, .first = now };
        read_name(message, len, q->name);
        q->view.name = q->name;
        list_append(&d->places[id % PLACES], &q->place);
        list_append(&d->age, &q->age);
        d->n_queries++;
    }
    q->view.sends++;
    q->view.last = now;
}

static void note_reply(struct dns_wire *d, struct wire_socket *s, const unsigned char *message, size_t len)
{
    struct query *q;
    unsigned attempt;

    if (len < 4 || (message[2] & 0x80) == 0 || (q = find_query(d, id_of(message))) == NULL)
        return;
    if (s->server < DNS_SERVERS_SHOWN)
        d->traffic.servers[s->server].replies++;
    attempt = q->view.sends < DNS_ATTEMPTS ? q->view.sends : DNS_ATTEMPTS;
    d->traffic.rcodes[message[3] & 15][attempt - 1]++;
    drop_query(d, q);
}

/* --- c-ares' sockets: non-blocking and close-on-exec, as it would make them ----------------------------------------- */

static ares_socket_t open_socket(int family, int type, int protocol, void *arg)
{
    struct dns_wire *d = arg;
    struct wire_socket *s;
    int one = 1, fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);

    if (fd < 0)
        return ARES_SOCKET_BAD;
    if (type == SOCK_STREAM)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    s = xcalloc(1, sizeof *s);
    s->fd = fd;
    s->tcp = type == SOCK_STREAM;
    s->server = DNS_SERVERS_SHOWN;
    list_append(&d->sockets, &s->node);
    return fd;
}

static int close_socket(ares_socket_t fd, void *arg)
{
    struct wire_socket *s = find_socket(arg, fd);

    if (s != NULL) {
        list_remove(&s->node);
        free(s);
    }
    return close(fd);
}

static int connect_socket(ares_socket_t fd, const struct sockaddr *to, ares_socklen_t len, void *arg)
{
    struct dns_wire *d = arg;
    struct wire_socket *s = find_socket(d, fd);
    const struct addr a = addr_from_sockaddr(to);

    for (unsigned i = 0; s != NULL && i < d->traffic.n_servers; i++)
        if (addr_eq(&d->traffic.servers[i].at, &a))
            s->server = i;
    return connect(fd, to, len);
}

static ares_ssize_t receive(ares_socket_t fd, void *buf, size_t n, int flags, struct sockaddr *from,
                            ares_socklen_t *len, void *arg)
{
    struct dns_wire *d = arg;
    struct wire_socket *s = find_socket(d, fd);
    ssize_t got = recvfrom(fd, buf, n, flags, from, len);

    if (s == NULL || got <= 0)
        return got;
    if (!s->tcp) {
        note_reply(d, s, buf, (size_t)got);
    } else if (n <= 2) { /* what is left of the length in front of a message (RFC 1035 section 4.2.2) */
        s->at_head = (size_t)got == n;
    } else if (s->at_head) {
        s->at_head = false;
        note_reply(d, s, buf, (size_t)got);
    }
    return got;
}

/* Whole queries: in TCP behind their length, and what a full socket left over is no whole one. */
static ares_ssize_t send_pieces(ares_socket_t fd, const struct iovec *v, int n, void *arg)
{
    struct dns_wire *d = arg;
    struct wire_socket *s = find_socket(d, fd);
    ssize_t sent = writev(fd, v, n);
    size_t length = s != NULL && s->tcp ? 2 : 0;

    for (int i = 0; s != NULL && sent > 0 && i < n; i++) {
        const unsigned char *p = v[i].iov_base;

        if (v[i].iov_len >= length + HEADER && (length == 0 || id_of(p) == v[i].iov_len - 2))
            note_query(d, s, p + length, v[i].iov_len - length);
    }
    return sent;
}

/* --- the whole -------------------------------------------------------------------------------------------------- */

struct dns_wire *dns_wire_new(struct worker *w, int64_t forget_us)
{
    struct dns_wire *d = xcalloc(1, sizeof *d);

    d->worker = w;
    d->forget_us = forget_us;
    list_init(&d->sockets);
    list_init(&d->age);
    for (unsigned i = 0; i < PLACES; i++)
        list_init(&d->places[i]);
    return d;
}

static struct addr server_address(const struct ares_addr_port_node *n)
{
    struct addr a = { .family = (uint8_t)n->family, .port = (uint16_t)(n->udp_port != 0 ? n->udp_port : 53) };

    memcpy(a.bytes, &n->addr, n->family == AF_INET ? 4 : 16);
    return a;
}

void dns_wire_attach(struct dns_wire *d, ares_channel channel)
{
    static const struct ares_socket_functions functions = {
        open_socket, close_socket, connect_socket, receive, send_pieces,
    };
    struct ares_addr_port_node *servers = NULL;

    if (ares_get_servers_ports(channel, &servers) == ARES_SUCCESS) {
        for (const struct ares_addr_port_node *n = servers; n != NULL && d->traffic.n_servers < DNS_SERVERS_SHOWN;
             n = n->next)
            d->traffic.servers[d->traffic.n_servers++].at = server_address(n);
        ares_free_data(servers);
    }
    ares_set_socket_functions(channel, &functions, d);
}

void dns_wire_forget(struct dns_wire *d)
{
    while (d->n_queries > 0)
        drop_query(d, oldest(d));
}

void dns_wire_free(struct dns_wire **holder)
{
    struct dns_wire *d = *holder;

    *holder = NULL;
    if (d == NULL)
        return;
    dns_wire_forget(d);
    while (!list_empty(&d->sockets)) {
        struct wire_socket *s = CONTAINER_OF(d->sockets.next, struct wire_socket, node);

        list_remove(&s->node);
        free(s);
    }
    free(d);
}

void dns_wire_traffic(const struct dns_wire *d, struct dns_traffic *out)
{
    *out = d->traffic;
}

size_t dns_wire_each(const struct dns_wire *d, size_t most, void (*each)(const struct dns_query_view *q, void *ctx),
                     void *ctx)
{
    size_t n = 0;

    for (const struct list_node *at = d->age.next; at != &d->age; at = at->next) {
        const struct query *q = CONTAINER_OF(at, struct query, age);

        if (!is_forgotten(d, q) && n++ < most)
            each(&q->view, ctx);
    }
    return n;
}
