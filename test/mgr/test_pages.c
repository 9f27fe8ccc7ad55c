/* test/mgr/test_pages.c: the manager pages against doubles of what they read: a proxy of two workers and a store of a
 * few objects. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "hdrs/parse.h"
#include "mgr/manager.h"
#include "mgr/page_password.h"
#include "mgr/sample.h"

#define COUNT_OF(a) (sizeof(a) / sizeof(a)[0])

/* --- doubles ---------------------------------------------------------------------------------------------------- */

#define WORKERS 2
static struct counters blocks[WORKERS];
static int64_t start_time;
static size_t n_objects;

static struct proxy *the_proxy(void)
{
    static char it;

    return (struct proxy *)(void *)&it;
}

unsigned proxy_workers(const struct proxy *p)
{
    (void)p;
    return WORKERS;
}

const struct counters *proxy_counters(const struct proxy *p, unsigned worker)
{
    (void)p;
    return &blocks[worker];
}

const struct reason_counts *proxy_reasons(const struct proxy *p, unsigned worker)
{
    static struct reason_counts none;

    (void)p, (void)worker;
    return &none;
}

struct store *proxy_store(const struct proxy *p)
{
    (void)p;
    return NULL;
}

uint64_t proxy_clients(const struct proxy *p)
{
    (void)p;
    return 7;
}

int64_t proxy_start_time(const struct proxy *p)
{
    (void)p;
    return start_time;
}

struct store_stats store_stats(struct store *s)
{
    (void)s;
    return (struct store_stats){ .objects = 66,
                                 .fills = 1,
                                 .bytes_used = 256 << 10,
                                 .bytes_footprint = 300 << 10,
                                 .capacity = 1 << 20,
                                 .index_bytes = 4096 };
}

void store_each(struct store *s, bool (*each)(const struct object *o, void *ctx), void *ctx)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nhttp://a.example/x?token=secret";
    struct object *o = xcalloc(1, sizeof *o + sizeof head);

    (void)s;
    memcpy(o->head, head, sizeof head);
    o->head_len = 17;
    o->url = (struct object_piece){ 17, sizeof head - 1 - 17 };
    o->key = (struct hash128){ 0xFA08E0, 0x71C0 };
    o->last_modified = INT64_MIN;
    o->times.response_time = 1796085056;
    atomic_init(&o->refs, 1);
    for (size_t i = 0; i < n_objects; i++)
        if (!each(o, ctx))
            break;
    free(o);
}

/* What pages need of all workers is looked at by test/system/test_live_pages.py. */
const struct gather_kind view_requests = { 1, NULL, NULL }, view_clients = { 1, NULL, NULL },
                         view_descriptors = { 1, NULL, NULL }, view_addresses = { 1, NULL, NULL },
                         view_names = { 1, NULL, NULL }, view_dns = { 1, NULL, NULL }, view_users = { 1, NULL, NULL },
                         view_memory = { 1, NULL, NULL }, view_servers = { 1, NULL, NULL },
                         view_refresh = { 1, NULL, NULL }, view_events = { 1, NULL, NULL };

void store_each_block_size(const struct store *s, void (*each)(size_t size, size_t used, size_t unused, void *ctx),
                           void *ctx)
{
    (void)s;
    each(4096, 3, 1, ctx);
}

void settings_print(const struct settings *s, struct strbuf *out)
{
    sb_printf(out, "cache_mem %d bytes\n", (int)s->cache_mem);
}

/* --- asking ----------------------------------------------------------------------------------------------------- */

struct fixture {
    struct manager *m;
    struct settings *settings;
};

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof *f);

    memset(blocks, 0, sizeof blocks);
    n_objects = 2;
    start_time = clock_wall_us() - 100 * US_PER_S;
    f->m = manager_new();
    f->settings = xcalloc(1, sizeof *f->settings);
    f->settings->cache_mem = 12345;
    f->settings->strip_query_terms = true;
    manager_attach(f->m, the_proxy());
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    manager_free(&f->m);
    free(f->settings);
    free(f);
    return 0;
}

