/* mgr:active_requests: what is being answered now, this page's own request included. */
#include <inttypes.h>
#include "mgr/gathered.h"

static int oldest_first(const void *pa, const void *pb)
{
    const struct view_request *a = ((const struct told *)pa)->row, *b = ((const struct told *)pb)->row;

    return (a->start_wall > b->start_wall) - (a->start_wall < b->start_wall);
}

/* Squid shows where in its memory things are. A stranger who may read pages has no use for that but a bad one: a connection is
 * named by its descriptor, an entry by its key. */
static void add_request(struct page_request *r, struct strbuf *out, const struct view_request *v,
                        const struct strbuf *text)
{
    char remote[ADDR_TEXT_MAX], local[ADDR_TEXT_MAX];
    struct addr shown;

    (void)client_as_shown(r, &v->remote, &shown);
    addr_print_port(&shown, remote);
    addr_print_port(&v->local, local);
    sb_printf(out, "Connection: 0x%x\n\tFD %d, read %" PRIu64 ", wrote %" PRIu64 "\n", (unsigned)v->fd, v->fd,
              v->received, v->sent);
    sb_printf(out, "\tFD desc: %s\n\tin: buf 0x0, used %zu, free %zu\n", v->doing, v->kept, v->room);
    sb_printf(out, "\tremote: %s\n\tlocal: %s\n\tnrequests: %u\nuri ", remote, local, v->requests);
    add_stripped_url(r, out, view_span(text, v->url));
    sb_printf(out, "\nlogType %s\nout.offset %" PRIu64 ", out.size %" PRIu64 "\nreq_sz %" PRIu64 "\n",
              log_tag_rows[v->tag].text, v->out, v->out, v->request_bytes);
    if (v->has_key)
        sb_printf(out, "entry 0x0/%016" PRIX64 "%016" PRIX64 "\n", v->key.high, v->key.low);
    else
        sb_str(out, "entry 0x0/N/A\n");
    sb_printf(out, "start %" PRId64 ".%06d (%.6f seconds ago)\nusername ", v->start_wall / 1000000,
              (int)(v->start_wall % 1000000), (double)v->age / 1e6);
    if (v->user.len > 0)
        add_escaped(out, view_span(text, v->user));
    else
        sb_char(out, '-');
    sb_printf(out, "\ndelay_pool %d\n\n", v->delayed);
}

void active_requests_page(struct page_request *r, struct strbuf *out)
{
    struct all_rows all = all_rows_of(r->q->gathered, sizeof(struct view_request), oldest_first);

    for (size_t i = 0; i < all.n; i++)
        add_request(r, out, all.p[i].row, all.p[i].text);
    add_missing(r, out, all.passed, "requests are being answered");
    all_rows_free(&all);
}
