#include "base/hash.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <xxhash.h>

/* The length of XXH3's own default secret; at least XXH3_SECRET_SIZE_MIN (136). */
#define SECRET_BYTES 192

static unsigned char secret[SECRET_BYTES];
static bool ready;

static void draw(void *out, size_t n)
{
    size_t have = 0;

    while (have < n) {
        ssize_t got = getrandom((char *)out + have, n - have, 0);
        if (got < 0) {
            perror("loligo: getrandom");
            exit(1);
        }
        have += (size_t)got;
    }
}

void hash_init(void)
{
    draw(secret, sizeof secret);
    ready = true;
}

struct hash128 hash128(const void *bytes, size_t n)
{
    XXH128_hash_t h;

    assert(ready);
    h = XXH3_128bits_withSecret(bytes, n, secret, sizeof secret);
    return (struct hash128){ h.low64, h.high64 };
}

uint64_t hash_seed(void)
{
    uint64_t seed;

    draw(&seed, sizeof seed);
    return seed;
}

uint64_t hash64(const void *bytes, size_t n, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, n, seed);
}
