/* proxy/reply.h: the parts of a response head that the proxy makes itself. Pure but for the worker's settings. */
#pragma once
#include "cache/object.h"
#include "hdrs/field_range.h"
#include "proxy/cache_outcome.h"
#include "proxy/request.h"
#include "proxy/worker_state.h"

struct reply_tail {
    bool has_length; /* Content-Length: length */
    bool chunked;    /* Transfer-Encoding: chunked */
    uint64_t length;
    bool has_range; /* Content-Range: bytes range/whole */
    struct byte_range range;
    uint64_t whole;
    int64_t age;        /* seconds; -1: no Age */
    bool close;         /* Connection: close; else keep-alive where an HTTP/1.0 client needs to be told */
    bool minor_version; /* the client's: 1 or 0 */
    struct cache_outcome outcome;
};

#define REPLY_TAIL_MAX (768 + CACHE_OUTCOME_MAX)
/* Content-Length or Transfer-Encoding, Age, Via, Connection and the blank line into out (REPLY_TAIL_MAX). Returns its
 * length. */
size_t reply_tail(const struct proxy_worker *pw, const struct reply_tail *t, char *out);

/* A 304 made of a stored head (W12), complete, malloc'ed; *n is its length. */
char *reply_not_modified(const struct proxy_worker *pw, const struct object *o, const struct reply_tail *t, size_t *n);

/* A 206 with several parts of a stored response (RFC 9110 section 15.3.7.2), complete, malloc'ed; *n is its length, *head_n that of
 * its head. The tail's has_length and has_range are ignored. */
char *reply_multipart(const struct proxy_worker *pw, const struct object *o, const struct byte_range *parts,
                      size_t n_parts, struct reply_tail tail, size_t *n, size_t *head_n);
/* A 416 for a stored response of `whole` bytes, likewise. */
char *reply_unsatisfiable(const struct proxy_worker *pw, uint64_t whole, struct reply_tail tail, size_t *n);

/* What a parent asks its client for, by cache_peer login=PASS: its Proxy-Authenticate lines, each with its end. */
void reply_challenges(struct strbuf *out, const struct head *from_parent);

/* The status line of a response with one part. */
extern const struct span reply_partial_line;
/* "HTTP/1.1 200 Connection established" */
extern const struct span reply_connect_established;
