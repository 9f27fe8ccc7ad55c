/* hdrs/whole.h: what a vector kernel is: functions for the usual head, wholly there. Private to the room.
 *
 * Each returns the bytes of the head that starts at buf, its blank line included, with *h filled; or 0 when it doesn't
 * take it: incomplete, odd, bad, more than max_fields. Then *h is in no state, and the specification (parse.c) judges.
 * A head that is taken is one the specification takes, with the same result. len: bytes there; PARSE_SLACK more must
 * be readable, whatever they hold. */
#pragma once
#include <string.h>
#include "hdrs/parse.h"

struct whole {
    uint32_t (*request)(struct head *h, const char *buf, uint32_t len, uint32_t max_fields);
    uint32_t (*response)(struct head *h, const char *buf, uint32_t len, uint32_t max_fields);
    uint32_t (*fields)(struct head *h, const char *buf, uint32_t len, uint32_t max_fields);
};

#if defined(__x86_64__)
extern const struct whole whole_sse2, whole_avx2, whole_avx512;
#elif defined(__AARCH64EL__)
extern const struct whole whole_neon;
#endif

/* That of the kernel in use; NULL: the scalar parser does everything. */
extern const struct whole *whole_in_use;

/* Sixty-four bytes in the widest registers there are. */
typedef uint16_t head_vector __attribute__((vector_size(64), aligned(2), may_alias));

/* An empty head. Not the 4 KB of fields, and of last[] only what first[] vouches for is read. */
static inline __attribute__((always_inline)) void head_begin(struct head *h, const char *buf)
{
    h->base = buf;
    h->len = 0;
    h->minor_version = 0;
    h->method = METHOD_OTHER;
    h->status = 0;
    h->method_name = h->target = h->reason = (struct head_piece){ 0, 0 };
    h->n_fields = 0;
    /* Spelt out: of a memset() of this size gcc makes a `rep stos`, which takes longer than the rest of a short head. */
    for (size_t i = 0; i < HEAD_FIRST_N; i += 32)
        *(head_vector *)&h->first[i] = (head_vector){ 0 };
}
