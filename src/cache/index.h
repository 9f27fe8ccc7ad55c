/* cache/index.h: key to newest stored object, one shard of it. Private to the room.
 *
 * Threads: index_find() and index_each() take no lock and write nothing; the caller is inside its epoch. The others are
 * called under the lock of the shard. */
#pragma once
#include "base/epoch.h"
#include "cache/object.h"

struct index_table;

struct index {
    _Atomic(struct index_table *) table; /* NULL: empty */
    size_t live;                         /* keys */
    size_t filled;                       /* slots that aren't free: keys, and what was taken out since the last copy */
};

/* Newest object of the key, or NULL. */
struct object *index_find(const struct index *ix, struct hash128 key);
/* o is the newest of its key from now on. */
void index_put(struct index *ix, struct epoch_thread *t, struct object *o);
/* The key has nothing any more; it was there. */
void index_take(struct index *ix, struct hash128 key);
/* Calls each(newest object, ctx) for every key; false from it stops and is returned. */
bool index_each(const struct index *ix, bool (*each)(struct object *newest, void *ctx), void *ctx);
size_t index_bytes(const struct index *ix);
/* No other thread is looking. */
void index_free(struct index *ix);
