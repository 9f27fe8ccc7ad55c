/* proxy/own_reply.h: a response made here that is no error page: manager pages, PURGE, TRACE, OPTIONS of the proxy. One worker. */
#pragma once
#include "base/strbuf.h"
#include "proxy/client_conn.h"

struct own_reply {
    int status;
    const char *phrase;
    const char *fields; /* lines with their CRLF, beside Date and what reply_tail() writes; "" */
    struct span mime;   /* for the log */
    struct strbuf body; /* taken over */
    const char *reason; /* static text, for the log */
    const char *error_name;
    enum log_tag tag;
};

/* Into the batch; logs. A request body that nobody reads ends the connection. */
void own_reply(struct client_conn *c, const struct request *r, struct own_reply *a);
