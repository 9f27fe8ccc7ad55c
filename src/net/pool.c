#include "net/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/hash.h"
#include "base/mem.h"
#include "net/stream.h"

#define BUCKETS_MAX 4096

struct idle {
    struct list_node all, same; /* in pool->all and in its bucket */
    struct event event;
    struct pool *pool;
    int fd;
    struct endpoints ends;
    struct server_health *place;
    int64_t expires; /* monotonic */
    uint64_t hash;
    size_t name_len;
    char name[];
};

struct pool {
    struct worker *worker;
    struct worker_tick tick;
    size_t max_idle, n;
    uint64_t uses[POOL_USES];
    struct list_node all;      /* least recently put first */
    size_t mask;               /* buckets - 1 */
    struct list_node *buckets; /* likewise */
};

void pool_note_closed(struct pool *p, unsigned requests)
{
    if (requests > 0)
        p->uses[requests < POOL_USES ? requests : POOL_USES - 1]++;
}

void pool_uses(const struct pool *p, uint64_t uses[POOL_USES])
{
    memcpy(uses, p->uses, sizeof p->uses);
}

/* The descriptor and its place are the caller's now. */
static int idle_remove(struct idle *i, struct server_health **place)
{
    int fd = i->fd;

    *place = i->place;
    event_del(&i->event);
    list_remove(&i->all);
    list_remove(&i->same);
    i->pool->n--;
    free(i);
    return fd;
}

static void idle_close(struct idle *i)
{
    struct server_health *place;

    pool_note_closed(i->pool, i->ends.requests);
    close(idle_remove(i, &place));
    server_health_give(&place);
}

static void on_dead(evutil_socket_t fd, short what, void *arg)
{
    struct idle *i = arg;

    (void)fd, (void)what;
    worker_turn(i->pool->worker);
    idle_close(i);
}

/* Every entry, since each may have a time of its own; a few thousand a second cost nothing. */
static void on_tick(struct worker_tick *t)
{
    struct pool *p = CONTAINER_OF(t, struct pool, tick);
    int64_t now = worker_mono(p->worker);
    struct list_node *n, *following;

    LIST_EACH (n, following, &p->all) {
        struct idle *i = CONTAINER_OF(n, struct idle, all);

        if (i->expires <= now)
            idle_close(i);
    }
}

struct pool *pool_new(struct worker *w, size_t max_idle)
{
    struct pool *p = xcalloc(1, sizeof *p);
    size_t buckets = 64;

    while (buckets < max_idle && buckets < BUCKETS_MAX)
        buckets *= 2;
    p->worker = w;
    p->max_idle = max_idle;
    p->mask = buckets - 1;
    p->buckets = xcalloc(buckets, sizeof *p->buckets);
    for (size_t b = 0; b < buckets; b++)
        list_init(&p->buckets[b]);
    list_init(&p->all);
    p->tick.run = on_tick;
    worker_tick_add(w, &p->tick);
    return p;
}

static void drop_oldest(struct pool *p)
{
    idle_close(CONTAINER_OF(p->all.next, struct idle, all));
}

void pool_clear(struct pool *p)
{
    while (p->n > 0)
        drop_oldest(p);
}

void pool_free(struct pool **holder)
{
    struct pool *p = *holder;

    *holder = NULL;
    if (p == NULL)
        return;
    pool_clear(p);
    list_remove(&p->tick.node);
    free(p->buckets);
    free(p);
}

void pool_put(struct pool *p, struct span name, int fd, const struct endpoints *ends, int64_t idle_us,
              struct server_health *place)
{
    struct idle *i;

    if (p->max_idle == 0 || idle_us <= 0) {
        close(fd);
        pool_note_closed(p, ends->requests);
        server_health_give(&place);
        return;
    }
    if (p->n >= p->max_idle)
        drop_oldest(p);
    i = xcalloc(1, sizeof *i + name.len);
    i->pool = p;
    i->fd = fd;
    i->ends = *ends;
    i->place = place;
    i->expires = worker_mono(p->worker) + idle_us;
    i->hash = hash128(name.p, name.len).low;
    i->name_len = name.len;
    if (name.len > 0)
        memcpy(i->name, name.p, name.len);
    list_append(&p->all, &i->all);
    list_append(&p->buckets[i->hash & p->mask], &i->same);
    p->n++;
    event_assign(&i->event, p->worker->base, fd, EV_READ, on_dead, i);
    if (event_add(&i->event, NULL) != 0)
        idle_close(i);
}

int pool_get(struct pool *p, struct span name, pool_fits *fits, void *ctx, struct endpoints *ends,
             struct server_health **place)
{
    uint64_t hash = hash128(name.p, name.len).low;
    struct list_node *bucket = &p->buckets[hash & p->mask];
    struct list_node *n, *before;

    for (n = bucket->prev; n != bucket; n = before) {
        struct idle *i = CONTAINER_OF(n, struct idle, same);
        struct endpoints its = i->ends;
        bool expired = i->expires <= worker_mono(p->worker);
        int fd;

        before = n->prev;
        if (i->hash != hash || !span_eq(span_of(i->name, i->name_len), name) || (fits != NULL && !fits(ctx, &its)))
            continue;
        fd = idle_remove(i, place);
        /* Asked again here: it may have died since the loop last looked. */
        if (!expired && !stream_is_readable(fd)) {
            *ends = its;
            return fd;
        }
        close(fd);
        pool_note_closed(p, its.requests);
        server_health_give(place);
    }
    *place = NULL;
    return -1;
}

size_t pool_idle_of(const struct pool *p, struct span name)
{
    uint64_t hash = hash128(name.p, name.len).low;
    const struct list_node *bucket = &p->buckets[hash & p->mask];
    size_t found = 0;

    for (const struct list_node *n = bucket->next; n != bucket; n = n->next) {
        const struct idle *i = CONTAINER_OF(n, struct idle, same);

        found += i->hash == hash && span_eq(span_of(i->name, i->name_len), name);
    }
    return found;
}

size_t pool_idle(const struct pool *p)
{
    return p->n;
}

void pool_each(const struct pool *p, void (*each)(const struct pool_idle_view *i, void *ctx), void *ctx)
{
    for (const struct list_node *n = p->all.next; n != &p->all; n = n->next) {
        const struct idle *i = CONTAINER_OF(n, struct idle, all);
        const struct pool_idle_view v = { i->fd, span_of(i->name, i->name_len), i->ends, i->expires };

        each(&v, ctx);
    }
}
