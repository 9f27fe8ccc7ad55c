#include "net/client_tally.h"

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include "base/hash.h"
#include "base/lock.h"
#include "base/mem.h"

/* A lock for so many buckets each: workers meet at one only when connections come or go at the same moment. */
#define SHARDS 64u
#define BUCKETS 256u

struct client_count {
    struct client_count *next; /* in its bucket */
    struct addr client;        /* port 0 */
    uint32_t place;            /* shard * BUCKETS + bucket */
    atomic_uint n;             /* written under the shard's lock */
};

struct client_tally {
    struct shard {
        alignas(64) pthread_mutex_t lock;
        struct client_count *buckets[BUCKETS];
    } shards[SHARDS];
};

struct client_tally *client_tally_new(void)
{
    struct client_tally *t = aligned_alloc(64, sizeof *t);

    if (t == NULL)
        abort();
    memset(t, 0, sizeof *t);
    for (size_t i = 0; i < SHARDS; i++)
        lock_init(&t->shards[i].lock);
    return t;
}

void client_tally_free(struct client_tally **holder)
{
    struct client_tally *t = *holder;

    *holder = NULL;
    if (t == NULL)
        return;
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_destroy(&t->shards[i].lock);
    free(t);
}

static struct addr without_port(const struct addr *a)
{
    struct addr client = { .family = a->family };

    memcpy(client.bytes, a->bytes, a->family == AF_INET ? 4 : sizeof client.bytes);
    return client;
}

/* Keyed: a client with a large IPv6 network could else fill one bucket. */
static uint32_t place_of(const struct addr *client)
{
    return (uint32_t)hash128(client->bytes, sizeof client->bytes).low % (SHARDS * BUCKETS);
}

static struct client_count *find(struct client_count *first, const struct addr *client)
{
    while (first != NULL && !addr_eq(&first->client, client))
        first = first->next;
    return first;
}

struct client_count *client_tally_add(struct client_tally *t, const struct addr *client, unsigned most)
{
    struct addr key = without_port(client);
    uint32_t place = place_of(&key);
    struct shard *shard = &t->shards[place / BUCKETS];
    struct client_count **bucket = &shard->buckets[place % BUCKETS], *c;
    unsigned n;

    if (most == 0)
        return NULL;
    pthread_mutex_lock(&shard->lock);
    c = find(*bucket, &key);
    if (c == NULL) {
        c = xcalloc(1, sizeof *c);
        c->client = key;
        c->place = place;
        c->next = *bucket;
        *bucket = c;
    }
    n = atomic_load_explicit(&c->n, memory_order_relaxed);
    if (n < most)
        atomic_store_explicit(&c->n, n + 1, memory_order_relaxed);
    pthread_mutex_unlock(&shard->lock);
    return n < most ? c : NULL;
}

static void unlink_count(struct shard *shard, struct client_count *c)
{
    struct client_count **at = &shard->buckets[c->place % BUCKETS];

    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

void client_tally_remove(struct client_tally *t, struct client_count **holder)
{
    struct client_count *c = *holder;
    struct shard *shard;
    unsigned n;

    *holder = NULL;
    if (c == NULL)
        return;
    shard = &t->shards[c->place / BUCKETS];
    pthread_mutex_lock(&shard->lock);
    n = atomic_load_explicit(&c->n, memory_order_relaxed);
    assert(n > 0);
    atomic_store_explicit(&c->n, n - 1, memory_order_relaxed);
    if (n == 1)
        unlink_count(shard, c);
    pthread_mutex_unlock(&shard->lock);
    if (n == 1)
        free(c);
}

unsigned client_count_now(const struct client_count *c)
{
    return c != NULL ? atomic_load_explicit(&c->n, memory_order_relaxed) : 0;
}
