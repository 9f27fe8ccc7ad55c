#include "mgr/sample.h"

#include <stdlib.h>
#include <sys/resource.h>
#include "base/clock.h"
#include "base/mem.h"
#include "mgr/manager.h"

#define US_PER_MINUTE (60 * US_PER_S)
#define US_PER_HOUR (60 * US_PER_MINUTE)
/* A tick may come a little early or late. */
#define TICK_SLACK_US (2 * US_PER_S)

static void add_worker(struct sample *s, const struct counters *c)
{
    struct counters *block = (struct counters *)(uintptr_t)c; /* atomic_load() won't take const in clang 14 */

    for (int i = 0; i < COUNTER_N; i++)
        s->v[i] += counter_get(c, (enum counter)i);
    for (int k = 0; k < SERVICE_TIME_N; k++)
        for (int b = 0; b < TIME_BUCKETS; b++)
            s->times[k][b] += atomic_load_explicit(&block->times[k][b], memory_order_relaxed);
}

static int64_t timeval_us(const struct timeval *t)
{
    return (int64_t)t->tv_sec * US_PER_S + t->tv_usec;
}

void sample_take(struct sample *s, const struct proxy *p)
{
    struct rusage use;

    *s = (struct sample){ .wall = clock_wall_us(), .mono = clock_mono_us() };
    if (getrusage(RUSAGE_SELF, &use) == 0) {
        s->cpu_us = timeval_us(&use.ru_utime) + timeval_us(&use.ru_stime);
        s->page_faults = (uint64_t)use.ru_majflt;
    }
    for (unsigned i = 0; p != NULL && i < proxy_workers(p); i++)
        add_worker(s, proxy_counters(p, i));
}

void sample_difference(struct sample *out, const struct sample *from, const struct sample *to)
{
    out->wall = to->wall - from->wall;
    out->mono = to->mono - from->mono;
    out->cpu_us = to->cpu_us - from->cpu_us;
    out->page_faults = to->page_faults - from->page_faults;
    for (int i = 0; i < COUNTER_N; i++)
        out->v[i] = to->v[i] - from->v[i];
    for (int k = 0; k < SERVICE_TIME_N; k++)
        for (int b = 0; b < TIME_BUCKETS; b++)
            out->times[k][b] = to->times[k][b] - from->times[k][b];
}

double sample_seconds(const struct sample *difference)
{
    return (difference->mono > 0 ? (double)difference->mono : 1) / (double)US_PER_S;
}

/* A bucket's times lie between its bound and the next one's; the middle is off by a tenth at most. */
static double bucket_seconds(unsigned b)
{
    double low = service_time_bound(b), high = service_time_bound(b + 1);

    return (b < 4 ? low : (low + high) / 2) / 1e6;
}

double sample_percentile(const struct sample *difference, enum service_time kind, unsigned percent)
{
    const uint64_t *buckets = difference->times[kind];
    uint64_t all = 0, below = 0;

    for (unsigned b = 0; b < TIME_BUCKETS; b++)
        all += buckets[b];
    for (unsigned b = 0; b < TIME_BUCKETS && all > 0; b++) {
        below += buckets[b];
        if (below * 100 >= all * percent)
            return bucket_seconds(b);
    }
    return 0;
}

void history_init(struct history *h)
{
    *h = (struct history){ .minutes = xcalloc(MINUTES_KEPT, sizeof(struct sample)),
                           .hours = xcalloc(HOURS_KEPT, sizeof(struct sample)) };
    pthread_mutex_init(&h->lock, NULL);
    history_begin(h, clock_wall_us());
}

void history_free(struct history *h)
{
    free(h->minutes);
    free(h->hours);
    pthread_mutex_destroy(&h->lock);
}

void history_begin(struct history *h, int64_t wall)
{
    int64_t ago = clock_wall_us() - wall;

    pthread_mutex_lock(&h->lock);
    h->start.wall = wall;
    h->start.mono = clock_mono_us() - (ago > 0 ? ago : 0);
    pthread_mutex_unlock(&h->lock);
}

void history_add(struct history *h, const struct sample *s)
{
    pthread_mutex_lock(&h->lock);
    h->minutes[h->n_minutes++ % MINUTES_KEPT] = *s;
    if (h->n_hours == 0 || s->mono - h->hour_taken >= US_PER_HOUR - TICK_SLACK_US) {
        h->hours[h->n_hours++ % HOURS_KEPT] = *s;
        h->hour_taken = s->mono;
    }
    pthread_mutex_unlock(&h->lock);
}

/* The newest of a ring that is old enough, NULL when none is. */
static const struct sample *old_enough(const struct sample *ring, size_t n_ever, size_t kept, int64_t latest)
{
    for (size_t back = 1; back <= n_ever && back <= kept; back++) {
        const struct sample *s = &ring[(n_ever - back) % kept];

        if (s->mono <= latest)
            return s;
    }
    return NULL;
}

bool history_before(struct history *h, int64_t seconds, int64_t now_mono, struct sample *out)
{
    int64_t latest = now_mono - seconds * US_PER_S + TICK_SLACK_US;
    const struct sample *s;

    pthread_mutex_lock(&h->lock);
    s = old_enough(h->minutes, h->n_minutes, MINUTES_KEPT, latest);
    if (s == NULL)
        s = old_enough(h->hours, h->n_hours, HOURS_KEPT, latest);
    *out = s != NULL ? *s : h->start;
    pthread_mutex_unlock(&h->lock);
    return s != NULL;
}

int64_t history_last_tick(struct history *h)
{
    int64_t at;

    pthread_mutex_lock(&h->lock);
    at = h->n_minutes > 0 ? h->minutes[(h->n_minutes - 1) % MINUTES_KEPT].mono : h->start.mono;
    pthread_mutex_unlock(&h->lock);
    return at;
}
