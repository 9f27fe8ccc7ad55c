/* base/counters.h: what happened, counted. One row per counter in counters.def; one block per worker,
 * added up when a page is read. 64 bits: no wrap in any uptime.
 *
 * Threads: a block has one writer, its worker; any thread may read. */
#pragma once
#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

enum counter {
#define COUNTER(id, name, unit, meaning) id,
#include "base/counters.def"
#undef COUNTER
    COUNTER_N
};

enum counter_unit { COUNTER_COUNT, COUNTER_KBYTES };

extern const struct counter_row {
    const char *name;
    enum counter_unit unit;
    const char *meaning;
} counter_rows[COUNTER_N];

/* Service times: a log-scaled histogram per kind, for mgr:service_times. Bucket i holds times from
 * service_time_bound(i) microseconds up to, not including, service_time_bound(i + 1). */
enum service_time { TIME_ALL, TIME_MISS, TIME_HIT, TIME_NEAR_HIT, TIME_NOT_MODIFIED, TIME_DNS, SERVICE_TIME_N };
#define TIME_BUCKETS 128

/* One worker's block, on cache lines of its own. */
struct counters {
    alignas(64) _Atomic uint64_t v[COUNTER_N];
    _Atomic uint64_t times[SERVICE_TIME_N][TIME_BUCKETS];
};

static inline void counter_add(_Atomic uint64_t *at, uint64_t n)
{
    /* One writer, so load and store do without a locked add; atomic for the reader's sake. */
    atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void count(struct counters *c, enum counter id, uint64_t n)
{
    counter_add(&c->v[id], n);
}

static inline uint64_t counter_get(const struct counters *c, enum counter id)
{
    return atomic_load_explicit(&((struct counters *)(uintptr_t)c)->v[id], memory_order_relaxed);
}

/* The bucket a time in microseconds falls in, and a bucket's lower bound in microseconds. */
unsigned service_time_bucket(int64_t us);
double service_time_bound(unsigned bucket);
void count_time(struct counters *c, enum service_time kind, int64_t us);
