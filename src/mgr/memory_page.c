/* mgr:mem. There are no pools in Squid's sense: what is let go goes back to the C library, and what was used most isn't noted; such
 * columns are blank. The store's blocks are the exception: those of pages begun that aren't handed out stand under Idle. */
#include <inttypes.h>
#include <stdlib.h>
#include "base/mem.h"
#include "mgr/gathered.h"

#define STORE_SIZES_MAX 128

struct pool {
    char name[32];
    size_t size; /* bytes of one; the average where they differ */
    size_t used, idle;
    size_t used_bytes, idle_bytes;
};

struct pools {
    struct pool p[POOL_N + 1 + STORE_SIZES_MAX];
    size_t n, kinds; /* n: not empty */
};

static void add_pool(struct pools *pools, const char *name, size_t used, size_t used_bytes, size_t idle,
                     size_t idle_bytes)
{
    struct pool *p = &pools->p[pools->n];

    pools->kinds++;
    if (used + idle == 0 || pools->n == sizeof pools->p / sizeof pools->p[0])
        return;
    *p = (struct pool){ .size = (used_bytes + idle_bytes) / (used + idle),
                        .used = used,
                        .idle = idle,
                        .used_bytes = used_bytes,
                        .idle_bytes = idle_bytes };
    snprintf(p->name, sizeof p->name, "%s", name);
    pools->n++;
}

static void add_blocks(size_t size, size_t used, size_t unused, void *ctx)
{
    char name[32];

    snprintf(name, sizeof name, "Cache Block %zu", size);
    add_pool(ctx, name, used, used * size, unused, unused * size);
}

static void add_workers(struct pools *pools, const struct gathering *g)
{
    static const char *const names[POOL_N] = {
        [POOL_CLIENT_CONN] = "Client Connection",
        [POOL_KEPT] = "Unfinished Head",
        [POOL_TRANSACTION] = "Transaction",
        [POOL_TUNNEL] = "Tunnel",
        [POOL_FETCH] = "Fetch",
        [POOL_FETCH_OUT] = "Unsent Request",
        [POOL_CLIENT_RECORD] = "Client Record",
        [POOL_RESOLVER_ENTRY] = "Resolver Entry",
        [POOL_LOGIN] = "Login",
    };

    for (int k = 0; k < POOL_N; k++) {
        size_t n = 0, bytes = 0;

        for (unsigned i = 0; i < gather_workers(g); i++) {
            const struct view_memory *share = gather_share(g, i);

            n += share != NULL ? share->pools[k].n : 0;
            bytes += share != NULL ? share->pools[k].bytes : 0;
        }
        add_pool(pools, names[k], n, bytes, 0, 0);
    }
}

static int largest_first(const void *pa, const void *pb)
{
    const struct pool *a = pa, *b = pb;
    size_t x = a->used_bytes + a->idle_bytes, y = b->used_bytes + b->idle_bytes;

    return (x < y) - (x > y);
}

static size_t kb(size_t bytes)
{
    return (bytes + 512) / 1024;
}

static void add_row(struct strbuf *out, const struct pool *p, const char *size, size_t all_bytes)
{
    size_t bytes = p->used_bytes + p->idle_bytes;

    sb_printf(out, "%-20s\t %s\t \t \t \t \t \t \t \t", p->name, size);
    sb_printf(out, " %zu\t %zu\t \t \t %.3f\t", p->used + p->idle, kb(bytes), percentage(bytes, all_bytes));
    sb_printf(out, " %zu\t %zu\t \t \t %.3f\t", p->used, kb(p->used_bytes), percentage(p->used_bytes, bytes));
    sb_printf(out, " %zu\t %zu\t \t \t \t \t \n", p->idle, kb(p->idle_bytes));
}

static void add_rows(struct strbuf *out, const struct pools *pools)
{
    struct pool total = { .name = "Total" };

    for (size_t i = 0; i < pools->n; i++) {
        total.used += pools->p[i].used;
        total.idle += pools->p[i].idle;
        total.used_bytes += pools->p[i].used_bytes;
        total.idle_bytes += pools->p[i].idle_bytes;
    }
    for (size_t i = 0; i < pools->n; i++) {
        char size[24];

        snprintf(size, sizeof size, "%4zu", pools->p[i].size);
        add_row(out, &pools->p[i], size, total.used_bytes + total.idle_bytes);
    }
    add_row(out, &total, "", total.used_bytes + total.idle_bytes);
}

void mem_page(struct page_request *r, struct strbuf *out)
{
    struct pools *pools = xcalloc(1, sizeof *pools);
    struct store_stats store = store_stats(proxy_store(r->proxy));
    size_t in_use = 0;

    add_workers(pools, r->q->gathered);
    add_pool(pools, "Cache Index", 1, store.index_bytes, 0, 0);
    store_each_block_size(proxy_store(r->proxy), add_blocks, pools);
    qsort(pools->p, pools->n, sizeof pools->p[0], largest_first);
    sb_str(out,
           "Current memory usage:\nPool\t Obj Size\tChunks\t\t\t\t\t\t\tAllocated\t\t\t\t\tIn Use\t\t\t\t\tIdle\t\t\t"
           "Allocations Saved\t\t\tRate\t\n \t (bytes)\tKB/ch\t obj/ch\t(#)\t used\t free\t part\t %Frag\t (#)\t "
           "(KB)\t high (KB)\t high (hrs)\t %Tot\t(#)\t (KB)\t high (KB)\t high (hrs)\t %alloc\t(#)\t (KB)\t high "
           "(KB)\t(#)\t %cnt\t %vol\t(#)/sec\t\n");
    add_rows(out, pools);
    for (size_t i = 0; i < pools->n; i++)
        in_use += pools->p[i].used > 0;
    sb_printf(out, "Total Pools created: %zu\nPools ever used:     %zu (shown above)\nCurrently in use:    %zu\n",
              pools->kinds, pools->n, in_use);
    add_missing(r, out, 0, "");
    free(pools);
}