static struct internal_answer ask_with(struct fixture *f, const char *page, const char *password,
                                       const struct head *request)
{
    struct internal_request q = {
        .page = span_str(page), .password = span_str(password), .request = request, .settings = f->settings
    };
    struct internal_answer a = { 0 };
    const struct internal_service *s = manager_service(f->m);

    s->answer(s->ctx, &q, &a);
    return a;
}

/* The text of a page that has to be there; to be free()d with sb_free(). */
static struct strbuf page(struct fixture *f, const char *name)
{
    struct internal_answer a = ask_with(f, name, NULL, NULL);

    assert_int_equal(a.status, 200);
    assert_true(a.body.len > 0);
    assert_int_equal(a.body.p[a.body.len - 1], '\n');
    return a.body;
}

static void set_counter(unsigned worker, enum counter id, uint64_t v)
{
    atomic_store(&blocks[worker].v[id], v);
}

/* --- counters --------------------------------------------------------------------------------------------------- */

/* The names in Squid's order (manager-pages.md section 3), and what the page has to say with the counters set below. */
static const struct {
    const char *name, *value;
} counters_lines[] = {
    { "sample_time", NULL },
    { "client_http.requests", "3917" },
    { "client_http.hits", "3324" },
    { "client_http.errors", "0" },
    { "client_http.kbytes_in", "2" },
    { "client_http.kbytes_out", "0" },
    { "client_http.hit_kbytes_out", "0" },
    { "server.all.requests", "17" },
    { "server.all.errors", "0" },
    { "server.all.kbytes_in", "3" },
    { "server.all.kbytes_out", "0" },
    { "server.http.requests", "10" },
    { "server.http.errors", "0" },
    { "server.http.kbytes_in", "1" },
    { "server.http.kbytes_out", "0" },
    { "server.ftp.requests", "0" },
    { "server.ftp.errors", "0" },
    { "server.ftp.kbytes_in", "0" },
    { "server.ftp.kbytes_out", "0" },
    { "server.other.requests", "7" },
    { "server.other.errors", "0" },
    { "server.other.kbytes_in", "1" },
    { "server.other.kbytes_out", "0" },
    { "icp.pkts_sent", "0" },
    { "icp.pkts_recv", "0" },
    { "icp.queries_sent", "0" },
    { "icp.replies_sent", "0" },
    { "icp.queries_recv", "0" },
    { "icp.replies_recv", "0" },
    { "icp.query_timeouts", "0" },
    { "icp.replies_queued", "0" },
    { "icp.kbytes_sent", "0" },
    { "icp.kbytes_recv", "0" },
    { "icp.q_kbytes_sent", "0" },
    { "icp.r_kbytes_sent", "0" },
    { "icp.q_kbytes_recv", "0" },
    { "icp.r_kbytes_recv", "0" },
    { "icp.times_used", "0" },
    { "cd.times_used", "0" },
    { "cd.msgs_sent", "0" },
    { "cd.msgs_recv", "0" },
    { "cd.memory", "0" },
    { "cd.local_memory", "0" },
    { "cd.kbytes_sent", "0" },
    { "cd.kbytes_recv", "0" },
    { "unlink.requests", "0" },
    { "page_faults", NULL },
    { "select_loops", "11791" },
    { "cpu_time", NULL },
    { "wall_time", NULL },
    { "swap.outs", "0" },
    { "swap.ins", "0" },
    { "swap.files_cleaned", "0" },
    { "aborted_requests", "4" },
};

static void set_counters(void)
{
    set_counter(0, CLIENT_HTTP_REQUESTS, 3900);
    set_counter(1, CLIENT_HTTP_REQUESTS, 17);
    set_counter(1, CLIENT_HTTP_HITS, 3324);
    set_counter(0, CLIENT_HTTP_KBYTES_IN, 1025);
    set_counter(1, CLIENT_HTTP_KBYTES_IN, 1024);
    set_counter(0, CLIENT_HTTP_KBYTES_OUT, 1023);
    set_counter(0, SERVER_HTTP_REQUESTS, 10);
    set_counter(0, SERVER_OTHER_REQUESTS, 7);
    set_counter(0, SERVER_HTTP_KBYTES_IN, 1536);
    set_counter(0, SERVER_OTHER_KBYTES_IN, 1536); /* 1.5 + 1.5: all is 3, not 1 + 1 */
    set_counter(0, SELECT_LOOPS, 11791);
    set_counter(1, ABORTED_REQUESTS, 4);
}

