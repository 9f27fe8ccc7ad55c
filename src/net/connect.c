#include "net/connect.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "net/stream.h"

/* Before an address is tried again: who refused a moment ago would refuse at once. */
#define RETRY_US 50000

struct attempt {
    struct event event;
    struct worker_timer again;
    struct connector *connector;
    bool live;            /* connecting, or waiting to be tried again */
    int fd;               /* -1: not started, failed, or handed over */
    unsigned retries;     /* left */
    struct addr to, from; /* from: family 0: any */
};

/* Connecting until some attempt, or the whole, has ended; then `soon` is set and only the result waits to be told. */
struct connector {
    struct worker *worker;
    connect_done *done;
    void *ctx;
    struct worker_timer overall, stagger, soon;
    int64_t attempt_us, spare_gap_us;
    int spares_max, receive_buffer;
    int fd, error; /* the result */
    size_t last;   /* the attempt the result, or so far the last failure, is about */
    size_t n, next, live;
    struct attempt attempts[];
};

/* Of the whole process: connections under way beside another one of their connector, and when the next may begin. */
static atomic_int spares;
static _Atomic int64_t next_spare;

static void try_next(struct connector *c);

static void attempt_close(struct attempt *a)
{
    if (a->fd < 0)
        return;
    event_del(&a->event);
    close(a->fd);
    a->fd = -1;
}

/* Of n that live in a connector, n - 1 are spare ones. */
static void attempt_end(struct attempt *a)
{
    attempt_close(a);
    worker_timer_clear(&a->again);
    if (!a->live)
        return;
    a->live = false;
    if (--a->connector->live > 0)
        atomic_fetch_sub_explicit(&spares, 1, memory_order_relaxed);
}

static void connector_free(struct connector *c)
{
    for (size_t i = 0; i < c->next; i++)
        attempt_end(&c->attempts[i]);
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
        ends.opened = worker_mono(c->worker);
    }
    if (fd >= 0)
        ends.local = stream_local_addr(fd);
    connector_free(c);
    done(ctx, fd, error, &ends);
}

static void finish(struct connector *c, int fd, int error)
{
    for (size_t i = 0; i < c->next; i++)
        attempt_end(&c->attempts[i]);
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
    c->last = (size_t)(a - c->attempts);
    finish(c, fd, 0);
}

static void on_again(struct worker_timer *t);

/* It failed. True: it will be tried again. */
static bool attempt_stays(struct attempt *a, int error)
{
    struct connector *c = a->connector;

    attempt_close(a);
    c->last = (size_t)(a - c->attempts);
    c->error = error;
    if (a->retries == 0)
        return false;
    a->retries--;
    worker_timer_set(c->worker, &a->again, RETRY_US, on_again);
    return true;
}

static void attempt_failed(struct attempt *a, int error)
{
    if (attempt_stays(a, error))
        return;
    attempt_end(a);
    try_next(a->connector); /* at once: the pause is for those that say nothing */
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
    if (error == 0)
        won(c, a);
    else
        attempt_failed(a, error);
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
    if (c->receive_buffer > 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &c->receive_buffer, sizeof c->receive_buffer);
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
    return error;
}

static void on_again(struct worker_timer *t)
{
    struct attempt *a = CONTAINER_OF(t, struct attempt, again);
    int error = attempt_begin(a);

    if (error == 0)
        won(a->connector, a);
    else if (error != EINPROGRESS)
        attempt_failed(a, error);
}

/* May one more begin beside those that live? If not now, then after *wait; 0: only when they have failed. */
static bool spare_taken(struct connector *c, int64_t *wait)
{
    int64_t now = worker_mono(c->worker), from = atomic_load_explicit(&next_spare, memory_order_relaxed);
    int n = atomic_load_explicit(&spares, memory_order_relaxed);

    *wait = c->spares_max == 0 ? 0 : c->attempt_us;
    do
        if (c->spares_max >= 0 && n >= c->spares_max)
            return false;
    while (!atomic_compare_exchange_weak_explicit(&spares, &n, n + 1, memory_order_relaxed, memory_order_relaxed));
    if (c->spare_gap_us <= 0)
        return true;
    do
        if (now < from) {
            *wait = from - now < c->spare_gap_us ? from - now : c->spare_gap_us;
            atomic_fetch_sub_explicit(&spares, 1, memory_order_relaxed);
            return false;
        }
    while (!atomic_compare_exchange_weak_explicit(&next_spare, &from, now + c->spare_gap_us, memory_order_relaxed,
                                                  memory_order_relaxed));
    return true;
}

static void try_next(struct connector *c)
{
    while (c->next < c->n) {
        struct attempt *a = &c->attempts[c->next];
        int64_t wait;
        int error;

        if (c->live > 0 && !spare_taken(c, &wait)) {
            if (wait > 0)
                worker_timer_set(c->worker, &c->stagger, wait, on_stagger);
            return;
        }
        c->next++;
        c->live++;
        a->live = true;
        error = attempt_begin(a);
        if (error == 0) {
            won(c, a);
            return;
        }
        if (error == EINPROGRESS || attempt_stays(a, error)) {
            if (c->next < c->n)
                worker_timer_set(c->worker, &c->stagger, c->attempt_us, on_stagger);
            return;
        }
        attempt_end(a);
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
    c->spare_gap_us = config->spare_gap_us;
    c->spares_max = config->spares_max;
    c->receive_buffer = config->receive_buffer;
    c->fd = -1;
    c->error = EHOSTUNREACH; /* of no addresses */
    c->n = n;
    for (size_t i = 0; i < n; i++) {
        c->attempts[i].connector = c;
        c->attempts[i].fd = -1;
        c->attempts[i].retries = config->retries;
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
