/* proxy/error_page.h: answers made here. One row per Squid's name in error_page.def; the page says what happened and
 * what to try; JSON or plain text when the client's Accept asks for it. */
#pragma once
#include "base/strbuf.h"
#include "conf/settings.h"
#include "hdrs/head.h"

enum error_id {
#define ERROR_PAGE(id, status, headline, advice) id,
#include "proxy/error_page.def"
#undef ERROR_PAGE
    ERROR_PAGE_N
};
const char *error_page_name(enum error_id id); /* "ERR_CONNECT_FAIL" */
int error_page_status(enum error_id id);       /* its usual status */
bool error_page_is_known(struct span name);

struct error_context {
    enum error_id id;
    int status;                                 /* 0: the page's own */
    int sys_errno;                              /* 0: none */
    const char *detail;                         /* "bare LF in a head"; NULL */
    struct span url, method;                    /* any bytes: escaped where printed; query cut */
    struct span host;                           /* visible_hostname */
    struct span cache_mgr;                      /* who to write to; "" */
    bool hide_version;                          /* httpd_suppress_version_string */
    struct span url_scheme, url_host, url_path; /* of a request that was understood */
    uint16_t url_port;
    struct span user;                  /* who the client is, or says it is; "" */
    struct addr client, local, server; /* family 0: none */
    const struct settings *settings;   /* the operator's pages; NULL: none */
    const struct deny_info *deny;      /* what takes the place of the page; NULL: nothing */
    const struct head *request;        /* for Accept; NULL */
    int64_t now;                       /* seconds since the epoch */
    bool head_only;                    /* HEAD: fields, no body */
    const char *access_line; /* FILE:LINE of the access rule that decided; NULL. For the operator's own pages only */
};

/* A whole response but for Via and Connection: status line, Server, Date, Content-Type, Content-Length, X-Squid-Error
 * ("NAME errno"), Cache-Status-free; head without its blank line into *head, body into *body. *status is what was
 * used, *name (static, or the settings') what it is called. Returns the Content-Type, static text. Not for DENY_RESET. */
const char *error_page_make(const struct error_context *c, struct strbuf *head, struct strbuf *body, int *status,
                            const char **name);

/* "Found" of 302: the phrase of a status that the proxy itself answers with. Static. */
const char *status_phrase(int status);
