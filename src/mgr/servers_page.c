/* mgr:pconn, mgr:io: connections to servers, all workers' as one pool. */
#include <inttypes.h>
#include "mgr/gathered.h"

static int by_place(const void *pa, const void *pb)
{
    const struct told *a = pa, *b = pb;
    const struct view_server *one = a->row, *two = b->row;
    struct span x = view_span(a->text, one->name), y = view_span(b->text, two->name);
    int order = addr_order(&one->at, &two->at);

    if (order != 0)
        return order;
    order = memcmp(x.p, y.p, x.len < y.len ? x.len : y.len);
    return order != 0 ? order : (x.len > y.len) - (x.len < y.len);
}

static void add_uses(struct strbuf *out, const struct gathering *g)
{
    sb_str(out, "server-peers persistent connection counts:\n\n\t Requests\t Connection Count\n"
                "\t --------\t ----------------\n");
    for (size_t n = 0; n < POOL_USES; n++) {
        uint64_t connections = 0;

        for (unsigned i = 0; i < gather_workers(g); i++) {
            const struct view_servers *share = gather_share(g, i);

            connections += share != NULL ? share->uses[n] : 0;
        }
        if (connections > 0)
            sb_printf(out, "\t%zu\t%" PRIu64 "\n", n, connections);
    }
}

void pconn_page(struct page_request *r, struct strbuf *out)
{
    struct all_rows all = all_rows_of(r->q->gathered, sizeof(struct view_server), by_place);
    size_t item = 0;

    sb_str(out, "\n Pool 0 Stats\n");
    add_uses(out, r->q->gathered);
    sb_str(out, "\n Pool 0 Hash Table\n");
    for (size_t i = 0; i < all.n; i++) {
        const struct view_server *v = all.p[i].row;
        char at[ADDR_TEXT_MAX];

        if (i > 0 && by_place(&all.p[i - 1], &all.p[i]) == 0)
            continue;
        addr_print_port(&v->at, at);
        sb_printf(out, "\t item %zu:\t%s/", item++, at);
        add_escaped(out, view_span(all.p[i].text, v->name));
        sb_char(out, '\n');
    }
    add_missing(r, out, all.passed, "connections");
    all_rows_free(&all);
}

void io_page(struct page_request *r, struct strbuf *out)
{
    struct read_sizes sum = { 0 };
    uint64_t reads = 0;

    for (unsigned i = 0; i < gather_workers(r->q->gathered); i++) {
        const struct view_servers *share = gather_share(r->q->gathered, i);

        for (int k = 0; share != NULL && k < READ_SIZES; k++) {
            sum.n[k] += share->reads.n[k];
            reads += share->reads.n[k];
        }
    }
    sb_printf(out, "HTTP I/O\nnumber of reads: %" PRIu64 "\nRead Histogram:\n", reads);
    for (int k = 0; k < READ_SIZES; k++)
        sb_printf(out, "%5d-%5d: %9" PRIu64 " %2.0f%%\n", k > 0 ? (1 << (k - 1)) + 1 : 1, 1 << k, sum.n[k],
                  percentage(sum.n[k], reads));
    add_missing(r, out, 0, "");
}
