/* proxy/logformat.h: logformat strings, compiled once into steps; formatting is a walk over them (access-log.md section
 * 5). Threads: read-only once compiled. */
#pragma once
#include "base/strbuf.h"
#include "proxy/log_entry.h"

struct logformat;
struct logformat_options {
    bool strip_query_terms;
    bool log_mime_hdrs;
    struct addr_cut client; /* of the client's address */
};

/* For conf_hooks.logformat_compile and _free. Built-in names (squid, common, combined, referrer, useragent) are looked
 * up with logformat_builtin(), which returns static text or NULL. */
void *logformat_compile(const char *spec, char error[160], size_t *at);
void logformat_free(void *format);
const char *logformat_builtin(struct span name);

/* One line with its newline into out (capacity bytes, at least 64); cut, still ending in a newline, when it would be
 * longer. Returns its length. No allocation: it is on the hit path when a log is on. */
size_t logformat_line(const struct logformat *f, const struct logformat_options *o, const struct log_entry *e,
                      char *out, size_t capacity);
