/* mgr/page.h: what a manager page is made from. Private to src/mgr; one worker's thread. */
#pragma once
#include "mgr/manager.h"
#include "mgr/sample.h"

struct page_request {
    struct history *history;
    const struct proxy *proxy;
    const struct internal_request *q;
    struct sample now;
};

typedef void page_handler(struct page_request *r, struct strbuf *out);

/* Finds the page, asks for its password where it has one, and makes it. r->now is filled here. */
void page_answer(struct page_request *r, struct internal_answer *a);

/* The handlers; the page's name is in front. */
page_handler counters_page, five_minutes_page, sixty_minutes_page, utilization_page; /* counters_page.c */
page_handler info_page;                                                              /* info_page.c */
page_handler service_times_page, histograms_page;                                    /* service_times_page.c */
page_handler reasons_page;                                                           /* reasons_page.c */
page_handler server_list_page, carp_page, userhash_page, sourcehash_page;            /* peers_page.c */
page_handler redirector_page, store_id_page, external_acl_page;                      /* helpers_page.c */
page_handler basic_authenticator_page, digest_authenticator_page, negotiate_authenticator_page;
page_handler delay_page;                   /* delay_page.c */
page_handler client_list_page;             /* clients_page.c */
page_handler filedescriptors_page;         /* descriptors_page.c */
page_handler ipcache_page, fqdncache_page; /* names_page.c */
page_handler idns_page;                    /* dns_page.c */
page_handler username_cache_page;          /* users_page.c */
page_handler mem_page;                     /* memory_page.c */
page_handler pconn_page, io_page;          /* servers_page.c */
page_handler refresh_page;                 /* refresh_page.c */
page_handler events_page;                  /* events_page.c */
page_handler active_requests_page;         /* requests_page.c */
page_handler storedir_page, objects_page;  /* store_page.c */

/* Label and value of mgr:info and mgr:service_times: the same seven groups. kind SERVICE_TIME_N: not kept, all
 * zeros. */
struct service_group {
    const char *label;
    enum service_time kind;
};
#define SERVICE_GROUPS 7
extern const struct service_group service_groups[SERVICE_GROUPS];
double group_percentile(const struct sample *difference, const struct service_group *g, unsigned percent);

/* "Tue, 01 Dec 2026 00:30:56 GMT" */
void add_date(struct strbuf *out, int64_t wall_us);
/* The last so many seconds; all since the start while that is less. */
void window(struct page_request *r, int64_t seconds, struct sample *difference);
/* 100 * part / whole; 0 when whole is 0. */
double percentage(uint64_t part, uint64_t whole);
