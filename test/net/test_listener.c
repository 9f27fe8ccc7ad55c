#include "harness.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "net/listener.h"

static struct listening {
    struct listener listener;
    struct worker *worker;
    int fd;
    unsigned n;
    int last;
    struct addr peer;
    bool paused; /* and what else look() saw, on the worker */
    unsigned seen_n;
    int seen_last;
    struct gate accepted;
} here = { .accepted = GATE_INIT };

static void on_accept(struct listener *l, int fd, const struct addr *peer)
{
    (void)l;
    here.n++;
    here.last = fd;
    here.peer = *peer;
    gate_open(&here.accepted);
}

static void start(void *arg)
{
    (void)arg;
    listener_start(&here.listener, here.worker, here.fd, on_accept);
}

static void stop(void *arg)
{
    (void)arg;
    listener_stop(&here.listener);
    listener_stop(&here.listener);
}

static void begin(const char *text, struct addr *at)
{
    struct addr want = address(text, 0);

    memset(&here.listener, 0, sizeof here.listener);
    here.n = 0;
    here.accepted.open = 0;
    here.fd = listener_socket(&want);
    assert_true(here.fd >= 0);
    *at = bound_to(here.fd);
    here.worker = worker_running();
    call(here.worker, start, NULL);
}

static void end(void)
{
    call(here.worker, stop, NULL);
    worker_end(&here.worker);
    close(here.fd);
}

static void what_is_accepted_is_ready_for_use(void **state)
{
    struct addr at, ours;
    int client, on = 0;
    socklen_t len = sizeof on;

    (void)state;
    begin("127.0.0.1", &at);
    client = dialled(&at, 0);
    assert_true(gate_passed(&here.accepted));
    ours = bound_to(client);
    assert_true(addr_eq(&here.peer, &ours));
    assert_true(fcntl(here.last, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(here.last, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(getsockopt(here.last, IPPROTO_TCP, TCP_NODELAY, &on, &len), 0);
    assert_true(on);
    close(client);
    close(here.last);
    end();
}

static void any_ipv6_takes_ipv4_under_its_own_name(void **state)
{
    struct addr at, v4;
    int client;

    (void)state;
    begin("::", &at);
    v4 = address("127.0.0.1", at.port);
    client = dialled(&v4, 0);
    assert_true(client >= 0);
    assert_true(gate_passed(&here.accepted));
    assert_int_equal(here.peer.family, AF_INET);
    close(client);
    close(here.last);
    end();
}

/* More than a batch were waiting: none is forgotten. */
static void a_queue_longer_than_a_batch_is_emptied(void **state)
{
    enum { MANY = 150 };
    static int clients[MANY];
    struct addr at;

    (void)state;
    begin("127.0.0.1", &at);
    call(here.worker, stop, NULL);
    for (int i = 0; i < MANY; i++)
        assert_true((clients[i] = dialled(&at, 0)) >= 0);
    assert_int_equal(here.n, 0); /* stopped is stopped */
    call(here.worker, start, NULL);
    for (int i = 0; i < MANY; i++)
        assert_true(gate_passed(&here.accepted));
    assert_int_equal(here.n, MANY);
    for (int i = 0; i < MANY; i++)
        close(clients[i]);
    end();
}

static void a_second_socket_shares_the_port_a_taken_one_is_refused(void **state)
{
    struct addr at, alone;
    int a, b, c;

    (void)state;
    at = address("127.0.0.1", 0);
    a = listener_socket(&at);
    assert_true(a >= 0);
    at = bound_to(a);
    assert_true((b = listener_socket(&at)) >= 0);
    c = listening("127.0.0.1", 1, &alone);
    assert_int_equal(listener_socket(&alone), -1);
    assert_int_equal(errno, EADDRINUSE);
    close(a);
    close(b);
    close(c);
}

static void look(void *arg)
{
    (void)arg;
    here.paused = here.listener.paused;
    here.seen_n = here.n;
    here.seen_last = here.last;
}

/* In a child, for its limit on descriptors. Exit status: which step failed. */
static int runs_dry_and_recovers(void)
{
    struct addr at;
    struct rlimit limit;
    uint64_t loops;
    int client, fds[64], n = 0;
    char line[256];
    FILE *log = tmpfile();

    begin("127.0.0.1", &at);
    client = socket(AF_INET, SOCK_STREAM, 0);
    dup2(fileno(log), STDERR_FILENO);
    limit.rlim_cur = limit.rlim_max = 40;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1;
    while (n < 64 && (fds[n] = dup(0)) >= 0)
        n++;
    if (errno != EMFILE)
        return 2;

    struct sockaddr_storage sa;
    socklen_t len = addr_to_sockaddr(&at, &sa);

    if (connect(client, (struct sockaddr *)&sa, len) != 0)
        return 3;
    do /* until it has noticed */
        call(here.worker, look, NULL);
    while (!here.paused);
    loops = counter_get(here.worker->counters, SELECT_LOOPS);
    /* Two pauses' time, measured by nothing being accepted in it: spinning would be thousands of turns. */
    poll(NULL, 0, 200);
    if (counter_get(here.worker->counters, SELECT_LOOPS) - loops > 20)
        return 4;
    close(fds[--n]); /* one of the reserve: not for clients */
    poll(NULL, 0, 200);
    call(here.worker, look, NULL);
    if (here.seen_n != 0)
        return 7;
    while (--n > 0)
        close(fds[n]);
    if (!gate_passed(&here.accepted))
        return 5;
    rewind(log);
    n = 0;
    while (fgets(line, sizeof line, log) != NULL)
        n += strstr(line, "cannot accept") != NULL;
    return n == 1 ? 0 : 6;
}

/* The same with the reserve: a connection that breaks into it is the last one taken in. */
static int keeps_the_reserve(void)
{
    struct addr at;
    struct rlimit limit = { 40, 40 };
    int fds[64], n = 0;

    begin("127.0.0.1", &at);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 1;
    call(here.worker, stop, NULL);
    for (int i = 0; i < 2; i++)
        if (dialled(&at, 0) < 0)
            return 2;
    while ((fds[n] = dup(0)) < 30)
        n++;
    call(here.worker, start, NULL);
    if (!gate_passed(&here.accepted))
        return 3;
    do
        call(here.worker, look, NULL);
    while (!here.paused);
    poll(NULL, 0, 200);
    call(here.worker, look, NULL);
    if (here.seen_n != 1 || here.seen_last < 30)
        return 4;
    while (n >= 0)
        close(fds[n--]);
    return gate_passed(&here.accepted) ? 0 : 5;
}

static void a_part_is_kept_for_others_than_clients(void **state)
{
    pid_t child;
    int status = -1;

    (void)state;
    if ((child = fork()) == 0)
        _exit(keeps_the_reserve());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void without_descriptors_it_pauses(void **state)
{
    pid_t child;
    int status = -1;

    (void)state;
    if ((child = fork()) == 0)
        _exit(runs_dry_and_recovers());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: they fork, so no other thread may ever have been. */
        cmocka_unit_test(without_descriptors_it_pauses),
        cmocka_unit_test(a_part_is_kept_for_others_than_clients),
        cmocka_unit_test(what_is_accepted_is_ready_for_use),
        cmocka_unit_test(any_ipv6_takes_ipv4_under_its_own_name),
        cmocka_unit_test(a_queue_longer_than_a_batch_is_emptied),
        cmocka_unit_test(a_second_socket_shares_the_port_a_taken_one_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