static void counters_has_every_name_in_order(void **state)
{
    struct strbuf text;
    char *line, *rest;
    size_t n = 0;

    set_counters();
    text = page(*state, "counters");
    for (line = strtok_r(text.p, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest), n++) {
        char *value = strstr(line, " = ");

        assert_non_null(value);
        *value = '\0';
        value += 3;
        assert_true(n < COUNT_OF(counters_lines));
        assert_string_equal(line, counters_lines[n].name);
        if (counters_lines[n].value != NULL)
            assert_string_equal(value, counters_lines[n].value);
        if (strcmp(line, "cpu_time") == 0 || strcmp(line, "wall_time") == 0)
            assert_int_equal(strlen(strchr(value, '.')), 7);
        if (strcmp(line, "wall_time") == 0)
            assert_true(atof(value) >= 100 && atof(value) < 200); /* no tick yet: since the start */
        if (strcmp(line, "sample_time") == 0) {
            double now = (double)clock_wall_us() / 1e6;

            assert_true(atof(value) > now - 5 && atof(value) <= now);
            assert_non_null(strstr(value, " GMT)"));
        }
    }
    assert_int_equal(n, COUNT_OF(counters_lines));
    sb_free(&text);
}

static void wall_time_starts_again_at_each_tick(void **state)
{
    struct fixture *f = *state;
    struct strbuf text;

    manager_sample(f->m, f->settings);
    text = page(f, "counters");
    assert_true(atof(strstr(text.p, "wall_time = ") + 12) < 50);
    sb_free(&text);
}

static void averages_are_since_the_start_at_first(void **state)
{
    struct strbuf text;

    set_counters();
    for (int i = 0; i < 100; i++)
        count_time(&blocks[0], TIME_MISS, 1000000);
    text = page(*state, "5min");
    assert_int_equal(strncmp(text.p, "sample_start_time = ", 20), 0);
    assert_in_range((int)atof(strstr(text.p, "client_http.requests = ") + 23), 30, 39); /* 3917 in 100 s and a bit */
    assert_in_range((int)(1000 * atof(strstr(text.p, "client_http.miss_median_svc_time = ") + 35)), 900, 1200);
    assert_non_null(strstr(text.p, "\nclient_http.hit_median_svc_time = 0.000000 seconds\n"));
    assert_non_null(strstr(text.p, "\nserver.ftp.requests = 0.000000/sec\n"));
    assert_int_equal(strcmp(text.p + text.len - 2, "%\n"), 0);
    sb_free(&text);
}

static void utilization_says_what_it_does_not_know(void **state)
{
    struct strbuf text = page(*state, "utilization");
    int unknown = 0;

    for (const char *p = text.p; (p = strstr(p, "(no values recorded yet)\n")) != NULL; p++)
        unknown++;
    assert_int_equal(unknown, 6);
    assert_non_null(strstr(text.p, "\nTotals since cache startup:\nsample_time = "));
    sb_free(&text);
}

/* --- the past --------------------------------------------------------------------------------------------------- */

static void history_finds_the_sample_of_then(void **state)
{
    static const struct {
        int64_t seconds, want_minute;
        bool found;
    } cases[] = {
        { 300, 195, true }, { 900, 185, true }, { 3600, 140, true }, { 7200, 60, true }, { 28800, 0, false },
    };
    struct history h;
    struct sample *s = xcalloc(1, sizeof *s), found;
    const int64_t begin = 1000 * US_PER_S, minute = 60 * US_PER_S;

    (void)state;
    history_init(&h);
    h.start.mono = begin;
    for (int64_t i = 1; i <= 200; i++) { /* a few milliseconds late each */
        s->mono = begin + i * minute + i % 7 * 1000;
        s->v[0] = (uint64_t)i;
        history_add(&h, s);
    }
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(history_before(&h, cases[i].seconds, begin + 200 * minute, &found), cases[i].found);
        /* Beyond an hour there are hourly samples only: the one at or before. */
        if (cases[i].seconds == 7200)
            assert_in_range(found.v[0], 1, 80);
        else
            assert_int_equal(found.v[0], cases[i].want_minute);
    }
    assert_int_equal(history_last_tick(&h), s->mono);
    history_free(&h);
    free(s);
}

