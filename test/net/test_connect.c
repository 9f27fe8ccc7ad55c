#include "harness.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include "base/clock.h"
#include "net/connect.h"

#define FOREVER_US (60 * US_PER_S)

static struct worker *worker;

/* One connecting, as its asker sees it. */
struct dial {
    struct addr to[4];
    size_t n;
    struct connect_config config;
    struct connector *connector;
    bool cancel;      /* at once */
    bool from_within; /* done() came before connect_start() had returned */
    bool starting;
    unsigned told;
    int fd, error;
    struct endpoints ends;
    int64_t took;
    struct gate done;
};

static void on_done(void *ctx, int fd, int error, const struct endpoints *ends)
{
    struct dial *d = ctx;

    d->connector = NULL;
    d->from_within |= d->starting;
    d->told++;
    d->fd = fd;
    d->error = error;
    d->ends = *ends;
    d->took = worker_mono(worker) - d->took;
    gate_open(&d->done);
}

static void start(void *arg)
{
    struct dial *d = arg;

    d->took = worker_mono(worker);
    d->starting = true;
    d->connector = connect_start(worker, d->to, d->n, &d->config, on_done, d);
    d->starting = false;
    if (d->cancel) {
        connect_cancel(&d->connector);
        connect_cancel(&d->connector);
    }
}

static void cancel(void *arg)
{
    connect_cancel(&((struct dial *)arg)->connector);
}

static void nothing(void *arg)
{
    (void)arg;
}

static void run(struct dial *d)
{
    call(worker, start, d);
    assert_true(gate_passed(&d->done));
    assert_false(d->from_within);
    assert_int_equal(d->told, 1);
}

#define DIAL(...)                                                                                                      \
    {                                                                                                                  \
        .fd = -1, .done = GATE_INIT, .config = { FOREVER_US, FOREVER_US, .spares_max = -1 }, __VA_ARGS__               \
    }

/* An address nobody listens at: bound, so that nobody else will. */
static struct addr closed_port(const char *on, int *holder)
{
    struct addr at;

    *holder = listening(on, -1, &at);
    return at;
}

/* An address that swallows SYNs: its queue of connections not yet accepted is full. */
struct silent {
    int fds[8];
    struct addr at;
};

static void silent_make(struct silent *s, const char *on)
{
    s->fds[0] = listening(on, 0, &s->at);
    for (size_t i = 1; i < LENGTH(s->fds); i++)
        s->fds[i] = dialled(&s->at, SOCK_NONBLOCK);
}

static void silent_free(struct silent *s)
{
    for (size_t i = 0; i < LENGTH(s->fds); i++)
        close(s->fds[i]);
}

static int setup(void **state)
{
    (void)state;
    worker = worker_running();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    worker_end(&worker);
    return 0;
}

