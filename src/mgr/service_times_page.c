/* mgr/service_times_page.c: mgr:service_times and mgr:histograms. */
#include "mgr/page.h"

#include <inttypes.h>

const struct service_group service_groups[SERVICE_GROUPS] = {
    { "HTTP Requests (All):", TIME_ALL },
    { "Cache Misses:", TIME_MISS },
    { "Cache Hits:", TIME_HIT },
    { "Near Hits:", TIME_NEAR_HIT },
    { "Not-Modified Replies:", TIME_NOT_MODIFIED },
    { "DNS Lookups:", TIME_DNS },
    { "ICP Queries:", SERVICE_TIME_N },
};

double group_percentile(const struct sample *difference, const struct service_group *g, unsigned percent)
{
    return g->kind == SERVICE_TIME_N ? 0 : sample_percentile(difference, g->kind, percent);
}

void service_times_page(struct page_request *r, struct strbuf *out)
{
    struct sample five, sixty;

    window(r, 300, &five);
    window(r, 3600, &sixty);
    sb_str(out, "Service Time Percentiles            5 min    60 min:\n");
    for (size_t g = 0; g < SERVICE_GROUPS; g++)
        for (unsigned percent = 5; percent <= 95; percent += 5)
            sb_printf(out, "\t%-22s%2u%%  %8.5f %8.5f\n", service_groups[g].label, percent,
                      group_percentile(&five, &service_groups[g], percent),
                      group_percentile(&sixty, &service_groups[g], percent));
}

/* Bucket/milliseconds, how many, and how many a second since the start. */
void histograms_page(struct page_request *r, struct strbuf *out)
{
    static const struct {
        const char *name;
        enum service_time kind;
    } histograms[] = {
        { "client_http.allSvcTime", TIME_ALL },
        { "client_http.missSvcTime", TIME_MISS },
        { "client_http.nearMissSvcTime", TIME_NEAR_HIT },
        { "client_http.hitSvcTime", TIME_HIT },
        { "client_http.notModifiedSvcTime", TIME_NOT_MODIFIED },
        { "dns.svcTime", TIME_DNS },
    };
    double seconds = (double)(r->now.wall - proxy_start_time(r->proxy)) / 1e6;

    for (size_t i = 0; i < sizeof histograms / sizeof histograms[0]; i++) {
        sb_printf(out, "%s histogram:\n", histograms[i].name);
        for (unsigned b = 0; b < TIME_BUCKETS; b++) {
            uint64_t n = r->now.times[histograms[i].kind][b];

            if (n > 0)
                sb_printf(out, "\t%3u/%f\t%" PRIu64 "\t%f\n", b, service_time_bound(b) / 1000, n,
                          seconds > 0 ? (double)n / seconds : 0);
        }
    }
}
