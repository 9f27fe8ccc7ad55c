/* access/regex_set.h: POSIX-style regular expressions through PCRE2 with JIT, each case-sensitive or not, tried as a
 * set.
 * Threads: read-only once built; matching from any thread. */
#pragma once
#include "base/span.h"

struct regex_set;
struct regex_set *regex_set_new(void);
void regex_set_free(struct regex_set **holder);
/* False: error (capacity 128) says what is wrong. */
bool regex_set_add(struct regex_set *s, struct span pattern, bool ignore_case, char error[128]);
bool regex_set_matches(const struct regex_set *s, struct span text);
/* The index of the first pattern, in order of adding, that matches; -1: none. */
int regex_set_first(const struct regex_set *s, struct span text);

/* As regex_set_matches(), but tells a text that doesn't match from one that took too many steps to say: a client
 * chooses the text, and some patterns backtrack without end. GIVEN_UP must not open anything. */
enum regex_answer { REGEX_NO, REGEX_YES, REGEX_GIVEN_UP };
enum regex_answer regex_set_try(const struct regex_set *s, struct span text);
/* Optional, after a batch of adds: merges patterns into alternatives of a few big ones where that can't change what
 * they mean; regex_set_matches() and _try() then run those. */
void regex_set_combine(struct regex_set *s);
size_t regex_set_count(const struct regex_set *s);
struct span regex_set_pattern(const struct regex_set *s, size_t i, bool *ignore_case);
