/* access/time_set.h: periods of the week, as `acl NAME time MTWHF 08:00-18:00` gives them. Reads no clock.
 * Threads: one builds; read-only afterwards, by any. */
#pragma once
#include "base/strbuf.h"

struct time_set {
    struct period {
        uint8_t days;      /* bit 0: Sunday, as tm_wday counts */
        uint16_t from, to; /* minutes since midnight; both belong to it */
    } * periods;
    size_t n;
}; /* starts as {0} */

void time_set_clear(struct time_set *s);
/* Words are days (letters of S M T W H F A for Sunday to Saturday, D for Monday to Friday) and hours hh:mm-hh:mm. Hours
 * take the days written before them, or every day; days without hours mean all day. False: why (static) about
 * words[*at]. */
bool time_set_add(struct time_set *s, const struct span *words, size_t n, size_t *at, const char **why);
bool time_set_contains(const struct time_set *s, int weekday, int minute);
/* DAYS hh:mm-hh:mm and a blank, each. */
void time_set_print(const struct time_set *s, struct strbuf *out);
