/* cache/vary_value.h: private to vary.c: a request's field as Vary compares it (caching-rules V7 to V9), fed into a
 * hash. One thread. */
#pragma once
#include "base/hash.h"
#include "hdrs/head.h"

/* Bytes on their way into a hash, however many. When the buffer is full, its hash takes the place of what it held. */
struct value_sink {
    size_t len;
    char bytes[512];
};

void sink_add(struct value_sink *s, struct span bytes);
void sink_char(struct value_sink *s, char c);
struct hash128 sink_hash(const struct value_sink *s);

/* The field of that name in normal form, behind a letter that says whether it was there. */
void sink_field(struct value_sink *s, const struct head *request, struct span name);
