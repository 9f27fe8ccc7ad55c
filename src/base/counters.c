#include "base/counters.h"

const struct counter_row counter_rows[COUNTER_N] = {
#define COUNT COUNTER_COUNT
#define KBYTES COUNTER_KBYTES
#define COUNTER(id, name, unit, meaning) [id] = { name, unit, meaning },
#include "base/counters.def"
#undef COUNTER
#undef COUNT
#undef KBYTES
};

/* Four buckets a doubling from 1 us: 2^32 us (over an hour) ends in bucket 127; within 19 %. */
unsigned service_time_bucket(int64_t us)
{
    unsigned top, b;
    uint64_t u;

    if (us <= 0)
        return 0;
    u = (uint64_t)us;
    if (u < 4)
        return (unsigned)u;
    top = 63 - (unsigned)__builtin_clzll(u);
    b = (top - 1) * 4 + (unsigned)((u >> (top - 2)) & 3);
    return b < TIME_BUCKETS ? b : TIME_BUCKETS - 1;
}

double service_time_bound(unsigned bucket)
{
    unsigned top;

    if (bucket < 4)
        return bucket;
    top = bucket / 4 + 1;
    return (double)((uint64_t)(4 + bucket % 4) << (top - 2));
}

void count_time(struct counters *c, enum service_time kind, int64_t us)
{
    counter_add(&c->times[kind][service_time_bucket(us)], 1);
}
