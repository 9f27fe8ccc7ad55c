/* proxy/logformat_steps.h: what logformat.c compiles and logformat_line.c walks; nobody else's business. */
#pragma once
#include "proxy/logformat.h"

/* How a value is made fit for its place (access-log.md section 5). None lets a line end or a control byte through. */
enum log_encoding {
    LOG_ENC_FIELD,  /* default: %xx for controls, blanks and bytes beyond ASCII, so that a field stays one field */
    LOG_ENC_QUOTED, /* ": for between quotes: \" \\ \t \r \n, \xHH */
    LOG_ENC_BLOB,   /* [: for between brackets: %xx for controls, % " [ ] \ and bytes beyond ASCII; blanks pass */
    LOG_ENC_URL,    /* #: %xx for what may not stand in a URL as it is, and % itself */
    LOG_ENC_SHELL,  /* /: quoted when it isn't one plain word */
    LOG_ENC_RAW,    /* ': as it is, but for controls */
    LOG_ENC_N
};

enum log_op {
    LOG_TEXT,
    LOG_TIME_S,
    LOG_TIME_SUB,
    LOG_TIME_LOCAL,
    LOG_TIME_GMT,
    LOG_TIME_START,
    LOG_ELAPSED,
    LOG_DNS_MS,
    LOG_SERVER_MS,
    LOG_CLIENT_ADDR,
    LOG_CLIENT_PORT,
    LOG_LOCAL_ADDR,
    LOG_LOCAL_PORT,
    LOG_SERVER_ADDR,
    LOG_SERVER_NAME,
    LOG_SERVER_PORT,
    LOG_SERVER_LOCAL_ADDR,
    LOG_SERVER_LOCAL_PORT,
    LOG_ANY_USER,
    LOG_USER,
    LOG_EXTERNAL_USER,
    LOG_EXTERNAL_TAG,
    LOG_EXTERNAL_LOG,
    LOG_NEVER,
    LOG_NOTE,
    LOG_METHOD,
    LOG_URL,
    LOG_URL_SCHEME,
    LOG_URL_HOST,
    LOG_URL_PORT,
    LOG_URL_PATH,
    LOG_VERSION,
    LOG_STATUS,
    LOG_SERVER_STATUS,
    LOG_REQUEST_FIELD,
    LOG_REPLY_FIELD,
    LOG_MIME,
    LOG_BYTES_ALL,
    LOG_BYTES_IN,
    LOG_BYTES_OUT,
    LOG_HEAD_IN,
    LOG_HEAD_OUT,
    LOG_TAG_TEXT,
    LOG_HIER,
    LOG_REASON,
    LOG_ACCESS_LINE,
    LOG_ERROR_NAME,
    LOG_ERROR_DETAIL,
    LOG_SEQUENCE,
    LOG_OP_N
};

struct log_step {
    uint8_t op, encoding;
    bool left, zeros;    /* - and 0 */
    bool one_word;       /* blanks are encoded whatever the encoding: methods, URLs, user names */
    uint16_t min, max;   /* width; max 0: none (for LOG_TIME_SUB and LOG_TIME_START: digits) */
    struct span arg;     /* LOG_TEXT: the text; times: strftime format; fields: the name */
    struct span element; /* fields: {Name:element} */
    char separator;      /* between elements */
};

struct logformat {
    size_t n;
    struct log_step *steps;
    char *text; /* what the spans point into; args are NUL-terminated */
};

/* Longest strftime result that is printed. */
#define LOG_TIME_TEXT_MAX 128

/* logformat_fields.c: pieces of heads. */
/* The value of the named field in a block of CRLF-ended lines; p NULL when it isn't there. */
struct span log_block_field(struct span block, struct span name);
/* Calls each() for the pieces ("Name: value\r\n") of all fields; values that are credentials come as "***". */
typedef void log_piece_fn(void *ctx, struct span piece);
void log_request_pieces(const struct head *h, log_piece_fn *each, void *ctx);
void log_block_pieces(struct span block, log_piece_fn *each, void *ctx);
/* "element" or "element=value" in a list; p NULL when it isn't there. */
struct span log_list_element(struct span value, struct span element, char separator);
