/* mgr/gathered.h: pages that are made of what all workers told. Private to src/mgr; one worker's thread. */
#pragma once
#include "mgr/page.h"
#include "proxy/view.h"

/* A row, and the text that it points into. */
struct told {
    const void *row;
    const struct strbuf *text;
};

/* The rows of all workers that answered, in order: a qsort() function of struct told; NULL: one worker's after the other's.
 * Shares begin with a struct view_rows. */
struct all_rows {
    struct told *p;
    size_t n, passed;
};
struct all_rows all_rows_of(const struct gathering *g, size_t row_size, int (*order)(const void *a, const void *b));
void all_rows_free(struct all_rows *a);

/* qsort() order; the port counts. */
int addr_order(const struct addr *a, const struct addr *b);
/* Says which workers' part is missing, and how many rows; nothing when nothing is. what: "connections". */
void add_missing(struct page_request *r, struct strbuf *out, size_t passed, const char *what);
/* As logged: with client_netmask. False: something of it is hidden. */
bool client_as_shown(struct page_request *r, const struct addr *client, struct addr *shown);
/* As logged: without its query where strip_query_terms says so. */
void add_stripped_url(struct page_request *r, struct strbuf *out, struct span url);
/* What would break a line or a column, as %XX. */
void add_escaped(struct strbuf *out, struct span text);
