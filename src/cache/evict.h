/* cache/evict.h: which object goes next. Private to the room: store.c and test/bench/sim_eviction.c.
 *
 * EVICT_S3FIFO: new objects wait in a small queue (a tenth of the bytes); those visited there move to the main
 * queue, others go, and their key is remembered for a while: who comes back goes to the main queue at once. The main
 * queue gives a visited object one more round. EVICT_LRU: one queue with one more round for the visited: a
 * second-chance approximation of least recently used, since a hit writes nothing but its flag (DESIGN.md, Threads).
 *
 * Threads: any, inside an epoch; one lock, taken on insert, remove and evict, never on a hit. */
#pragma once
#include "cache/store.h" /* enum eviction_policy */

struct evictor;

/* capacity: bytes it has to do with, which sizes its memory of past keys. */
struct evictor *evictor_new(enum eviction_policy policy, size_t capacity);
/* Objects still queued are only forgotten. */
void evictor_free(struct evictor **holder);
void evictor_set_policy(struct evictor *e, enum eviction_policy policy);
/* Queues o; nothing when it is OBJECT_DEAD already: it left the index before it came here. */
void evictor_add(struct evictor *e, struct object *o);
/* Takes o out if it is queued. The caller has set OBJECT_DEAD before, so that a late evictor_add() does nothing. */
void evictor_drop(struct evictor *e, struct object *o);
/* The next victim, out of its queue; NULL when there is none. Somebody else may have unlinked it from the index at the
 * same time: whoever sets OBJECT_DEAD retires it. */
struct object *evictor_pick(struct evictor *e);
/* Bytes queued, by charge. */
uint64_t evictor_bytes(struct evictor *e);
/* Memory of its own. */
size_t evictor_overhead(const struct evictor *e);