static const struct {
    const char *why;
    int64_t us[6];
    int n;
    unsigned percent;
    double low, high;
} percentiles[] = {
    { "none at all", { 0 }, 0, 50, 0, 0 },
    { "one", { 1000 }, 1, 50, 0.0009, 0.0012 },
    { "half are below", { 10, 10, 10, 100000, 100000, 100000 }, 6, 50, 0.000008, 0.000013 },
    { "above the half", { 10, 10, 10, 100000, 100000, 100000 }, 6, 55, 0.08, 0.12 },
    { "the slowest counts", { 1, 1, 1, 1, 1, 2000000 }, 6, 95, 1.7, 2.4 },
};

static void percentiles_come_from_the_buckets(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(percentiles); i++) {
        struct sample *s = xcalloc(1, sizeof *s);
        double got;

        for (int k = 0; k < percentiles[i].n; k++)
            s->times[TIME_ALL][service_time_bucket(percentiles[i].us[k])]++;
        got = sample_percentile(s, TIME_ALL, percentiles[i].percent);
        if (got < percentiles[i].low || got > percentiles[i].high)
            fail_msg("%s: %f", percentiles[i].why, got);
        free(s);
    }
}

/* --- the other pages -------------------------------------------------------------------------------------------- */

static void service_times_has_seven_groups_of_nineteen(void **state)
{
    static const char *const groups[] = { "HTTP Requests (All):",  "Cache Misses:", "Cache Hits:", "Near Hits:",
                                          "Not-Modified Replies:", "DNS Lookups:",  "ICP Queries:" };
    struct strbuf text;
    char *line, *rest;

    count_time(&blocks[1], TIME_ALL, 1000000);
    text = page(*state, "service_times");
    assert_non_null(strstr(text.p, "\n\tCache Misses:         10%   0.00000  0.00000\n"));
    assert_non_null(strstr(text.p, "\n\tICP Queries:          95%   0.00000  0.00000\n"));
    line = strtok_r(text.p, "\n", &rest);
    assert_string_equal(line, "Service Time Percentiles            5 min    60 min:");
    for (size_t g = 0; g < COUNT_OF(groups); g++)
        for (unsigned percent = 5; percent <= 95; percent += 5) {
            char want[64];

            snprintf(want, sizeof want, "\t%-22s%2u%%  ", groups[g], percent);
            line = strtok_r(NULL, "\n", &rest);
            assert_non_null(line);
            assert_int_equal(strncmp(line, want, strlen(want)), 0);
            assert_int_equal(strlen(line), strlen("\tHTTP Requests (All):   5%   0.00000  0.00000"));
            if (g == 0)
                assert_in_range((int)(1000 * atof(line + strlen(want))), 900, 1200);
        }
    assert_null(strtok_r(NULL, "\n", &rest));
    sb_free(&text);
}

/* Each has to be in the page, in this order. */
static const char *const info_lines[] = {
    "Squid Object Cache: Version ",
    " (loligo)\n",
    "\nHeader Parser: scalar\n",
    "\nStart Time:\t",
    " GMT\nCurrent Time:\t",
    "\nConnection information for squid:\n\tNumber of clients accessing cache:\t7\n",
    "\tNumber of HTTP requests received:\t3917\n\tNumber of ICP messages received:\t0\n",
    "\tRequest failure ratio:\t 0.00\n\tAverage HTTP requests per minute since start:\t2",
    "\tSelect loop called: 11791 times, ",
    " ms avg\n",
    "Cache information for squid:\n",
    "\tHits as % of all requests:\t5min: 84.9%, 60min: 84.9%\n\tHits as % of bytes sent:\t5min: 0.0%, 60min: 0.0%\n",
    "\tStorage Mem size:\t256 KB\n\tStorage Mem capacity:\t25.0% used, 75.0% free\n\tMean Object Size:\t3.88 KB\n",
    "Median Service Times (seconds)  5 min    60 min:\n\tHTTP Requests (All):   0.00000  0.00000\n",
    "Resource usage for squid:\n\tUP Time:\t10",
    "\tCPU Usage, 5 minute avg:\t",
    "\tMaximum Resident Size: ",
    "Memory accounted for:\n\tTotal accounted:          304 KB\n",
    "File descriptor usage for squid:\n",
    "\tNumber of file desc currently in use: ",
    "Internal Data Structures:\n\t    67 StoreEntries\n\t    67 StoreEntries with MemObjects\n",
    "\n\t    66 Hot Object Cache Items\n",
    "\t     0 on-disk objects\n",
};

