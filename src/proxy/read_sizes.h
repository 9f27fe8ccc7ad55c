/* proxy/read_sizes.h: how large the helpings were that servers' responses came in: mgr:io. One worker. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* 1, 2, 3-4, 5-8, ... 32769-65536 bytes. */
#define READ_SIZES 17
struct read_sizes {
    uint64_t n[READ_SIZES];
};

static inline void read_sizes_count(struct read_sizes *r, size_t bytes)
{
    unsigned k = bytes > 1 ? 64 - (unsigned)__builtin_clzll(bytes - 1) : 0;

    r->n[k < READ_SIZES ? k : READ_SIZES - 1]++;
}
