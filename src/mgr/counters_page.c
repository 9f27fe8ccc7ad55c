/* mgr/counters_page.c: mgr:counters, which every exporter reads, and its averages. Names and their order are fixed: a
 * name that is missing is a gap in somebody's dashboard. What we don't have (ICP, cache digests, disk, FTP) is truly
 * 0. */
#include "mgr/page.h"

#include <inttypes.h>

enum row_kind {
    ROW_COUNTER, /* a */
    ROW_SUM,     /* a + b: server.all.* */
    ROW_ZERO,
    ROW_FAULTS,
    ROW_CPU,
    ROW_WALL,
    ROW_MEDIAN, /* of service time a; SERVICE_TIME_N: 0 */
    ROW_USAGE,
};

struct row {
    const char *name;
    enum row_kind kind;
    uint8_t a, b;
};

#define COUNTED(id, name)                                                                                              \
    {                                                                                                                  \
        name, ROW_COUNTER, id, 0                                                                                       \
    }
#define ZERO(name)                                                                                                     \
    {                                                                                                                  \
        name, ROW_ZERO, 0, 0                                                                                           \
    }
/* What the server side has in both pages. */
#define SERVER_ROWS                                                                                                    \
    { "server.all.requests", ROW_SUM, SERVER_HTTP_REQUESTS, SERVER_OTHER_REQUESTS },                                   \
        { "server.all.errors", ROW_SUM, SERVER_HTTP_ERRORS, SERVER_OTHER_ERRORS },                                     \
        { "server.all.kbytes_in", ROW_SUM, SERVER_HTTP_KBYTES_IN, SERVER_OTHER_KBYTES_IN },                            \
        { "server.all.kbytes_out", ROW_SUM, SERVER_HTTP_KBYTES_OUT, SERVER_OTHER_KBYTES_OUT },                         \
        COUNTED(SERVER_HTTP_REQUESTS, "server.http.requests"), COUNTED(SERVER_HTTP_ERRORS, "server.http.errors"),      \
        COUNTED(SERVER_HTTP_KBYTES_IN, "server.http.kbytes_in"),                                                       \
        COUNTED(SERVER_HTTP_KBYTES_OUT, "server.http.kbytes_out"), ZERO("server.ftp.requests"),                        \
        ZERO("server.ftp.errors"), ZERO("server.ftp.kbytes_in"), ZERO("server.ftp.kbytes_out"),                        \
        COUNTED(SERVER_OTHER_REQUESTS, "server.other.requests"), COUNTED(SERVER_OTHER_ERRORS, "server.other.errors"),  \
        COUNTED(SERVER_OTHER_KBYTES_IN, "server.other.kbytes_in"),                                                     \
        COUNTED(SERVER_OTHER_KBYTES_OUT, "server.other.kbytes_out")

static const struct row totals[] = {
    COUNTED(CLIENT_HTTP_REQUESTS, "client_http.requests"),
    COUNTED(CLIENT_HTTP_HITS, "client_http.hits"),
    COUNTED(CLIENT_HTTP_ERRORS, "client_http.errors"),
    COUNTED(CLIENT_HTTP_KBYTES_IN, "client_http.kbytes_in"),
    COUNTED(CLIENT_HTTP_KBYTES_OUT, "client_http.kbytes_out"),
    COUNTED(CLIENT_HTTP_HIT_KBYTES_OUT, "client_http.hit_kbytes_out"),
    SERVER_ROWS,
    ZERO("icp.pkts_sent"),
    ZERO("icp.pkts_recv"),
    ZERO("icp.queries_sent"),
    ZERO("icp.replies_sent"),
    ZERO("icp.queries_recv"),
    ZERO("icp.replies_recv"),
    ZERO("icp.query_timeouts"),
    ZERO("icp.replies_queued"),
    ZERO("icp.kbytes_sent"),
    ZERO("icp.kbytes_recv"),
    ZERO("icp.q_kbytes_sent"),
    ZERO("icp.r_kbytes_sent"),
    ZERO("icp.q_kbytes_recv"),
    ZERO("icp.r_kbytes_recv"),
    ZERO("icp.times_used"),
    ZERO("cd.times_used"),
    ZERO("cd.msgs_sent"),
    ZERO("cd.msgs_recv"),
    ZERO("cd.memory"),
    ZERO("cd.local_memory"),
    ZERO("cd.kbytes_sent"),
    ZERO("cd.kbytes_recv"),
    ZERO("unlink.requests"),
    { "page_faults", ROW_FAULTS, 0, 0 },
    COUNTED(SELECT_LOOPS, "select_loops"),
    { "cpu_time", ROW_CPU, 0, 0 },
    { "wall_time", ROW_WALL, 0, 0 },
    ZERO("swap.outs"),
    ZERO("swap.ins"),
    ZERO("swap.files_cleaned"),
    COUNTED(ABORTED_REQUESTS, "aborted_requests"),
};

