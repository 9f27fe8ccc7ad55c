/* access/facts.h: what access lists may ask about a transaction. Filled by the transaction; spans are its own. */
#pragma once
#include "hdrs/head.h"
#include "hdrs/uri.h"
#include "net/addr.h"

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
    /* Replies (http_reply_access, http_status, rep_header): NULL and 0 before. */
    const struct head *response;
    int status;
};
