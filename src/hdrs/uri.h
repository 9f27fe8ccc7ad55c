/* hdrs/uri.h: request targets and authorities (RFC 9112 section 3.2, RFC 9110 section 4.2, RFC 3986).
 * Pure; spans point into what was given. */
#pragma once
#include "hdrs/token.h"

enum uri_form { URI_ORIGIN, URI_ABSOLUTE, URI_AUTHORITY, URI_ASTERISK };

struct uri {
    enum uri_form form;
    struct span scheme;    /* absolute: as written; else empty */
    struct span host;      /* reg-name, IPv4, or IPv6 without brackets; empty for origin and asterisk form */
    struct span authority; /* absolute, authority: host[:port] as written, without userinfo; else empty */
    bool host_is_ipv6;
    uint16_t port;     /* given, or the scheme's default (http 80, https 443, ftp 21, else 0) */
    struct span path;  /* path and query: starts with '/'; absolute without a path: empty or "?query"; or "*" */
    bool had_userinfo; /* there was userinfo: never forwarded, never logged */
};

/* The target of a request with that method; CONNECT takes authority-form only, with a port 1-65535. False: *why
 * is static text. A fragment, controls, blanks, bad ports, userinfo in CONNECT, empty hosts, "%00" and other
 * bad host bytes are refused. uri_whitespace is `deny`. Bytes above 0x7F in path pass as they are. */
bool uri_parse(struct span target, enum http_method method, struct uri *out, const char **why);

/* host[:port], as in Host and CONNECT. has_port says whether one was written. Strict as above; the host must not be
 * empty. */
bool authority_parse(struct span text, struct span *host, bool *host_is_ipv6, uint16_t *port, bool *has_port,
                     const char **why);

/* The canonical effective URI, what the cache keys and access lists see and what is forwarded:
 * "scheme://host[:port]/path?query": scheme and host in lower case, a trailing dot of the host removed, IPv6 in
 * brackets and in inet_ntop form, the default port left out, an empty path as "/", %xx in the path with upper-case hex
 * and without escapes of unreserved octets (a path with a '%' that starts no escape: as it is); the query byte for byte
 * (caching-rules V1, V2). */
struct canonical_uri {
    struct span text;         /* the whole, in the caller's buffer */
    struct span scheme, host; /* pieces of text; host without brackets */
    struct span authority;    /* host[:port], the port only when it isn't the scheme's default: what Host carries */
    struct span path;         /* path and query, starts with '/' */
    uint16_t port;
    bool host_is_ipv6;
};

/* From parsed pieces (scheme "http" for origin-form) into out. False when it doesn't fit in capacity bytes. */
bool uri_canonical(struct span scheme, struct span host, bool host_is_ipv6, uint16_t port, struct span path, char *out,
                   size_t capacity, struct canonical_uri *c);
uint16_t scheme_default_port(struct span scheme); /* 0: unknown */
