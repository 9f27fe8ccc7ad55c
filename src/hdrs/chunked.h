/* hdrs/chunked.h: the chunked transfer coding, both ways (RFC 9112 section 7.1). A decoder is a plain
 * value without pointers; bytes in, runs of data out; nothing is copied. */
#pragma once
#include "base/span.h"

struct chunked {
    uint64_t left;         /* bytes of the chunk in hand still to come */
    uint32_t overhead;     /* extension and trailer bytes seen so far in this message */
    uint32_t overhead_max; /* chunk_extension_max */
    uint8_t state;
    uint8_t digits;
    uint8_t quoted;
    uint8_t name_matches; /* of a trailer name: bytes that agree with one that is refused */
};

enum chunked_result { CHUNKED_MORE, CHUNKED_DONE, CHUNKED_BAD };

void chunked_init(struct chunked *c, uint32_t overhead_max);
/* Consumes *used bytes of in and finds at most one run of data, *data (a piece of in, may be empty). Call again
 * with the rest while *used < len or data came out. CHUNKED_DONE: the message ended exactly *used bytes in (the
 * trailer section is checked and dropped). CHUNKED_BAD: broken; never to be completed. *used is at least 1 unless
 * len is 0 or the result is CHUNKED_DONE or BAD. */
enum chunked_result chunked_decode(struct chunked *c, struct span in, size_t *used, struct span *data);

/* The longest "SIZE CRLF" */
#define CHUNK_HEAD_MAX 18
/* "SIZE CRLF" for a chunk of n > 0 bytes into out; returns its length. The data and CRLF follow. */
size_t chunk_head(char out[CHUNK_HEAD_MAX], uint64_t n);
#define CHUNK_LAST "0\r\n\r\n"
