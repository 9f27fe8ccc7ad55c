/* access/word_set.h: a few words (methods, schemes, port names), compared byte by byte in order of adding. Letter case
 * counts: callers whose words don't care lower them first.
 * Threads: one builds; read-only afterwards, by any. */
#pragma once
#include "base/strbuf.h"

struct word_set {
    char **words;
    size_t n;
}; /* starts as {0} */

void word_set_clear(struct word_set *s);
/* Copied; a word that is there already isn't added again. */
void word_set_add(struct word_set *s, struct span word);
bool word_set_contains(const struct word_set *s, struct span word);
/* Each word and a blank. */
void word_set_print(const struct word_set *s, struct strbuf *out);
