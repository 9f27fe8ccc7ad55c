#include "harness.h"

#include <limits.h>
#include <stdlib.h>
#include "net/stream.h"

/* A stream under test: what its callback saw, and the other end of the connection. */
struct watched {
    struct stream stream;
    struct worker *worker;
    int fd, theirs;
    unsigned calls, seen; /* the worker's; read after copy_seen() */
    unsigned calls_copy, seen_copy;
    struct gate readable, writable;
    /* of the last job run on the worker */
    char bytes[64];
    ssize_t result;
    int error;
    size_t total;
};

static struct watched *watched_of(struct stream *s)
{
    return CONTAINER_OF(s, struct watched, stream);
}

static void on_ready(struct stream *s, unsigned what)
{
    struct watched *w = watched_of(s);

    w->calls++;
    w->seen |= what;
    if (what & STREAM_READABLE)
        gate_open(&w->readable);
    if (what & STREAM_WRITABLE)
        gate_open(&w->writable);
}

static void open_it(void *arg)
{
    struct watched *w = arg;

    stream_open(&w->stream, w->worker, w->fd, on_ready);
}

static struct watched *watched_new(void)
{
    struct watched *w = calloc(1, sizeof *w);
    const struct gate shut = GATE_INIT;

    w->readable = w->writable = shut;
    tcp_pair(&w->fd, &w->theirs);
    w->worker = worker_running();
    call(w->worker, open_it, w);
    assert_true(gate_passed(&w->writable));
    return w;
}

static void close_it(void *arg)
{
    struct watched *w = arg;

    stream_close(&w->stream, false);
    stream_close(&w->stream, false);
}

static void reset_it(void *arg)
{
    stream_close(&((struct watched *)arg)->stream, true);
}

static void watched_free(struct watched *w)
{
    call(w->worker, close_it, w);
    worker_end(&w->worker);
    if (w->theirs >= 0)
        close(w->theirs);
    free(w);
}

static void copy_seen(void *arg)
{
    struct watched *w = arg;

    w->calls_copy = w->calls;
    w->seen_copy = w->seen;
}

static void forget(void *arg)
{
    struct watched *w = arg;

    w->calls = 0;
    pthread_mutex_lock(&w->writable.lock);
    w->writable.open = 0;
    pthread_mutex_unlock(&w->writable.lock);
}

static void receive(void *arg)
{
    struct watched *w = arg;

    w->result = stream_recv(&w->stream, w->bytes, sizeof w->bytes);
    w->error = errno;
}

static void an_edge_is_told_once(void **state)
{
    struct watched *w = watched_new();

    (void)state;
    call(w->worker, copy_seen, w);
    assert_int_equal(w->seen_copy, STREAM_WRITABLE);
    assert_int_equal(send(w->theirs, "x", 1, 0), 1);
    assert_true(gate_passed(&w->readable));
    call(w->worker, forget, w);
    for (int i = 0; i < 10; i++) /* turns of the loop: level-triggered would call in each */
        call(w->worker, copy_seen, w);
    assert_int_equal(w->calls_copy, 0);
    call(w->worker, receive, w);
    assert_int_equal(w->result, 1);
    call(w->worker, receive, w);
    assert_int_equal(w->result, STREAM_AGAIN);
    assert_int_equal(send(w->theirs, "yz", 2, 0), 2);
    assert_true(gate_passed(&w->readable));
    call(w->worker, receive, w);
    assert_int_equal(w->result, 2);
    watched_free(w);
}

