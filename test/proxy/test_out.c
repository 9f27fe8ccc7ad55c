/* Responses that leave in one send, and those that have to wait: every byte once, in order. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/strbuf.h"
#include "proxy/out.h"

static struct out_batch batch;

struct pair {
    struct worker *worker;
    struct stream ours;
    int theirs;
    struct out_queue queue;
};

static void ignore(struct stream *s, unsigned what)
{
    (void)s, (void)what;
}

static void pair_open(struct pair *p)
{
    int fd[2], small = 4096;

    memset(p, 0, sizeof *p);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
    setsockopt(fd[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    p->worker = worker_new(0);
    stream_open(&p->ours, p->worker, fd[0], ignore);
    p->theirs = fd[1];
    out_queue_init(&p->queue);
}

static void pair_close(struct pair *p)
{
    out_queue_drop(&p->queue);
    stream_close(&p->ours, false);
    close(p->theirs);
    worker_free(&p->worker);
}

/* An object of `n` body bytes in segments of `piece`, each byte telling its place. */
static struct object *make_object(size_t n, size_t piece)
{
    static const char head[] = "HEAD\r\n";
    struct object *o = object_new(NULL, sizeof head);
    size_t at = 0;

    memcpy(o->head, head, sizeof head - 1);
    o->head_len = sizeof head - 1;
    o->body = body_new(NULL, piece);
    while (at < n) {
        struct segment *s = o->body->last;
        size_t k;

        if (s->len == s->capacity)
            s = body_extend(o->body, piece);
        for (k = 0; k < s->capacity && at < n; k++, at++)
            s->bytes[k] = (unsigned char)(at * 7 + at / 251);
        s->len = (uint32_t)k;
    }
    o->body->length = n;
    return o;
}

static void drain_into(int fd, struct strbuf *got)
{
    char buf[3000];
    ssize_t n;

    while ((n = read(fd, buf, sizeof buf)) > 0)
        sb_add(got, buf, (size_t)n);
}

static void add(struct object *o, const char *tail, uint64_t first, uint64_t length)
{
    assert_true(out_has_room(&batch));
    memcpy(out_head_room(&batch), tail, strlen(tail));
    out_add_object(&batch, o, SPAN_NONE, strlen(tail), first, length);
}

static void expect(struct strbuf *want, const struct object *o, const char *tail, uint64_t first, uint64_t length)
{
    sb_str(want, "HEAD\r\n");
    sb_str(want, tail);
    for (uint64_t i = first; i < first + length; i++)
        sb_char(want, (char)(i * 7 + i / 251));
    (void)o;
}

/* More than the socket takes: several objects, a range, owned bytes; drained bit by bit. */
static void what_does_not_fit_waits(void **state)
{
    struct pair p;
    struct object *small = make_object(10, 64), *large = make_object(300000, 1000);
    struct strbuf got = { 0 }, want = { 0 };
    enum out_result r;

    (void)state;
    pair_open(&p);
    for (int i = 0; i < 3; i++) {
        add(small, "T\r\n\r\n", 2, 5);
        expect(&want, small, "T\r\n\r\n", 2, 5);
    }
    out_add_owned(&batch, xstrdup("owned"), 5);
    sb_str(&want, "owned");
    add(large, "U\r\n\r\n", 0, 300000);
    expect(&want, large, "U\r\n\r\n", 0, 300000);
    assert_false(out_has_room(&batch)); /* 300 segments: more than a batch takes */
    r = out_flush(&batch, &p.queue, &p.ours);
    assert_int_equal(r, OUT_WAITS);
    assert_true(out_queue_waits(&p.queue));
    /* The queue holds references of its own. */
    object_unref(&small);
    object_unref(&large);
    for (int i = 0; r == OUT_WAITS && i < 100000; i++) {
        drain_into(p.theirs, &got);
        r = out_resume(&p.queue, &p.ours);
    }
    assert_int_equal(r, OUT_SENT);
    drain_into(p.theirs, &got);
    assert_true(span_eq(sb_view(&got), sb_view(&want)));
    sb_free(&got);
    sb_free(&want);
    pair_close(&p);
}

static void what_fits_leaves_at_once(void **state)
{
    struct pair p;
    struct object *o = make_object(100, 64);
    struct strbuf got = { 0 }, want = { 0 };

    (void)state;
    pair_open(&p);
    for (int i = 0; i < 8; i++) {
        add(o, "T\r\n\r\n", 0, 100);
        expect(&want, o, "T\r\n\r\n", 0, 100);
    }
    assert_int_equal(out_flush(&batch, &p.queue, &p.ours), OUT_SENT);
    drain_into(p.theirs, &got);
    assert_true(span_eq(sb_view(&got), sb_view(&want)));
    assert_int_equal(batch.n_entries, 0);
    object_unref(&o);
    sb_free(&got);
    sb_free(&want);
    pair_close(&p);
}

static void a_peer_that_left_is_noticed(void **state)
{
    struct pair p;
    struct object *o = make_object(100, 64);

    (void)state;
    pair_open(&p);
    close(p.theirs);
    p.theirs = -1;
    add(o, "T\r\n\r\n", 0, 100);
    out_add_owned(&batch, xstrdup("owned"), 5);
    assert_int_equal(out_flush(&batch, &p.queue, &p.ours), OUT_GONE);
    assert_false(out_queue_waits(&p.queue));
    object_unref(&o);
    pair_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_waits),
        cmocka_unit_test(what_fits_leaves_at_once),
        cmocka_unit_test(a_peer_that_left_is_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
