#include "net/stream.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>
#include "base/log.h"

static void on_ready(evutil_socket_t fd, short what, void *arg)
{
    struct stream *s = arg;

    (void)fd;
    worker_turn(s->worker);
    /* Both at once where both came: the one who is told of a request wants to know that it can answer. */
    s->ready(s, (what & EV_READ ? STREAM_READABLE : 0u) | (what & EV_WRITE ? STREAM_WRITABLE : 0u) |
                    (what & EV_CLOSED ? STREAM_ENDED : 0u));
    /* s may be gone. */
}

void stream_open(struct stream *s, struct worker *w, int fd, void (*ready)(struct stream *s, unsigned what))
{
    assert(!stream_is_open(s) && fd >= 0);
    s->worker = w;
    s->fd = fd;
    s->ready = ready;
    event_assign(&s->event, w->base, fd, EV_READ | EV_WRITE | EV_CLOSED | EV_ET | EV_PERSIST, on_ready, s);
    if (event_add(&s->event, NULL) != 0) {
        /* The kernel's limit on epoll registrations: the peer is cut, and the owner hears of it as of any other
         * broken connection, since a shut down socket reads as ended. */
        log_line(LOG_ERROR, "cannot watch a connection: %s", strerror(errno));
        shutdown(fd, SHUT_RDWR);
        event_active(&s->event, EV_READ | EV_WRITE | EV_CLOSED, 0);
    }
}

int stream_take(struct stream *s)
{
    int fd = s->fd;

    assert(stream_is_open(s));
    event_del(&s->event);
    s->fd = -1;
    return fd;
}

void stream_close(struct stream *s, bool reset)
{
    int fd;

    if (!stream_is_open(s))
        return;
    fd = stream_take(s);
    if (reset) {
        const struct linger now = { .l_onoff = 1, .l_linger = 0 };

        setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    }
    close(fd);
}

/* A zeroed stream was never open, though its fd is 0. */
bool stream_is_open(const struct stream *s)
{
    return s->worker != NULL && s->fd >= 0;
}

static ssize_t failure(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK ? STREAM_AGAIN : STREAM_ERROR;
}

ssize_t stream_recv(struct stream *s, void *buf, size_t n)
{
    ssize_t got;

    assert(n > 0); /* else 0 would read as the peer's end */
    do
        got = recv(s->fd, buf, n, 0);
    while (got < 0 && errno == EINTR);
    return got >= 0 ? got : failure();
}

ssize_t stream_splice_from(struct stream *s, int pipe, size_t n)
{
    ssize_t got;

    assert(n > 0);
    do
        got = splice(s->fd, NULL, pipe, NULL, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    while (got < 0 && errno == EINTR);
    return got >= 0 ? got : failure();
}

ssize_t stream_splice_to(struct stream *s, int pipe, size_t n)
{
    ssize_t sent;

    do
        sent = splice(pipe, NULL, s->fd, NULL, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    while (sent < 0 && errno == EINTR);
    return sent >= 0 ? sent : failure();
}

ssize_t stream_send(struct stream *s, const struct iovec *v, size_t n, bool more)
{
    /* More pieces than the kernel takes at a time: the caller sees a partial send, as it must be ready for. */
    struct msghdr m = { .msg_iov = (struct iovec *)(uintptr_t)v, .msg_iovlen = n < IOV_MAX ? n : IOV_MAX };
    ssize_t sent;

    if (n > IOV_MAX)
        more = true;
    do
        sent = sendmsg(s->fd, &m, MSG_NOSIGNAL | (more ? MSG_MORE : 0));
    while (sent < 0 && errno == EINTR);
    return sent >= 0 ? sent : failure();
}

/* As recv(): what a byte of room would get, left where it is. */
static ssize_t peek(int fd)
{
    char byte;
    ssize_t got;

    do
        got = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    return got >= 0 ? got : failure();
}

ssize_t stream_peek(struct stream *s)
{
    return peek(s->fd);
}

struct addr stream_local_addr(int fd)
{
    struct sockaddr_storage at = { 0 };
    socklen_t n = sizeof at;

    if (getsockname(fd, (struct sockaddr *)&at, &n) != 0)
        at.ss_family = AF_UNSPEC;
    return addr_from_sockaddr((struct sockaddr *)&at);
}

void stream_shutdown(struct stream *s)
{
    if (stream_is_open(s))
        shutdown(s->fd, SHUT_WR);
}

bool stream_is_readable(int fd)
{
    return peek(fd) != STREAM_AGAIN;
}
