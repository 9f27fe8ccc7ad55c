/* test/base/test_base.c: the floor: span, strbuf, clock, counters, hash, log, list. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include "base/clock.h"
#include "base/counters.h"
#include "base/hash.h"
#include "base/ipv4.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/span.h"
#include "base/strbuf.h"

#define COUNT_OF(a) (sizeof(a) / sizeof(a)[0])

static const struct {
    const char *why;
    const char *a, *b;
    bool same, same_nocase, starts_nocase;
} pairs[] = {
    { "equal bytes", "Host", "Host", true, true, true },
    { "case is all that differs", "Host", "hOST", false, true, true },
    { "a prefix isn't the word", "Hostel", "host", false, false, true },
    { "shorter than the prefix", "Hos", "host", false, false, false },
    { "two empty spans", "", "", true, true, true },
    { "only ASCII letters fold: not [ {", "[", "{", false, false, false },
    { "only ASCII letters fold: not @ `", "@", "`", false, false, false },
    { "bytes above 127 don't fold", "\xc4", "\xe4", false, false, false },
};

static void spans_compare_as_rfc9110_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct span a = span_str(pairs[i].a), b = span_str(pairs[i].b);

        if (span_eq(a, b) != pairs[i].same || span_eq_nocase(a, b) != pairs[i].same_nocase ||
            span_starts_nocase(a, b) != pairs[i].starts_nocase)
            fail_msg("%s", pairs[i].why);
    }
    assert_true(span_eq(SPAN_NONE, span_str(NULL)));
    assert_true(span_eq(SPAN_NONE, SPAN("")));
}

static const struct {
    const char *why, *in, *want;
} trims[] = {
    { "nothing to trim", "a b", "a b" },    { "blanks and tabs, both ends", " \t a b\t ", "a b" },
    { "nothing but blanks", " \t\t ", "" }, { "CR isn't OWS", "a\r", "a\r" },
    { "LF isn't OWS", "\na", "\na" },
};

static void span_trim_takes_ows_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(trims); i++)
        if (!span_eq(span_trim(span_str(trims[i].in)), span_str(trims[i].want)))
            fail_msg("%s", trims[i].why);
}

static void strbuf_grows_and_stays_terminated(void **state)
{
    struct strbuf b = { 0 };
    size_t want = 0;

    (void)state;
    /* Lengths around every doubling of the buffer. */
    for (int i = 0; i < 3000; i++) {
        sb_char(&b, (char)('a' + i % 26));
        want++;
        assert_int_equal(b.len, want);
        assert_int_equal(b.p[b.len], 0);
    }
    for (int i = 0; i < 3000; i++)
        assert_int_equal(b.p[i], 'a' + i % 26);
    sb_free(&b);
    assert_null(b.p);
    assert_int_equal(b.capacity, 0);
}

static void strbuf_printf_longer_than_its_first_guess(void **state)
{
    struct strbuf b = { 0 };
    char *long_word = xmalloc(5001);

    (void)state;
    memset(long_word, 'x', 5000);
    long_word[5000] = '\0';
    for (size_t n = 100; n <= 5000; n += 7) { /* crosses the 128 it reserves first, and every capacity after */
        b.len = 0;
        sb_printf(&b, "<%.*s|%d>", (int)n, long_word, 42);
        assert_int_equal(b.len, n + 5);
        assert_int_equal(strlen(b.p), b.len);
        assert_string_equal(b.p + n + 1, "|42>");
    }
    b.len = 0;
    sb_str(&b, "a");
    sb_span(&b, SPAN("bc"));
    sb_add(&b, NULL, 0);
    sb_span(&b, SPAN_NONE);
    assert_true(span_eq(sb_view(&b), SPAN("abc")));
    sb_free(&b);
    free(long_word);
}

static void xspandup_and_xasprintf_terminate(void **state)
{
    char *s = xspandup(span_of("abcdef", 3)), *t = xspandup(SPAN_NONE), *u = xasprintf("%s-%d", "n", 7);

    (void)state;
    assert_string_equal(s, "abc");
    assert_string_equal(t, "");
    assert_string_equal(u, "n-7");
    free(s);
    free(t);
    free(u);
}

