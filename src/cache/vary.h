/* cache/vary.h: RFC 9111 section 4.1 (caching-rules V4-V15): which requests a stored response with Vary answers.
 * Pure. */
#pragma once
#include "base/hash.h"
#include "hdrs/head.h"

/* Room for the lists worth telling variants apart by; a longer one counts as "*". */
#define VARY_NAMES_MAX 1024

/* All Vary lines of a response as one normalised list, "name, name" in lower case and sorted, into out (capacity
 * bytes). Returns its length, 0 without Vary. *star: there was a "*" member, a bad name, or the list doesn't fit;
 * then 0 too. */
size_t vary_names(const struct head *response, char *out, size_t capacity, bool *star);

/* A fingerprint of what the request carries in the fields of a list made by vary_names(): equal for requests that
 * select the same response. Values joined, blanks around commas dropped; Accept-Language and Accept-Encoding
 * normalised (V8, V9); absent differs from empty. No names: the same for every request. No allocation, linear in the
 * size of the head (times the number of names no token is known for). hash_init() was called. */
struct hash128 vary_fingerprint(struct span names, const struct head *request);
