/* origin - a tiny HTTP/1.1 origin for the races. Loopback only, one thread, edge-triggered epoll.
 *
 *   origin PORT
 *
 *   GET /c/SIZE/anything   SIZE bytes, Cache-Control: max-age=86400   (a cache may keep it)
 *   GET /n/SIZE/anything   SIZE bytes, Cache-Control: no-store        (a cache must not)
 *   GET /count             how many /c and /n requests were served so far (and connections)
 *
 * The counter is how a race proves that "hits" were hits. Keep-alive unless the request says close.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MAXBODY (4u << 20)
#define RBUF 16384
#define OBUF 1024

struct conn {
    int fd;
    unsigned have;
    int close_after;
    size_t hoff, hlen, boff, blen;
    char in[RBUF], out[OBUF];
};
static char *body;
static unsigned long served, conns;
static int ep;

static int push(struct conn *c) /* 1 = done, 0 = would block, -1 = gone */
{
    while (c->hoff < c->hlen || c->boff < c->blen) {
        struct iovec v[2] = { { c->out + c->hoff, c->hlen - c->hoff }, { body + c->boff, c->blen - c->boff } };
        struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
        ssize_t n = sendmsg(c->fd, &m, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN ? 0 : -1;
        size_t h = c->hlen - c->hoff;
        if ((size_t)n <= h)
            c->hoff += (size_t)n;
        else {
            c->hoff = c->hlen;
            c->boff += (size_t)n - h;
        }
    }
    return 1;
}

static void answer(struct conn *c, char *req, char *end)
{
    static char date[64];
    static time_t last;
    time_t now = time(NULL);
    if (now != last) {
        struct tm t;
        gmtime_r(&now, &t);
        strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &t);
        last = now;
    }
    char *path = memchr(req, ' ', (size_t)(end - req));
    path = path ? path + 1 : req;
    *end = 0;
    int v10 = memmem(req, (size_t)((char *)memchr(req, '\r', (size_t)(end - req + 1)) - req), "HTTP/1.0", 8) != NULL;
    int ka = strcasestr(req, "\nConnection: keep-alive") != NULL, cl = strcasestr(req, "\nConnection: close") != NULL;
    c->close_after = cl || (v10 && !ka);
    const char *conn = c->close_after ? "close" : "keep-alive";
    c->hoff = c->boff = c->blen = 0;
    if (!strncmp(path, "/count", 6)) {
        char b[64];
        int bl = snprintf(b, sizeof b, "%lu %lu\n", served, conns);
        c->hlen = (size_t)snprintf(
            c->out, OBUF,
            "HTTP/1.1 200 OK\r\nDate: %s\r\nCache-Control: no-store\r\nContent-Length: %d\r\nConnection: %s\r\n\r\n%s",
            date, bl, conn, b);
        return;
    }
    size_t sz = strtoul(path + 3, NULL, 10);
    if (sz > MAXBODY)
        sz = MAXBODY;
    served++;
    c->hlen = (size_t)snprintf(
        c->out, OBUF,
        "HTTP/1.1 200 OK\r\nServer: origin\r\nDate: %s\r\nContent-Type: text/plain\r\nCache-Control: %s\r\n"
        "Content-Length: %zu\r\nConnection: %s\r\n\r\n",
        date, path[1] == 'n' ? "no-store" : "max-age=86400", sz, conn);
    c->blen = sz;
}

/* returns -1 when the connection must go */
static int work(struct conn *c)
{
    for (;;) {
        int r = push(c);
        if (r <= 0)
            return r;
        if (c->hlen && c->close_after)
            return -1;
        char *e = memmem(c->in, c->have, "\r\n\r\n", 4);
        if (!e) {
            if (c->have == RBUF)
                return -1;
            ssize_t n = recv(c->fd, c->in + c->have, RBUF - c->have, 0);
            if (n == 0)
                return -1;
            if (n < 0)
                return errno == EAGAIN ? 0 : -1;
            c->have += (unsigned)n;
            continue;
        }
        answer(c, c->in, e + 2);
        unsigned used = (unsigned)(e + 4 - c->in);
        memmove(c->in, c->in + used, c->have - used);
        c->have -= used;
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s PORT\n", argv[0]);
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    body = malloc(MAXBODY);
    for (unsigned i = 0; i < MAXBODY; i++)
        body[i] = (char)('a' + i % 26);
    int ls = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
    setsockopt(ls, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in a = { .sin_family = AF_INET,
                             .sin_port = htons((unsigned short)atoi(argv[1])),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    if (bind(ls, (struct sockaddr *)&a, sizeof a) || listen(ls, 4096)) {
        perror("listen");
        return 1;
    }
    ep = epoll_create1(0);
    struct epoll_event e = { .events = EPOLLIN, .data.ptr = NULL }, ev[256];
    epoll_ctl(ep, EPOLL_CTL_ADD, ls, &e);
    for (;;) {
        int n = epoll_wait(ep, ev, 256, -1);
        for (int i = 0; i < n; i++) {
            struct conn *c = ev[i].data.ptr;
            if (!c) {
                int fd = accept4(ls, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (fd < 0)
                    continue;
                setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                c = malloc(sizeof *c);
                memset(c, 0, offsetof(struct conn, in));
                c->fd = fd;
                conns++;
                e.events = EPOLLIN | EPOLLOUT | EPOLLET;
                e.data.ptr = c;
                epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
                continue;
            }
            if (work(c) < 0) {
                close(c->fd);
                free(c);
            }
        }
    }
}