struct item {
    int n;
    struct list_node node;
};

static void list_keeps_order_and_survives_removal_in_the_loop(void **state)
{
    struct list_node head, *at, *next;
    struct item items[5];
    int sum = 0, last = -1;

    (void)state;
    list_init(&head);
    assert_true(list_empty(&head));
    for (int i = 0; i < 5; i++) {
        items[i] = (struct item){ .n = i };
        assert_false(list_linked(&items[i].node));
        list_append(&head, &items[i].node);
        assert_true(list_linked(&items[i].node));
    }
    LIST_EACH (at, next, &head) {
        struct item *it = CONTAINER_OF(at, struct item, node);

        assert_true(it->n > last);
        last = it->n;
        if (it->n % 2 == 0)
            list_remove(at);
    }
    LIST_EACH (at, next, &head)
        sum += CONTAINER_OF(at, struct item, node)->n;
    assert_int_equal(sum, 1 + 3);
    assert_false(list_linked(&items[0].node));
}

static void clocks_are_in_microseconds(void **state)
{
    int64_t mono = clock_mono_us(), wall = clock_wall_us();

    (void)state;
    assert_true(clock_mono_us() >= mono);
    assert_true(wall / US_PER_S > INT64_C(1600000000)); /* later than 2020: not seconds, not nanoseconds */
    assert_true(wall / US_PER_S < INT64_C(8000000000));
}

static void counters_have_a_name_each(void **state)
{
    (void)state;
    for (int i = 0; i < COUNTER_N; i++) {
        assert_non_null(counter_rows[i].name);
        assert_true(counter_rows[i].name[0] != '\0' && counter_rows[i].meaning[0] != '\0');
        for (int j = 0; j < i; j++)
            assert_string_not_equal(counter_rows[i].name, counter_rows[j].name);
    }
}

static void counting_is_64_bits_wide(void **state)
{
    struct counters *c = aligned_alloc(64, sizeof *c);

    (void)state;
    memset(c, 0, sizeof *c);
    count(c, CLIENT_HTTP_KBYTES_OUT, UINT32_MAX);
    count(c, CLIENT_HTTP_KBYTES_OUT, 2);
    assert_int_equal(counter_get(c, CLIENT_HTTP_KBYTES_OUT), UINT64_C(0x100000001));
    assert_int_equal(counter_get(c, CLIENT_HTTP_HITS), 0);
    count_time(c, TIME_HIT, 100);
    count_time(c, TIME_HIT, 100);
    assert_int_equal(atomic_load(&c->times[TIME_HIT][service_time_bucket(100)]), 2);
    assert_int_equal(atomic_load(&c->times[TIME_MISS][service_time_bucket(100)]), 0);
    free(c);
}

static void service_time_buckets_are_ordered_and_tight(void **state)
{
    unsigned before = 0;

    (void)state;
    assert_int_equal(service_time_bucket(-5), 0); /* a clock that stepped back isn't a crash */
    assert_int_equal(service_time_bucket(0), 0);
    for (int64_t us = 1; us < INT64_C(3600) * US_PER_S; us += us / 50 + 1) {
        unsigned b = service_time_bucket(us);
        double low = service_time_bound(b), high = service_time_bound(b + 1);

        if (b < before || b >= TIME_BUCKETS || low > (double)us || high <= (double)us || (us > 4 && high / low > 1.26))
            fail_msg("%lld us: bucket %u of %.0f to %.0f", (long long)us, b, low, high);
        before = b;
    }
    assert_int_equal(service_time_bucket(INT64_MAX), TIME_BUCKETS - 1);
}

static void hash_is_stable_within_a_process_and_keyed(void **state)
{
    char text[300];
    struct hash128 a, b;
    uint64_t child_low = 0;
    int fds[2], status;
    pid_t pid;

    (void)state;
    memset(text, 'u', sizeof text);
    a = hash128(text, sizeof text);
    b = hash128(text, sizeof text);
    assert_true(hash128_eq(a, b));
    text[299] = 'v';
    assert_false(hash128_eq(a, hash128(text, sizeof text)));
    assert_false(hash128_eq(hash128("", 0), hash128("\0", 1)));
    text[299] = 'u';
    /* Hash flooding: another process, another secret. */
    assert_int_equal(pipe(fds), 0);
    if ((pid = fork()) == 0) {
        hash_init();
        b = hash128(text, sizeof text);
        _exit(write(fds[1], &b.low, sizeof b.low) == sizeof b.low ? 0 : 1);
    }
    assert_true(pid > 0);
    assert_int_equal(read(fds[0], &child_low, sizeof child_low), sizeof child_low);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_true(child_low != a.low);
    close(fds[0]);
    close(fds[1]);
}

