/* base/hash.h: XXH3, 128 bits, under a secret drawn once a process: a client can't prepare URLs
 * that collide (hash flooding, hostile-inputs V14). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash128 {
    uint64_t low, high;
};

/* Draws the secret from getrandom(). Once, before the first thread starts; calling hash128() before it
 * asserts. */
void hash_init(void);
struct hash128 hash128(const void *bytes, size_t n);

static inline bool hash128_eq(struct hash128 a, struct hash128 b)
{
    return a.low == b.low && a.high == b.high;
}
