/* cache/times.h: what RFC 9111 section 4.2.3 calls the times of a response. Seconds since the epoch unless said. */
#pragma once
#include <stdint.h>

struct response_times {
    int64_t request_time;  /* when the request left */
    int64_t response_time; /* when the head arrived */
    int64_t date_value;    /* Date, or response_time when absent or bad */
    int64_t age_value;     /* Age, 0 when absent or bad */
};

/* Sums and products that stop at the ends of the range: a peer's huge number must never come out negative
 * (RFC 9111 section 1.2.2). */
static inline int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static inline int64_t saturating_sub(int64_t a, int64_t b)
{
    int64_t difference;

    return __builtin_sub_overflow(a, b, &difference) ? (b < 0 ? INT64_MAX : INT64_MIN) : difference;
}

static inline int64_t saturating_mul(int64_t a, int64_t b)
{
    int64_t product;

    return __builtin_mul_overflow(a, b, &product) ? ((a < 0) != (b < 0) ? INT64_MIN : INT64_MAX) : product;
}
