/* proxy/client_conn.h: a client's connection: reads request heads, has each answered, in order.
 *
 *  (PROXY_HEADER: a port with require-proxy-header)
 *       |
 *       v----------------- next request -----------------.
 *   READ_HEAD --hit, error, page: in the batch ----------+
 *       |`------ everything else ---> BUSY (transaction) +
 *       |`------ CONNECT -----------> BUSY --> TUNNEL
 *       `--> LINGER --> gone        (any state: peer gone, time-out)
 *
 * Threads: one worker; a connection never changes worker. */
#pragma once
#include "hdrs/parse.h"
#include "net/stream.h"
#include "proxy/out.h"
#include "proxy/request.h"
#include "proxy/worker_state.h"

enum client_state { CLIENT_PROXY_HEADER, CLIENT_READ_HEAD, CLIENT_BUSY, CLIENT_TUNNEL, CLIENT_LINGER };

struct transaction;
struct tunnel;

struct client_conn {
    struct stream stream;
    struct list_node node; /* pw->clients */
    struct proxy_worker *pw;
    int port; /* index into pw->settings->ports; -1: gone with a reload */
    struct addr peer, local;
    char *tunnel_to;     /* its CONNECT to there was asked who it is: only the same may follow; NULL: none was */
    struct notes *notes; /* annotate_client's; NULL: none yet, or nobody makes any */
    struct auth_connection auth;  /* whose it is, by tokens */
    struct client_count *counted; /* its address's connections; NULL: not counted */
    struct client_record *record; /* of its address; NULL: none is kept */
    uint8_t state;                /* enum client_state */
    bool in_run;                  /* client_conn_run() is on the stack: it looks again, don't recurse */
    bool readable;                /* bytes may be waiting in the socket */
    bool ended;                   /* the peer has ended its side (or so the kernel says): recv on until 0 */
    bool eof;                     /* ... and all its bytes are read */
    bool close_after;             /* when everything queued is sent */
    bool reset;                   /* end with a cut that can be seen */
    uint32_t requests;            /* whose heads were complete */
    bool dead;                    /* to be freed at the end of client_conn_run() */
    char *kept;                   /* bytes read but not used yet; NULL: none */
    uint32_t kept_at, kept_len, kept_capacity;
    struct parse_progress progress;
    int64_t opened, stamp; /* monotonic microseconds: accepted; last progress */
    int64_t head_began;    /* first byte of the head in hand; 0: none yet */
    struct out_queue out;
    struct transaction *tx;    /* BUSY */
    struct transaction *ahead; /* begun before tx is over (pipeline_prefetch), in order; NULL: none */
    bool waits_for_turn;       /* the request that comes next isn't one to begin before its turn */
    struct tunnel *tunnel;     /* TUNNEL */
    uint32_t lingered;         /* bytes thrown away in LINGER */
};

/* Takes fd over. */
void client_conn_new(struct proxy_worker *pw, int port, int fd, const struct addr *peer);

/* Its address is known: what it asks for is kept under it from now on, if client_db says so. */
void client_conn_record(struct client_conn *c);

/* For the transaction. */

/* The answer is on its way (batch or queue); go on with the next request, or close if close_after. Safe from anywhere.
 * */
void client_conn_next(struct client_conn *c);
/* Sends the worker's batch to c. False: the client is gone (and will be freed). */
bool client_conn_flush(struct client_conn *c);
/* Ends it: reset makes the cut visible. The transaction, if any, has let go already. Freed later in this turn. */
void client_conn_abort(struct client_conn *c, bool reset);
/* Request body bytes: kept ones first, then from the socket. > 0, 0 (end), STREAM_AGAIN, STREAM_ERROR. */
ssize_t client_conn_recv(struct client_conn *c, char *buf, size_t n);
/* The same into a pipe, where nothing is kept: client_conn_may_splice(). */
ssize_t client_conn_splice(struct client_conn *c, int pipe, size_t n);
bool client_conn_may_splice(const struct client_conn *c);
/* Puts back bytes that were received but belong to the next request. */
void client_conn_unread(struct client_conn *c, const char *p, size_t n);
/* What waits in kept, for a tunnel's first bytes. */
struct span client_conn_kept(const struct client_conn *c);
void client_conn_drop_kept(struct client_conn *c);
const struct port_setting *client_conn_port(const struct client_conn *c);
/* What a request that is read from it now arrives through. notes: lent, or NULL. */
struct request_origin client_conn_origin(struct client_conn *c, struct notes *notes);

/* Answers with an error page: into the batch. Logs. tag, r may be NULL (no request was understood). */
struct error_answer {
    enum error_id id;
    int status, sys_errno;
    const char *detail;
    enum log_tag tag;
    const struct request *r;
    struct span method, url; /* without r */
    const char *access_line;
    const struct deny_info *deny; /* what an access list's refusal leads to (settings_deny_info()); NULL: the page */
    enum hier_code hier;
    struct addr server;
    struct span fields; /* lines to add to the head, each with its end */
    bool close;
    bool asks_again; /* the same request is to come once more, here: a refused CONNECT doesn't end the connection */
};
void client_conn_error(struct client_conn *c, const struct error_answer *a);

/* Beyond pconn_lifetime: the next answer is its last. */
static inline bool client_conn_is_old(const struct client_conn *c)
{
    int64_t lifetime = c->pw->settings->pconn_lifetime;

    return lifetime > 0 && worker_mono(c->pw->worker) - c->opened > lifetime;
}

/* Called by the worker's tick. */
void client_conn_sweep(struct client_conn *c, int64_t mono);
/* Between two requests for a second or longer: nothing is lost when it is closed. */
bool client_conn_rests(const struct client_conn *c, int64_t mono);
/* The process ends: whatever it is doing. */
void client_conn_kill(struct client_conn *c);
/* Draining began, or its port went: an idle one goes. */
void client_conn_drain(struct client_conn *c);
