/* proxy/log_ring.h: a ring of bytes between one worker, which puts whole lines in, and the log thread, which takes them
 * out in runs as long as there are.
 *
 * Threads: one producer, one consumer; neither ever waits for the other. */
#pragma once
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define LOG_RING_BYTES (256u << 10) /* a power of two; some 2000 lines: 20 ms at 100,000 requests a second */

struct log_ring {
    /* Positions only grow; where they fall is position % LOG_RING_BYTES. */
    alignas(64) atomic_size_t head; /* the producer's */
    size_t tail_seen;               /* its last look at tail */
    _Atomic uint64_t dropped;       /* lines that found no room */
    alignas(64) atomic_size_t tail; /* the consumer's */
    bool mid_line;                  /* part of a line has been taken; the consumer's */
    char *bytes;                    /* LOG_RING_BYTES */
};

/* --- the producer --- */

/* n contiguous bytes to write to, or NULL; log_ring_commit() makes the first of them a line. */
char *log_ring_direct(struct log_ring *r, size_t n);
void log_ring_commit(struct log_ring *r, size_t n);
/* Copies, around the end if need be. False: no room; nothing was put in, and the line is counted as dropped. */
bool log_ring_push(struct log_ring *r, const char *p, size_t n);
/* Bytes in it. */
size_t log_ring_used(struct log_ring *r);

/* --- the consumer --- */

/* What is in it, in one or two pieces; returns how many (0: empty). */
int log_ring_peek(struct log_ring *r, struct iovec v[2]);
void log_ring_advance(struct log_ring *r, size_t n);
/* Throws away up to the end of the line. */
void log_ring_skip_line(struct log_ring *r);
