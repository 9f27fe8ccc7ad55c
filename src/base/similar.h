/* base/similar.h: "did you mean": the word of a list that a mistyped one resembles most. Pure; for messages, not for
 * hot paths. */
#pragma once
#include "base/span.h"

/* The member of words (NULL-terminated) with the smallest edit distance to `to`, letter case apart; the first of
 * equals. NULL when nothing is close: more than a third of its letters would have to change. */
const char *similar_word(const char *const *words, struct span to);
