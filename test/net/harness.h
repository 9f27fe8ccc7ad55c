/* test/net/harness.h: what net's tests share: a gate between threads, a call on a worker's thread, loopback sockets.
 * Checks are made on the test's own thread only: cmocka leaves a failed test with longjmp(). */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "net/addr.h"
#include "net/worker.h"

#define LENGTH(a) (sizeof(a) / sizeof(a)[0])
#define PATIENCE_S 20 /* longer than any machine is slow */
#define UNUSED __attribute__((unused))

/* Opened any number of times; each opening lets one waiter through. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned open;
};
#define GATE_INIT { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0 }

static inline void gate_open(struct gate *g)
{
    pthread_mutex_lock(&g->lock);
    g->open++;
    pthread_cond_signal(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static inline bool gate_passed(struct gate *g)
{
    struct timespec until;
    bool passed;
    int error = 0;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&g->lock);
    while (g->open == 0 && error == 0)
        error = pthread_cond_timedwait(&g->changed, &g->lock, &until);
    if ((passed = g->open > 0))
        g->open--;
    pthread_mutex_unlock(&g->lock);
    return passed;
}

struct call {
    struct worker_msg msg;
    void (*fn)(void *arg);
    void *arg;
    struct gate done;
};

static UNUSED void call_run(struct worker_msg *m)
{
    struct call *c = (struct call *)(void *)m;

    c->fn(c->arg);
    gate_open(&c->done);
}

/* fn(arg) on w's thread; back when it has returned. */
static UNUSED void call(struct worker *w, void (*fn)(void *arg), void *arg)
{
    struct call c = { .msg.run = call_run, .fn = fn, .arg = arg, .done = GATE_INIT };

    worker_post(w, &c.msg);
    assert_true(gate_passed(&c.done));
    pthread_mutex_lock(&c.done.lock); /* until gate_open() has let go of our stack */
    pthread_mutex_unlock(&c.done.lock);
}

static UNUSED struct worker *worker_running(void)
{
    struct worker *w = worker_new(0);

    worker_start(w, NULL);
    return w;
}

static UNUSED void worker_end(struct worker **w)
{
    worker_stop(*w);
    worker_join(*w);
    worker_free(w);
}

static UNUSED struct addr address(const char *text, uint16_t port)
{
    struct addr a = { 0 };

    assert_true(addr_parse(span_str(text), &a));
    a.port = port;
    return a;
}

static UNUSED struct addr bound_to(int fd)
{
    struct sockaddr_storage sa;
    socklen_t len = sizeof sa;

    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    return addr_from_sockaddr((struct sockaddr *)&sa);
}

/* A blocking listening socket on some port. */
static UNUSED int listening(const char *on, int backlog, struct addr *at)
{
    struct sockaddr_storage sa;
    struct addr a = address(on, 0);
    socklen_t len = addr_to_sockaddr(&a, &sa);
    int fd = socket(a.family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
    if (backlog >= 0)
        assert_int_equal(listen(fd, backlog), 0);
    *at = bound_to(fd);
    return fd;
}

/* A blocking connection; -1 with errno. */
static UNUSED int dialled(const struct addr *to, int flags)
{
    struct sockaddr_storage sa;
    socklen_t len = addr_to_sockaddr(to, &sa);
    int fd = socket(to->family, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

    if (connect(fd, (struct sockaddr *)&sa, len) != 0 && errno != EINPROGRESS) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Two ends of one TCP connection over loopback, ours (non-blocking) and theirs (blocking). */
static UNUSED void tcp_pair(int *ours, int *theirs)
{
    struct addr at;
    int l = listening("127.0.0.1", 1, &at);

    *theirs = dialled(&at, 0);
    assert_true(*theirs >= 0);
    *ours = accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(*ours >= 0);
    close(l);
}

/* Waits for fd to be readable: true when so in time. */
static UNUSED bool readable(int fd)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, PATIENCE_S * 1000) == 1;
}
