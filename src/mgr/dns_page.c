/* mgr:idns: what is asked of DNS servers. Each worker has a channel of its own to them: counts are sums. */
#include <inttypes.h>
#include "mgr/gathered.h"

static int first_sent_first(const void *pa, const void *pb)
{
    const struct view_query *a = ((const struct told *)pa)->row, *b = ((const struct told *)pb)->row;

    return (a->first < b->first) - (a->first > b->first);
}

static void add_queue(struct page_request *r, struct strbuf *out)
{
    struct all_rows all = all_rows_of(r->q->gathered, sizeof(struct view_query), first_sent_first);

    sb_str(out, "The Queue:\n                       DELAY SINCE\n"
                "  ID   SIZE SENDS FIRST SEND LAST SEND M FQDN\n"
                "------ ---- ----- ---------- --------- - ----\n");
    for (size_t i = 0; i < all.n; i++) {
        const struct view_query *q = all.p[i].row;

        sb_printf(out, "0x%04x %4zu %5u %10.3f %9.3f   ", q->id, q->size, q->sends, (double)q->first / 1e6,
                  (double)q->last / 1e6);
        add_escaped(out, view_span(all.p[i].text, q->name));
        sb_char(out, '\n');
    }
    add_missing(r, out, all.passed, "queries");
    all_rows_free(&all);
}

/* All workers have the same servers; after a reload some may still have the old ones. */
static void add_up_servers(struct dns_traffic *sum, const struct dns_traffic *t)
{
    for (unsigned i = 0; i < t->n_servers; i++) {
        unsigned k = 0;

        while (k < sum->n_servers && !addr_eq(&sum->servers[k].at, &t->servers[i].at))
            k++;
        if (k == DNS_SERVERS_SHOWN)
            continue;
        if (k == sum->n_servers)
            sum->servers[sum->n_servers++].at = t->servers[i].at;
        sum->servers[k].queries += t->servers[i].queries;
        sum->servers[k].replies += t->servers[i].replies;
    }
}

static struct dns_traffic sum_of(const struct gathering *g)
{
    struct dns_traffic sum = { 0 };

    for (unsigned i = 0; i < gather_workers(g); i++) {
        const struct view_dns *share = gather_share(g, i);

        if (share == NULL)
            continue;
        add_up_servers(&sum, &share->traffic);
        for (int code = 0; code < DNS_RCODES; code++)
            for (int k = 0; k < DNS_ATTEMPTS; k++)
                sum.rcodes[code][k] += share->traffic.rcodes[code][k];
    }
    return sum;
}

static void add_servers(struct strbuf *out, const struct dns_traffic *t)
{
    sb_str(out, "\nNameservers:\nIP ADDRESS                                     # QUERIES # REPLIES Type\n"
                "---------------------------------------------- --------- --------- --------\n");
    for (unsigned i = 0; i < t->n_servers; i++) {
        char text[ADDR_TEXT_MAX];

        if (t->servers[i].at.port == 53)
            addr_print(&t->servers[i].at, text);
        else
            addr_print_port(&t->servers[i].at, text);
        sb_printf(out, "%-45s %9" PRIu64 " %9" PRIu64 " recurse\n", text, t->servers[i].queries, t->servers[i].replies);
    }
}

static void add_rcodes(struct strbuf *out, const struct dns_traffic *t)
{
    /* RFC 1035 section 4.1.1, RFC 2136 section 2.2. */
    static const char *const names[DNS_RCODES] = {
        "Success",         "Packet Format Error", "DNS Server Failure", "Non-Existent Domain",
        "Not Implemented", "Query Refused",       "Name Exists",        "RR Set Exists",
        "RR Set Missing",  "Not Authoritative",   "Name Out of Zone",
    };

    sb_str(out, "\nRcode Matrix:\nRCODE ATTEMPT1 ATTEMPT2 ATTEMPT3 PROBLEM\n");
    for (int code = 0; code < DNS_RCODES; code++)
        if (names[code] != NULL)
            sb_printf(out, "%5d %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " : %s\n", code, t->rcodes[code][0],
                      t->rcodes[code][1], t->rcodes[code][2], names[code]);
}

void idns_page(struct page_request *r, struct strbuf *out)
{
    struct dns_traffic t = sum_of(r->q->gathered);

    sb_str(out, "Internal DNS Statistics:\n\n");
    add_queue(r, out);
    if (r->q->settings->dns_packet_max > 0)
        sb_printf(out, "\nDNS jumbo-grams: %" PRId64 " Bytes\n", r->q->settings->dns_packet_max);
    else
        sb_str(out, "\nDNS jumbo-grams: not working\n");
    add_servers(out, &t);
    add_rcodes(out, &t);
}
