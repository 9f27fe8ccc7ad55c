/* proxy/logformat_out.h: where a log line is written to, and what makes anybody's bytes fit to stand in it. */
#pragma once
#include "proxy/logformat_steps.h"

/* end leaves room for the newline. What doesn't fit is cut: p never passes end. */
struct log_out {
    char *p, *end;
};

static inline void put(struct log_out *o, const char *p, size_t n)
{
    if (n > (size_t)(o->end - o->p))
        n = (size_t)(o->end - o->p);
    memcpy(o->p, p, n);
    o->p += n;
}

/* The same for short text with LOG_SLACK readable bytes: a copy of constant size is one instruction, not a call. */
#define LOG_SLACK 16
static inline void put_short(struct log_out *o, const char *p, size_t n)
{
    if (n > LOG_SLACK || (size_t)(o->end - o->p) < LOG_SLACK) {
        put(o, p, n);
        return;
    }
    memcpy(o->p, p, LOG_SLACK);
    o->p += n;
}

static inline void put_char(struct log_out *o, char c)
{
    if (o->p < o->end)
        *o->p++ = c;
}

static inline void put_fill(struct log_out *o, char c, size_t n)
{
    while (n-- > 0)
        put_char(o, c);
}

/* Whatever s holds, no control byte comes out, so no line ends early (hostile-inputs M04). one_word: no blank
 * either. */
void log_put_encoded(struct log_out *o, struct span s, enum log_encoding encoding, bool one_word);
