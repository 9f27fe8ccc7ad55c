/* test/daemon/test_daemon.c: the parts of the process that need no running proxy: command line, pid file, restart
 * policy, the channel between child and parent, listening sockets. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "channel.h"
#include "options.h"
#include "pidfile.h"
#include "ports.h"
#include "restart.h"

#define COUNT_OF(a) (sizeof(a) / sizeof(a)[0])

/* ---- options ---- */

static const struct {
    const char *why, *args[6];
    struct options want;
} lines[] = {
    { "no arguments: a daemon", { NULL }, { .action = ACTION_RUN, .stderr_level = -1 } },
    { "container images start so", { "-NYCd", "1" }, { .single = true, .foreground = true, .stderr_level = 1 } },
    { "Debian's unit starts so", { "--foreground", "-sYC" }, { .foreground = true, .stderr_level = -1 } },
    { "container images prepare so", { "--foreground", "-z" },
      { .action = ACTION_MAKE_DIRS, .foreground = true, .stderr_level = -1 } },
    { "-k with a file", { "-k", "parse", "-f", "/x" }, { .action = ACTION_PARSE, .file = "/x", .stderr_level = -1 } },
    { "a word glued to -k", { "-kreconfigure" }, { .action = ACTION_RECONFIGURE, .stderr_level = -1 } },
    { "rotate", { "-k", "rotate" }, { .action = ACTION_ROTATE, .stderr_level = -1 } },
    { "-n", { "-n", "edge1" }, { .service_name = "edge1", .stderr_level = -1 } },
    { "version, long", { "--version" }, { .action = ACTION_VERSION, .stderr_level = -1 } },
    { "unknown -k word", { "-k", "reconfigur" }, { .action = ACTION_BAD, .stderr_level = -1 } },
    { "unknown letter in a bundle", { "-NYq" }, { .action = ACTION_BAD, .single = true, .foreground = true,
                                                  .stderr_level = -1 } },
    { "unknown long option", { "--frobnicate" }, { .action = ACTION_BAD, .stderr_level = -1 } },
    { "-f without a value", { "-f" }, { .action = ACTION_BAD, .stderr_level = -1 } },
    { "a level that is no number", { "-d", "x" }, { .action = ACTION_BAD, .stderr_level = -1 } },
    { "a stray word", { "start" }, { .action = ACTION_BAD, .stderr_level = -1 } },
    { "a name that is a path", { "-n", "../x" }, { .action = ACTION_BAD, .stderr_level = -1 } },
    { "-f and --embedded", { "-f", "/x", "--embedded" },
      { .action = ACTION_BAD, .file = "/x", .embedded = true, .stderr_level = -1 } },
};

static bool same_text(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void the_command_line_is_squids(void **state)
{
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC), kept = dup(STDERR_FILENO);

    (void)state;
    dup2(quiet, STDERR_FILENO);
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        char *argv[8] = { xstrdup("loligo") };
        int argc = 1;
        struct options got;
        bool same;

        for (size_t j = 0; j < COUNT_OF(lines[i].args) && lines[i].args[j] != NULL; j++)
            argv[argc++] = xstrdup(lines[i].args[j]);
        optind = 0;
        got = options_parse(argc, argv);
        same = got.action == lines[i].want.action && got.single == lines[i].want.single &&
               got.foreground == lines[i].want.foreground && got.embedded == lines[i].want.embedded &&
               got.stderr_level == lines[i].want.stderr_level && same_text(got.file, lines[i].want.file) &&
               same_text(got.service_name, lines[i].want.service_name);
        for (int j = 0; j < argc; j++)
            free(argv[j]);
        if (!same) {
            dup2(kept, STDERR_FILENO);
            fail_msg("%s", lines[i].why);
        }
    }
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(quiet);
}

/* ---- restart ---- */

