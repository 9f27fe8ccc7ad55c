/* mgr/sample.h: all counters at one moment, and the past of them: what averages are made of.
 *
 * Threads: a history is written by the main thread and read by any, under its lock; a sample is its holder's. */
#pragma once
#include <pthread.h>
#include <stdbool.h>
#include "base/counters.h"

struct proxy;

struct sample {
    int64_t wall, mono;   /* microseconds */
    int64_t cpu_us;       /* user and system, of the process since its start */
    uint64_t page_faults; /* with I/O */
    uint64_t v[COUNTER_N];
    uint64_t times[SERVICE_TIME_N][TIME_BUCKETS];
};

/* Reads the counters of every worker, and the process's. p NULL: no counters yet. */
void sample_take(struct sample *s, const struct proxy *p);
/* to - from, field by field; wall and mono are how long that was. */
void sample_difference(struct sample *out, const struct sample *from, const struct sample *to);
double sample_seconds(const struct sample *difference); /* > 0 */
/* The time below which `percent` of them were, in seconds; 0 when there were none. */
double sample_percentile(const struct sample *difference, enum service_time kind, unsigned percent);

#define MINUTES_KEPT 61
#define HOURS_KEPT 73

/* Rings; untouched slots take no memory. */
struct history {
    pthread_mutex_t lock;
    struct sample start; /* all zeros but for the clocks */
    struct sample *minutes, *hours;
    size_t n_minutes, n_hours; /* ever taken */
    int64_t hour_taken;        /* mono */
};

void history_init(struct history *h);
void history_free(struct history *h);
/* The time counting began. */
void history_begin(struct history *h, int64_t wall);
void history_add(struct history *h, const struct sample *s);
/* The newest sample that is at least so many seconds older than `now`; else the start. False: it is the start, so the
 * window is shorter than asked for. */
bool history_before(struct history *h, int64_t seconds, int64_t now_mono, struct sample *out);
/* When the last minute began, mono. */
int64_t history_last_tick(struct history *h);
