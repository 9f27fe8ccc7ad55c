/* proxy/view.h: what each worker tells about itself for manager pages: a kind for gather.h each, and what its shares look like.
 * Copies only: nothing points into a worker's memory.
 *
 * A share is made in one turn of a worker's loop. So rows are limited: a page is for a person's eyes, and a worker with 100,000
 * connections isn't held up by somebody who looks. What didn't get a row is counted. */
#pragma once
#include "access/auth.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "net/addr.h"
#include "net/pool.h"
#include "net/resolve.h"
#include "proxy/client_records.h"
#include "proxy/gather.h"
#include "proxy/log_entry.h"
#include "proxy/read_sizes.h"
#include "proxy/refresh_counts.h"

/* Rows of a page, of all workers together; a worker gives its part of them, but as many as these. */
#define VIEW_ROWS 1000
#define VIEW_ROWS_LEAST 100
/* Of a URL that is longer, the rest isn't kept. */
#define VIEW_URL_MAX 4096

/* Of a share's text. */
struct view_text {
    size_t at, len;
};
static inline struct span view_span(const struct strbuf *text, struct view_text t)
{
    return t.len > 0 ? span_of(text->p + t.at, t.len) : SPAN("");
}

/* Rows of one kind. */
struct view_rows {
    void *p;
    size_t n, capacity, most;
    size_t passed; /* that found no room */
    struct strbuf text;
};

/* --- for those who make a share (view*.c) */

struct proxy_worker;
struct proxy_worker *view_worker(struct worker *w);
/* How many one worker gives. */
size_t view_rows_most(const struct worker *w);
/* A zeroed row; NULL: there are enough, which is counted. */
void *view_row(struct view_rows *r, size_t size);
struct view_text view_keep(struct view_rows *r, struct span text);
struct view_text view_keep_url(struct view_rows *r, struct span url);
void view_rows_free(struct view_rows *r);

/* --- requests that are being answered: mgr:active_requests */

struct view_request {
    int fd; /* of the client's connection */
    uint64_t received, sent;
    size_t kept, room; /* bytes that wait in its buffer; free there */
    struct addr remote, local;
    unsigned requests; /* on that connection, this one included */
    const char *doing; /* static */
    struct view_text url, user;
    enum log_tag tag; /* as far as that is known */
    uint64_t out, request_bytes;
    bool has_key;
    struct hash128 key;
    int64_t start_wall, age; /* microseconds */
    bool delayed;
};
extern const struct gather_kind view_requests; /* struct view_rows of struct view_request */

/* --- clients by address: mgr:client_list */

struct view_client {
    struct addr client;    /* port 0 */
    unsigned place;        /* in all workers the same */
    struct view_text name; /* if the worker knows one */
    unsigned connections;
    uint64_t requests;
    uint32_t tags[TAG_N];
};
/* A worker gives all clients whose places are below `end`: what several workers know of one client is complete below the least of
 * their ends. */
struct view_clients {
    struct view_rows rows; /* first, as in any share with rows */
    unsigned end;
    struct client_totals totals;
};
extern const struct gather_kind view_clients;

/* --- sockets: mgr:filedescriptors */

struct view_descriptor {
    int fd;
    int64_t timeout; /* seconds until it is given up if nothing happens; 0: no such time */
    uint64_t received, sent;
    bool reading, writing; /* what it waits for */
    bool is_client;        /* remote is a client's address; a listening or DNS socket's is its own */
    struct addr remote;    /* family 0: none */
    const char *what;      /* static; the description is this, then name, then url */
    struct view_text name, url;
};
extern const struct gather_kind view_descriptors; /* struct view_rows of struct view_descriptor */

/* --- names: mgr:ipcache, mgr:fqdncache */

struct view_name {
    struct view_text text; /* the name; or the address as text */
    struct view_text told; /* its addresses; or its name: one a line */
    unsigned n;            /* of these */
    bool of_hosts;         /* from the hosts file: neither ttl nor unused */
    bool negative;
    int64_t ttl, unused; /* seconds */
};
struct view_names {
    struct view_rows rows;
    struct resolver_stats stats;
};
/* Those of the hosts file are the same in all workers: the first one's rows have them. */
extern const struct gather_kind view_addresses, view_names;

/* --- DNS: mgr:idns */

struct view_query {
    unsigned id, sends;
    size_t size;
    int64_t first, last; /* microseconds ago */
    struct view_text name;
};
struct view_dns {
    struct view_rows rows; /* struct view_query: without a reply so far */
    struct dns_traffic traffic;
};
extern const struct gather_kind view_dns;

/* --- users: mgr:username_cache */

struct view_user {
    enum auth_scheme scheme;
    struct view_text user;
    int64_t check; /* seconds: for so long it isn't asked about again; < 0: while the connection lasts */
    int64_t keep;  /* for so long it is remembered if nobody comes; likewise */
};
extern const struct gather_kind view_users; /* struct view_rows of struct view_user */

/* --- memory: mgr:mem */

enum view_pool {
    POOL_CLIENT_CONN,
    POOL_KEPT, /* bytes of heads that aren't whole */
    POOL_TRANSACTION,
    POOL_TUNNEL,
    POOL_FETCH,
    POOL_FETCH_OUT, /* bytes of requests that aren't sent */
    POOL_CLIENT_RECORD,
    POOL_RESOLVER_ENTRY,
    POOL_LOGIN,
    POOL_N,
};
/* How many of each a worker has, and their bytes. */
struct view_memory {
    struct {
        size_t n, bytes;
    } pools[POOL_N];
};
extern const struct gather_kind view_memory;

/* --- connections to servers: mgr:pconn, mgr:io */

struct view_server {
    struct addr at;
    struct view_text name;
};
struct view_servers {
    struct view_rows rows; /* struct view_server: idle connections */
    uint64_t uses[POOL_USES];
    struct read_sizes reads;
};
extern const struct gather_kind view_servers;

/* --- freshness: mgr:refresh; periodic work: mgr:events */

extern const struct gather_kind view_refresh; /* struct refresh_counts; its settings are only to be compared */

struct view_events {
    bool has_tick;
    int64_t tick_in; /* microseconds until the worker looks through its connections, once a second */
};
extern const struct gather_kind view_events;