#define S(seconds) ((int64_t)((seconds) * 1000000.0))
static const struct death { double at, lived; bool killed; double wait; } crash_loop[] = {
    { 100.0, 50.0, false, 0 },    /* it had worked: at once */
    { 100.1, 0.1, false, 0 },     /* the first young death: at once */
    { 100.3, 0.2, false, 0.1 },
    { 100.6, 0.2, false, 0.2 },
    { 101.0, 0.2, false, 0.4 },
    { 101.5, 0.1, false, -1 },    /* the fifth within 30 s */
}, slow_crashes[] = {             /* each nine seconds: never five within thirty */
    { 9, 9, false, 0 }, { 18, 9, false, 0.1 }, { 27, 9, false, 0.2 }, { 36, 9, false, 0.4 }, { 45, 9, false, 0.8 },
    { 54, 9, false, 1.6 }, { 63, 9, false, 3.2 }, { 72, 9, false, 4 }, { 81, 9, false, 4 },
}, killed_at_birth[] = {          /* no room for it at all: a kill counts when it hardly lived */
    { 1, 0.1, true, 0 }, { 2, 0.1, true, 0.1 }, { 3, 0.1, true, 0.2 }, { 4, 0.1, true, 0.4 }, { 5, 0.1, true, -1 },
}, quiet_between[] = {            /* a quiet half-minute starts the count again */
    { 1, 1, false, 0 }, { 2, 1, false, 0.1 }, { 3, 1, false, 0.2 }, { 4, 1, false, 0.4 }, { 60, 1, false, 0 },
    { 61, 1, false, 0.1 },
};
static const struct { const char *why; const struct death *d; size_t n; } deaths[] = {
    { "crash loop", crash_loop, COUNT_OF(crash_loop) },
    { "slow crashes", slow_crashes, COUNT_OF(slow_crashes) },
    { "killed at birth", killed_at_birth, COUNT_OF(killed_at_birth) },
    { "quiet between", quiet_between, COUNT_OF(quiet_between) },
};

static void a_dead_child_is_replaced_with_back_off(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(deaths); i++) {
        struct restart r = { 0 };

        for (size_t j = 0; j < deaths[i].n; j++) {
            const struct death *d = &deaths[i].d[j];
            int64_t got = restart_after(&r, S(d->at), S(d->lived), d->killed);

            if (got != (d->wait < 0 ? RESTART_GIVE_UP : S(d->wait)))
                fail_msg("%s, death %zu: %lld us", deaths[i].why, j, (long long)got);
        }
    }
}

static void sixty_kills_a_second_apart_are_survived(void **state)
{
    struct restart r = { 0 };

    (void)state;
    for (int i = 1; i <= 60; i++)
        assert_int_equal(restart_after(&r, S(i), S(0.95), true), 0); /* faults.md R4 */
}

/* ---- pid file ---- */

static int make_dir(void **state)
{
    char *dir = xstrdup("/tmp/loligo-test-XXXXXX");

    *state = dir;
    return mkdtemp(dir) == NULL ? -1 : 0;
}

static int remove_dir(void **state)
{
    char *path = xasprintf("%s/pid", (const char *)*state);

    unlink(path);
    rmdir(*state);
    free(path);
    free(*state);
    return 0;
}

static void a_pid_file_says_who_runs(void **state)
{
    char *path = xasprintf("%s/pid", (const char *)*state), error[256] = "";
    struct pidfile f, second;

    assert_int_equal(pidfile_running(path, error), -1);
    assert_non_null(strstr(error, "not running"));
    assert_true(pidfile_take(&f, path, error));
    assert_int_equal(pidfile_running(path, error), getpid());
    assert_false(pidfile_take(&second, path, error));
    assert_non_null(strstr(error, "already running"));
    pidfile_release(&f);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(pidfile_running(path, error), -1);
    free(path);
}