static void info_has_squids_lines(void **state)
{
    struct strbuf text;
    const char *at;

    set_counters();
    text = page(*state, "info");
    at = text.p;
    for (size_t i = 0; i < COUNT_OF(info_lines); i++) {
        const char *found = strstr(at, info_lines[i]);

        if (found == NULL)
            fail_msg("not there, or not in its place: %s\n%s", info_lines[i], text.p);
        at = found + strlen(info_lines[i]) - 1;
    }
    assert_null(strstr(text.p, "-0.0"));
    assert_null(strstr(text.p, "nan"));
    sb_free(&text);
}

static void objects_are_bounded_and_tell_no_queries(void **state)
{
    struct fixture *f = *state;
    struct strbuf text = page(f, "objects");

    assert_int_equal(strncmp(text.p, "KEY 00000000000071C00000000000FA08E0\n\tSTORE_OK ", 47), 0);
    assert_non_null(strstr(text.p, "\n\tGET http://a.example/x?\n"));
    assert_null(strstr(text.p, "secret"));
    assert_null(strstr(text.p, "more are not listed"));
    sb_free(&text);
    n_objects = 5000;
    text = page(f, "vm_objects");
    assert_non_null(strstr(text.p, "(4000 more are not listed)\n"));
    sb_free(&text);
}

