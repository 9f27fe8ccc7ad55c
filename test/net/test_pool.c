#include "harness.h"

#include "base/hash.h"
#include "net/pool.h"

#define MAX_IDLE 3
#define MINUTE INT64_C(60000000)

static struct worker *worker;
static struct pool *pool;

struct job {
    const char *name;
    int fd;
    int64_t idle_us;
    struct endpoints ends;
    pool_fits *fits;
    struct server_health *place;
    size_t idle;
};

static void make(void *arg)
{
    (void)arg;
    pool = pool_new(worker, MAX_IDLE);
}

static void unmake(void *arg)
{
    (void)arg;
    pool_free(&pool);
}

static void put(void *arg)
{
    struct job *j = arg;

    pool_put(pool, span_str(j->name), j->fd, &j->ends, j->idle_us, j->place);
    j->idle = pool_idle(pool);
}

static void get(void *arg)
{
    struct job *j = arg;

    j->fd = pool_get(pool, span_str(j->name), j->fits, j, &j->ends, &j->place);
    j->idle = pool_idle(pool);
}

static int put_for(const char *name, int64_t idle_us, int *theirs)
{
    struct job j = { .name = name, .idle_us = idle_us, .ends.peer = address("192.0.2.1", 80) };
    int fd;

    tcp_pair(&fd, theirs);
    j.fd = fd;
    call(worker, put, &j);
    return fd;
}

static int got(const char *name)
{
    struct job j = { .name = name };

    call(worker, get, &j);
    return j.fd;
}

static size_t idle_now(void)
{
    struct job j = { .name = "nobody" };

    call(worker, get, &j);
    return j.idle;
}

