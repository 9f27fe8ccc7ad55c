/* access/number_set.h: a set of numbers 0-65535 (ports, status codes): a bitmap, so that a look-up is one load however
 * many ranges were given. 8 KB.
 * Threads: one builds; read-only afterwards, by any. */
#pragma once
#include "base/strbuf.h"

struct number_set {
    uint64_t bits[65536 / 64];
};

struct number_set *number_set_new(void); /* empty; free() it */
/* N or N-M. False: it is neither, or the range ends before it starts. */
bool number_set_add_text(struct number_set *s, struct span text);
/* Each run as N or N-M and a blank. */
void number_set_print(const struct number_set *s, struct strbuf *out);

static inline bool number_set_contains(const struct number_set *s, uint16_t n)
{
    return s->bits[n / 64] >> (n % 64) & 1;
}
