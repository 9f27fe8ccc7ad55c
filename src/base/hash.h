/* base/hash.h: XXH3 under a secret drawn by chance: nobody can prepare texts that collide (hash flooding,
 * hostile-inputs V14). 128 bits under one of the process's for URLs; 64 under a seed that a table keeps for itself. Any
 * thread. */
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

/* From getrandom(). */
uint64_t hash_seed(void);
uint64_t hash64(const void *bytes, size_t n, uint64_t seed);

static inline bool hash128_eq(struct hash128 a, struct hash128 b)
{
    return a.low == b.low && a.high == b.high;
}