static int setup(void **state)
{
    (void)state;
    worker = worker_running();
    call(worker, make, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    call(worker, unmake, NULL);
    worker_end(&worker);
    return 0;
}

static bool ended(int theirs)
{
    char c;

    return readable(theirs) && recv(theirs, &c, 1, MSG_DONTWAIT) == 0;
}

static void the_latest_of_a_name_comes_first(void **state)
{
    int theirs[3], a = put_for("a:80", MINUTE, &theirs[0]), b = put_for("b:80", MINUTE, &theirs[1]),
                   a2 = put_for("a:80", MINUTE, &theirs[2]);
    struct job j = { .name = "a:80" };
    struct addr want = address("192.0.2.1", 80);

    (void)state;
    assert_int_equal(idle_now(), 3);
    assert_int_equal(got("a:8"), -1);
    call(worker, get, &j);
    assert_int_equal(j.fd, a2);
    assert_true(addr_eq(&j.ends.peer, &want));
    assert_int_equal(got("a:80"), a);
    assert_int_equal(got("a:80"), -1);
    assert_int_equal(got("b:80"), b);
    assert_int_equal(idle_now(), 0);
    close(a);
    close(a2);
    close(b);
    for (int i = 0; i < 3; i++)
        close(theirs[i]);
}

static bool is_the_older(void *ctx, const struct endpoints *ends)
{
    const struct job *j = ctx;

    return ends->local.port == j->idle_us; /* as put */
}

static void only_what_fits_is_taken(void **state)
{
    struct job j[2] = { { .name = "a:80", .idle_us = MINUTE }, { .name = "a:80", .idle_us = MINUTE } };
    struct job want = { .name = "a:80", .fits = is_the_older, .idle_us = 1 };
    int theirs[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        tcp_pair(&j[i].fd, &theirs[i]);
        j[i].ends.local = address("192.0.2.9", (uint16_t)(i + 1));
        call(worker, put, &j[i]);
    }
    call(worker, get, &want);
    assert_int_equal(want.fd, j[0].fd);
    assert_int_equal(want.ends.local.port, 1);
    assert_int_equal(want.idle, 1); /* the other one is still there */
    call(worker, get, &want);
    assert_int_equal(want.fd, -1);
    assert_int_equal(got("a:80"), j[1].fd);
    for (int i = 0; i < 2; i++) {
        close(j[i].fd);
        close(theirs[i]);
    }
}

static void beyond_the_limit_the_oldest_goes(void **state)
{
    int theirs[MAX_IDLE + 1];

    (void)state;
    for (int i = 0; i <= MAX_IDLE; i++)
        put_for(i == 0 ? "old" : "new", MINUTE, &theirs[i]);
    assert_int_equal(idle_now(), MAX_IDLE);
    assert_true(ended(theirs[0]));
    assert_int_equal(got("old"), -1);
    for (int i = 0; i <= MAX_IDLE; i++)
        close(theirs[i]);
}

static void what_turns_readable_is_closed(void **state)
{
    int theirs;
    char c;

    (void)state;
    put_for("talks", MINUTE, &theirs);
    assert_int_equal(send(theirs, "HTTP/1.1 200 surplus", 20, 0), 20);
    assert_true(readable(theirs));
    assert_int_equal(recv(theirs, &c, 1, 0), -1); /* unread bytes: the kernel resets */
    assert_int_equal(errno, ECONNRESET);
    assert_int_equal(idle_now(), 0);
    close(theirs);

    put_for("ends", MINUTE, &theirs);
    shutdown(theirs, SHUT_WR);
    assert_true(ended(theirs));
    assert_int_equal(idle_now(), 0);
    close(theirs);
}

struct both {
    struct job put, get;
};

static void put_and_get(void *arg)
{
    struct both *b = arg;

    put(&b->put);
    get(&b->get);
}

/* Put and asked for in one callback: the loop has no chance to see that it is dead. */
static void the_dead_are_never_handed_out(void **state)
{
    struct both b = { .put = { .name = "x", .idle_us = MINUTE }, .get = { .name = "x" } };
    int theirs;

    (void)state;
    tcp_pair(&b.put.fd, &theirs);
    assert_int_equal(send(theirs, "x", 1, 0), 1);
    assert_true(readable(b.put.fd));
    call(worker, put_and_get, &b);
    assert_int_equal(b.get.fd, -1);
    assert_int_equal(b.get.idle, 0);
    close(theirs);
}

/* A dead one does not hide a living one behind it. */
static void the_living_are_found_behind_the_dead(void **state)
{
    struct both b = { .put = { .name = "x", .idle_us = MINUTE }, .get = { .name = "x" } };
    int old_theirs, theirs, old = put_for("x", MINUTE, &old_theirs);

    (void)state;
    tcp_pair(&b.put.fd, &theirs);
    shutdown(theirs, SHUT_WR);
    assert_true(readable(b.put.fd));
    call(worker, put_and_get, &b);
    assert_int_equal(b.get.fd, old);
    close(old);
    close(old_theirs);
    close(theirs);
}

static void the_idle_expire(void **state)
{
    int theirs, stays, zero;

    (void)state;
    put_for("no time at all", 0, &zero);
    assert_int_equal(idle_now(), 0);
    assert_true(ended(zero));
    put_for("short", 1, &theirs);
    put_for("long", MINUTE, &stays);
    assert_true(ended(theirs)); /* by the tick: nobody asks for it */
    assert_int_equal(idle_now(), 1);
    close(theirs);
    close(stays);
    close(zero);
}

/* A connection keeps its place, whoever has it, until it is closed. */
static void places_come_back(void **state)
{
    struct server_health *h = server_health_new();
    struct job j = { .name = "a", .idle_us = MINUTE, .ends.peer = address("192.0.2.1", 80), .place = h };
    int theirs;

    (void)state;
    assert_true(server_health_take(h, 1));
    tcp_pair(&j.fd, &theirs);
    call(worker, put, &j);
    assert_int_equal(server_health_connections(h), 1);
    j.place = NULL;
    call(worker, get, &j);
    assert_ptr_equal(j.place, h);
    call(worker, put, &j);
    call(worker, unmake, NULL);
    assert_int_equal(server_health_connections(h), 0);
    close(theirs);
    server_health_unref(&h);
}

static void freeing_closes(void **state)
{
    int theirs;

    (void)state;
    put_for("a", MINUTE, &theirs);
    call(worker, unmake, NULL);
    assert_true(ended(theirs));
    close(theirs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_latest_of_a_name_comes_first, setup, teardown),
        cmocka_unit_test_setup_teardown(only_what_fits_is_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(beyond_the_limit_the_oldest_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(what_turns_readable_is_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(the_dead_are_never_handed_out, setup, teardown),
        cmocka_unit_test_setup_teardown(the_living_are_found_behind_the_dead, setup, teardown),
        cmocka_unit_test_setup_teardown(the_idle_expire, setup, teardown),
        cmocka_unit_test_setup_teardown(places_come_back, setup, teardown),
        cmocka_unit_test_setup_teardown(freeing_closes, setup, teardown),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
