/* proxy/header_mangle.h: request_header_access, reply_header_add and their kin, done to a head that is about to leave. Never to what
 * is stored. One worker. */
#pragma once
#include "conf/header_rules.h"
#include "proxy/log_entry.h"
#include "proxy/request.h"

/* The head that begins at head->p + from: its first line stays, its fields go, change or are followed by others. What frames the
 * message is left alone (kind_header.c says why). e: what is known so far, for ACLs on replies and for %codes. */
void header_mangle(const struct header_rules *rules, const struct request *r, const struct log_entry *e, bool is_reply,
                   struct strbuf *head, size_t from);

/* A whole response, malloc'ed, of which the first *head bytes are its head: by reply_headers, if there are any. Sets head_out and bytes_out
 * of e. Returns the bytes, perhaps others; *n and *head are brought up to date. r NULL: a request that wasn't understood; nothing is
 * done. */
char *header_mangle_reply(const struct settings *s, const struct request *r, struct log_entry *e, char *bytes,
                          size_t *n, size_t *head);
