/* test/bench/trace.h: made-up requests, the same on every run: popularity by Zipf's law, sizes as a log-normal with the
 * mean (8.7 KB) and standard deviation (11.4 KB) of the historic Polygraph run (reference targets). */
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include "base/mem.h"

struct dice {
    uint64_t state; /* not 0 */
};

static inline uint64_t dice_next(struct dice *d)
{
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return d->state * UINT64_C(0x2545F4914F6CDD1D);
}

/* In (0, 1). */
static inline double dice_unit(struct dice *d)
{
    return ((double)(dice_next(d) >> 11) + 0.5) / 9007199254740992.0;
}

struct zipf {
    double *sum; /* of the weights up to and including this rank */
    uint32_t n;
};

static inline struct zipf zipf_new(uint32_t n, double alpha)
{
    struct zipf z = { xmalloc(n * sizeof *z.sum), n };
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        z.sum[i] = sum += pow(i + 1.0, -alpha);
    return z;
}

static inline void zipf_free(struct zipf *z)
{
    free(z->sum);
    z->sum = NULL;
}

/* A rank from 0 (the most popular) to n - 1. */
static inline uint32_t zipf_draw(const struct zipf *z, struct dice *d)
{
    double at = dice_unit(d) * z->sum[z->n - 1];
    uint32_t low = 0, high = z->n - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (z->sum[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Bytes; the same for the same key. */
static inline uint32_t size_of_key(uint64_t key)
{
    struct dice d = { key * UINT64_C(0x9E3779B97F4A7C15) + 1 };
    double u, v, size;

    dice_next(&d);
    u = dice_unit(&d);
    v = dice_unit(&d);
    size = exp(8.571 + sqrt(-2 * log(u)) * cos(6.283185307179586 * v));
    return size > 1e6 ? 1000000 : (uint32_t)size + 1;
}