/* hostile-inputs V14: URLs made to fall together under XXH3 without a secret are spread like any others. */
static void prepared_collisions_are_spread(void **state)
{
    enum { URLS = 5000, BUCKETS = 512, MOST = 60 }; /* some 10 a bucket; 60 by chance: once in 10^25 */
    static unsigned together[BUCKETS], low[BUCKETS], high[BUCKETS];
    char url[64];
    unsigned found = 0;

    (void)state;
    for (unsigned long long i = 0; found < URLS; i++) {
        size_t n = (size_t)snprintf(url, sizeof url, "http://site.test/%llu/page.html", i);
        XXH64_hash_t open = XXH3_64bits(url, n);
        struct hash128 h;

        if (open % BUCKETS != 0)
            continue;
        found++;
        together[open % BUCKETS]++;
        h = hash128(url, n);
        low[h.low % BUCKETS]++;
        high[h.high % BUCKETS]++;
    }
    assert_int_equal(together[0], URLS);
    for (size_t i = 0; i < BUCKETS; i++) {
        assert_true(low[i] < MOST);
        assert_true(high[i] < MOST);
    }
}

static int make_dir(void **state)
{
    char *dir = xstrdup("/tmp/loligo-test-XXXXXX");

    *state = dir;
    return mkdtemp(dir) == NULL ? -1 : 0;
}

static int remove_dir(void **state)
{
    char *dir = *state, *a = xasprintf("%s/log", dir), *b = xasprintf("%s/log.0", dir);

    log_open(NULL, -1);
    log_set_level(LOG_IMPORTANT);
    unlink(a);
    unlink(b);
    rmdir(dir);
    free(a);
    free(b);
    free(dir);
    return 0;
}

static struct strbuf slurp(const char *path)
{
    struct strbuf b = { 0 };
    int fd = open(path, O_RDONLY);
    ssize_t n;

    assert_true(fd >= 0);
    while ((n = read(fd, sb_reserve(&b, 4096), 4096)) > 0)
        b.len += (size_t)n;
    sb_char(&b, '\0');
    close(fd);
    return b;
}

