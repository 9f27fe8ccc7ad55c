#include "net/connect.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "net/stream.h"

struct attempt {
    struct event event;
    struct connector *connector;
    int fd;               /* -1: not started, failed, or handed over */
    struct addr to, from; /* from: family 0: any */
};

/* Connecting until some attempt, or the whole, has ended; then `soon` is set and only the result waits to be told. */
struct connector {
    struct worker *worker;
    connect_done *done;
    void *ctx;
    struct worker_timer overall, stagger, soon;
    int64_t attempt_us;
    int fd, error; /* the result */
    size_t last;   /* the attempt the result, or so far the last failure, is about */
    size_t n, next, live;
    struct attempt attempts[];
};

static void try_next(struct connector *c);

static void attempt_drop(struct attempt *a)
{
    if (a->fd < 0)
        return;
    event_del(&a->event);
    close(a->fd);
    a->fd = -1;
    a->connector->live--;
}

static void connector_free(struct connector *c)
{
    for (size_t i = 0; i < c->next; i++)
        attempt_drop(&c->attempts[i]);
    worker_timer_clear(&c->overall);
    worker_timer_clear(&c->stagger);
    worker_timer_clear(&c->soon);
    free(c);
}

static void tell(struct worker_timer *t)
{
    struct connector *c = CONTAINER_OF(t, struct connector, soon);
    connect_done *done = c->done;
    void *ctx = c->ctx;
    int fd = c->fd, error = c->error;
    struct endpoints ends = { .chosen = false };

    if (c->n > 0) {
        ends.peer = c->attempts[c->last].to;
        ends.chosen = c->attempts[c->last].from.family != 0;
    }
    if (fd >= 0)
        ends.local = stream_local_addr(fd);
    connector_free(c);
    done(ctx, fd, error, &ends);
}

static void finish(struct connector *c, int fd, int error)
{
    for (size_t i = 0; i < c->next; i++)
        attempt_drop(&c->attempts[i]);
    worker_timer_clear(&c->overall);
    worker_timer_clear(&c->stagger);
    c->fd = fd;
    c->error = error;
    worker_timer_soon(c->worker, &c->soon, tell);
}

static void on_overall(struct worker_timer *t)
{
    struct connector *c = CONTAINER_OF(t, struct connector, overall);

    c->last = c->next - 1;
    finish(c, -1, ETIMEDOUT);
}

static void on_stagger(struct worker_timer *t)
{
    try_next(CONTAINER_OF(t, struct connector, stagger));
}

static void won(struct connector *c, struct attempt *a)
{
    int fd = a->fd;

    event_del(&a->event);
    a->fd = -1;
    c->live--;
    c->last = (size_t)(a - c->attempts);
    finish(c, fd, 0);
}

static void on_connected(evutil_socket_t fd, short what, void *arg)
{
    struct attempt *a = arg;
    struct connector *c = a->connector;
    int error = 0;
    socklen_t len = sizeof error;

    (void)what;
    worker_turn(c->worker);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (error == 0) {
        won(c, a);
        return;
    }
    attempt_drop(a);
    c->last = (size_t)(a - c->attempts);
    c->error = error;
    try_next(c); /* at once: the pause is for those that say nothing */
}

/* To the address it is to come from, if there is one. */
static bool bind_local(int fd, const struct addr *from)
{
    struct sockaddr_storage sa;
    socklen_t len;
    const int on = 1;

    if (from->family == 0)
        return true;
    len = addr_to_sockaddr(from, &sa);
    /* The port is chosen at connect(): one local port may then serve several destinations. */
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    return bind(fd, (const struct sockaddr *)&sa, len) == 0;
}

/* 0: connected; EINPROGRESS; or why not. a->fd is open for the first two. */
static int attempt_begin(struct attempt *a)
{
    struct connector *c = a->connector;
    struct sockaddr_storage sa;
    socklen_t len;
    const int on = 1;
    int error, fd;

    if (a->to.family == 0)
        return EAFNOSUPPORT;
    len = addr_to_sockaddr(&a->to, &sa);
    if ((fd = socket(a->to.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) < 0)
        return errno;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    error = 0;
    if (!bind_local(fd, &a->from) || connect(fd, (const struct sockaddr *)&sa, len) != 0)
        error = errno == EINTR ? EINPROGRESS : errno;
    event_assign(&a->event, c->worker->base, fd, EV_WRITE, on_connected, a);
    if (error == EINPROGRESS && event_add(&a->event, NULL) != 0)
        error = errno;
    if (error != 0 && error != EINPROGRESS) {
        close(fd);
        return error;
    }
    a->fd = fd;
    c->live++;
    return error;
}

static void try_next(struct connector *c)
{
    while (c->next < c->n) {
        struct attempt *a = &c->attempts[c->next++];
        int error = attempt_begin(a);

        if (error == 0) {
            won(c, a);
            return;
        }
        if (error == EINPROGRESS) {
            if (c->next < c->n)
                worker_timer_set(c->worker, &c->stagger, c->attempt_us, on_stagger);
            return;
        }
        c->last = c->next - 1;
        c->error = error;
    }
    if (c->live == 0)
        finish(c, -1, c->error);
}

struct connector *connect_start(struct worker *w, const struct addr *addrs, size_t n,
                                const struct connect_config *config, connect_done *done, void *ctx)
{
    struct connector *c;

    if (n > CONNECT_ADDRS_MAX)
        n = CONNECT_ADDRS_MAX;
    c = xcalloc(1, sizeof *c + n * sizeof c->attempts[0]);
    c->worker = w;
    c->done = done;
    c->ctx = ctx;
    c->attempt_us = config->attempt_us;
    c->fd = -1;
    c->error = EHOSTUNREACH; /* of no addresses */
    c->n = n;
    for (size_t i = 0; i < n; i++) {
        c->attempts[i].connector = c;
        c->attempts[i].fd = -1;
        c->attempts[i].to = addrs[i];
        if (config->local != NULL && config->local[i].family == addrs[i].family) {
            c->attempts[i].from = config->local[i];
            c->attempts[i].from.port = 0;
        }
    }
    if (n > 0)
        worker_timer_set(w, &c->overall, config->timeout_us, on_overall);
    try_next(c);
    return c;
}

void connect_cancel(struct connector **holder)
{
    struct connector *c = *holder;

    *holder = NULL;
    if (c == NULL)
        return;
    if (c->fd >= 0)
        close(c->fd);
    connector_free(c);
}
