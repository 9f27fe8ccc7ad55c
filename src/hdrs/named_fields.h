/* hdrs/named_fields.h: taking out of a head the fields that a list names: Connection, private="...", no-cache="...".
 * Linear in the size of both: asking for each field whether a list names it takes 60 KB of Connection times 250
 * fields, 60 ms of a worker's time for one message. Pure; hash_init() was called. */
#pragma once
#include "hdrs/head.h"

/* The fields of one head by name. */
struct named_fields {
    const struct head *head;
    uint64_t seed;
    uint16_t bucket[256]; /* field number + 1; 0: none */
    uint16_t next[HEAD_FIELDS_MAX];
};

void named_fields_index(struct named_fields *index, const struct head *h);
/* keep[field number] = false for the fields that the list names, but those with a policy in `spared`. */
void named_fields_drop(const struct named_fields *index, struct span list, unsigned spared, bool *keep);
/* Those that the Connection fields name, but protected ones (RFC 9110 section 7.6.1, caching-rules X2, X4). */
void named_fields_drop_connection(const struct named_fields *index, bool *keep);
/* keep[field number]: is it end-to-end, neither hop-by-hop by its own name nor by what Connection says? */
void keep_end_to_end(const struct head *h, bool *keep);
