/* test/proxy/test_access_log.c: rings, the log thread, rotation: no line is lost, torn or out of order, and no worker
 * waits. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/strbuf.h"
#include "proxy/access_log.h"
#include "proxy/log_ring.h"

#define WORKERS 2

static char dir[64]; /* of the test that runs */
static struct counters blocks[WORKERS];
static struct worker workers[WORKERS];

static int make_dir(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/loligo-log-XXXXXX");
    if (mkdtemp(dir) == NULL)
        return -1;
    memset(blocks, 0, sizeof blocks);
    for (unsigned i = 0; i < WORKERS; i++)
        workers[i] = (struct worker){ .id = i, .counters = &blocks[i] };
    return 0;
}

static int remove_dir(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command);
}

static const char *in_dir(const char *name)
{
    static char path[4][128];
    static unsigned turn;
    char *p = path[turn++ % 4];

    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

/* Settings with one log a path, each line "METHOD WORKER-SEQUENCE URL". */
static struct settings *settings_with(const char *const *paths, size_t n)
{
    struct settings *s = xcalloc(1, sizeof *s);
    char error[160];
    size_t at;

    s->logs = xcalloc(n + 1, sizeof s->logs[0]);
    s->n_logs = n;
    for (size_t i = 0; i < n; i++) {
        s->logs[i].module = xstrdup("stdio");
        s->logs[i].place = xstrdup(paths[i]);
        s->logs[i].format = logformat_compile("%rm %sn %ru", error, &at);
    }
    return s;
}

static struct settings *settings_one(const char *path)
{
    return settings_with(&path, 1);
}

static void settings_done(struct settings *s)
{
    for (size_t i = 0; i < s->n_logs; i++) {
        free(s->logs[i].module);
        free(s->logs[i].place);
        logformat_free(s->logs[i].format);
        access_list_free(&s->logs[i].acl);
    }
    free(s->logs);
    free(s);
}

static struct access_log *opened(const struct settings *s)
{
    struct access_log *l = NULL;

    assert_true(access_log_open(&l, s, WORKERS));
    return l;
}

/* URLs of many lengths, so that lines end everywhere in the ring; their text follows from the number. */
static struct span url_of(uint64_t sequence, char out[512])
{
    size_t n = 1 + (size_t)(sequence * 37 % 500);

    memset(out, 'a' + (int)(sequence % 26), n);
    return span_of(out, n);
}

static void write_line(struct access_log *l, const struct settings *s, unsigned worker, uint64_t sequence)
{
    char url[512], method[2] = { (char)('A' + worker), '\0' };
    struct log_entry e = { .method = span_str(method), .sequence = sequence, .url = url_of(sequence, url) };

    access_log_write(l, &workers[worker], s, &e, NULL);
}

static struct strbuf file_text(const char *path)
{
    struct strbuf b = { 0 };
    int fd = open(path, O_RDONLY);
    ssize_t n;

    if (fd < 0)
        return b;
    while ((n = read(fd, sb_reserve(&b, 65536), 65536)) > 0)
        b.len += (size_t)n;
    *sb_reserve(&b, 1) = '\0';
    close(fd);
    return b;
}

/* Checks that text is whole lines of growing numbers for each worker; next[] is the number that is due, or due at
 * least. */
static void check_lines(struct span text, uint64_t next[WORKERS], bool gaps)
{
    while (text.len > 0) {
        const char *end = memchr(text.p, '\n', text.len);
        unsigned worker;
        uint64_t sequence;
        char url[512], *after;
        struct span want;

        if (end == NULL)
            fail_msg("torn at the end: %.*s", SPAN_ARG(text));
        worker = (unsigned)(text.p[0] - 'A');
        assert_true(worker < WORKERS);
        sequence = strtoull(text.p + 2, &after, 10);
        if (gaps ? sequence < next[worker] : sequence != next[worker])
            fail_msg("worker %u: line %llu where %llu was due", worker, (unsigned long long)sequence,
                     (unsigned long long)next[worker]);
        next[worker] = sequence + 1;
        want = url_of(sequence, url);
        assert_int_equal(end - after - 1, want.len);
        assert_memory_equal(after + 1, want.p, want.len);
        text = span_of(end + 1, text.len - (size_t)(end + 1 - text.p));
    }
}

static uint64_t counted(unsigned worker, enum counter id)
{
    return counter_get(&blocks[worker], id);
}

static void check_file(const char *path, uint64_t next[WORKERS], bool gaps)
{
    struct strbuf b = file_text(path);

    check_lines(sb_view(&b), next, gaps);
    sb_free(&b);
}

static void lines_reach_the_file(void **state)
{
    struct settings *s = settings_one(in_dir("access.log"));
    struct access_log *l = opened(s);
    uint64_t next[WORKERS] = { 0 };

    (void)state;
    access_log_start(l);
    for (uint64_t i = 0; i < 1000; i++)
        write_line(l, s, (unsigned)(i % 2), i / 2);
    access_log_close(&l);
    assert_null(l);
    check_file(in_dir("access.log"), next, false);
    assert_int_equal(next[0], 500);
    assert_int_equal(next[1], 500);
    assert_int_equal(counted(0, ACCESS_LOG_LINES), 500);
    assert_int_equal(counted(0, ACCESS_LOG_DROPPED), 0);
    settings_done(s);
}

static void a_full_ring_drops_and_counts(void **state)
{
    struct settings *s = settings_one(in_dir("access.log"));
    struct access_log *l = opened(s);
    uint64_t next[WORKERS] = { 0 }, n = 0;
    struct strbuf b;

    (void)state;
    for (uint64_t i = 0; i < 3000; i++) /* nobody takes any out: the thread isn't started */
        write_line(l, s, 0, i);
    assert_true(counted(0, ACCESS_LOG_DROPPED) > 0);
    assert_int_equal(counted(0, ACCESS_LOG_LINES) + counted(0, ACCESS_LOG_DROPPED), 3000);
    access_log_close(&l);
    b = file_text(in_dir("access.log"));
    check_lines(sb_view(&b), next, true);
    for (size_t i = 0; i < b.len; i++)
        n += b.p[i] == '\n';
    assert_int_equal(n, counted(0, ACCESS_LOG_LINES));
    sb_free(&b);
    settings_done(s);
}

static void paths_in_common_share_a_ring(void **state)
{
    const char *path = in_dir("access.log"), *paths[] = { path, path };
    struct settings *s = settings_with(paths, 2);
    struct access_log *l = opened(s);
    struct strbuf b;
    char error[160];
    size_t at;

    (void)state;
    logformat_free(s->logs[1].format);
    s->logs[1].format = logformat_compile("second %sn", error, &at);
    write_line(l, s, 0, 3);
    write_line(l, s, 0, 26);
    access_log_close(&l);
    b = file_text(path);
    assert_non_null(strstr(b.p, "\nsecond 3\nA 26 "));
    assert_string_equal(b.p + b.len - 10, "second 26\n");
    sb_free(&b);
    settings_done(s);
}

static void none_and_acls_keep_lines_out(void **state)
{
    const char *paths[] = { in_dir("a"), in_dir("b"), in_dir("c") };
    struct settings *s = settings_with(paths, 3);
    struct access_facts facts = { 0 };
    struct access_log *l;
    struct log_entry e = { .method = SPAN("A"), .url = SPAN("a") };
    struct strbuf b;

    (void)state;
    s->logs[1].acl = access_list_new(false);
    free(s->logs[2].module);
    s->logs[2].module = xstrdup("none");
    assert_true(access_log_enabled(s));
    l = opened(s);
    access_log_write(l, &workers[0], s, &e, &facts);
    assert_int_equal(counted(0, ACCESS_LOG_LINES), 1);
    access_log_close(&l);
    b = file_text(paths[0]);
    assert_string_equal(b.p, "A 0 a\n");
    sb_free(&b);
    b = file_text(paths[1]);
    assert_int_equal(b.len, 0);
    sb_free(&b);
    assert_int_equal(access(paths[2], F_OK), -1);
    s->logs += 2; /* the `none` one alone */
    s->n_logs = 1;
    assert_false(access_log_enabled(s));
    s->logs -= 2;
    s->n_logs = 3;
    settings_done(s);
}

struct writing {
    struct access_log *log;
    const struct settings *settings;
    unsigned worker;
    uint64_t lines;
    atomic_bool *go_on; /* instead of a number of lines; NULL */
};

/* As a worker does it, but one that waits when its ring is full, so that nothing is dropped. */
static void *write_many(void *ctx)
{
    struct writing *w = ctx;

    for (uint64_t i = 0; w->go_on ? atomic_load(w->go_on) : i < w->lines; i++) {
        uint64_t before = counted(w->worker, ACCESS_LOG_DROPPED);

        write_line(w->log, w->settings, w->worker, i);
        while (counted(w->worker, ACCESS_LOG_DROPPED) != before) {
            before = counted(w->worker, ACCESS_LOG_DROPPED);
            sched_yield();
            write_line(w->log, w->settings, w->worker, i);
        }
        w->lines = w->go_on ? i + 1 : w->lines;
    }
    return NULL;
}

static void rotation_loses_and_tears_nothing(void **state)
{
    enum { ROTATIONS = 60 };
    struct settings *s = settings_one(in_dir("access.log"));
    struct access_log *l = opened(s);
    atomic_bool go_on = true;
    struct writing w[WORKERS];
    pthread_t threads[WORKERS];
    uint64_t next[WORKERS] = { 0 };
    int files = 0;

    (void)state;
    access_log_start(l);
    for (unsigned i = 0; i < WORKERS; i++) {
        w[i] = (struct writing){ l, s, i, 0, &go_on };
        pthread_create(&threads[i], NULL, write_many, &w[i]);
    }
    for (int i = 0; i < ROTATIONS; i++) {
        char first[32];

        access_log_rotate(l, ROTATIONS + 1);
        snprintf(first, sizeof first, "access.log.%d", i / 4);
        while (access(in_dir(first), F_OK) != 0) /* so many have been carried out: some requests come together */
            sched_yield();
    }
    atomic_store(&go_on, false);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    access_log_close(&l);
    for (int i = ROTATIONS; i >= 0; i--) { /* oldest first */
        char name[32];

        snprintf(name, sizeof name, "access.log.%d", i);
        files += access(in_dir(name), F_OK) == 0;
        check_file(in_dir(name), next, false);
    }
    check_file(in_dir("access.log"), next, false);
    assert_true(files >= ROTATIONS / 4);
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(next[i], w[i].lines);
    settings_done(s);
}

static void rotation_keeps_as_many_as_asked(void **state)
{
    struct settings *s = settings_one(in_dir("access.log"));
    struct access_log *l = opened(s);
    static const struct { const char *name; uint64_t first, last; } want[] = {
        { "access.log", 4, 4 }, { "access.log.0", 3, 3 }, { "access.log.1", 2, 2 },
    };

    (void)state;
    for (uint64_t i = 0; i < 5; i++) {
        if (i > 0)
            access_log_rotate(l, 2);
        write_line(l, s, 0, i);
    }
    access_log_close(&l);
    for (size_t i = 0; i < 3; i++) {
        uint64_t next[WORKERS] = { want[i].first };

        check_file(in_dir(want[i].name), next, false);
        assert_int_equal(next[0], want[i].last + 1);
    }
    assert_int_equal(access(in_dir("access.log.2"), F_OK), -1);
    settings_done(s);
}

static void keep_nothing_only_reopens(void **state)
{
    struct settings *s = settings_one(in_dir("access.log"));
    struct access_log *l = opened(s);
    uint64_t next[WORKERS] = { 0 };

    (void)state;
    write_line(l, s, 0, 0);
    access_log_rotate(l, 0);
    write_line(l, s, 0, 1);
    assert_int_equal(access(in_dir("access.log.0"), F_OK), -1);
    /* logrotate: moved by somebody else, then USR1 */
    access_log_rotate(l, 0);
    assert_int_equal(rename(in_dir("access.log"), in_dir("moved")), 0);
    write_line(l, s, 0, 2);
    access_log_rotate(l, 0);
    write_line(l, s, 0, 3);
    access_log_close(&l);
    check_file(in_dir("moved"), next, false);
    assert_int_equal(next[0], 3);
    check_file(in_dir("access.log"), next, false);
    assert_int_equal(next[0], 4);
    settings_done(s);
}

static void reload_goes_on_in_another_file(void **state)
{
    struct settings *a = settings_one(in_dir("a")), *b = settings_one(in_dir("b")), *bad = settings_one(in_dir("c"));
    struct access_log *l = opened(a);
    uint64_t next[WORKERS] = { 0 };

    (void)state;
    access_log_start(l);
    write_line(l, a, 0, 0);
    assert_true(access_log_reconfigure(l, b));
    write_line(l, a, 0, 1); /* this worker hasn't swapped yet */
    write_line(l, b, 0, 2);
    free(bad->logs[0].module);
    bad->logs[0].module = xstrdup("udp");
    assert_false(access_log_reconfigure(l, bad));
    assert_int_equal(access(in_dir("c"), F_OK), -1);
    write_line(l, b, 0, 3);
    assert_true(access_log_reconfigure(l, a));
    write_line(l, a, 0, 4);
    access_log_close(&l);
    check_file(in_dir("a"), next, true);
    assert_int_equal(next[0], 5);
    next[0] = 2;
    check_file(in_dir("b"), next, false);
    assert_int_equal(next[0], 4);
    settings_done(a);
    settings_done(b);
    settings_done(bad);
}

static void other_settings_at_the_same_address_are_noticed(void **state)
{
    struct settings *s = settings_one(in_dir("a"));
    struct access_log *l = opened(s);
    uint64_t next[WORKERS] = { 0 };

    (void)state;
    write_line(l, s, 0, 0);
    free(s->logs[0].place); /* as if freed, and the next ones put in its place */
    s->logs[0].place = xstrdup(in_dir("b"));
    assert_true(access_log_reconfigure(l, s));
    write_line(l, s, 0, 1);
    access_log_close(&l);
    check_file(in_dir("a"), next, false);
    assert_int_equal(next[0], 1);
    check_file(in_dir("b"), next, false);
    assert_int_equal(next[0], 2);
    settings_done(s);
}

static void a_place_that_cannot_be_opened_is_tried_again(void **state)
{
    struct settings *s = settings_one(in_dir("later/access.log"));
    struct access_log *l = NULL;
    uint64_t next[WORKERS] = { 0 };

    (void)state;
    s->logs[0].on_error_die = true;
    assert_false(access_log_open(&l, s, WORKERS));
    assert_null(l);
    s->logs[0].on_error_die = false;
    l = opened(s);
    write_line(l, s, 0, 0);
    assert_int_equal(mkdir(in_dir("later"), 0700), 0);
    access_log_rotate(l, 0);
    access_log_close(&l);
    check_file(in_dir("later/access.log"), next, false);
    assert_int_equal(next[0], 1);
    settings_done(s);
}

/* A limit of file size stands for a full disk: a write is cut short, in the middle of a line of `torn`'s, and the next
 * one fails. When there is room again, that line has to be ended before the other worker's turn. */
static void fill_the_disk(unsigned torn, const char *name)
{
    struct settings *s = settings_one(in_dir(name));
    struct access_log *l = opened(s);
    struct rlimit before, limit;
    uint64_t next[WORKERS] = { 0 };
    struct stat st;

    write_line(l, s, !torn, 0);
    for (uint64_t i = 0; i < 100; i++)
        write_line(l, s, torn, i);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = (struct rlimit){ 5001, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    access_log_rotate(l, 0); /* no thread: writes what it can, here */
    assert_int_equal(stat(in_dir(name), &st), 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(st.st_size, 5001);
    write_line(l, s, !torn, 1);
    access_log_close(&l);
    check_file(in_dir(name), next, false);
    assert_int_equal(next[torn], 100);
    assert_int_equal(next[!torn], 2);
    settings_done(s);
}

static void a_full_disk_tears_no_line(void **state)
{
    (void)state;
    fill_the_disk(0, "first");
    fill_the_disk(1, "second");
}

/* The reader of a named pipe: an event for "a line has come out". */
static ssize_t read_within(int fd, char *out, size_t n, int ms)
{
    struct pollfd p = { .fd = fd, .events = POLLIN };

    return poll(&p, 1, ms) == 1 ? read(fd, out, n) : -1;
}

static void an_idle_log_is_woken(void **state)
{
    const char *path = in_dir("pipe");
    struct settings *s = settings_one(path);
    struct access_log *l;
    char text[1024];
    int reader;

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK);
    l = opened(s);
    access_log_start(l);
    for (uint64_t i = 0; i < 5; i++) { /* woken from sleep, and while it lingers */
        write_line(l, s, 0, i);
        assert_true(read_within(reader, text, sizeof text, 2000) > 0);
        if (i % 2 == 0)
            assert_int_equal(read_within(reader, text, sizeof text, 30), -1); /* it falls asleep */
    }
    access_log_rotate(l, 5);
    write_line(l, s, 0, 5);
    assert_true(read_within(reader, text, sizeof text, 2000) > 0); /* the same pipe: it wasn't renamed */
    access_log_close(&l);
    assert_int_equal(access(in_dir("pipe.0"), F_OK), -1);
    close(reader);
    settings_done(s);
}

static void a_stuck_reader_stops_nobody(void **state)
{
    const char *path = in_dir("pipe");
    struct settings *s = settings_one(path);
    struct access_log *l;
    uint64_t next[WORKERS] = { 0 };
    struct strbuf b = { 0 };
    int reader;

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK);
    l = opened(s);
    access_log_start(l);
    for (uint64_t i = 0; i < 5000; i++) /* more than pipe and ring hold; returns all the same */
        write_line(l, s, 0, i);
    assert_true(counted(0, ACCESS_LOG_DROPPED) > 0);
    while (b.len < LOG_RING_BYTES) { /* the reader lives again: what was kept comes whole */
        ssize_t n = read_within(reader, sb_reserve(&b, 65536), 65536, 5000);

        assert_true(n > 0);
        b.len += (size_t)n;
    }
    while (b.p[b.len - 1] != '\n') {
        ssize_t n = read_within(reader, sb_reserve(&b, 1), 1, 5000);

        assert_int_equal(n, 1);
        b.len++;
    }
    check_lines(sb_view(&b), next, true);
    sb_free(&b);
    for (uint64_t i = 5000; i < 8000; i++)
        write_line(l, s, 0, i);
    access_log_close(&l); /* gives up after a while, with the pipe full */
    close(reader);
    settings_done(s);
}

/* A pipe takes 4096 bytes at a time: a longer line must be ended before another worker's turn. */
static void long_lines_do_not_mix_in_a_pipe(void **state)
{
    enum { LENGTH = 10000 };
    const char *path = in_dir("pipe");
    struct settings *s = settings_one(path);
    struct access_log *l;
    struct strbuf b = { 0 };
    char url[LENGTH];
    int reader;

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    reader = open(path, O_RDONLY | O_NONBLOCK);
    l = opened(s);
    for (unsigned i = 0; i < 4; i++) {
        struct log_entry e = { .method = span_of(&"AB"[i % 2], 1), .url = span_of(url, sizeof url) };

        memset(url, "ab"[i % 2], sizeof url);
        access_log_write(l, &workers[i % 2], s, &e, NULL);
    }
    access_log_start(l);
    while (b.len < 4 * (LENGTH + 5)) {
        ssize_t n = read_within(reader, sb_reserve(&b, 65536), 65536, 5000);

        assert_true(n > 0);
        b.len += (size_t)n;
    }
    for (size_t line = 0; line < 4; line++) {
        const char *at = b.p + line * (LENGTH + 5), *want = at[0] == 'A' ? "A 0 a" : "B 0 b";

        assert_memory_equal(at, want, 5);
        for (size_t i = 0; i < LENGTH; i++)
            assert_int_equal(at[4 + i], want[4]);
        assert_int_equal(at[4 + LENGTH], '\n');
    }
    access_log_close(&l);
    sb_free(&b);
    close(reader);
    settings_done(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        TEST(lines_reach_the_file),
        TEST(a_full_ring_drops_and_counts),
        TEST(paths_in_common_share_a_ring),
        TEST(none_and_acls_keep_lines_out),
        TEST(rotation_loses_and_tears_nothing),
        TEST(rotation_keeps_as_many_as_asked),
        TEST(keep_nothing_only_reopens),
        TEST(reload_goes_on_in_another_file),
        TEST(other_settings_at_the_same_address_are_noticed),
        TEST(a_place_that_cannot_be_opened_is_tried_again),
        TEST(a_full_disk_tears_no_line),
        TEST(an_idle_log_is_woken),
        TEST(a_stuck_reader_stops_nobody),
        TEST(long_lines_do_not_mix_in_a_pipe),
    };

    return cmocka_run_group_tests_name("access_log", tests, NULL, NULL);
}
