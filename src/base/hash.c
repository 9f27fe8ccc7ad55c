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

void hash_init(void)
{
    size_t have = 0;

    while (have < sizeof secret) {
        ssize_t n = getrandom(secret + have, sizeof secret - have, 0);
        if (n < 0) {
            perror("loligo: getrandom");
            exit(1);
        }
        have += (size_t)n;
    }
    ready = true;
}

struct hash128 hash128(const void *bytes, size_t n)
{
    XXH128_hash_t h;

    assert(ready);
    h = XXH3_128bits_withSecret(bytes, n, secret, sizeof secret);
    return (struct hash128){ h.low64, h.high64 };
}
