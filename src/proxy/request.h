/* proxy/request.h: a request as the proxy understands it: head, effective URI, framing, cache key. Built on the
 * worker's scratch for the hit path; request_keep() makes a copy that can wait.
 *
 * Threads: one worker. */
#pragma once
#include "access/auth.h"
#include "access/external.h"
#include "access/facts.h"
#include "base/hash.h"
#include "conf/settings.h"
#include "hdrs/field_cache_control.h"
#include "hdrs/framing.h"
#include "hdrs/head.h"
#include "hdrs/uri.h"
#include "proxy/error_page.h"

/* What addresses are called: the client's that access lists see, and host_addr. */
enum request_name { REQUEST_CLIENT, REQUEST_HOST, REQUEST_NAMES };

struct request {
    unsigned refs; /* request_keep()'s copies */
    const struct head *head;
    enum http_method method;
    struct canonical_uri uri; /* CONNECT: host, port and authority only */
    struct framing framing;
    struct cache_control cc;
    struct hash128 key;              /* of uri.text; not for CONNECT */
    bool is_manager;                 /* the ACL: cache_object:// or .../squid-internal-mgr/ */
    bool is_internal;                /* ours to answer */
    struct span page, page_password; /* is_internal */
    bool stops_here;           /* TRACE or OPTIONS with Max-Forwards: 0, or OPTIONS of this proxy: ours to answer */
    bool asterisk;             /* OPTIONS of a server as a whole (RFC 9112 section 3.2.4): no path but "*" */
    bool keep_alive;           /* the client's wish and the framing's permission */
    bool minor_version;        /* HTTP/1.1 */
    struct addr client, local; /* of the connection */
    struct addr indirect;      /* the client that X-Forwarded-For names; family 0: none asked for (indirect_client.h) */
    struct span port_name;
    bool acl_indirect, log_indirect; /* where indirect counts */
    bool accel;                      /* came through an accelerator port */
    bool ignore_cc;
    bool host_as_sent;                  /* whatever uri says */
    int64_t start_mono, start_wall;     /* microseconds: head complete */
    uint64_t bytes_in;                  /* of the head */
    struct addr host_addr;              /* when the host is an IP literal; else family 0 */
    uint64_t draw;                      /* this request's number, for `acl x random` */
    unsigned client_connections;        /* of its client's address when it came; 0: not counted */
    struct notes *notes, *client_notes; /* annotations; NULL unless the settings make some */
    /* What helper programs said; NULL: none was asked. Its own: freed with a kept copy, else by who read it from a head. */
    struct external_memo *externals;
    const char *access_line;            /* FILE:LINE of the rule that let it in, the settings'; NULL: not let in yet */
    enum user_state user_state;         /* admission.c finds it out when an access list asks */
    bool user_any_case;                 /* letter case doesn't count in names */
    bool user_stale;                    /* USER_ABSENT: they were right, but for a challenge that is used up */
    bool user_unchecked;                /* USER_ABSENT: the credentials couldn't be looked at, there being too many */
    struct span user;                   /* USER_ABSENT: who the client says it is, or "" */
    const char *user_problem;           /* USER_ABSENT: what is wrong with the credentials; static text */
    unsigned user_addresses;            /* from how many the user asked lately; 0: not counted */
    struct user_addresses *user_table;  /* where that is counted; NULL */
    char *user_text;                    /* kept copies: what user points into */
    char *user_token;                   /* kept copies: Negotiate's next, for the client; NULL */
    struct auth_connection *connection; /* the client connection's; it may outlive nobody but an admission */
    struct address_name names[REQUEST_NAMES]; /* admission.c finds them out when an access list asks */
    char *name_texts[REQUEST_NAMES];          /* kept copies: what names point into */
    char *text;                               /* kept copies: what uri points into */
    char *store_id;                           /* kept copies: what a store-ID program gave, key is of; NULL */
    struct request *original;                 /* what it was before a rewriter gave it another URL; a reference; NULL */
};

/* What a request arrived through. */
struct request_origin {
    const struct settings *settings;
    const struct port_setting *port;
    struct addr client, local;
    unsigned client_connections;        /* of the client's address; 0: not counted */
    struct notes *notes, *client_notes; /* lent; request_keep() takes references */
    struct auth_connection *connection;
    int64_t mono, wall;
    bool is_last; /* the connection ends with its answer */
};

/* From a parsed head; text (capacity bytes) takes the canonical URI. False: *error and *what (static text) say how to
 * answer; method and whatever was understood are filled for the log. */
bool request_from_head(struct request *r, const struct head *h, const struct request_origin *o, char *text,
                       size_t capacity, enum error_id *error, int *status, const char **what);

/* It waits for a 100 (Continue) before it sends its body. */
bool request_expects_continue(const struct request *r);

/* One that isn't announced to be empty. */
bool request_has_body(const struct request *r);

/* A copy of r with another URL, as a rewriter gives it: absolute, of http; for CONNECT host:port. as_sent: Host goes on as the client
 * wrote it. NULL: *what says why it can't be asked for; static text. */
struct request *request_with_url(const struct request *r, struct span url, bool as_sent, const char **what);

/* What it is stored under, as text, and refresh_pattern looks at: the URL, or what a store-ID program gave. */
struct span request_store_id(const struct request *r);

/* A copy with one reference that owns its bytes. */
struct request *request_keep(const struct request *r);
struct request *request_ref(struct request *r);
void request_unref(struct request **holder);

/* Kept copies copy them; others only point to user, and have no token. */
void request_set_user(struct request *r, struct span user, struct span token);

/* The same of names. */
void request_set_name(struct request *r, enum request_name which, enum name_trust trust, struct span name);
/* The address that it is the name of. */
const struct addr *request_named(const struct request *r, enum request_name which);

/* A number that no other request of this worker has. */
uint64_t request_draw(void);
/* For access lists; spans are the request's. */
void request_facts(const struct request *r, struct access_facts *f);
/* Who asks: for access lists (acl_uses_indirect_client), and for the log (log_uses_indirect_client). */
const struct addr *request_acl_client(const struct request *r);
const struct addr *request_log_client(const struct request *r);
/* What access.log's %ru shows: the canonical URL, or host:port for CONNECT. */
struct span request_log_url(const struct request *r);
