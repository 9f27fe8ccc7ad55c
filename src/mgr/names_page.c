/* mgr:ipcache, mgr:fqdncache: each worker keeps what it has asked for. Counts are of all of them; a name that several know is listed
 * once, as the one that used it last knows it. */
#include <inttypes.h>
#include "mgr/gathered.h"

static struct resolver_stats sum_of(const struct gathering *g)
{
    struct resolver_stats sum = { 0 };

    for (unsigned i = 0; i < gather_workers(g); i++) {
        const struct view_names *share = gather_share(g, i);

        if (share == NULL)
            continue;
        sum.lookups += share->stats.lookups;
        sum.hits += share->stats.hits;
        sum.entries += share->stats.entries;
        sum.negative_hits += share->stats.negative_hits;
        sum.literals += share->stats.literals;
        sum.invalid += share->stats.invalid;
        sum.retrieved_a += share->stats.retrieved_a;
        sum.retrieved_aaaa += share->stats.retrieved_aaaa;
        sum.retrieved_cname += share->stats.retrieved_cname;
    }
    return sum;
}

static uint64_t positive_hits(const struct resolver_stats *s)
{
    return s->hits - s->negative_hits - s->literals - s->invalid;
}

static struct span text_of(const struct told *t)
{
    return view_span(t->text, ((const struct view_name *)t->row)->text);
}

/* Of equal ones, that which was used last first. */
static int by_name(const void *pa, const void *pb)
{
    const struct view_name *a = ((const struct told *)pa)->row, *b = ((const struct told *)pb)->row;
    struct span x = text_of(pa), y = text_of(pb);
    int order = memcmp(x.p, y.p, x.len < y.len ? x.len : y.len);

    if (order != 0)
        return order;
    if (x.len != y.len)
        return x.len < y.len ? -1 : 1;
    return (a->unused > b->unused) - (a->unused < b->unused);
}

/* The i-th is the first of its name. */
static bool is_first(const struct all_rows *all, size_t i)
{
    return i == 0 || !span_eq(text_of(&all->p[i - 1]), text_of(&all->p[i]));
}

static char hosts_flag(const struct view_name *v)
{
    return v->of_hosts ? 'H' : ' ';
}

/* What Squid has no seconds for is -1. */
static int64_t ttl_of(const struct view_name *v)
{
    return v->of_hosts ? -1 : v->ttl;
}

static void add_name(struct strbuf *out, const struct told *t)
{
    const struct view_name *v = t->row;
    struct span rest = view_span(t->text, v->told), name = text_of(t);
    bool first = true;

    sb_printf(out, " %-32.*s %c%c %6" PRId64 " %6" PRId64 " %2u( 0)", SPAN_ARG(name), hosts_flag(v),
              v->negative ? 'N' : ' ', v->of_hosts ? -1 : v->unused, ttl_of(v), v->n);
    while (rest.len > 0) {
        const char *end = memchr(rest.p, '\n', rest.len);
        size_t n = (size_t)(end - rest.p);

        /* Below each other. */
        sb_printf(out, "%*s%45.*s-OK \n", first ? 1 : 58, "", (int)n, rest.p);
        first = false;
        rest = span_of(end + 1, rest.len - n - 1);
    }
    if (first)
        sb_char(out, '\n');
}

static void add_address(struct strbuf *out, const struct told *t)
{
    const struct view_name *v = t->row;

    sb_printf(out, "%-45.*s  %c%c %3.3d %3u %.*s\n", SPAN_ARG(text_of(t)), v->negative ? 'N' : ' ', hosts_flag(v),
              (int)ttl_of(v), v->n, SPAN_ARG(view_span(t->text, v->told)));
}

void ipcache_page(struct page_request *r, struct strbuf *out)
{
    struct all_rows all = all_rows_of(r->q->gathered, sizeof(struct view_name), by_name);
    struct resolver_stats s = sum_of(r->q->gathered);

    sb_printf(out, "IP Cache Statistics:\nIPcache Entries Cached:  %" PRIu64 "\nIPcache Requests: %" PRIu64 "\n",
              s.entries, s.lookups);
    sb_printf(out, "IPcache Hits:            %" PRIu64 "\nIPcache Negative Hits:       %" PRIu64 "\n",
              positive_hits(&s), s.negative_hits);
    sb_printf(out, "IPcache Numeric Hits:        %" PRIu64 "\nIPcache Misses:          %" PRIu64 "\n", s.literals,
              s.lookups - s.hits);
    sb_printf(out,
              "IPcache Retrieved A:     %" PRIu64 "\nIPcache Retrieved AAAA:  %" PRIu64
              "\nIPcache Retrieved CNAME: %" PRIu64 "\n",
              s.retrieved_a, s.retrieved_aaaa, s.retrieved_cname);
    sb_printf(out, "IPcache Invalid Request: %" PRIu64 "\n\n\nIP Cache Contents:\n\n", s.invalid);
    sb_printf(out, " %-32s%s\n", "Hostname", "Flg lstref    TTL  N(b)");
    for (size_t i = 0; i < all.n; i++)
        if (is_first(&all, i))
            add_name(out, &all.p[i]);
    add_missing(r, out, all.passed, "names");
    all_rows_free(&all);
}

void fqdncache_page(struct page_request *r, struct strbuf *out)
{
    struct all_rows all = all_rows_of(r->q->gathered, sizeof(struct view_name), by_name);
    struct resolver_stats s = sum_of(r->q->gathered);

    sb_printf(out,
              "FQDN Cache Statistics:\nFQDNcache Entries In Use: %" PRIu64 "\nFQDNcache Entries Cached: %" PRIu64 "\n",
              s.entries, s.entries);
    sb_printf(out,
              "FQDNcache Requests: %" PRIu64 "\nFQDNcache Hits: %" PRIu64 "\nFQDNcache Negative Hits: %" PRIu64 "\n",
              s.lookups, positive_hits(&s), s.negative_hits);
    sb_printf(out, "FQDNcache Misses: %" PRIu64 "\nFQDN Cache Contents:\n\n", s.lookups - s.hits);
    sb_printf(out, "%-45s %s\n", "Address", "Flg TTL Cnt Hostnames");
    for (size_t i = 0; i < all.n; i++)
        if (is_first(&all, i))
            add_address(out, &all.p[i]);
    add_missing(r, out, all.passed, "addresses");
    all_rows_free(&all);
}