static void menu_lists_what_there_is(void **state)
{
    struct fixture *f = *state;
    struct strbuf text = page(f, "menu");
    char *line, *rest;

    assert_non_null(strstr(text.p, " config                \tCurrent Squid Configuration     \thidden\n"));
    assert_non_null(strstr(text.p, " counters              \tTraffic and Resource Counters   \tpublic\n"));
    for (line = strtok_r(text.p, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        char name[32];
        struct internal_answer a;

        assert_int_equal(sscanf(line, " %31s\t", name), 1);
        a = ask_with(f, name, NULL, NULL);
        assert_int_equal(a.status, strcmp(name, "config") == 0 ? 404 : 200);
        sb_free(&a.body);
    }
    sb_free(&text);
}

/* --- passwords -------------------------------------------------------------------------------------------------- */

static struct cachemgr_setting passwords[3];

static void set_password(struct fixture *f, size_t i, const char *password, char **actions, size_t n)
{
    passwords[i] = (struct cachemgr_setting){ (char *)(uintptr_t)password, actions, n };
    f->settings->cachemgr = passwords;
    f->settings->n_cachemgr = i + 1;
}

static const struct head *with_authorization(const char *field, const char *value)
{
    static struct head h;
    static char text[2048];
    struct parse_limits limits = { .max_bytes = 65536, .max_fields = 100 };
    struct parse_progress progress = { 0 };
    struct parse_error error;

    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: h\r\n%s: %s\r\n\r\n", field, value);
    assert_int_equal(parse_request(&h, text, strlen(text), &limits, &progress, &error), PARSE_DONE);
    return &h;
}

/* cachemgr_passwd disable counters / s3cret config info / none all */
static const struct {
    const char *why, *page, *password, *field, *value;
    int status;
} tries[] = {
    { "no password", "info", NULL, NULL, NULL, 401 },
    { "after @", "info", "s3cret", NULL, NULL, 200 },
    { "after @, wrong", "info", "s3creT", NULL, NULL, 401 },
    { "after @, the start of it", "info", "s3cre", NULL, NULL, 401 },
    { "after @, and more", "info", "s3cret1", NULL, NULL, 401 },
    { "Basic any:s3cret", "info", NULL, "Authorization", "Basic YW55OnMzY3JldA==", 200 },
    { "in any letter case", "info", NULL, "authorization", "bASIC YW55OnMzY3JldA==", 200 },
    { "Basic :s3cret, an empty user", "info", NULL, "Authorization", "Basic OnMzY3JldA==", 200 },
    { "Basic any:wrong", "info", NULL, "Authorization", "Basic YW55Ondyb25n", 401 },
    { "Basic any: nothing", "info", NULL, "Authorization", "Basic YW55Og==", 401 },
    { "Basic without a colon", "info", NULL, "Authorization", "Basic czNjcmV0", 401 },
    { "not base64", "info", NULL, "Authorization", "Basic !!!!", 401 },
    { "padding alone", "info", NULL, "Authorization", "Basic ====", 401 },
    { "cut base64", "info", NULL, "Authorization", "Basic YW55OnMzY3JldA", 401 },
    { "another scheme", "info", NULL, "Authorization", "Bearer YW55OnMzY3JldA==", 401 },
    { "Proxy-Authorization doesn't count", "info", NULL, "Proxy-Authorization", "Basic YW55OnMzY3JldA==", 401 },
    { "config with its password", "config", "s3cret", NULL, NULL, 200 },
    { "config without", "config", NULL, NULL, NULL, 401 },
    { "disabled", "counters", "disable", NULL, NULL, 404 },
    { "none for all the rest", "menu", NULL, NULL, NULL, 200 },
    { "no such page", "nonesuch", NULL, NULL, NULL, 404 },
};

static void passwords_are_asked_for(void **state)
{
    struct fixture *f = *state;
    static char *counters[] = { (char *)(uintptr_t) "counters" };
    static char *config_info[] = { (char *)(uintptr_t) "config", (char *)(uintptr_t) "info" };
    static char *all[] = { (char *)(uintptr_t) "all" };
    struct internal_answer a;

    set_password(f, 0, "disable", counters, 1);
    set_password(f, 1, "s3cret", config_info, 2);
    set_password(f, 2, "none", all, 1);
    for (size_t i = 0; i < COUNT_OF(tries); i++) {
        a = ask_with(f, tries[i].page, tries[i].password,
                     tries[i].field ? with_authorization(tries[i].field, tries[i].value) : NULL);
        if (a.status != tries[i].status)
            fail_msg("%s: %d", tries[i].why, a.status);
        if (a.status == 401) {
            assert_string_equal(a.error_name, "ERR_CACHE_MGR_ACCESS_DENIED");
            assert_string_equal(a.realm, tries[i].page);
        } else if (a.status == 404) {
            assert_string_equal(a.error_name, "ERR_INVALID_URL");
        }
        assert_int_equal(a.body.len > 0, a.status == 200);
        sb_free(&a.body);
    }
    a.body = page(f, "menu");
    assert_non_null(strstr(a.body.p, "\tdisabled\n"));
    assert_non_null(strstr(a.body.p, " config                \tCurrent Squid Configuration     \tprotected\n"));
    sb_free(&a.body);
}

static void none_opens_even_config(void **state)
{
    struct fixture *f = *state;
    static char *all[] = { (char *)(uintptr_t) "all" };
    struct strbuf text;

    set_password(f, 0, "none", all, 1);
    text = page(f, "config");
    assert_string_equal(text.p, "cache_mem 12345 bytes\n");
    sb_free(&text);
}

static void nothing_is_answered_before_there_is_a_proxy(void **state)
{
    struct fixture *f = *state, early = { .m = manager_new(), .settings = f->settings };
    struct internal_answer a = ask_with(&early, "counters", NULL, NULL);

    manager_sample(early.m, early.settings);
    assert_int_equal(a.status, 404);
    manager_free(&early.m);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(counters_has_every_name_in_order),
        TEST(wall_time_starts_again_at_each_tick),
        TEST(averages_are_since_the_start_at_first),
        TEST(utilization_says_what_it_does_not_know),
        cmocka_unit_test(history_finds_the_sample_of_then),
        cmocka_unit_test(percentiles_come_from_the_buckets),
        TEST(service_times_has_seven_groups_of_nineteen),
        TEST(info_has_squids_lines),
        TEST(objects_are_bounded_and_tell_no_queries),
        TEST(menu_lists_what_there_is),
        TEST(passwords_are_asked_for),
        TEST(none_opens_even_config),
        TEST(nothing_is_answered_before_there_is_a_proxy),
    };

    return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
