/* access/facts.h: what access lists may ask about a transaction. Filled by the transaction; spans are its own. */
#pragma once
#include "access/notes.h"
#include "hdrs/head.h"
#include "hdrs/uri.h"
#include "net/addr.h"
#include "net/reverse.h"

struct user_addresses;

/* What an address is called, once that was looked up. */
struct address_name {
    bool is_known; /* to be whatever trust says, NAME_NONE as well */
    enum name_trust trust;
    struct span name;
};

enum user_state {
    USER_UNKNOWN, /* nobody has looked yet: ask, then ask the list again */
    USER_KNOWN,   /* `user` is who it is */
    USER_ABSENT,  /* no credentials, or none that are right: the client is to be asked for some */
    USER_NOBODY,  /* there is none, and it is too late to ask */
};

struct access_facts {
    struct addr client;    /* who asks */
    struct addr local;     /* the address and port it reached */
    struct span port_name; /* http_port name= */
    enum http_method method;
    struct span method_name;
    struct span scheme;   /* lower case: "http", "cache_object"; "" for CONNECT */
    struct span host;     /* canonical: lower case, no trailing dot, IPv6 without brackets */
    bool host_is_address; /* host_addr is set: host is an IP literal */
    struct addr host_addr;
    uint16_t port;
    struct span url;  /* canonical; host:port for CONNECT */
    struct span path; /* path and query */
    bool is_manager;  /* the ACL `manager`: cache_object:// or .../squid-internal-mgr/ */
    const struct head *request;
    /* Addresses of host, for `dst` and to_localhost: unknown until somebody resolved it. dst_known with n 0: it has
     * none. */
    bool dst_known;
    const struct addr *dst;
    size_t n_dst;
    /* Of client, for srcdomain, and of host_addr, for dstdomain. may_ask_names: whoever asks the list can find out what isn't
     * known. */
    struct address_name client_name, host_name;
    bool may_ask_names;
    /* One transaction's own number, in every question asked about it: `random` answers the same each time. */
    uint64_t draw;
    unsigned client_connections; /* open ones of the client's address when the request came; 0: not counted (maxconn) */
    /* Annotations of the transaction and of its client connection: asked about and added to; NULL: nowhere to. */
    struct notes *notes, *client_notes;
    enum user_state user_state;
    struct span user;                  /* USER_KNOWN; else "" */
    bool user_any_case;                /* names of users count in any letter case */
    unsigned user_addresses;           /* from how many the user asked lately; 0: not counted (max_user_ip) */
    struct user_addresses *user_table; /* where that is counted; NULL: nowhere */
    struct external_memo **externals;  /* the request's: what helper programs were asked; NULL: none can be */
    /* Replies and access.log: nothing and 0 before. */
    struct span reply_head; /* status line and fields, as stored or sent; a line each, CRLF */
    int status;
    struct span hier;       /* who was asked, as access.log says it: "HIER_DIRECT" */
    struct span peer_name;  /* cache_peer's name; "" when it was none */
    struct span error_name; /* "ERR_DNS_FAIL": the error page sent; "" for none */
};
