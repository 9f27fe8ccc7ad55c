/* proxy/error_page.h: answers made here. One row per Squid's name in error_page.def; the page says what happened and
 * what to try; JSON or plain text when the client's Accept asks for it. */
#pragma once
#include "base/strbuf.h"
#include "hdrs/head.h"

enum error_id {
#define ERROR_PAGE(id, status, headline, advice) id,
#include "proxy/error_page.def"
#undef ERROR_PAGE
    ERROR_PAGE_N
};
const char *error_page_name(enum error_id id); /* "ERR_CONNECT_FAIL" */
int error_page_status(enum error_id id);       /* its usual status */

struct error_context {
    enum error_id id;
    int status;                 /* 0: the page's own */
    int sys_errno;              /* 0: none */
    const char *detail;         /* "bare LF in a head"; NULL */
    struct span url, method;    /* any bytes: escaped where printed; query cut */
    struct span host;           /* visible_hostname */
    struct span cache_mgr;      /* who to write to; "" */
    bool hide_version;          /* httpd_suppress_version_string */
    const char *access_line;    /* which rule denied; shown to nobody but the log unless debugging: not on the page */
    const struct head *request; /* for Accept; NULL */
    int64_t now;                /* seconds since the epoch */
    bool head_only;             /* HEAD: fields, no body */
};

/* A whole response but for Via and Connection: status line, Server, Date, Content-Type, Content-Length, X-Squid-Error
 * ("NAME errno"), Cache-Status-free; head without its blank line into *head, body into *body. *status is what was
 * used. Returns the Content-Type, static text. */
const char *error_page_make(const struct error_context *c, struct strbuf *head, struct strbuf *body, int *status);
