/* mgr:client_list: what each client has asked for. A client's connections are any workers': what those know of it is added up. */
#include <inttypes.h>
#include "mgr/gathered.h"

static int by_address(const void *pa, const void *pb)
{
    const struct view_client *one = ((const struct told *)pa)->row, *two = ((const struct told *)pb)->row;

    return addr_order(&one->client, &two->client);
}

/* Of one client, as it is shown: several whose addresses client_netmask makes one are one. */
struct client {
    struct addr shown;
    bool whole; /* nothing of the address is hidden */
    struct span name;
    unsigned connections;
    uint64_t requests, tags[TAG_N];
};

static int percent(uint64_t part, uint64_t whole)
{
    return (int)(percentage(part, whole) + 0.5);
}

static void add_client(struct strbuf *out, const struct client *c)
{
    char address[ADDR_TEXT_MAX];

    addr_print(&c->shown, address);
    sb_printf(out, "Address: %s\n", address);
    if (c->whole && c->name.len > 0)
        sb_printf(out, "Name:    %.*s\n", SPAN_ARG(c->name));
    sb_printf(out, "Currently established connections: %u\n    ICP  Requests 0\n    HTTP Requests %" PRIu64 "\n",
              c->connections, c->requests);
    for (int tag = 0; tag < TAG_N; tag++)
        if (c->tags[tag] > 0)
            sb_printf(out, "        %-20.20s %7" PRIu64 " %3d%%\n", log_tag_rows[tag].text, c->tags[tag],
                      percent(c->tags[tag], c->requests));
    sb_char(out, '\n');
}

static void add_up(struct client *c, const struct view_client *v, const struct strbuf *text)
{
    if (c->name.len == 0)
        c->name = view_span(text, v->name);
    c->connections += v->connections;
    c->requests += v->requests;
    for (int tag = 0; tag < TAG_N; tag++)
        c->tags[tag] += v->tags[tag];
}

/* Below which place all workers have told all they know. */
static unsigned complete_until(const struct gathering *g)
{
    unsigned end = CLIENT_RECORD_PLACES;

    for (unsigned i = 0; i < gather_workers(g); i++) {
        const struct view_clients *share = gather_share(g, i);

        if (share != NULL && share->end < end)
            end = share->end;
    }
    return end;
}

/* Returns how many rows of workers it left out. */
static size_t add_clients(struct page_request *r, struct strbuf *out, const struct all_rows *all)
{
    unsigned end = complete_until(r->q->gathered);
    struct client c = { 0 };
    size_t left_out = all->passed;

    for (size_t i = 0; i < all->n; i++) {
        const struct view_client *v = all->p[i].row;
        struct addr shown;
        bool whole = client_as_shown(r, &v->client, &shown);

        if (v->place >= end) {
            left_out++;
            continue;
        }
        if (c.shown.family != 0 && !addr_eq(&c.shown, &shown)) {
            add_client(out, &c);
            c = (struct client){ 0 };
        }
        c.shown = shown;
        c.whole = whole;
        add_up(&c, v, all->p[i].text);
    }
    if (c.shown.family != 0)
        add_client(out, &c);
    return left_out;
}

static struct client_totals totals_of(const struct gathering *g)
{
    struct client_totals t = { 0 };

    for (unsigned i = 0; i < gather_workers(g); i++) {
        const struct view_clients *share = gather_share(g, i);

        if (share == NULL)
            continue;
        t.requests += share->totals.requests;
        t.hits += share->totals.hits;
    }
    return t;
}

void client_list_page(struct page_request *r, struct strbuf *out)
{
    struct all_rows all = all_rows_of(r->q->gathered, sizeof(struct view_client), by_address);
    struct client_totals t = totals_of(r->q->gathered);
    size_t left_out;

    sb_str(out, "Cache Clients:\n");
    if (!r->q->settings->client_db)
        sb_str(out, "(client_db is off: nothing is counted)\n");
    left_out = add_clients(r, out, &all);
    sb_printf(out, "TOTALS\nICP : 0 Queries, 0 Hits (  0%%)\nHTTP: %" PRIu64 " Requests, %" PRIu64 " Hits (%3d%%)\n",
              t.requests, t.hits, percent(t.hits, t.requests));
    add_missing(r, out, left_out, "clients, counted by each worker");
    all_rows_free(&all);
}
