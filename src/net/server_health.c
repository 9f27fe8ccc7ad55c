#include "net/server_health.h"

#include <stdlib.h>
#include "base/mem.h"

struct server_health {
    atomic_uint refs, failures; /* failures: in a row */
    atomic_int connections;
    atomic_bool dead;
    _Atomic int64_t failed; /* wall clock: the last failure; 0: none */
    _Atomic uint64_t requests;
    _Atomic int64_t tried; /* monotonic: when a dead one was tried last */
};

struct server_health *server_health_new(void)
{
    struct server_health *h = xcalloc(1, sizeof *h);

    atomic_init(&h->refs, 1);
    return h;
}

struct server_health *server_health_ref(struct server_health *h)
{
    atomic_fetch_add_explicit(&h->refs, 1, memory_order_relaxed);
    return h;
}

void server_health_unref(struct server_health **holder)
{
    struct server_health *h = *holder;

    *holder = NULL;
    if (h != NULL && atomic_fetch_sub_explicit(&h->refs, 1, memory_order_acq_rel) == 1)
        free(h);
}

bool server_health_take(struct server_health *h, int max)
{
    int n = atomic_load_explicit(&h->connections, memory_order_relaxed);

    do
        if (max > 0 && n >= max)
            return false;
    while (
        !atomic_compare_exchange_weak_explicit(&h->connections, &n, n + 1, memory_order_relaxed, memory_order_relaxed));
    (void)server_health_ref(h);
    return true;
}

void server_health_give(struct server_health **holder)
{
    if (*holder == NULL)
        return;
    atomic_fetch_sub_explicit(&(*holder)->connections, 1, memory_order_relaxed);
    server_health_unref(holder);
}

int server_health_connections(const struct server_health *h)
{
    return atomic_load_explicit(&((struct server_health *)(uintptr_t)h)->connections, memory_order_relaxed);
}

bool server_health_failed(struct server_health *h, unsigned limit, int64_t now)
{
    unsigned n = atomic_fetch_add_explicit(&h->failures, 1, memory_order_relaxed) + 1;

    atomic_store_explicit(&h->failed, now, memory_order_relaxed);
    return n >= limit && !atomic_exchange_explicit(&h->dead, true, memory_order_relaxed);
}

int64_t server_health_last_failure(const struct server_health *h)
{
    return atomic_load_explicit(&((struct server_health *)(uintptr_t)h)->failed, memory_order_relaxed);
}

void server_health_count_request(struct server_health *h)
{
    atomic_fetch_add_explicit(&h->requests, 1, memory_order_relaxed);
}

uint64_t server_health_requests(const struct server_health *h)
{
    return atomic_load_explicit(&((struct server_health *)(uintptr_t)h)->requests, memory_order_relaxed);
}

bool server_health_answered(struct server_health *h)
{
    /* Read first: on the way of every connection nothing shared is written while all is well. */
    if (atomic_load_explicit(&h->failures, memory_order_relaxed) != 0)
        atomic_store_explicit(&h->failures, 0, memory_order_relaxed);
    return server_health_is_dead(h) && atomic_exchange_explicit(&h->dead, false, memory_order_relaxed);
}

bool server_health_is_dead(const struct server_health *h)
{
    return atomic_load_explicit(&((struct server_health *)(uintptr_t)h)->dead, memory_order_relaxed);
}

bool server_health_wants_probe(struct server_health *h, int64_t now, int64_t interval)
{
    int64_t tried = atomic_load_explicit(&h->tried, memory_order_relaxed);

    return server_health_is_dead(h) && now - tried >= interval &&
           atomic_compare_exchange_strong_explicit(&h->tried, &tried, now, memory_order_relaxed, memory_order_relaxed);
}
