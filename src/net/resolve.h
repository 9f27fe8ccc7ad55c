/* net/resolve.h: names to addresses and addresses to names, per worker: hosts file, then DNS through c-ares, kept for
 * their TTL. A literal address resolves to itself. One question for one name at a time; others wait for the same answer.
 *
 * Threads: one resolver per worker, its own thread's only. */
#pragma once
#include "net/addr.h"
#include "net/host_name.h"
#include "net/worker.h"

struct resolver;

struct resolver_config {
    const struct addr *servers; /* dns_nameservers; none: resolv.conf */
    size_t n_servers;
    const char *hosts_file;                 /* NULL or "none": none. Read once, when the resolver is made */
    int64_t timeout_us;                     /* dns_timeout, over all tries */
    int64_t retransmit_us;                  /* dns_retransmit_interval */
    int64_t positive_ttl_max, negative_ttl; /* seconds: positive_dns_ttl, negative_dns_ttl */
    const char *append_domain;              /* NULL: none */
    bool search;                            /* dns_defnames: without it, resolv.conf's domains behind dotless names */
    int64_t packet_max;                     /* dns_packet_max: bytes an answer by UDP may have (EDNS); -1, 0: 512 */
    size_t cache_max;                       /* names kept; ipcache_size */
    size_t named_max;                       /* addresses kept with their names; fqdncache_size */
};

struct resolver *resolver_new(struct worker *w, const struct resolver_config *config);
/* Outstanding questions are dropped without an answer: their askers must be gone. */
void resolver_free(struct resolver **holder);

enum resolve_status { RESOLVE_OK, RESOLVE_NO_NAME, RESOLVE_TIMEOUT, RESOLVE_FAILED };
#define RESOLVE_ADDRS_MAX 32

/* Embedded by the asker, zeroed. */
struct resolve_query {
    struct list_node node;
    /* addrs are valid during the call; both families, in the order to try (RFC 8305: IPv6 and IPv4 alternating). port
     * is that of the query. Never called from within resolve(). */
    void (*done)(struct resolve_query *q, enum resolve_status status, const struct addr *addrs, size_t n);
    /* The same for resolve_name_of(): valid (host_name.h) and in lower case, "" unless RESOLVE_OK. */
    void (*named)(struct resolve_query *q, enum resolve_status status, struct span name);
    uint16_t port;
    bool whole; /* an answer of one family alone won't do: done() is called when the other's is there, or given up */
    void *internal; /* resolver's own */
    bool pending;
};

/* host: canonical (lower case, no brackets). Answered later by q->done(). */
void resolve(struct resolver *r, struct resolve_query *q, struct span host, uint16_t port);
/* What a is called, as its owner says: net/reverse.h judges that. Answered later by q->named(). */
void resolve_name_of(struct resolver *r, struct resolve_query *q, const struct addr *a);
/* No answer wanted any more. Idempotent. */
void resolve_cancel(struct resolve_query *q);
/* The answer at once, when it is known without asking (literal, hosts file, cache): its count, or 0. out:
 * RESOLVE_ADDRS_MAX entries. whole: as in a query. *negative: known not to exist. */
size_t resolve_cached(struct resolver *r, struct span host, uint16_t port, bool whole, struct addr *out,
                      bool *negative);
/* The same of resolve_name_of(): false: it has to be asked for. name: "" when it has none, or that couldn't be found out. */
bool resolve_name_of_cached(struct resolver *r, const struct addr *a, char name[HOST_NAME_MAX_LEN + 1]);

/* Is anybody waiting for an answer? While not, it may be freed. */
bool resolver_is_busy(const struct resolver *r);

enum resolve_direction { RESOLVE_ADDRESSES, RESOLVE_NAMES, RESOLVE_DIRECTIONS };
/* Since the resolver was made; a hit is answered without a question. */
struct resolver_stats {
    uint64_t lookups, hits, entries;
    uint64_t bytes; /* that entries take, and names being asked for; without what they came to */
    uint64_t negative_hits, literals, invalid;             /* of the hits */
    uint64_t retrieved_a, retrieved_aaaa, retrieved_cname; /* records */
};
struct resolver_stats resolver_stats(const struct resolver *r, enum resolve_direction d);
/* What is kept of one name or address, for manager pages; valid during the call. */
struct resolver_entry {
    struct span text;
    enum resolve_status status;
    int64_t ttl, unused; /* seconds: it holds so long, < 0: no longer; since it was asked for last */
    const struct addr *addrs;
    size_t n;
    struct span called; /* "": nothing */
};
/* Those asked for last first, `most` at the most. Returns how many. */
size_t resolver_each(const struct resolver *r, enum resolve_direction d, size_t most,
                     void (*each)(const struct resolver_entry *e, void *ctx), void *ctx);
struct hosts;
const struct hosts *resolver_hosts(const struct resolver *r);
/* What has gone to DNS servers and come back, for manager pages. */
#define DNS_SERVERS_SHOWN 16
#define DNS_RCODES 16
#define DNS_ATTEMPTS 3 /* the last one: and more */
struct dns_traffic {
    unsigned n_servers;
    struct {
        struct addr at;
        uint64_t queries, replies; /* sent, repeated ones included; come */
    } servers[DNS_SERVERS_SHOWN];
    uint64_t rcodes[DNS_RCODES]
                   [DNS_ATTEMPTS]; /* replies by what they say (RFC 1035 section 4.1.1), and to which sending */
};
struct dns_query_view {
    unsigned id, sends;
    size_t size;         /* bytes */
    int64_t first, last; /* sent, monotonic microseconds */
    const char *name;    /* as it stands in the query; valid during the call */
};
void resolver_traffic(const struct resolver *r, struct dns_traffic *out);
/* Queries that wait for a reply, the first sent first, `most` at the most. Returns how many there are. */
size_t resolver_queries(const struct resolver *r, size_t most, void (*each)(const struct dns_query_view *q, void *ctx),
                        void *ctx);
/* The sockets it asks through now. */
void resolver_sockets(const struct resolver *r, void (*each)(int fd, void *ctx), void *ctx);
const char *resolve_status_text(enum resolve_status s);
