/* proxy/reason_counts.h: how often each reason (log_entry.reason) decided, for one worker.
 *
 * Threads: its worker counts; any reads. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>

/* Reasons are static texts of the program: there are some seventy. */
#define REASONS_MAX 128

struct reason_counts {
    struct {
        _Atomic(const char *) reason; /* NULL: free, and so are those behind it */
        atomic_uint_fast64_t n;
    } rows[REASONS_MAX];
};

/* NULL is counted as none. */
void reason_count(struct reason_counts *c, const char *reason);
