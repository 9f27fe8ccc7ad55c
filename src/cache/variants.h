/* cache/variants.h: the stored responses of one key, a chain from the newest to the oldest (RFC 9111 section 4.1). The
 * store hangs them in and out; here they are chosen from. Threads: any, inside an epoch. */
#pragma once
#include "cache/object.h"
#include "hdrs/head.h"

/* The next older one, or NULL. */
static inline struct object *variant_older(const struct object *o)
{
    return atomic_load_explicit(&((struct object *)(uintptr_t)o)->older, memory_order_acquire);
}

/* Do both vary by the same fields? */
bool variant_names_equal(const struct object *a, const struct object *b);

/* From the newest on: the first whose Vary the request meets; NULL: none. */
struct object *variant_select(struct object *newest, const struct head *request);
/* The same among the parts (object_is_part()), which the other passes over. */
struct object *variant_select_part(struct object *newest, const struct head *request);

/* How many tags one request asks with: the newest ones. Origins bound the length of a line, and most resources have fewer
 * representations. */
#define VARIANT_TAGS_MAX 16

/* The newest 200s with a well-formed ETag, no longer than is usual, that don't vary by Accept-Encoding, into out (room for VARIANT_TAGS_MAX), a reference taken of each.
 * Returns how many. */
size_t variants_with_tags(struct object *newest, struct object **out);

/* The one that a 304 to a request with all their tags means (RFC 9111 section 4.3.4): its index, or n. */
size_t variant_named(struct object *const *variants, size_t n, const struct head *response_304);
