/* hdrs/head.h: a parsed message head: where in its bytes the parts lie. Positions are offsets from
 * `base`, so the bytes may be moved or copied (head_copy) without parsing again.
 *
 * Threads: none of its own; whoever owns the bytes owns the head. A struct head is some 6 KB: one per
 * worker serves as scratch, a transaction that has to wait takes a compact copy. */
#pragma once
#include "base/span.h"
#include "hdrs/token.h"

#define HEAD_FIELDS_MAX 256 /* header_fields_max */

/* TOKEN_N, and what rounds it up to whole vector registers: it is cleared for every message. */
#define HEAD_FIRST_N ((TOKEN_N + 31) / 32 * 32)

struct head_field {
    uint32_t name_at, value_at; /* offsets from base */
    uint32_t value_len;         /* without blanks at either end */
    uint16_t name_len;
    uint8_t token; /* enum token */
    uint8_t next;  /* index of the next field of the same known token; 0: none (the first is nobody's next) */
};

struct head {
    const char *base;
    uint32_t len;          /* bytes of the whole head, the blank line included */
    uint8_t minor_version; /* HTTP/1.minor: 0 or 1 */
    uint8_t method;        /* enum http_method; requests */
    uint16_t status;       /* 100-999; responses */
    struct head_piece {
        uint32_t at, len;
    } method_name, target, reason; /* requests: the first two; responses: the last, may be empty */
    uint16_t n_fields;
    uint16_t first[HEAD_FIRST_N]; /* index + 1 of the first field by token; 0: none; [TOKEN_OTHER] is 0 */
    uint16_t last[TOKEN_N];       /* the last one, where first[] isn't 0 (else not set): appending is O(1) */
    struct head_field fields[HEAD_FIELDS_MAX]; /* n_fields in use, in message order */
};

static inline struct span head_piece(const struct head *h, struct head_piece p)
{
    return span_of(h->base + p.at, p.len);
}

static inline struct span field_name(const struct head *h, const struct head_field *f)
{
    return span_of(h->base + f->name_at, f->name_len);
}

static inline struct span field_value(const struct head *h, const struct head_field *f)
{
    return span_of(h->base + f->value_at, f->value_len);
}

/* The first field with this token, or NULL. O(1). */
static inline const struct head_field *head_find(const struct head *h, enum token t)
{
    return h->first[t] ? &h->fields[h->first[t] - 1] : NULL;
}

/* The next one with the same token, or NULL. O(1). */
static inline const struct head_field *head_next(const struct head *h, const struct head_field *f)
{
    return f->next ? &h->fields[f->next] : NULL;
}

/* The value of the first field with this token; SPAN_NONE (p == NULL) when there is none. */
static inline struct span head_value(const struct head *h, enum token t)
{
    const struct head_field *f = head_find(h, t);

    return f ? field_value(h, f) : SPAN_NONE;
}

/* The first field of that name, known token or not, in any letter case; NULL when there is none. `after`
 * NULL starts; else the one behind it. O(n) for unknown names. */
const struct head_field *head_find_name(const struct head *h, struct span name, const struct head_field *after);

/* The values of every field of that name, joined with ", " (RFC 9110 section 5.3), into out (capacity
 * bytes). Returns the length written, or SIZE_MAX when it doesn't fit. *present says whether any was there. */
size_t head_join(const struct head *h, struct span name, char *out, size_t capacity, bool *present);

/* One allocation, to be free()d: the head with only the fields in use, and a copy of its bytes behind it.
 * What it points to is its own. */
struct head *head_copy(const struct head *h);

/* Is member, in any letter case, one of a #rule list's (RFC 9110 section 5.6.1), on any line with this token? */
bool head_lists(const struct head *h, enum token t, struct span member);

/* The close/keep-alive opinion of Connection (and Proxy-Connection in requests from old clients). */
enum connection_option { CONNECTION_NONE, CONNECTION_CLOSE, CONNECTION_KEEP_ALIVE };
enum connection_option head_connection(const struct head *h);
