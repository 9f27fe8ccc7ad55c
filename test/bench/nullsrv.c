/* nullsrv - the floor: what a single thread can do on this kernel if HTTP cost nothing.
 *
 *   nullsrv PORT BODYSIZE [PORT BODYSIZE ...]      (BODYSIZE "c1024": close after each answer)
 *
 * One thread, edge-triggered epoll, loopback only. Per readable event: one recv (a second one
 * only when the first filled the buffer), count "\r\n\r\n", one send of that many canned
 * responses. It parses nothing, looks nothing up, logs nothing, has no timers. A port stands
 * for one body size, because choosing by URL would already be parsing.
 * A CPU cost below nullsrv's needs fewer system calls per request than recv + send + a share
 * of one epoll_wait.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define COPIES 16        /* canned responses laid end to end: a pipelined batch is one send, */
#define HOT (256u << 10) /* ... as long as they stay within this much, to keep them in L2 */
#define RBUF 65536

struct listener {
    int fd;
    int is_listener;
    int close;
    unsigned copies;
    char *buf;
    size_t len;
};
struct conn {
    int fd;
    int is_listener;
    struct listener *l;
    unsigned owed;
    size_t off;
    unsigned tail;
    char tailb[3];
};

static int ep;
static char rbuf[RBUF + 3];

static void die(const char *w)
{
    perror(w);
    exit(1);
}

static void drop(struct conn *c)
{
    close(c->fd);
    free(c);
}

/* send what is owed; returns -1 when the connection is gone */
static int flush(struct conn *c)
{
    while (c->owed) {
        unsigned k = c->owed < c->l->copies ? c->owed : c->l->copies;
        size_t want = k * c->l->len - c->off;
        ssize_t n = send(c->fd, c->l->buf + c->off, want, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        c->off += (size_t)n;
        c->owed -= (unsigned)(c->off / c->l->len);
        c->off %= c->l->len;
        if ((size_t)n < want)
            return 0; /* EPOLLOUT (edge) brings us back */
    }
    return 0;
}

static int readable(struct conn *c)
{
    for (;;) {
        memcpy(rbuf + 3 - c->tail, c->tailb, c->tail);
        ssize_t n = recv(c->fd, rbuf + 3, RBUF, 0);
        if (n == 0)
            return -1;
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        char *p = rbuf + 3 - c->tail, *end = rbuf + 3 + n, *q;
        while ((q = memmem(p, (size_t)(end - p), "\r\n\r\n", 4)) != NULL) {
            c->owed++;
            p = q + 4;
        }
        c->tail = end - p < 3 ? (unsigned)(end - p) : 3;
        memcpy(c->tailb, end - c->tail, c->tail);
        if (flush(c) < 0)
            return -1;
        if (c->l->close && c->owed == 0)
            return -1;
        if (n < RBUF)
            return 0;
    }
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc % 2 == 0) {
        fprintf(stderr, "usage: %s PORT BODYSIZE ...\n", argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    ep = epoll_create1(0);
    for (int i = 1; i < argc; i += 2) {
        struct listener *l = calloc(1, sizeof *l);
        l->close = argv[i + 1][0] == 'c';
        size_t body = strtoul(argv[i + 1] + l->close, NULL, 10);
        char hd[512];
        int hl =
            snprintf(hd, sizeof hd,
                     "HTTP/1.1 200 OK\r\nServer: nullsrv\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
                     "Content-Type: text/plain\r\nCache-Control: max-age=86400\r\nAge: 1\r\nContent-Length: %zu\r\n"
                     "Connection: %s\r\n\r\n",
                     body, l->close ? "close" : "keep-alive");
        l->len = (size_t)hl + body;
        l->copies = l->len * COPIES <= HOT ? COPIES : l->len < HOT ? (unsigned)(HOT / l->len) : 1;
        l->buf = malloc(l->len * l->copies);
        for (unsigned k = 0; k < l->copies; k++) {
            memcpy(l->buf + k * l->len, hd, (size_t)hl);
            memset(l->buf + k * l->len + hl, 'x', body);
        }
        l->is_listener = 1;
        l->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        int one = 1;
        setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        struct sockaddr_in a = { .sin_family = AF_INET,
                                 .sin_port = htons((unsigned short)atoi(argv[i])),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        if (bind(l->fd, (struct sockaddr *)&a, sizeof a) || listen(l->fd, 4096))
            die("listen");
        struct epoll_event e = { .events = EPOLLIN, .data.ptr = l };
        if (epoll_ctl(ep, EPOLL_CTL_ADD, l->fd, &e))
            die("epoll_ctl");
    }
    struct epoll_event ev[256];
    for (;;) {
        int n = epoll_wait(ep, ev, 256, -1);
        for (int i = 0; i < n; i++) {
            struct conn *c = ev[i].data.ptr;
            if (c->is_listener) {
                struct listener *l = ev[i].data.ptr;
                int fd;
                while ((fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
                    struct conn *nc = calloc(1, sizeof *nc);
                    int one = 1;
                    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                    nc->fd = fd;
                    nc->l = l;
                    struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = nc };
                    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
                }
                continue;
            }
            if (c->owed && (ev[i].events & EPOLLOUT) && flush(c) < 0) {
                drop(c);
                continue;
            }
            if (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) {
                if (readable(c) < 0 || (ev[i].events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)))
                    drop(c);
            }
        }
    }
}
