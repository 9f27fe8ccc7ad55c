/* net/pool.h: idle connections to servers, per worker, by a name the room above chooses (address and port, or peer).
 * An idle connection that turns readable (bytes or an end) is dead and closed at once: surplus bytes never become the
 * next response.
 *
 * Threads: one pool per worker, its own thread's only. */
#pragma once
#include <stdint.h>
#include "net/addr.h"
#include "net/worker.h"
#include "base/span.h"
#include "net/server_health.h"

struct pool;

struct pool *pool_new(struct worker *w, size_t max_idle);
void pool_free(struct pool **holder);
/* Takes over a connected descriptor that is not registered with any stream. idle_us: server_idle_pconn_timeout. place: what is
 * given back when it is closed; taken over; NULL: none. */
void pool_put(struct pool *p, struct span name, int fd, const struct endpoints *ends, int64_t idle_us,
              struct server_health *place);
/* May it be taken? Doesn't touch the pool. */
typedef bool pool_fits(void *ctx, const struct endpoints *ends);
/* The most recently used living one for name that fits (unregistered, the caller's), with its place, or -1. fits NULL: each
 * does. */
int pool_get(struct pool *p, struct span name, pool_fits *fits, void *ctx, struct endpoints *ends,
             struct server_health **place);
/* How many of that name. */
size_t pool_idle_of(const struct pool *p, struct span name);
/* Closes all: their descriptors are needed elsewhere. */
void pool_clear(struct pool *p);
size_t pool_idle(const struct pool *p);
/* A connection on which so many requests were sent is closed, by the caller; those that the pool closes it counts itself. */
void pool_note_closed(struct pool *p, unsigned requests);
/* Of how many connections that were closed n requests (POOL_USES - 1: or more) were sent on each. */
#define POOL_USES 256
void pool_uses(const struct pool *p, uint64_t uses[POOL_USES]);
/* Each idle connection, for manager pages; valid during the call. */
struct pool_idle_view {
    int fd;
    struct span name;
    struct endpoints ends;
    int64_t expires; /* monotonic microseconds */
};
void pool_each(const struct pool *p, void (*each)(const struct pool_idle_view *i, void *ctx), void *ctx);