/* Squid has more of syscalls.* and select_fds here; we don't count those, and a made-up 0 would be worse than a gap. */
static const struct row rates[] = {
    COUNTED(CLIENT_HTTP_REQUESTS, "client_http.requests"),
    COUNTED(CLIENT_HTTP_HITS, "client_http.hits"),
    COUNTED(CLIENT_HTTP_ERRORS, "client_http.errors"),
    COUNTED(CLIENT_HTTP_KBYTES_IN, "client_http.kbytes_in"),
    COUNTED(CLIENT_HTTP_KBYTES_OUT, "client_http.kbytes_out"),
    { "client_http.all_median_svc_time", ROW_MEDIAN, TIME_ALL, 0 },
    { "client_http.miss_median_svc_time", ROW_MEDIAN, TIME_MISS, 0 },
    { "client_http.nm_median_svc_time", ROW_MEDIAN, TIME_NOT_MODIFIED, 0 },
    { "client_http.nh_median_svc_time", ROW_MEDIAN, TIME_NEAR_HIT, 0 },
    { "client_http.hit_median_svc_time", ROW_MEDIAN, TIME_HIT, 0 },
    SERVER_ROWS,
    ZERO("icp.pkts_sent"),
    ZERO("icp.pkts_recv"),
    ZERO("icp.queries_sent"),
    ZERO("icp.replies_sent"),
    ZERO("icp.queries_recv"),
    ZERO("icp.replies_recv"),
    ZERO("icp.replies_queued"),
    ZERO("icp.query_timeouts"),
    ZERO("icp.kbytes_sent"),
    ZERO("icp.kbytes_recv"),
    ZERO("icp.q_kbytes_sent"),
    ZERO("icp.r_kbytes_sent"),
    ZERO("icp.q_kbytes_recv"),
    ZERO("icp.r_kbytes_recv"),
    { "icp.query_median_svc_time", ROW_MEDIAN, SERVICE_TIME_N, 0 },
    { "icp.reply_median_svc_time", ROW_MEDIAN, SERVICE_TIME_N, 0 },
    { "dns.median_svc_time", ROW_MEDIAN, TIME_DNS, 0 },
    ZERO("unlink.requests"),
    { "page_faults", ROW_FAULTS, 0, 0 },
    COUNTED(SELECT_LOOPS, "select_loops"),
    ZERO("swap.outs"),
    ZERO("swap.ins"),
    ZERO("swap.files_cleaned"),
    COUNTED(ABORTED_REQUESTS, "aborted_requests"),
    ZERO("syscalls.disk.opens"),
    ZERO("syscalls.disk.closes"),
    ZERO("syscalls.disk.reads"),
    ZERO("syscalls.disk.writes"),
    ZERO("syscalls.disk.seeks"),
    ZERO("syscalls.disk.unlinks"),
    COUNTED(CLIENT_CONNECTIONS, "syscalls.sock.accepts"),
    { "cpu_time", ROW_CPU, 0, 0 },
    { "wall_time", ROW_WALL, 0, 0 },
    { "cpu_usage", ROW_USAGE, 0, 0 },
};

