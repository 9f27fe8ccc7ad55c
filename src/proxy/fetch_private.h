/* proxy/fetch_private.h: what the files of a fetch share. fetch.c: its life; fetch_route.c: the way to a server;
 * fetch_request.c: what goes out; fetch_response.c: what comes in; fetch_store.c: what becomes of it. */
#pragma once
#include "base/strbuf.h"
#include "cache/variants.h"
#include "hdrs/chunked.h"
#include "hdrs/framing.h"
#include "hdrs/parse.h"
#include "net/connect.h"
#include "proxy/delay.h"
#include "proxy/fetch.h"
#include "proxy/peer_select.h"
#include "proxy/request_body.h"
#include "proxy/transaction_owner.h"

enum fetch_state { FETCH_RESOLVE, FETCH_CONNECT, FETCH_HEAD, FETCH_BODY };

struct fetch {
    struct list_node node; /* pw->fetches */
    struct proxy_worker *pw;
    struct settings *settings;
    struct request *request;
    struct fill *fill;
    struct object *stale;
    struct object *variants[VARIANT_TAGS_MAX]; /* whose tags it asks with; references */
    size_t n_variants;
    struct object *begins;     /* the part it asks to be continued; a reference; NULL: none, or no longer */
    uint64_t last;             /* up to there */
    struct body_cursor prefix; /* of that part's body: goes into the fill before what comes */
    struct strbuf held;        /* what came meanwhile, with the head */
    struct transaction *owner; /* NULL: it left */
    struct log_entry no_log;   /* written to when it left */
    bool cacheable;
    enum fetch_state state;
    struct mail *mail; /* room in the fill */
    struct route routes[ROUTES_MAX];
    size_t n_routes, route;  /* the one in use */
    size_t tries;            /* so far, of forward_max_tries */
    size_t offered;          /* addresses the connector may try */
    struct addr refusers[8]; /* of the route in use: answered with an error that calls for another try */
    size_t n_refusers;
    char *pool_name; /* of the server in use */
    struct resolve_query query;
    struct connector *connector;
    struct stream stream;
    struct endpoints ends;       /* of the connection to the server */
    struct server_health *place; /* of the connection, among the peer's; NULL: none */
    bool reused, retried, validating, upgrade, whole, background, unconditional, another_variant;
    bool readable, ended;
    struct strbuf out; /* request head and body pieces not sent yet */
    size_t out_at;
    struct request_body body;
    char *in; /* an incomplete response head; NULL: none */
    size_t in_len, in_capacity;
    struct parse_progress progress;
    unsigned interim;
    struct framing framing; /* of the response */
    uint64_t left;
    struct chunked chunked;
    uint64_t received;          /* bytes on this connection for this request */
    int64_t began, sent, stamp; /* monotonic microseconds */
    int64_t request_time;       /* seconds since the epoch */
    bool paused;                /* the fill is full */
    struct delay_use delay;     /* how fast it may read */
    struct worker_timer again;  /* goes on reading */
    struct worker_timer onward; /* goes on sending */
    struct worker_timer expect; /* the origin is late with its 100 */
    unsigned room_waits;
};

/* Functions that return bool say whether f still exists. */

/* --- fetch.c */

/* The owner's, or one nobody reads. */
struct log_entry *fetch_log(struct fetch *f);
/* Over. The fill has been told how. */
bool fetch_end(struct fetch *f);
/* Over, without an answer: readers get this page (or a stale response), or a cut where they have a part already. */
bool fetch_fail(struct fetch *f, enum error_id error, int sys_errno);
/* Closes the connection and forgets everything that belongs to it; a new one may be tried. */
void fetch_drop_connection(struct fetch *f);

/* --- fetch_route.c */

/* The peer in use; NULL: straight to the origin. */
const struct peer_setting *fetch_peer(const struct fetch *f);
/* A pooled connection, or the way to a new one, along the route in use. */
bool fetch_open_route(struct fetch *f);
/* The connection failed: asks again where RFC 9110 section 9.2.2 allows, or tries the next route, or fails. */
bool fetch_fail_or_retry(struct fetch *f, enum error_id error, int sys_errno);

/* Does a response of that status call for another try (retry_on_error), and is there an address or peer left for it? */
bool fetch_has_elsewhere(struct fetch *f, int status);
/* There is: asks there, on a new connection, so that its answer, and with it our caller's bytes, can't come before we
 * have returned. */
bool fetch_go_elsewhere(struct fetch *f);

/* --- fetch_request.c */

/* Sends what there is and the socket takes. */
bool fetch_pump_out(struct fetch *f);

/* --- fetch_response.c */

/* Reads what the socket has and the fill takes. */
bool fetch_pump_in(struct fetch *f);

/* --- fetch_store.c: none of these ends f */

/* Bytes that a response which isn't kept may be ahead of its slowest reader (read_ahead_gap). */
size_t fetch_window(const struct fetch *f);

/* A response to an unsafe method invalidates what is stored (RFC 9111 section 4.4). */
void fetch_invalidate(struct fetch *f, const struct head *h);
/* 304 to our validation. Returns false when it doesn't fit what we hold: then ask again without a condition. */
bool fetch_revalidate(struct fetch *f, const struct head *h);
/* A 200 to a HEAD updates what a GET would select, or makes it stale (RFC 9111 section 4.3.5). */
void fetch_learn_from_head(struct fetch *f, const struct head *h);
/* 304 to a request with the tags of several: which one it means becomes f->stale. False: none. */
bool fetch_select_variant(struct fetch *f, const struct head *h);
/* Forgets them, and the one that was meant. */
void fetch_drop_variants(struct fetch *f);
/* 206 to the question for the rest of f->begins: the fill becomes what both make together. False: it isn't that rest, or not to
 * be kept: then ask again as the client did. */
bool fetch_continue_part(struct fetch *f, const struct head *h);
/* There is no part to be continued, or it didn't work out. */
void fetch_drop_part(struct fetch *f);
/* The verdict on a final response that isn't a matching 304: what the fill becomes. */
void fetch_set_head(struct fetch *f, const struct head *h);
