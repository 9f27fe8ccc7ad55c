/* base/clock.h: the two clocks, in microseconds. Freshness and log lines use the wall clock,
 * time-outs and resident time the monotonic one (a stepped wall clock must not make objects fresh
 * again or time everybody out: caching-rules A9). Any thread. */
#pragma once
#include <stdint.h>

#define US_PER_S INT64_C(1000000)

int64_t clock_wall_us(void); /* since the epoch */
int64_t clock_mono_us(void); /* since some fixed point */
