/* proxy/log_entry.h: what is known of a finished transaction: all that a logformat can print. Spans are the
 * transaction's; they are read before the call that logs returns. */
#pragma once
#include "access/notes.h"
#include "hdrs/head.h"
#include "net/addr.h"

enum log_tag {
#define LOG_TAG(id, text, hit) TAG_##id,
#include "proxy/log_tag.def"
#undef LOG_TAG
    TAG_N
};
extern const struct log_tag_row {
    const char *text;
    bool is_hit;
} log_tag_rows[TAG_N];

enum hier_code {
#define HIER(id, text) HIER_##id,
#include "proxy/hier_code.def"
#undef HIER
    HIER_N
};
extern const char *const hier_code_names[HIER_N];

struct log_entry {
    enum log_tag tag;
    bool aborted;   /* adds _ABORTED */
    bool timed_out; /* adds _TIMEOUT */
    enum hier_code hier;
    int status;                       /* sent to the client; 0: none (000) */
    int server_status;                /* received; 0: none */
    int64_t start_wall, end_wall;     /* microseconds since the epoch: head complete; transaction over */
    int64_t start_mono, end_mono;     /* monotonic microseconds */
    int64_t dns_us, server_us;        /* -1: none */
    uint64_t bytes_out;               /* to the client, head included */
    uint64_t head_out;                /* of these, the head */
    uint64_t bytes_in;                /* from the client, head included */
    struct addr client, local;        /* client; what it reached */
    struct addr server, server_local; /* family 0: none */
    struct span server_name;          /* peer's name, or host */
    struct span method;               /* "" prints "-" */
    struct span url;                  /* canonical, userinfo never in it; host:port for CONNECT; or error:... */
    uint8_t minor_version;
    struct span mime;                         /* Content-Type of the reply, parameters and all; cut when printed */
    struct span user;                         /* "" prints "-" */
    const struct head *request;               /* NULL: none */
    struct span reply_head;                   /* the reply's field block as stored or sent; "" when unknown */
    const struct notes *notes, *client_notes; /* annotations; NULL: none */
    const char *error_name;                   /* "ERR_CONNECT_FAIL", NULL */
    int error_detail;                         /* errno, 0: none */
    const char *reason;                       /* why it was a hit, a miss or denied: static text; NULL */
    const char *access_line;                  /* FILE:LINE of the access rule that decided; NULL */
    uint64_t sequence;                        /* unique in the process, growing on each worker */
};
