/* access/notes.h: annotations (name and value) of one transaction or one client connection: what annotate_transaction,
 * annotate_client and the directive `note` add, and `acl x note` and %note read. What is added comes from the
 * configuration, each pair once, so that its length bounds them.
 *
 * Threads: one worker. */
#pragma once
#include "base/span.h"

struct notes;

/* One reference, the caller's. */
struct notes *notes_new(void);
/* NULL gives NULL. */
struct notes *notes_ref(struct notes *n);
/* Clears the holder's pointer. NULL is fine. */
void notes_unref(struct notes **holder);
/* Copied. keeps_others: beside the values the name has (a pair that is there already isn't added again); else instead of
 * them. */
void notes_add(struct notes *n, struct span name, struct span value, bool keeps_others);
/* The i'th pair, in order of adding; false: there are fewer. NULL has none. */
bool notes_at(const struct notes *n, size_t i, struct span *name, struct span *value);