static void the_connection_is_ready_for_use(void **state)
{
    struct dial d = DIAL(.n = 1);
    int l = listening("127.0.0.1", 1, &d.to[0]), on = 0;
    socklen_t len = sizeof on;

    (void)state;
    run(&d);
    assert_true(d.fd >= 0);
    assert_int_equal(d.error, 0);
    assert_true(addr_eq(&d.ends.peer, &d.to[0]));
    assert_true(fcntl(d.fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(d.fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(getsockopt(d.fd, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
    assert_true(on);
    assert_int_equal(send(d.fd, "x", 1, 0), 1);
    close(d.fd);
    close(l);
}

/* attempt_us is a minute: only the refusal itself can have moved it on. */
static void a_refusal_moves_on_at_once(void **state)
{
    struct dial d = DIAL(.n = 3);
    int holders[2], l;

    (void)state;
    d.to[0] = closed_port("127.0.0.1", &holders[0]);
    d.to[1] = closed_port("::1", &holders[1]);
    l = listening("127.0.0.1", 1, &d.to[2]);
    run(&d);
    assert_true(d.fd >= 0);
    assert_true(addr_eq(&d.ends.peer, &d.to[2]));
    assert_true(d.took < 10 * US_PER_S);
    close(d.fd);
    close(l);
    close(holders[0]);
    close(holders[1]);
}

static void when_all_refuse_the_last_is_told(void **state)
{
    struct dial d = DIAL(.n = 2), none = DIAL(.n = 0);
    int holders[2];

    (void)state;
    d.to[0] = closed_port("127.0.0.1", &holders[0]);
    d.to[1] = closed_port("127.0.0.1", &holders[1]);
    run(&d);
    assert_int_equal(d.fd, -1);
    assert_int_equal(d.error, ECONNREFUSED);
    assert_true(addr_eq(&d.ends.peer, &d.to[1]));
    run(&none);
    assert_int_equal(none.fd, -1);
    assert_int_equal(none.error, EHOSTUNREACH);
    close(holders[0]);
    close(holders[1]);
}

static void silence_times_out(void **state)
{
    struct dial d = DIAL(.n = 1);
    struct silent s;

    (void)state;
    silent_make(&s, "127.0.0.1");
    d.to[0] = s.at;
    d.config.timeout_us = 60000;
    run(&d);
    assert_int_equal(d.fd, -1);
    assert_int_equal(d.error, ETIMEDOUT);
    assert_true(addr_eq(&d.ends.peer, &s.at));
    assert_true(d.took >= 40000); /* the loop's clock is coarse */
    silent_free(&s);
}

static void a_silent_ipv6_loses_the_race(void **state)
{
    struct dial d = DIAL(.n = 2);
    struct silent s;
    int l;

    (void)state;
    silent_make(&s, "::1");
    d.to[0] = s.at;
    l = listening("127.0.0.1", 1, &d.to[1]);
    d.config.attempt_us = 50000;
    run(&d);
    assert_true(d.fd >= 0);
    assert_true(addr_eq(&d.ends.peer, &d.to[1]));
    assert_true(d.took >= 30000);
    assert_true(d.took < 10 * US_PER_S);
    close(d.fd);
    close(l);
    silent_free(&s);
}

/* The refusal of a second leaves the first, which is still under way, to time out. */
static void those_under_way_are_waited_for(void **state)
{
    struct dial d = DIAL(.n = 2);
    struct silent s;
    int holder;

    (void)state;
    silent_make(&s, "127.0.0.1");
    d.to[0] = s.at;
    d.to[1] = closed_port("127.0.0.1", &holder);
    d.config.attempt_us = 10000;
    d.config.timeout_us = 100000;
    run(&d);
    assert_int_equal(d.error, ETIMEDOUT);
    close(holder);
    silent_free(&s);
}

static void the_outgoing_address_is_bound(void **state)
{
    struct dial d = DIAL(.n = 1);
    struct addr local = address("127.0.0.9", 0), from;
    int l = listening("127.0.0.1", 1, &d.to[0]);

    (void)state;
    d.config.local = &local;
    run(&d);
    from = bound_to(d.fd);
    from.port = 0;
    assert_true(addr_eq(&from, &local));
    assert_true(d.ends.chosen);
    d.ends.local.port = 0;
    assert_true(addr_eq(&d.ends.local, &local));
    close(d.fd);

    /* Of the other family: not used. */
    local = address("::1", 0);
    d.told = 0;
    run(&d);
    assert_int_equal(d.error, 0);
    assert_false(d.ends.chosen);
    assert_int_equal(d.ends.local.family, AF_INET);
    close(d.fd);

    /* Not ours. */
    local = address("192.0.2.77", 0);
    d.told = 0;
    run(&d);
    assert_int_equal(d.error, EADDRNOTAVAIL);
    close(l);
}

/* Somebody listens only when the first try has been refused. */
static void a_refused_address_is_tried_again(void **state)
{
    struct dial d = DIAL(.n = 2), never = DIAL(.n = 1);
    int holder, other;

    (void)state;
    d.to[0] = closed_port("127.0.0.1", &holder);
    d.to[1] = closed_port("127.0.0.1", &other);
    d.config.retries = 10;
    call(worker, start, &d);
    assert_int_equal(listen(holder, 1), 0);
    assert_true(gate_passed(&d.done));
    assert_true(d.fd >= 0);
    assert_true(addr_eq(&d.ends.peer, &d.to[0]));
    close(d.fd);
    close(holder);

    /* So often, with a pause each time, and then it has failed. */
    never.to[0] = d.to[1];
    never.config.retries = 2;
    run(&never);
    assert_int_equal(never.error, ECONNREFUSED);
    assert_true(never.took >= 80000);
    close(other);
}

/* The loser of the first race would hold the only place for a second one. */
static void spare_connections_are_limited(void **state)
{
    struct dial alone = DIAL(.n = 2), holds = DIAL(.n = 3), waits = DIAL(.n = 2), meanwhile = DIAL(.n = 1);
    struct silent s;
    int l;

    (void)state;
    silent_make(&s, "127.0.0.1");
    l = listening("127.0.0.1", 1, &alone.to[1]);
    alone.to[0] = meanwhile.to[0] = waits.to[0] = holds.to[0] = holds.to[1] = holds.to[2] = s.at;
    waits.to[1] = alone.to[1];
    alone.config = (struct connect_config){ 100000, 1000, .spares_max = 0 };
    run(&alone);
    assert_int_equal(alone.error, ETIMEDOUT);

    holds.config = (struct connect_config){ FOREVER_US, 1000, .spares_max = 1 };
    waits.config = (struct connect_config){ 100000, 1000, .spares_max = 1 };
    meanwhile.config.timeout_us = 50000;
    call(worker, start, &holds);
    run(&meanwhile);
    run(&waits);
    assert_int_equal(waits.error, ETIMEDOUT);
    call(worker, cancel, &holds);

    waits.told = 0;
    waits.config.timeout_us = FOREVER_US;
    run(&waits); /* its place came back */
    assert_true(waits.fd >= 0);
    close(waits.fd);
    close(l);
    silent_free(&s);
}

static void spare_connections_keep_their_distance(void **state)
{
    struct dial d = DIAL(.n = 4);
    struct silent s;
    int l;

    (void)state;
    silent_make(&s, "127.0.0.1");
    d.to[0] = d.to[1] = d.to[2] = s.at;
    l = listening("127.0.0.1", 1, &d.to[3]);
    d.config = (struct connect_config){ FOREVER_US, 1000, .spares_max = -1, .spare_gap_us = 50000 };
    run(&d);
    assert_true(d.fd >= 0);
    assert_true(d.took >= 90000); /* two gaps between three */
    close(d.fd);
    close(l);
    silent_free(&s);
}

static void the_receive_buffer_is_set(void **state)
{
    struct dial d = DIAL(.n = 1);
    int l = listening("127.0.0.1", 1, &d.to[0]), size = 0;
    socklen_t len = sizeof size;

    (void)state;
    d.config.receive_buffer = 20000;
    run(&d);
    assert_int_equal(getsockopt(d.fd, SOL_SOCKET, SO_RCVBUF, &size, &len), 0);
    assert_int_equal(size, 40000); /* Linux counts its own overhead in */
    close(d.fd);
    close(l);
}

static void cancelled_is_never_told(void **state)
{
    struct dial ready = DIAL(.n = 1, .cancel = true), refused = DIAL(.n = 1, .cancel = true), waiting = DIAL(.n = 1);
    struct silent s;
    int holder, l = listening("127.0.0.1", 1, &ready.to[0]), conn;
    char c;

    (void)state;
    silent_make(&s, "127.0.0.1");
    refused.to[0] = closed_port("127.0.0.1", &holder);
    waiting.to[0] = s.at;
    call(worker, start, &ready);
    call(worker, start, &refused);
    call(worker, start, &waiting);
    call(worker, cancel, &waiting);
    for (int i = 0; i < 3; i++)
        call(worker, nothing, NULL);
    assert_int_equal(ready.told + refused.told + waiting.told, 0);
    assert_null(waiting.connector);
    conn = accept(l, NULL, NULL); /* what was connected already is closed again */
    assert_int_equal(recv(conn, &c, 1, 0), 0);
    close(conn);
    close(l);
    close(holder);
    silent_free(&s);
}

/* Two that connect in the same turn; the first one told cancels the second, whose connection is there already. */
struct rivals {
    struct dial first, second;
};

static void cancel_the_other(void *ctx, int fd, int error, const struct endpoints *ends)
{
    struct rivals *r = CONTAINER_OF(ctx, struct rivals, first);

    connect_cancel(&r->second.connector);
    on_done(ctx, fd, error, ends);
}

static void start_both(void *arg)
{
    struct rivals *r = arg;

    r->first.connector = connect_start(worker, r->first.to, r->first.n, &r->first.config, cancel_the_other, &r->first);
    start(&r->second);
}

static void a_connection_not_told_yet_is_closed_by_cancelling(void **state)
{
    struct rivals r = { .first = DIAL(.n = 1), .second = DIAL(.n = 1) };
    int l[2] = { listening("127.0.0.1", 1, &r.first.to[0]), listening("127.0.0.1", 1, &r.second.to[0]) }, conn;
    char c;

    (void)state;
    call(worker, start_both, &r);
    assert_true(gate_passed(&r.first.done));
    call(worker, nothing, NULL);
    assert_int_equal(r.second.told, 0);
    assert_true((conn = accept(l[1], NULL, NULL)) >= 0);
    assert_true(readable(conn));
    assert_int_equal(recv(conn, &c, 1, 0), 0);
    close(conn);
    close(r.first.fd);
    close(l[0]);
    close(l[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_connection_is_ready_for_use, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refusal_moves_on_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(when_all_refuse_the_last_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(silence_times_out, setup, teardown),
        cmocka_unit_test_setup_teardown(a_silent_ipv6_loses_the_race, setup, teardown),
        cmocka_unit_test_setup_teardown(those_under_way_are_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(the_outgoing_address_is_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(a_refused_address_is_tried_again, setup, teardown),
        cmocka_unit_test_setup_teardown(spare_connections_are_limited, setup, teardown),
        cmocka_unit_test_setup_teardown(spare_connections_keep_their_distance, setup, teardown),
        cmocka_unit_test_setup_teardown(the_receive_buffer_is_set, setup, teardown),
        cmocka_unit_test_setup_teardown(cancelled_is_never_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_connection_not_told_yet_is_closed_by_cancelling, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
