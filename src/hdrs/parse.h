/* hdrs/parse.h: bytes to heads (RFC 9112 sections 2 to 5). Strict: bare LF, bare CR, NUL and other controls but HTAB, obs-fold,
 * blanks before the colon, several blanks in the request line are refused (request smuggling).
 * No allocation, no I/O. Which code reads the usual whole head is kernel.h's business; all give the same answers.
 * Nothing beyond buf + len is read, but for the PARSE_SLACK bytes that limits->slack promises. */
#pragma once
#include "hdrs/head.h"

#define PARSE_SLACK 64

enum parse_result { PARSE_DONE, PARSE_MORE, PARSE_BAD };

struct parse_limits {
    uint32_t max_bytes;  /* whole head; request_header_max_size or reply_header_max_size */
    uint16_t max_fields; /* header_fields_max, at most HEAD_FIELDS_MAX */
    bool slack;          /* PARSE_SLACK bytes behind the given ones may be read, whatever they hold: vector kernels */
    bool relaxed;        /* relaxed_header_parser: bare LF line ends and extra blanks in the request line */
    bool target_blanks; /* uri_whitespace: a target may have blanks in it, up to the version; the caller sees to them */
};

/* How far an incomplete head has been judged, so that a head arriving a byte at a time costs linear work.
 * {0} before the first byte; reset after each message. */
struct parse_progress {
    uint32_t scanned;  /* bytes already looked at */
    uint32_t line_at;  /* the line in hand starts here; those before it are sound */
    uint32_t n_fields; /* among those */
    bool first_line_judged;
};

struct parse_error {
    int status;       /* what to answer: 400, 414, 431, 505 (request); 502 (response) */
    const char *what; /* static text for error pages and logs, such as "bare LF in a head" */
    uint32_t at;      /* offset of the offending byte */
};

/* A request head at the start of buf. One leading CRLF is skipped (RFC 9112 section 2.2): h->base stays buf,
 * h->len counts it. PARSE_DONE: *h is filled, h->len bytes were consumed. PARSE_MORE: *p moved on, *h is not
 * to be read. PARSE_BAD: *e says why; method_name and target of *h are filled when they were found (for the log). */
enum parse_result parse_request(struct head *h, const char *buf, size_t len, const struct parse_limits *limits,
                                struct parse_progress *p, struct parse_error *e);
/* A response head, likewise. */
enum parse_result parse_response(struct head *h, const char *buf, size_t len, const struct parse_limits *limits,
                                 struct parse_progress *p, struct parse_error *e);
/* Field lines and the blank line behind them, without a first line: a trailer section. They must all be there:
 * PARSE_MORE remembers nothing. */
enum parse_result parse_fields(struct head *h, const char *buf, size_t len, const struct parse_limits *limits,
                               struct parse_error *e);
