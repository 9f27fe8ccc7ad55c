#include "mgr/gathered.h"

#include <stdlib.h>
#include "base/mem.h"

static const struct view_rows *rows_of(const struct gathering *g, unsigned worker)
{
    return gather_share(g, worker);
}

static size_t count_rows(const struct gathering *g)
{
    size_t n = 0;

    for (unsigned i = 0; i < gather_workers(g); i++)
        n += rows_of(g, i) != NULL ? rows_of(g, i)->n : 0;
    return n;
}

struct all_rows all_rows_of(const struct gathering *g, size_t row_size, int (*order)(const void *a, const void *b))
{
    struct all_rows all = { .p = xcalloc(count_rows(g) + 1, sizeof *all.p) };

    for (unsigned i = 0; i < gather_workers(g); i++) {
        const struct view_rows *its = rows_of(g, i);

        if (its == NULL)
            continue;
        all.passed += its->passed;
        for (size_t k = 0; k < its->n; k++)
            all.p[all.n++] = (struct told){ (const char *)its->p + k * row_size, &its->text };
    }
    if (order != NULL)
        qsort(all.p, all.n, sizeof *all.p, order);
    return all;
}

void all_rows_free(struct all_rows *a)
{
    free(a->p);
}

int addr_order(const struct addr *a, const struct addr *b)
{
    int order = (int)a->family - (int)b->family;

    if (order == 0)
        order = memcmp(a->bytes, b->bytes, a->family == AF_INET ? 4 : sizeof a->bytes);
    return order != 0 ? order : (int)a->port - (int)b->port;
}

void add_missing(struct page_request *r, struct strbuf *out, size_t passed, const char *what)
{
    unsigned missing = gather_missing(r->q->gathered);

    if (passed > 0)
        sb_printf(out, "... %zu more %s\n", passed, what);
    if (missing > 0)
        sb_printf(out, "... %u of %u workers did not answer in time: theirs are missing\n", missing,
                  gather_workers(r->q->gathered));
}

bool client_as_shown(struct page_request *r, const struct addr *client, struct addr *shown)
{
    *shown = addr_cut(client, r->q->settings->client_netmask);
    return addr_eq(client, shown);
}

void add_stripped_url(struct page_request *r, struct strbuf *out, struct span url)
{
    const char *query = r->q->settings->strip_query_terms && url.len > 0 ? memchr(url.p, '?', url.len) : NULL;

    if (query != NULL)
        url.len = (size_t)(query + 1 - url.p);
    sb_span(out, url);
}

void add_escaped(struct strbuf *out, struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c <= ' ' || c == 0x7f || c == '%')
            sb_printf(out, "%%%02X", c);
        else
            sb_char(out, (char)c);
    }
}