/* Counts as they are, bytes as KB. */
static double row_value(const struct row *row, const struct sample *s)
{
    double v;

    switch (row->kind) {
    case ROW_FAULTS: return (double)s->page_faults;
    case ROW_COUNTER: v = (double)s->v[row->a]; break;
    case ROW_SUM: v = (double)s->v[row->a] + (double)s->v[row->b]; break;
    default: return 0;
    }
    return counter_rows[row->a].unit == COUNTER_KBYTES ? v / 1024 : v;
}

static double us_to_seconds(int64_t us)
{
    return (double)us / 1e6;
}

static void add_time(struct strbuf *out, const char *name, int64_t wall)
{
    sb_printf(out, "%s = %" PRId64 ".%06d (", name, wall / 1000000, (int)(wall % 1000000));
    add_date(out, wall);
    sb_str(out, ")\n");
}

static void add_totals(struct page_request *r, struct strbuf *out)
{
    for (size_t i = 0; i < sizeof totals / sizeof totals[0]; i++) {
        const struct row *row = &totals[i];

        if (row->kind == ROW_CPU)
            sb_printf(out, "%s = %.6f\n", row->name, us_to_seconds(r->now.cpu_us));
        else if (row->kind == ROW_WALL) /* since the last minute tick, as in Squid; not the uptime */
            sb_printf(out, "%s = %.6f\n", row->name, us_to_seconds(r->now.mono - history_last_tick(r->history)));
        else
            sb_printf(out, "%s = %" PRIu64 "\n", row->name, (uint64_t)row_value(row, &r->now));
    }
}

static void add_rate(struct strbuf *out, const struct row *row, const struct sample *d)
{
    double seconds = sample_seconds(d);

    switch (row->kind) {
    case ROW_MEDIAN:
        sb_printf(out, "%s = %.6f seconds\n", row->name,
                  row->a == SERVICE_TIME_N ? 0 : sample_percentile(d, (enum service_time)row->a, 50));
        break;
    case ROW_CPU: sb_printf(out, "%s = %.6f seconds\n", row->name, us_to_seconds(d->cpu_us)); break;
    case ROW_WALL: sb_printf(out, "%s = %.6f seconds\n", row->name, seconds); break;
    case ROW_USAGE: sb_printf(out, "%s = %.6f%%\n", row->name, 100 * us_to_seconds(d->cpu_us) / seconds); break;
    default: sb_printf(out, "%s = %.6f/sec\n", row->name, row_value(row, d) / seconds);
    }
}

static void add_rates(struct page_request *r, const struct sample *from, struct strbuf *out)
{
    struct sample d;

    sample_difference(&d, from, &r->now);
    add_time(out, "sample_start_time", from->wall);
    add_time(out, "sample_end_time", r->now.wall);
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        add_rate(out, &rates[i], &d);
}

static void add_last(struct page_request *r, int64_t seconds, struct strbuf *out)
{
    struct sample from;

    history_before(r->history, seconds, r->now.mono, &from);
    add_rates(r, &from, out);
}

void counters_page(struct page_request *r, struct strbuf *out)
{
    add_time(out, "sample_time", r->now.wall);
    add_totals(r, out);
}

void five_minutes_page(struct page_request *r, struct strbuf *out)
{
    add_last(r, 300, out);
}

void sixty_minutes_page(struct page_request *r, struct strbuf *out)
{
    add_last(r, 3600, out);
}

void utilization_page(struct page_request *r, struct strbuf *out)
{
    static const struct {
        const char *title;
        int64_t seconds;
    } blocks[] = {
        { "Last 5 minutes", 300 }, { "Last 15 minutes", 900 }, { "Last hour", 3600 },
        { "Last 8 hours", 28800 }, { "Last day", 86400 },      { "Last 3 days", 259200 },
    };

    sb_str(out, "Cache Utilisation:\n\n");
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        struct sample from;

        sb_printf(out, "%s:\n", blocks[i].title);
        if (history_before(r->history, blocks[i].seconds, r->now.mono, &from))
            add_rates(r, &from, out);
        else
            sb_str(out, "(no values recorded yet)\n");
        sb_char(out, '\n');
    }
    sb_str(out, "Totals since cache startup:\n");
    counters_page(r, out);
}
