/* proxy/header_mangle.h: request_header_access, reply_header_add and their kin, done to a head that is about to leave. Never to what
 * is stored. One worker. */
#pragma once
#include "conf/header_rules.h"
#include "proxy/log_entry.h"
#include "proxy/request.h"

/* What the proxy wrote for itself into a request: not the client's to be denied. */
enum header_own {
    OWN_LOGIN = 1,      /* Authorization, by cache_peer login= */
    OWN_CONDITIONS = 2, /* If-None-Match, If-Modified-Since: it validates */
};

/* The head that begins at head->p + from: its first line stays, its fields go, change or are followed by others. What frames the
 * message is left alone (kind_header.c says why), and what `own` (OR of enum header_own) names. r NULL: of a request that wasn't
 * understood; rules see its connection only. e: what is known so far, for ACLs and for %codes. */
void header_mangle(const struct header_rules *rules, const struct request *r, const struct log_entry *e, bool is_reply,
                   unsigned own, struct strbuf *head, size_t from);

/* A whole response, malloc'ed, of which the first *head bytes are its head: by reply_headers, if there are any. Sets head_out and bytes_out
 * of e. Returns the bytes, perhaps others; *n and *head are brought up to date. r NULL: as above. */
char *header_mangle_reply(const struct settings *s, const struct request *r, struct log_entry *e, char *bytes,
                          size_t *n, size_t *head);