static void log_lines_carry_the_date_and_stay_one_line(void **state)
{
    char *path = xasprintf("%s/log", (const char *)*state);
    struct strbuf b;
    struct stat st;
    int year, month, day, hour, minute, second, end = 0;

    (void)umask(027); /* as the directive of that name has it */
    assert_true(log_open(path, -1));
    assert_string_equal(log_path(), path);
    log_line(LOG_IMPORTANT, "quoted: %s", "a\r\n2026/01/01 00:00:00| forged\x1b[2J");
    log_line(LOG_DEBUG, "too chatty");
    log_set_level(LOG_DEBUG);
    log_line(LOG_DEBUG, "now wanted");
    b = slurp(path);
    assert_int_equal(
        sscanf(b.p, "%4d/%2d/%2d %2d:%2d:%2d| quoted: a??2026%n", &year, &month, &day, &hour, &minute, &second, &end),
        6);
    assert_true(end > 0);
    assert_null(strchr(b.p, '\x1b'));
    assert_null(strstr(b.p, "too chatty"));
    assert_non_null(strstr(b.p, "| now wanted\n"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0137, 0); /* whom clients talked to is nobody else's business */
    sb_free(&b);
    free(path);
}

static void log_cuts_a_line_that_is_too_long(void **state)
{
    char *path = xasprintf("%s/log", (const char *)*state), *word = xmalloc(9001);
    struct strbuf b;

    memset(word, 'w', 9000);
    word[9000] = '\0';
    assert_true(log_open(path, -1));
    log_line(LOG_ERROR, "%s", word);
    log_line(LOG_ERROR, "next");
    b = slurp(path);
    assert_true(b.len < 4096);
    assert_non_null(strstr(b.p, "w\n"));
    assert_non_null(strstr(b.p, "| next\n"));
    sb_free(&b);
    free(path);
    free(word);
}

static void log_reopen_follows_the_name(void **state)
{
    char *path = xasprintf("%s/log", (const char *)*state), *old = xasprintf("%s.0", path);
    struct strbuf b;

    assert_true(log_open(path, -1));
    log_line(LOG_ERROR, "before");
    assert_int_equal(rename(path, old), 0);
    log_line(LOG_ERROR, "still the old one");
    assert_true(log_reopen());
    log_line(LOG_ERROR, "after");
    b = slurp(old);
    assert_non_null(strstr(b.p, "still the old one"));
    assert_null(strstr(b.p, "after"));
    sb_free(&b);
    b = slurp(path);
    assert_non_null(strstr(b.p, "after"));
    assert_null(strstr(b.p, "before"));
    sb_free(&b);
    free(path);
    free(old);
}

static void log_open_failure_keeps_the_old_file(void **state)
{
    char *path = xasprintf("%s/log", (const char *)*state);
    struct strbuf b;

    assert_true(log_open(path, -1));
    errno = 0;
    assert_false(log_open("/nonexistent/dir/cache.log", -1));
    assert_int_equal(errno, ENOENT);
    log_line(LOG_ERROR, "kept");
    b = slurp(path);
    assert_non_null(strstr(b.p, "| kept\n"));
    assert_string_equal(log_path(), path);
    sb_free(&b);
    free(path);
}

static const struct {
    const char *text;
    bool ok;
} quads[] = {
    { "1.2.3.4", true },      { "0.0.0.0", true },     { "255.255.255.255", true }, { "127.0.0.1", true },
    { "10.20.30.100", true }, { "", false },           { "1.2.3", false },          { "1.2.3.4.", false },
    { "1.2.3.4.5", false },   { "1.2.3.256", false },  { "01.2.3.4", false },       { "1.2.3.04", false },
    { "1..3.4", false },      { ".1.2.3", false },     { "1.2.3.-4", false },       { "1.2.3.4 ", false },
    { "1.2.3.1000", false },  { "0x7f.0.0.1", false }, { "1.2.3.a", false },        { "00.0.0.0", false },
    { "127.1", false },       { "1.2.3.", false },
};

/* What inet_pton() takes, and nothing else: J02-J04, looser notations walk round allow-lists. */
static void dotted_quads_are_strict(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(quads); i++) {
        uint8_t got[4] = { 0 }, want[4] = { 0 };
        bool ok = ipv4_parse(span_str(quads[i].text), got);

        if (ok != quads[i].ok || (inet_pton(AF_INET, quads[i].text, want) == 1) != ok || memcmp(got, want, 4) != 0)
            fail_msg("%s", quads[i].text);
    }
    assert_false(ipv4_parse(span_of("1.2.3.4\0", 8), (uint8_t[4]){ 0 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_compare_as_rfc9110_names),
        cmocka_unit_test(dotted_quads_are_strict),
        cmocka_unit_test(span_trim_takes_ows_only),
        cmocka_unit_test(strbuf_grows_and_stays_terminated),
        cmocka_unit_test(strbuf_printf_longer_than_its_first_guess),
        cmocka_unit_test(xspandup_and_xasprintf_terminate),
        cmocka_unit_test(list_keeps_order_and_survives_removal_in_the_loop),
        cmocka_unit_test(clocks_are_in_microseconds),
        cmocka_unit_test(counters_have_a_name_each),
        cmocka_unit_test(counting_is_64_bits_wide),
        cmocka_unit_test(service_time_buckets_are_ordered_and_tight),
        cmocka_unit_test(hash_is_stable_within_a_process_and_keyed),
        cmocka_unit_test(prepared_collisions_are_spread),
        cmocka_unit_test_setup_teardown(log_lines_carry_the_date_and_stay_one_line, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(log_cuts_a_line_that_is_too_long, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(log_reopen_follows_the_name, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(log_open_failure_keeps_the_old_file, make_dir, remove_dir),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
