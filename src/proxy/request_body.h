/* proxy/request_body.h: a request's body from the client's connection towards the origin: judged, framed anew, never
 * completed when it was broken or short. One worker. */
#pragma once
#include "base/strbuf.h"
#include "hdrs/chunked.h"
#include "hdrs/framing.h"
#include "proxy/client_conn.h"

struct request_body {
    enum framing_kind kind;
    uint64_t left; /* FRAMING_LENGTH */
    struct chunked chunked;
    uint64_t taken;    /* body bytes so far */
    uint64_t received; /* with their framing */
    uint64_t max;      /* request_body_max_size; 0: no limit */
    bool done;
};

/* CUT: the client ended before its body did. */
enum request_body_result {
    REQUEST_BODY_DATA,
    REQUEST_BODY_WAIT,
    REQUEST_BODY_CUT,
    REQUEST_BODY_BROKEN,
    REQUEST_BODY_TOO_LARGE
};

void request_body_init(struct request_body *b, const struct framing *f, uint32_t chunk_extension_max, uint64_t max);
/* One helping appended to out, framed for the origin; b->done when that was the last. Bytes behind the body go back to
 * c. */
enum request_body_result request_body_read(struct request_body *b, struct client_conn *c, struct strbuf *out);
