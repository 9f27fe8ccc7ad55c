/* mgr/info_page.c: mgr:info. Exporters make a metric of each line: labels, units and the order are Squid's. */
#include "mgr/page.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include "hdrs/kernel.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0.1"
#endif

struct view {
    struct page_request *r;
    const struct sample *now;
    struct sample five, sixty; /* the last 5 and 60 minutes */
    struct store_stats store;
    double uptime; /* seconds, > 0 */
    struct strbuf *out;
};

static void about(struct view *v)
{
    sb_str(v->out, "Squid Object Cache: Version " PACKAGE_VERSION " (loligo)\nBuild Info: " __VERSION__ "\n"
                   "Service Name: squid\n");
    sb_printf(v->out, "Header Parser: %s\n", hdrs_kernel_name(hdrs_kernel_in_use()));
    sb_str(v->out, "Start Time:\t");
    add_date(v->out, proxy_start_time(v->r->proxy));
    sb_str(v->out, "\nCurrent Time:\t");
    add_date(v->out, v->now->wall);
    sb_char(v->out, '\n');
}

static void connections(struct view *v)
{
    uint64_t requests = v->now->v[CLIENT_HTTP_REQUESTS], loops = v->now->v[SELECT_LOOPS];

    sb_str(v->out, "Connection information for squid:\n");
    sb_printf(v->out, "\tNumber of clients accessing cache:\t%" PRIu64 "\n", proxy_clients(v->r->proxy));
    sb_printf(v->out, "\tNumber of HTTP requests received:\t%" PRIu64 "\n", requests);
    sb_str(v->out, "\tNumber of ICP messages received:\t0\n\tNumber of ICP messages sent:\t0\n"
                   "\tNumber of queued ICP replies:\t0\n\tNumber of HTCP messages received:\t0\n"
                   "\tNumber of HTCP messages sent:\t0\n");
    sb_printf(v->out, "\tRequest failure ratio:\t%5.2f\n",
              percentage(v->five.v[CLIENT_HTTP_ERRORS], v->five.v[CLIENT_HTTP_REQUESTS]) / 100);
    sb_printf(v->out, "\tAverage HTTP requests per minute since start:\t%.1f\n", 60 * (double)requests / v->uptime);
    sb_str(v->out, "\tAverage ICP messages per minute since start:\t0.0\n");
    /* Of one loop: there is one in each worker. */
    sb_printf(v->out, "\tSelect loop called: %" PRIu64 " times, %.3f ms avg\n", loops,
              loops > 0 ? 1000 * v->uptime * proxy_workers(v->r->proxy) / (double)loops : 0);
    sb_printf(v->out, "\tNumber of connections refused (client_ip_max_connections):\t%" PRIu64 "\n",
              v->now->v[CLIENT_CONNECTIONS_REFUSED]);
}

static void add_ratio(struct view *v, const char *label, enum counter part, enum counter whole)
{
    sb_printf(v->out, "\t%s:\t5min: %.1f%%, 60min: %.1f%%\n", label, percentage(v->five.v[part], v->five.v[whole]),
              percentage(v->sixty.v[part], v->sixty.v[whole]));
}

static void cache(struct view *v)
{
    double used = percentage(v->store.bytes_used, v->store.capacity);

    sb_str(v->out, "Cache information for squid:\n");
    add_ratio(v, "Hits as % of all requests", CLIENT_HTTP_HITS, CLIENT_HTTP_REQUESTS);
    add_ratio(v, "Hits as % of bytes sent", CLIENT_HTTP_HIT_KBYTES_OUT, CLIENT_HTTP_KBYTES_OUT);
    add_ratio(v, "Memory hits as % of hit requests", MEM_HITS, CLIENT_HTTP_HITS);
    sb_str(v->out, "\tDisk hits as % of hit requests:\t5min: 0.0%, 60min: 0.0%\n\tStorage Swap size:\t0 KB\n"
                   "\tStorage Swap capacity:\t 0.0% used,  0.0% free\n");
    sb_printf(v->out, "\tStorage Mem size:\t%" PRIu64 " KB\n", v->store.bytes_used / 1024);
    sb_printf(v->out, "\tStorage Mem capacity:\t%4.1f%% used, %4.1f%% free\n", used,
              v->store.capacity > 0 ? 100 - used : 0);
    sb_printf(v->out, "\tMean Object Size:\t%.2f KB\n",
              v->store.objects > 0 ? (double)v->store.bytes_used / 1024 / (double)v->store.objects : 0);
    sb_str(v->out, "\tRequests given to unlinkd:\t0\n");
}

