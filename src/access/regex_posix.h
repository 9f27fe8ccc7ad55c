/* access/regex_posix.h: patterns written for regcomp(REG_EXTENDED), as squid.conf's are, in PCRE2's words. Where
 * both read a pattern the same it stays as it is; where PCRE2 would quietly read something else it is rewritten.
 * Pure. */
#pragma once
#include "base/strbuf.h"

/* Appends to out. */
void regex_from_posix(struct span pattern, struct strbuf *out);
/* May the pattern stand as one alternative among others? Not with references to groups by number, nor with PCRE2's own
 * (?...) and (*...), which may reach beyond the alternative. Only for patterns that compile. */
bool regex_is_combinable(struct span pattern);
