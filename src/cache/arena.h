/* cache/arena.h: the memory of cache_mem. One reserved range of exactly that many bytes, handed out in size classes;
 * nothing a client or origin sends can push the cache past it (DESIGN.md, Bytes). Untouched pages cost nothing, so an
 * idle daemon stays small.
 *
 * A page of 64 KiB belongs to one class while it holds blocks and to nobody when it is empty. Blocks are taken from the
 * fullest pages, so that others empty.
 *
 * Threads: any; each size class has its lock, held for tens of nanoseconds. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct arena;

/* capacity bytes (at least 1 MiB; smaller is raised; whole pages). Exits with a message when the range can't be
 * reserved. */
struct arena *arena_new(size_t capacity);
void arena_free(struct arena **holder);
/* At least n bytes, 16-aligned, or NULL when there is no room (evict and try again) or n > ARENA_BLOCK_MAX. */
#define ARENA_BLOCK_MAX 65472
void *arena_alloc(struct arena *a, size_t n);
/* n: what was asked for; 0 when the caller doesn't know any more. */
void arena_release(struct arena *a, void *p, size_t n);
/* Bytes a request of n takes: what to account. When pages are short, arena_alloc() may give a larger block.
 * Idempotent. */
size_t arena_round(size_t n);
/* Bytes that block really takes. */
size_t arena_block_size(const struct arena *a, const void *block);
/* The largest size <= n that fills its block (the smallest class when n is below it; at most ARENA_BLOCK_MAX). */
size_t arena_round_down(size_t n);
size_t arena_capacity(const struct arena *a);
/* Is it what arena_new(capacity) would make? */
bool arena_same_capacity(const struct arena *a, size_t capacity);
/* Bytes handed out, in rounded sizes; and bytes in pages that hold at least one block. used <= footprint <=
 * capacity. */
size_t arena_used(const struct arena *a);
size_t arena_footprint(const struct arena *a);
/* Bytes not handed out; and those of them that requests of n bytes can get. Both are gone when another thread is
 * quicker. */
size_t arena_unused(const struct arena *a);
size_t arena_room(const struct arena *a, size_t n);
/* Of each size of blocks: how many are handed out, and how many more are in pages begun. No lock: read one after the other. */
void arena_each_size(const struct arena *a, void (*each)(size_t size, size_t used, size_t unused, void *ctx),
                     void *ctx);
/* Bytes that will come back when a grace period is over: objects unlinked and retired. Plus when retired, minus when
 * released. */
void arena_limbo_add(struct arena *a, size_t bytes);
void arena_limbo_sub(struct arena *a, size_t bytes);
size_t arena_limbo(const struct arena *a);
