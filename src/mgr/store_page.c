/* mgr/store_page.c: mgr:storedir, mgr:objects. */
#include "mgr/page.h"

#include <inttypes.h>

/* A page is made in one go on a worker's thread, whose clients wait meanwhile: a thousand objects take about a
 * millisecond. */
#define OBJECTS_MAX 1000

void storedir_page(struct page_request *r, struct strbuf *out)
{
    struct store_stats s = store_stats(proxy_store(r->proxy));

    sb_str(out, "Store Directory Statistics:\n");
    sb_printf(out, "Store Entries          : %" PRIu64 "\n", s.objects + s.fills);
    /* "Swap" is disk: there is none. */
    sb_str(out, "Maximum Swap Size      : 0 KB\nCurrent Store Swap Size: 0.00 KB\n"
                "Current Capacity       : 0.00% used, 0.00% free\n");
}

struct listing {
    struct strbuf *out;
    const struct page_request *r;
    uint64_t shown, passed;
};

static void add_flags(struct strbuf *out, unsigned flags)
{
    static const struct {
        unsigned flag;
        const char *name;
    } names[] = {
        { OBJECT_NO_CACHE, "REVALIDATE_ALWAYS" },
        { OBJECT_MUST_REVALIDATE, "REVALIDATE_STALE" },
        { OBJECT_NEGATIVE, "NEGCACHED" },
    };

    sb_str(out, "\tCACHABLE");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (flags & names[i].flag)
            sb_printf(out, ",%s", names[i].name);
    sb_char(out, '\n');
}

static void add_url(struct strbuf *out, struct span url, bool strip_query)
{
    const char *query = strip_query && url.len ? memchr(url.p, '?', url.len) : NULL;

    if (query != NULL)
        url.len = (size_t)(query + 1 - url.p);
    sb_str(out, "\tGET ");
    sb_span(out, url);
    sb_char(out, '\n');
}

static bool add_object(const struct object *o, void *ctx)
{
    struct listing *l = ctx;
    int64_t expires = (l->r->now.wall + (o->fresh_until - l->r->now.mono)) / 1000000;

    if (l->shown == OBJECTS_MAX) {
        l->passed++;
        return l->passed < 1000 * OBJECTS_MAX;
    }
    l->shown++;
    sb_printf(l->out, "KEY %016" PRIX64 "%016" PRIX64 "\n", o->key.high, o->key.low);
    sb_str(l->out, "\tSTORE_OK      IN_MEMORY     SWAPOUT_NONE PING_NONE   \n");
    add_flags(l->out, atomic_load_explicit(&((struct object *)(uintptr_t)o)->flags, memory_order_relaxed));
    sb_printf(l->out, "\tLV:%-10" PRId64 " LU:%-10d LM:%-10" PRId64 " EX:%-10" PRId64 "\n", o->times.response_time, -1,
              o->last_modified == INT64_MIN ? -1 : o->last_modified, expires);
    /* The store holds one reference. */
    sb_printf(l->out, "\t%u locks, 0 clients, 0 refs\n",
              atomic_load_explicit(&((struct object *)(uintptr_t)o)->refs, memory_order_relaxed));
    sb_str(l->out, "\tSwap Dir -1, File 0XFFFFFFFF\n");
    add_url(l->out, object_piece(o, o->url), l->r->q->settings->strip_query_terms);
    sb_printf(l->out, "\tinmem_lo: 0\n\tinmem_hi: %" PRIu64 "\n\tswapout: 0 bytes queued\n\tobject_sz: %" PRIu64 "\n\n",
              o->head_len + object_length(o), o->head_len + object_length(o));
    return true;
}

void objects_page(struct page_request *r, struct strbuf *out)
{
    struct listing l = { .out = out, .r = r };

    store_each(proxy_store(r->proxy), add_object, &l);
    if (l.passed > 0)
        sb_printf(out, "(%" PRIu64 " more are not listed)\n", l.passed);
}
