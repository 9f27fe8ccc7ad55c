/* cache/store_private.h: what a fill needs of the store it fills. Private to the room. */
#pragma once
#include "cache/store.h"

/* The pending fill of f->key, with a reference for the caller; or NULL, and f is the pending one from now on. */
struct fill *store_pending_join(struct store *s, struct fill *f);
/* The pending fill of a key, with a reference; NULL: none. */
struct fill *store_pending_find(struct store *s, struct hash128 key);
/* f isn't pending any more; it may be out already. Never under f's lock: a shard and a fill are of one rank. */
void store_pending_leave(struct store *s, struct fill *f);
void store_count_fills(struct store *s, int by);
/* Is a body of so many bytes to be stored, by the limits of now? */
bool store_takes_size(const struct store *s, uint64_t length);
/* The largest that is. */
uint64_t store_largest(const struct store *s);