static void the_peers_end_and_reset_are_told_apart(void **state)
{
    const struct linger now = { .l_onoff = 1 };
    struct watched *w = watched_new();

    (void)state;
    shutdown(w->theirs, SHUT_WR);
    assert_true(gate_passed(&w->readable));
    call(w->worker, receive, w);
    assert_int_equal(w->result, 0);
    watched_free(w);

    w = watched_new();
    setsockopt(w->theirs, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(w->theirs);
    w->theirs = -1;
    assert_true(gate_passed(&w->readable));
    call(w->worker, receive, w);
    assert_int_equal(w->result, STREAM_ERROR);
    assert_int_equal(w->error, ECONNRESET);
    watched_free(w);
}

static void peek(void *arg)
{
    struct watched *w = arg;

    w->result = stream_peek(&w->stream);
}

static void an_end_behind_bytes_is_told(void **state)
{
    struct watched *w = watched_new();
    struct addr at, theirs;

    (void)state;
    call(w->worker, peek, w);
    assert_int_equal(w->result, STREAM_AGAIN);
    /* Both are there before the loop looks, or one after the other: it is told in either case. */
    assert_int_equal(send(w->theirs, "xy", 2, 0), 2);
    shutdown(w->theirs, SHUT_WR);
    assert_true(gate_passed(&w->readable));
    do
        call(w->worker, copy_seen, w);
    while (!(w->seen_copy & STREAM_ENDED));
    call(w->worker, peek, w);
    assert_int_equal(w->result, 1);
    call(w->worker, receive, w);
    assert_int_equal(w->result, 2);
    call(w->worker, peek, w);
    assert_int_equal(w->result, 0);
    call(w->worker, receive, w);
    assert_int_equal(w->result, 0);
    at = stream_local_addr(w->fd);
    theirs = bound_to(w->fd);
    assert_true(addr_eq(&at, &theirs));
    assert_int_equal(stream_local_addr(-1).family, 0);
    watched_free(w);
}

static void fill(void *arg)
{
    struct watched *w = arg;
    static char block[65536];
    const struct iovec v[2] = { { block, sizeof block }, { block, 1 } };

    while ((w->result = stream_send(&w->stream, v, 2, false)) > 0)
        w->total += (size_t)w->result;
}

static void a_full_stream_becomes_writable_when_drained(void **state)
{
    struct watched *w = watched_new();
    static char sink[65536];
    ssize_t n;

    (void)state;
    call(w->worker, fill, w);
    assert_int_equal(w->result, STREAM_AGAIN);
    assert_true(w->total > 0);
    call(w->worker, forget, w);
    for (size_t left = w->total; left > 0; left -= (size_t)n) {
        n = recv(w->theirs, sink, sizeof sink, 0);
        assert_true(n > 0);
    }
    assert_true(gate_passed(&w->writable));
    watched_free(w);
}

static void send_many(void *arg)
{
    struct watched *w = arg;
    static struct iovec v[IOV_MAX + 10];

    for (size_t i = 0; i < LENGTH(v); i++)
        v[i] = (struct iovec){ (char *)(uintptr_t)"p", 1 };
    w->result = stream_send(&w->stream, v, LENGTH(v), false);
}

static void too_many_pieces_are_a_partial_send(void **state)
{
    struct watched *w = watched_new();

    (void)state;
    call(w->worker, send_many, w);
    assert_int_equal(w->result, IOV_MAX);
    watched_free(w);
}

static void send_one(void *arg)
{
    struct watched *w = arg;
    const struct iovec v = { (char *)(uintptr_t)"p", 1 };

    w->result = stream_send(&w->stream, &v, 1, false);
    w->error = errno;
}

static void shut_it(void *arg)
{
    stream_shutdown(&((struct watched *)arg)->stream);
}

/* On this thread, where SIGPIPE isn't blocked: it would end the test. */
static void sending_after_the_end_is_an_error(void **state)
{
    struct watched *w = watched_new();
    char c;

    (void)state;
    call(w->worker, shut_it, w);
    assert_int_equal(recv(w->theirs, &c, 1, 0), 0);
    send_one(w);
    assert_int_equal(w->result, STREAM_ERROR);
    assert_int_equal(w->error, EPIPE);
    watched_free(w);
}

static void closing_ends_and_resetting_cuts(void **state)
{
    struct watched *w = watched_new();
    char c;

    (void)state;
    call(w->worker, close_it, w);
    assert_false(stream_is_open(&w->stream));
    assert_int_equal(recv(w->theirs, &c, 1, 0), 0);
    watched_free(w);

    w = watched_new();
    call(w->worker, reset_it, w);
    assert_int_equal(recv(w->theirs, &c, 1, 0), -1);
    assert_int_equal(errno, ECONNRESET);
    watched_free(w);
}

static void take_it(void *arg)
{
    struct watched *w = arg;

    w->result = stream_take(&w->stream);
}

static void a_taken_descriptor_is_open_and_not_watched(void **state)
{
    struct watched *w = watched_new();
    struct stream zeroed = { 0 };

    (void)state;
    assert_false(stream_is_open(&zeroed));
    assert_true(stream_is_open(&w->stream));
    call(w->worker, take_it, w);
    assert_int_equal(w->result, w->fd);
    assert_false(stream_is_open(&w->stream));
    assert_false(stream_is_readable(w->fd));
    call(w->worker, forget, w);
    assert_int_equal(send(w->theirs, "x", 1, 0), 1);
    assert_true(readable(w->fd));
    assert_true(stream_is_readable(w->fd));
    call(w->worker, copy_seen, w);
    call(w->worker, copy_seen, w);
    assert_int_equal(w->calls_copy, 0);
    call(w->worker, open_it, w); /* and may be a stream's again */
    assert_true(gate_passed(&w->readable));
    watched_free(w);
}

static struct gate freed = GATE_INIT;

static void free_in_callback(struct stream *s, unsigned what)
{
    (void)what;
    stream_close(s, false);
    free(s);
    gate_open(&freed);
}

struct short_lived {
    struct worker *worker;
    int fd;
};

static void open_short_lived(void *arg)
{
    struct short_lived *l = arg;

    stream_open(calloc(1, sizeof(struct stream)), l->worker, l->fd, free_in_callback);
}

/* For the address sanitizer to judge. */
static void the_callback_may_free_the_stream(void **state)
{
    struct short_lived l;
    int theirs;
    char c;

    (void)state;
    tcp_pair(&l.fd, &theirs);
    l.worker = worker_running();
    call(l.worker, open_short_lived, &l);
    assert_true(gate_passed(&freed));
    assert_int_equal(recv(theirs, &c, 1, 0), 0);
    close(theirs);
    worker_end(&l.worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_edge_is_told_once),
        cmocka_unit_test(the_peers_end_and_reset_are_told_apart),
        cmocka_unit_test(an_end_behind_bytes_is_told),
        cmocka_unit_test(a_full_stream_becomes_writable_when_drained),
        cmocka_unit_test(too_many_pieces_are_a_partial_send),
        cmocka_unit_test(sending_after_the_end_is_an_error),
        cmocka_unit_test(closing_ends_and_resetting_cuts),
        cmocka_unit_test(a_taken_descriptor_is_open_and_not_watched),
        cmocka_unit_test(the_callback_may_free_the_stream),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
