/* proxy/worker_state.h: what the proxy keeps per worker. Private to src/proxy. Its worker's thread only, but for the
 * atomics. */
#pragma once
#include "access/auth.h"
#include "cache/store.h"
#include "conf/settings.h"
#include "net/client_tally.h"
#include "net/listener.h"
#include "net/pool.h"
#include "net/resolve.h"
#include "proxy/access_log.h"
#include "proxy/client_records.h"
#include "proxy/cache_outcome.h"
#include "proxy/internal_service.h"
#include "proxy/old_servers.h"
#include "proxy/out.h"
#include "proxy/read_sizes.h"
#include "proxy/reason_counts.h"
#include "proxy/refresh_counts.h"
#include "proxy/request.h"

struct proxy;

struct proxy_worker {
    struct worker *worker;
    struct proxy *proxy;
    struct store *store;
    struct client_tally *tally; /* all workers' */
    struct client_records *records;
    struct access_log *log;
    const struct internal_service *service;
    struct settings *settings; /* in force here; one reference */
    bool pinned;               /* by cpu_affinity_map */
    bool logging;              /* access_log_enabled(settings) */
    bool annotating;           /* settings make annotations */
    bool counting_users;       /* settings ask for addresses per user */
    bool tallying;             /* settings ask for connections per address */
    bool naming_clients;       /* settings ask what clients are called */
    int64_t refusal_told;      /* monotonic microseconds: the last line in cache.log about one too many */
    struct resolver *resolver;
    struct pool *pool;
    struct auth *auth;
    struct auth_shared *auth_shared;  /* all workers' */
    struct port_listener **listeners; /* proxy.c's */
    size_t n_listeners;
    struct list_node clients;       /* struct client_conn */
    struct list_node fetches;       /* struct fetch */
    struct list_node old_resolvers; /* proxy.c's */
    struct list_node externals;     /* external.c's */
    struct list_node probes;        /* peer_probe.c's */
    unsigned n_workers;
    struct worker_tick tick;
    bool draining, drain_reported;
    atomic_uint_fast64_t n_clients; /* read by other threads */
    /* Scratch, valid within one callback. */
    struct head request_head, response_head;
    struct out_batch out;
    char uri_text[32768];                             /* canonical URI of the request in hand */
    char names[REQUEST_NAMES][HOST_NAME_MAX_LEN + 1]; /* what its addresses are called */
    /* "Via: 1.1 host (loligo/0.1)\r\n" for responses; empty when via is off. */
    char via_line[320];
    size_t via_line_len;
    struct x_cache x_cache;
    uint64_t sequence;              /* lines logged: account.c */
    struct reason_counts reasons;   /* account.c */
    struct refresh_counts refresh;  /* serve.c, fetch_store.c */
    struct read_sizes reads;        /* fetch_response.c */
    struct old_servers old_servers; /* fetch_route.c */
    unsigned round_robin;           /* peer_select.c */
    int64_t proxied_complaint;      /* client_proxied.c: monotonic; 0: never */
};

/* A client's connection is gone from pw->clients, or lingers: it has had its answers. */
void proxy_worker_client_done(struct proxy_worker *pw);

/* Its listening sockets, for manager pages. */
void proxy_worker_listeners(const struct proxy_worker *pw, void (*each)(int fd, const struct addr *at, void *ctx),
                            void *ctx);

static inline struct counters *counters_of(struct proxy_worker *pw)
{
    return pw->worker->counters;
}
