#include "access/user_addresses.h"

#include <pthread.h>
#include <stdlib.h>
#include "base/hash.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/mem.h"

#define BUCKETS 1024
#define EACH_MAX 256 /* addresses of one user; beyond them the oldest is forgotten */

struct seen {
    struct addr from;
    int64_t at;
};

struct user {
    struct user *next;
    struct list_node age; /* the longest unseen first */
    struct seen *seen;
    unsigned n, capacity;
    char *name;
    size_t name_len;
};

struct user_addresses {
    pthread_mutex_t lock;
    struct user *buckets[BUCKETS];
    struct list_node age;
    size_t n;
};

struct user_addresses *user_addresses_new(void)
{
    struct user_addresses *t = xcalloc(1, sizeof *t);

    lock_init(&t->lock);
    list_init(&t->age);
    return t;
}

static struct user **find(struct user_addresses *t, struct span name)
{
    struct user **at = &t->buckets[hash128(name.p, name.len).low % BUCKETS];

    while (*at != NULL && !span_eq(span_of((*at)->name, (*at)->name_len), name))
        at = &(*at)->next;
    return at;
}

static void drop(struct user_addresses *t, struct user **at)
{
    struct user *u = *at;

    *at = u->next;
    list_remove(&u->age);
    free(u->seen);
    free(u->name);
    free(u);
    t->n--;
}

static void drop_oldest(struct user_addresses *t)
{
    struct user *u = CONTAINER_OF(t->age.next, struct user, age);

    drop(t, find(t, span_of(u->name, u->name_len)));
}

void user_addresses_free(struct user_addresses **holder)
{
    struct user_addresses *t = *holder;

    *holder = NULL;
    if (t == NULL)
        return;
    while (t->n > 0)
        drop_oldest(t);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static struct user *add(struct user_addresses *t, struct user **at, struct span name)
{
    struct user *u = xcalloc(1, sizeof *u);

    u->name = xspandup(name);
    u->name_len = name.len;
    u->next = *at;
    *at = u;
    t->n++;
    return u;
}

static bool same_host(const struct addr *a, const struct addr *b)
{
    return a->family == b->family && memcmp(a->bytes, b->bytes, a->family == AF_INET ? 4 : sizeof a->bytes) == 0;
}

static void forget_at(struct user *u, unsigned i)
{
    u->seen[i] = u->seen[--u->n];
}

static void forget_older(struct user *u, int64_t than)
{
    for (unsigned i = 0; i < u->n;)
        if (u->seen[i].at <= than)
            forget_at(u, i);
        else
            i++;
}

/* Where it may be put down: its own place, a new one, or the oldest one's. */
static struct seen *place_of(struct user *u, const struct addr *from)
{
    unsigned oldest = 0;

    for (unsigned i = 0; i < u->n; i++) {
        if (same_host(&u->seen[i].from, from))
            return &u->seen[i];
        if (u->seen[i].at < u->seen[oldest].at)
            oldest = i;
    }
    if (u->n == EACH_MAX)
        return &u->seen[oldest];
    if (u->n == u->capacity) {
        u->capacity = u->capacity ? 2 * u->capacity : 4;
        u->seen = xrealloc(u->seen, u->capacity * sizeof *u->seen);
    }
    return &u->seen[u->n++];
}

unsigned user_addresses_seen(struct user_addresses *t, struct span user, const struct addr *from, int64_t mono,
                             int64_t ttl, size_t users_max)
{
    struct user **at, *u;
    unsigned n;

    pthread_mutex_lock(&t->lock);
    at = find(t, user);
    while (*at == NULL && t->n > 0 && t->n >= users_max) {
        drop_oldest(t);
        at = find(t, user);
    }
    u = *at != NULL ? *at : add(t, at, user);
    if (list_linked(&u->age))
        list_remove(&u->age);
    list_append(&t->age, &u->age);
    forget_older(u, mono - ttl);
    *place_of(u, from) = (struct seen){ *from, mono };
    n = u->n;
    pthread_mutex_unlock(&t->lock);
    return n;
}

void user_addresses_forget(struct user_addresses *t, struct span user, const struct addr *from)
{
    struct user **at;

    pthread_mutex_lock(&t->lock);
    at = find(t, user);
    if (*at != NULL && from == NULL) {
        drop(t, at);
    } else if (*at != NULL) {
        for (unsigned i = 0; i < (*at)->n; i++)
            if (same_host(&(*at)->seen[i].from, from)) {
                forget_at(*at, i);
                break;
            }
    }
    pthread_mutex_unlock(&t->lock);
}
