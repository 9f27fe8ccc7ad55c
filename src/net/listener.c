#include "net/listener.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "net/descriptors.h"

#define BACKLOG 4096
/* So many at a time, then the connections already there get their turn; the rest fires again (level-triggered). */
#define ACCEPT_BATCH 64
#define PAUSE_US 100000
#define COMPLAIN_US (60 * US_PER_S)

static void set_int(int fd, int level, int name, int value)
{
    setsockopt(fd, level, name, &value, sizeof value);
}

int listener_socket(const struct addr *at)
{
    struct sockaddr_storage sa;
    socklen_t len = addr_to_sockaddr(at, &sa);
    int fd = socket(at->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int on = 1;

    if (fd < 0)
        return -1;
    set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0)
        goto fail;
    if (at->family == AF_INET6) /* [::] takes IPv4 too, whatever net.ipv6.bindv6only says */
        set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, addr_is_any(at) ? 0 : 1);
    if (bind(fd, (const struct sockaddr *)&sa, len) != 0 || listen(fd, BACKLOG) != 0)
        goto fail;
    return fd;
fail:;
    int error = errno;

    close(fd);
    errno = error;
    return -1;
}

static const struct timeval pause_time = { .tv_usec = PAUSE_US };

/* Once a minute for the whole process: every listener of every worker runs dry at the same time. */
static void complain(int64_t now, const char *why)
{
    static _Atomic int64_t last = -COMPLAIN_US;
    int64_t before = atomic_load_explicit(&last, memory_order_relaxed);

    if (now - before >= COMPLAIN_US && atomic_compare_exchange_strong(&last, &before, now))
        log_line(LOG_ERROR, "WARNING: cannot accept connections, pausing: %s", why);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
    struct listener *l = arg;

    (void)fd, (void)what;
    worker_turn(l->worker);
    if (descriptors_short_now()) {
        if (l->short_of_descriptors != NULL)
            l->short_of_descriptors(l);
        event_add(&l->resume, &pause_time);
        return;
    }
    l->paused = false;
    event_add(&l->event, NULL);
}

static void pause_accepting(struct listener *l, const char *why)
{
    complain(worker_mono(l->worker), why);
    l->paused = true;
    event_del(&l->event);
    event_add(&l->resume, &pause_time);
}

/* The reserve is broken into: by this connection, which is still served. */
static void pause_for_reserve(struct listener *l)
{
    struct descriptor_limits d = descriptors_limits();
    char why[128];

    snprintf(why, sizeof why, "max_filedescriptors: of %d descriptors all but the %d kept for servers are in use",
             d.most, d.reserve);
    pause_accepting(l, why);
}

/* Errors of the one connection that was waiting: it is gone from the queue, the next one may be well. Linux hands the
 * network's errors through (accept(2)); EPERM is a firewall's. */
static bool error_of_one_connection(int error)
{
    switch (error) {
    case ECONNABORTED:
    case EPROTO:
    case EPERM:
    case EINTR:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
    case ETIMEDOUT:
    case ECONNRESET: return true;
    default: return false;
    }
}

static void on_connection(evutil_socket_t fd, short what, void *arg)
{
    struct listener *l = arg;

    (void)what;
    worker_turn(l->worker);
    /* accepted() may stop us, or stop us and start again on another descriptor. */
    for (int i = 0; i < ACCEPT_BATCH && l->fd == fd; i++) {
        struct sockaddr_storage sa;
        socklen_t len = sizeof sa;
        struct addr peer;
        bool last;
        int conn = accept4(fd, (struct sockaddr *)&sa, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);

        if (conn < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK)
                return;
            if (error_of_one_connection(errno))
                continue;
            pause_accepting(l, strerror(errno));
            return;
        }
        last = descriptors_short(conn);
        peer = addr_from_sockaddr((const struct sockaddr *)&sa);
        l->accepted(l, conn, &peer);
        if (last && l->fd == fd && !l->paused) {
            pause_for_reserve(l);
            return;
        }
    }
}

void listener_start(struct listener *l, struct worker *w, int fd,
                    void (*accepted)(struct listener *l, int fd, const struct addr *peer))
{
    l->worker = w;
    l->fd = fd;
    l->accepted = accepted;
    l->paused = false;
    /* Inherited by what is accepted, so it costs no system call per connection. */
    set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    event_assign(&l->event, w->base, fd, EV_READ | EV_PERSIST, on_connection, l);
    event_assign(&l->resume, w->base, -1, 0, on_resume, l);
    if (event_add(&l->event, NULL) != 0)
        pause_accepting(l, strerror(errno));
}

void listener_receive_buffer(struct listener *l, int bytes)
{
    set_int(l->fd, SOL_SOCKET, SO_RCVBUF, bytes); /* inherited */
}

void listener_stop(struct listener *l)
{
    if (l->worker == NULL || l->fd < 0)
        return;
    event_del(&l->event);
    event_del(&l->resume);
    l->fd = -1;
    l->paused = false;
}