static void a_pid_file_left_behind_is_nobodys(void **state)
{
    char *path = xasprintf("%s/pid", (const char *)*state), error[256] = "";
    struct pidfile f;
    FILE *left = fopen(path, "w");

    assert_non_null(left);
    fprintf(left, "%ld\n", (long)getppid()); /* alive, but no proxy */
    fclose(left);
    assert_int_equal(pidfile_running(path, error), -1);
    assert_non_null(strstr(error, "left behind"));
    assert_true(pidfile_take(&f, path, error));
    assert_int_equal(pidfile_running(path, error), getpid());
    pidfile_release(&f);
    free(path);
}

static void a_pid_file_is_the_parents_alone(void **state)
{
    char *path = xasprintf("%s/pid", (const char *)*state), error[256] = "";
    struct pidfile f;
    int status, gate[2];
    pid_t child;
    char byte;

    assert_int_equal(pipe(gate), 0);
    assert_true(pidfile_take(&f, path, error));
    if ((child = fork()) == 0) {
        close(gate[1]);
        pidfile_forget(&f);
        _exit(read(gate[0], &byte, 1) == 0 ? 0 : 1); /* until the parent has looked */
    }
    assert_int_equal(pidfile_running(path, error), getpid());
    pidfile_release(&f);
    assert_true(pidfile_take(&f, path, error)); /* the child, still alive, holds nothing */
    pidfile_release(&f);
    close(gate[1]);
    close(gate[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    free(path);
}

static void pid_filename_none_is_no_file(void **state)
{
    char error[256] = "";
    struct pidfile f;

    (void)state;
    assert_true(pidfile_take(&f, "none", error));
    assert_int_equal(f.fd, -1);
    pidfile_release(&f);
    assert_true(pidfile_take(&f, NULL, error));
    assert_false(pidfile_take(&f, "/nonexistent/dir/pid", error));
    assert_non_null(strstr(error, "/nonexistent/dir/pid"));
    assert_int_equal(pidfile_running("none", error), -1);
    assert_non_null(strstr(error, "none"));
}

/* ---- listening sockets ---- */

static struct addr loopback(uint16_t port)
{
    return (struct addr){ .family = AF_INET, .port = port, .bytes = { 127, 0, 0, 1 } };
}

/* A port nobody uses: bound once with port 0, then let go. */
static uint16_t free_port(void)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof sa;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&sa, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
    close(fd);
    return ntohs(sa.sin_port);
}

static bool connects(uint16_t port)
{
    struct sockaddr_in sa = { .sin_family = AF_INET, .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = connect(fd, (struct sockaddr *)&sa, sizeof sa) == 0;

    close(fd);
    return ok;
}

static void ports_that_stay_keep_their_descriptors(void **state)
{
    struct port_setting one[2] = { { .at = loopback(free_port()) }, { .at = loopback(free_port()) } };
    struct port_setting two[2] = { one[1], { .at = loopback(free_port()) } };
    struct settings before = { .ports = one, .n_ports = 2 }, after = { .ports = two, .n_ports = 2 };
    struct ports a, b, c, gone = { 0 };
    struct settings none = { 0 };
    int kept[3], n_gone = 0;

    (void)state;
    assert_true(ports_open(&a, &before, 3, NULL));
    memcpy(kept, a.fds + 3, sizeof kept);
    assert_true(ports_open(&b, &after, 3, &a));
    assert_memory_equal(b.fds, kept, sizeof kept);
    assert_true(connects(one[0].at.port));
    ports_split(&a, &b, &gone);
    for (size_t i = 0; i < 3; i++)
        assert_true(gone.fds[i] >= 0);
    for (size_t i = 3; i < 6; i++)
        assert_int_equal(gone.fds[i], -1);
    ports_close(&gone, NULL);
    assert_false(connects(one[0].at.port));
    assert_true(connects(two[0].at.port));
    assert_true(connects(two[1].at.port));
    ports_refuse(&b);
    assert_false(connects(two[0].at.port));
    /* Two reloads in a row: what went in the first isn't forgotten by the second. */
    assert_true(ports_open(&a, &before, 3, &b));
    ports_split(&b, &a, &gone);
    assert_true(ports_open(&c, &none, 3, &a));
    ports_split(&a, &c, &gone);
    for (size_t i = 0; i < gone.n * gone.workers; i++)
        n_gone += gone.fds[i] >= 0;
    assert_int_equal(n_gone, 9);
    ports_close(&gone, NULL);
    ports_close(&c, NULL);
}

static void a_taken_port_is_refused_and_nothing_else_changes(void **state)
{
    struct port_setting port[2] = { { .at = loopback(free_port()) }, { .at = loopback(free_port()) } };
    struct settings first = { .ports = port, .n_ports = 1 }, both = { .ports = port, .n_ports = 2 };
    struct settings other = { .ports = port + 1, .n_ports = 1 };
    struct ports a, b, c;

    (void)state;
    log_set_level(-1); /* the message is expected */
    assert_true(ports_open(&a, &first, 2, NULL));
    /* SO_REUSEPORT would let us in twice; it must not. */
    assert_false(ports_open(&b, &first, 2, NULL));
    assert_true(ports_open(&c, &other, 2, NULL));
    assert_false(ports_open(&b, &both, 2, &a));
    assert_true(connects(port[0].at.port));
    ports_close(&a, NULL);
    ports_close(&c, NULL);
    log_set_level(LOG_IMPORTANT);
}

/* ---- channel ---- */

static bool same_file(int a, int b)
{
    struct sockaddr_in x, y;
    socklen_t n = sizeof x, m = sizeof y;

    return getsockname(a, (struct sockaddr *)&x, &n) == 0 && getsockname(b, (struct sockaddr *)&y, &m) == 0 &&
           x.sin_port == y.sin_port;
}

static void a_table_of_sockets_crosses_the_channel(void **state)
{
    struct port_setting port[2] = { { .at = loopback(free_port()) }, { .at = loopback(free_port()) } };
    struct settings s = { .ports = port, .n_ports = 2 };
    struct channel_in in = { 0 };
    struct ports sent, got;
    enum channel_event e;
    int fds[2], status;
    pid_t child;

    (void)state;
    assert_true(channel_open(fds));
    assert_int_equal(channel_receive(fds[0], &in, &got), CHANNEL_NOTHING);
    assert_true(ports_open(&sent, &s, 70, NULL)); /* more than go into one message */
    if ((child = fork()) == 0) {
        close(fds[0]);
        channel_send_up(fds[1]);
        channel_send_ports(fds[1], &sent);
        _exit(0);
    }
    close(fds[1]);
    do
        e = channel_receive(fds[0], &in, &got);
    while (e == CHANNEL_NOTHING);
    assert_int_equal(e, CHANNEL_UP);
    do
        e = channel_receive(fds[0], &in, &got);
    while (e == CHANNEL_NOTHING);
    assert_int_equal(e, CHANNEL_PORTS);
    assert_int_equal(got.n, 2);
    assert_int_equal(got.workers, 70);
    for (size_t i = 0; i < 140; i++)
        assert_true(got.fds[i] >= 0 && got.fds[i] != sent.fds[i] && same_file(got.fds[i], sent.fds[i]));
    assert_true(addr_eq(&got.at[1], &port[1].at));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(channel_receive(fds[0], &in, &got), CHANNEL_CLOSED);
    ports_close(&got, NULL);
    ports_close(&sent, NULL);
    close(fds[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_line_is_squids),
        cmocka_unit_test(a_dead_child_is_replaced_with_back_off),
        cmocka_unit_test(sixty_kills_a_second_apart_are_survived),
        cmocka_unit_test_setup_teardown(a_pid_file_says_who_runs, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_pid_file_left_behind_is_nobodys, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(a_pid_file_is_the_parents_alone, make_dir, remove_dir),
        cmocka_unit_test(pid_filename_none_is_no_file),
        cmocka_unit_test(ports_that_stay_keep_their_descriptors),
        cmocka_unit_test(a_taken_port_is_refused_and_nothing_else_changes),
        cmocka_unit_test(a_table_of_sockets_crosses_the_channel),
    };

    log_set_level(LOG_ERROR);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