static void medians(struct view *v)
{
    sb_str(v->out, "Median Service Times (seconds)  5 min    60 min:\n");
    for (size_t i = 0; i < SERVICE_GROUPS; i++)
        sb_printf(v->out, "\t%-22s%8.5f %8.5f\n", service_groups[i].label,
                  group_percentile(&v->five, &service_groups[i], 50),
                  group_percentile(&v->sixty, &service_groups[i], 50));
}

static double cpu_percent(const struct sample *difference)
{
    return 100 * (double)difference->cpu_us / 1e6 / sample_seconds(difference);
}

static void resources(struct view *v)
{
    struct rusage use = { 0 };

    (void)getrusage(RUSAGE_SELF, &use);
    sb_str(v->out, "Resource usage for squid:\n");
    sb_printf(v->out, "\tUP Time:\t%.3f seconds\n", v->uptime);
    sb_printf(v->out, "\tCPU Time:\t%.3f seconds\n", (double)v->now->cpu_us / 1e6);
    sb_printf(v->out, "\tCPU Usage:\t%.2f%%\n", 100 * (double)v->now->cpu_us / 1e6 / v->uptime);
    sb_printf(v->out, "\tCPU Usage, 5 minute avg:\t%.2f%%\n", cpu_percent(&v->five));
    sb_printf(v->out, "\tCPU Usage, 60 minute avg:\t%.2f%%\n", cpu_percent(&v->sixty));
    sb_printf(v->out, "\tMaximum Resident Size: %ld KB\n", use.ru_maxrss);
    sb_printf(v->out, "\tPage faults with physical i/o: %" PRIu64 "\n", v->now->page_faults);
    /* There are no memory pools, so nothing is ever taken from them. */
    sb_printf(v->out, "Memory accounted for:\n\tTotal accounted:       %6" PRIu64 " KB\n",
              (v->store.bytes_footprint + v->store.index_bytes) / 1024);
    sb_str(v->out, "\tmemPoolAlloc calls:         0\n\tmemPoolFree calls:          0\n");
}

struct descriptors {
    unsigned long most, largest, in_use;
};

/* Reads a directory of the kernel's: 0.3 us a descriptor, for a page that is asked for now and then. */
static struct descriptors count_descriptors(void)
{
    struct descriptors d = { 0 };
    struct rlimit limit;
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *e;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        d.most = limit.rlim_cur;
    if (dir == NULL)
        return d;
    while ((e = readdir(dir)) != NULL)
        if (isdigit((unsigned char)e->d_name[0])) {
            unsigned long n = strtoul(e->d_name, NULL, 10);

            if (n == (unsigned long)dirfd(dir))
                continue;
            d.in_use++;
            if (n > d.largest)
                d.largest = n;
        }
    closedir(dir);
    return d;
}

static void descriptors(struct view *v)
{
    struct descriptors d = count_descriptors();

    sb_str(v->out, "File descriptor usage for squid:\n");
    sb_printf(v->out, "\tMaximum number of file descriptors:   %5lu\n", d.most);
    sb_printf(v->out, "\tLargest file desc currently in use:   %5lu\n", d.largest);
    sb_printf(v->out, "\tNumber of file desc currently in use: %4lu\n", d.in_use);
    sb_str(v->out, "\tFiles queued for open:                   0\n");
    sb_printf(v->out, "\tAvailable number of file descriptors: %5lu\n", d.most > d.in_use ? d.most - d.in_use : 0);
    sb_str(v->out, "\tReserved number of file descriptors:     0\n\tStore Disk files open:                   0\n");
}

static void structures(struct view *v)
{
    uint64_t entries = v->store.objects + v->store.fills;

    sb_str(v->out, "Internal Data Structures:\n");
    sb_printf(v->out, "\t%6" PRIu64 " StoreEntries\n\t%6" PRIu64 " StoreEntries with MemObjects\n", entries, entries);
    sb_printf(v->out, "\t%6" PRIu64 " Hot Object Cache Items\n\t     0 on-disk objects\n", v->store.objects);
}

void info_page(struct page_request *r, struct strbuf *out)
{
    struct view v = { .r = r, .now = &r->now, .store = store_stats(proxy_store(r->proxy)), .out = out };

    v.uptime = (double)(r->now.wall - proxy_start_time(r->proxy)) / 1e6;
    if (v.uptime <= 0)
        v.uptime = 1e-6; /* the clock was set back */
    window(r, 300, &v.five);
    window(r, 3600, &v.sixty);
    about(&v);
    connections(&v);
    cache(&v);
    medians(&v);
    resources(&v);
    descriptors(&v);
    structures(&v);
}
