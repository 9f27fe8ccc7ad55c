/* mgr/page.c: the pages there are. */
#include "mgr/page.h"

#include <stdio.h>
#include "hdrs/field_date.h"
#include "mgr/page_password.h"
#include "proxy/view.h"

static page_handler menu_page, config_page;

/* In Squid's order. needs_password: not to be had until cachemgr_passwd says how. */
static const struct page {
    const char *name, *description;
    page_handler *make;
    bool needs_password;
    const struct gather_kind *needs; /* of all workers, before it can be made; NULL: nothing */
} pages[] = {
    { "index", "Cache Manager Interface", menu_page, false, NULL },
    { "menu", "Cache Manager Menu", menu_page, false, NULL },
    { "pconn", "Persistent Connection Utilization Histograms", pconn_page, false, &view_servers },
    { "mem", "Memory Utilization", mem_page, false, &view_memory },
    { "config", "Current Squid Configuration", config_page, true, NULL },
    { "client_list", "Cache Client List", client_list_page, false, &view_clients },
    { "ipcache", "IP Cache Stats and Contents", ipcache_page, false, &view_addresses },
    { "fqdncache", "FQDN Cache Stats and Contents", fqdncache_page, false, &view_names },
    { "idns", "Internal DNS Statistics", idns_page, false, &view_dns },
    { "redirector", "URL Redirector Stats", redirector_page, false, NULL },
    { "store_id", "StoreId helper Stats", store_id_page, false, NULL },
    { "external_acl", "External ACL stats", external_acl_page, false, NULL },
    { "basicauthenticator", "Basic User Authenticator Stats", basic_authenticator_page, false, NULL },
    { "digestauthenticator", "Digest User Authenticator Stats", digest_authenticator_page, false, NULL },
    { "negotiateauthenticator", "Negotiate User Authenticator Stats", negotiate_authenticator_page, false, NULL },
    { "info", "General Runtime Information", info_page, false, NULL },
    { "service_times", "Service Times (Percentiles)", service_times_page, false, NULL },
    { "filedescriptors", "Process Filedescriptor Allocation", filedescriptors_page, false, &view_descriptors },
    { "objects", "All Cache Objects", objects_page, false, NULL },
    { "vm_objects", "In-Memory and In-Transit Objects", objects_page, false, NULL },
    { "io", "Server-side network read() size histograms", io_page, false, &view_servers },
    { "counters", "Traffic and Resource Counters", counters_page, false, NULL },
    { "5min", "5 Minute Average of Counters", five_minutes_page, false, NULL },
    { "60min", "60 Minute Average of Counters", sixty_minutes_page, false, NULL },
    { "utilization", "Cache Utilization", utilization_page, false, NULL },
    { "histograms", "Full Histogram Counts", histograms_page, false, NULL },
    { "active_requests", "Client-side Active Requests", active_requests_page, false, &view_requests },
    { "username_cache", "Active Cached Usernames", username_cache_page, false, &view_users },
    { "storedir", "Store Directory Stats", storedir_page, false, NULL },
    { "refresh", "Refresh Algorithm Statistics", refresh_page, false, &view_refresh },
    { "delay", "Delay Pool Levels", delay_page, false, NULL },
    { "events", "Event Queue", events_page, false, &view_events },
    { "carp", "CARP information", carp_page, false, NULL },
    { "userhash", "peer userhash information", userhash_page, false, NULL },
    { "sourcehash", "peer sourcehash information", sourcehash_page, false, NULL },
    { "server_list", "Peer Cache Statistics", server_list_page, false, NULL },
    { "reasons", "Why Hits, Misses and Denials", reasons_page, false, NULL },
};
#define N_PAGES (sizeof pages / sizeof pages[0])

static void menu_page(struct page_request *r, struct strbuf *out)
{
    for (size_t i = 0; i < N_PAGES; i++) {
        const char *password;
        enum page_access a = page_access(r->q->settings, pages[i].name, pages[i].needs_password, &password);

        sb_printf(out, " %-22s\t%-32s\t%s\n", pages[i].name, pages[i].description, page_access_name(a));
    }
}

static void config_page(struct page_request *r, struct strbuf *out)
{
    settings_print(r->q->settings, out);
}

static const struct page *find_page(struct span name)
{
    if (name.len == 0)
        name = SPAN("index");
    for (size_t i = 0; i < N_PAGES; i++)
        if (span_eq(name, span_str(pages[i].name)))
            return &pages[i];
    return NULL;
}

void page_answer(struct page_request *r, struct internal_answer *a)
{
    const struct page *page = find_page(r->q->page);
    const char *password = NULL;
    enum page_access access = PAGE_HIDDEN;

    if (page != NULL)
        access = page_access(r->q->settings, page->name, page->needs_password, &password);
    /* What is hidden or disabled looks like what doesn't exist. */
    if (access == PAGE_HIDDEN || access == PAGE_DISABLED) {
        a->status = 404;
        a->error_name = "ERR_INVALID_URL";
        return;
    }
    if (access == PAGE_PROTECTED && !page_password_given(r->q, password)) {
        a->status = 401;
        a->error_name = "ERR_CACHE_MGR_ACCESS_DENIED";
        snprintf(a->realm, sizeof a->realm, "%s", page->name);
        return;
    }
    a->status = 200;
    if (page->needs != NULL && r->q->gathered == NULL) {
        a->needs = page->needs;
        return;
    }
    sample_take(&r->now, r->proxy);
    page->make(r, &a->body);
}

void add_date(struct strbuf *out, int64_t wall_us)
{
    char *at = sb_reserve(out, DATE_BYTES);

    date_print(at, wall_us / 1000000);
    out->len += DATE_BYTES;
}

void window(struct page_request *r, int64_t seconds, struct sample *difference)
{
    struct sample from;

    history_before(r->history, seconds, r->now.mono, &from);
    sample_difference(difference, &from, &r->now);
}

double percentage(uint64_t part, uint64_t whole)
{
    return whole != 0 ? 100.0 * (double)part / (double)whole : 0;
}
