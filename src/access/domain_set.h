/* access/domain_set.h: host names and ".suffixes" of them, for lists of 1e6 names: packed text, and a hash table over
 * it whose buckets are lines of the cache, 8 to 12 bytes a name. Letter case and a trailing dot don't count.
 *
 * Threads: one builds; read-only afterwards, by any. */
#pragma once
#include "base/strbuf.h"

struct domain_set;

struct domain_set *domain_set_new(void);
void domain_set_free(struct domain_set **holder);
/* "example.org": that name. ".example.org": it and every name below it; that wins when both are added. False: not
 * the form of a name (empty, an empty label, more than 253 bytes); nothing is added. */
bool domain_set_add(struct domain_set *s, struct span name);
/* A pass over the host, and a hash of each of its suffixes that is as deep as a name of the set. */
bool domain_set_matches(const struct domain_set *s, struct span host);
size_t domain_set_count(const struct domain_set *s);
/* Looks through the names added since the last call for one that a ".suffix" covers anyway. Valid until the next
 * add. */
bool domain_set_find_covered(struct domain_set *s, struct span *narrow, struct span *wide);
/* Each name, in order of adding, and a blank. */
void domain_set_print(const struct domain_set *s, struct strbuf *out);
