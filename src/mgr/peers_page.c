/* mgr:server_list, and mgr:carp, mgr:userhash, mgr:sourcehash: the peers, as the settings in force know them. Counts begin
 * with these settings. */
#include <inttypes.h>
#include "mgr/page.h"

static void add_flags(struct strbuf *out, const struct peer_setting *p)
{
    const struct {
        bool set;
        const char *name;
    } flags[] = {
        { p->originserver, "originserver" },
        { p->is_default, "default" },
        { p->group != PEER_ALONE, peer_group_names[p->group] },
        { p->proxy_only, "proxy-only" },
        { p->no_query, "no-query" },
    };

    sb_str(out, "Flags      :");
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (flags[i].set)
            sb_printf(out, " %s", flags[i].name);
    sb_char(out, '\n');
}

static void add_peer(struct strbuf *out, const struct peer_setting *p)
{
    int64_t failed = server_health_last_failure(p->health);

    sb_printf(out, "\nParent     : %s\nHost       : %s/%u/0\n", p->name, p->host, p->port);
    add_flags(out, p);
    sb_printf(out, "Weight     : %d\n", p->weight);
    sb_printf(out, "Status     : %s\n", server_health_is_dead(p->health) ? "Down" : "Up");
    sb_printf(out, "FETCHES    : %" PRIu64 "\n", server_health_requests(p->health));
    sb_printf(out, "OPEN CONNS : %d\n", server_health_connections(p->health));
    if (failed != 0) {
        sb_str(out, "Last failed connect() at: ");
        add_date(out, failed);
        sb_char(out, '\n');
    }
}

void server_list_page(struct page_request *r, struct strbuf *out)
{
    const struct settings *s = r->q->settings;

    if (s->n_peers == 0)
        sb_str(out, "There are no neighbors installed.\n");
    for (size_t i = 0; i < s->n_peers; i++)
        add_peer(out, &s->peers[i]);
}

/* --- groups that choose by a hash --------------------------------------------------------------------------------- */

static void add_group(const struct settings *s, enum peer_group g, struct strbuf *out)
{
    uint64_t requests = 0;
    int weights = 0;

    for (size_t i = 0; i < s->n_peers; i++)
        if (s->peers[i].group == g) {
            requests += server_health_requests(s->peers[i].health);
            weights += s->peers[i].weight;
        }
    sb_printf(out, "%24s %10s %10s %10s %10s\n", "Hostname", "Hash", "Multiplier", "Factor", "Actual");
    for (size_t i = 0; i < s->n_peers; i++) {
        const struct peer_setting *p = &s->peers[i];

        if (p->group == g)
            sb_printf(out, "%24s %10" PRIx32 " %10f %10f %10f\n", p->name, p->member_hash, p->multiplier,
                      weights > 0 ? (double)p->weight / weights : 0,
                      percentage(server_health_requests(p->health), requests) / 100);
    }
}

void carp_page(struct page_request *r, struct strbuf *out)
{
    add_group(r->q->settings, PEER_CARP, out);
}

void userhash_page(struct page_request *r, struct strbuf *out)
{
    add_group(r->q->settings, PEER_USERHASH, out);
}

void sourcehash_page(struct page_request *r, struct strbuf *out)
{
    add_group(r->q->settings, PEER_SOURCEHASH, out);
}
