/* hdrs/parse_line.h: one line of a head at a time, judged byte by byte: the grammar. parse.c has a short cut for the
 * common forms and comes here for all others, so what is refused, and why, is decided here alone. Private to the
 * room. */
#pragma once
#include "hdrs/parse.h"
#include "hdrs/token_find.h"

/* Longer methods are nobody's: 400. */
#define METHOD_BYTES_MAX 64

struct line {
    uint32_t at, end; /* without its line end */
    uint32_t next;    /* where the next one starts */
};

/* Finds the end of the line that starts at `at`, of whose bytes those before *scanned were looked at before (*scanned
 * >= at). PARSE_MORE: the line is incomplete and *scanned moved on. Its bytes are checked for what no line may hold, so
 * a bare LF or NUL is PARSE_BAD as soon as it arrives. */
enum parse_result line_find(const char *buf, uint32_t len, uint32_t at, uint32_t *scanned, bool relaxed, struct line *l,
                            struct parse_error *e);
/* Each takes a line found by line_find(), fills its part of *h, or says no with *e filled (the status is the caller's:
 * 505 or 400 comes from request_line() alone). h->base is set. */
bool request_line(struct head *h, struct line l, const struct parse_limits *limits, struct parse_error *e);
bool status_line(struct head *h, struct line l, struct parse_error *e);
bool field_line(struct head *h, struct line l, struct parse_error *e);

/* n_fields < HEAD_FIELDS_MAX. */
static inline void head_add_field(struct head *h, enum token t, const char *name, size_t name_len, const char *value,
                                  size_t value_len)
{
    unsigned i = h->n_fields++;

    h->fields[i] = (struct head_field){
        .name_at = (uint32_t)(name - h->base),
        .value_at = (uint32_t)(value - h->base),
        .value_len = (uint32_t)value_len,
        .name_len = (uint16_t)name_len,
        .token = (uint8_t)t,
    };
    if (t == TOKEN_OTHER)
        return;
    if (h->first[t] == 0)
        h->first[t] = (uint16_t)(i + 1);
    else
        h->fields[h->last[t] - 1].next = (uint8_t)i;
    h->last[t] = (uint16_t)(i + 1);
}
