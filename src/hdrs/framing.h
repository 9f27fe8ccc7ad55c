/* hdrs/framing.h: where a message's body ends: one decision per message, made here and nowhere else
 * (RFC 9112 section 6.3; hostile-inputs.md, default policy). Pure. */
#pragma once
#include "hdrs/head.h"

enum framing_kind {
    FRAMING_NONE,    /* no body at all */
    FRAMING_LENGTH,  /* `length` bytes */
    FRAMING_CHUNKED, /* chunked coding */
    FRAMING_CLOSE,   /* until the connection closes (responses) */
    FRAMING_BAD,     /* not to be trusted: answer `status`, close */
};

struct framing {
    enum framing_kind kind;
    uint64_t length;  /* FRAMING_LENGTH, at most INT64_MAX */
    int status;       /* FRAMING_BAD: 400 or 501 (request), 502 (response) */
    const char *what; /* FRAMING_BAD: static text */
    bool keep_alive;  /* may the connection carry another message after this one? */
};

struct framing request_framing(const struct head *request);
/* method: that of the request it answers (HEAD and CONNECT matter). 1xx, 204, 304: FRAMING_NONE. An unknown
 * final transfer coding without Content-Length reads until close (caching-rules X6); with it, FRAMING_BAD. */
struct framing response_framing(const struct head *response, enum http_method method);
