#include "proxy/client_records.h"

#include <assert.h>
#include <stdlib.h>
#include "base/hash.h"
#include "base/mem.h"

struct client_records {
    struct client_record *places[CLIENT_RECORD_PLACES];
    struct list_node rest; /* the one that left first in front */
    size_t n, n_rest, rest_most;
    struct client_record *last; /* counted last: the next request is often the same client's */
    struct client_totals totals;
};

struct client_records *client_records_new(size_t rest_most)
{
    struct client_records *c = xcalloc(1, sizeof *c);

    list_init(&c->rest);
    c->rest_most = rest_most;
    return c;
}

static void forget(struct client_records *c, struct client_record *r)
{
    struct client_record **at = &c->places[r->place];

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    list_remove(&r->rest);
    c->n--;
    c->n_rest--;
    if (c->last == r)
        c->last = NULL;
    free(r);
}

void client_records_free(struct client_records **holder)
{
    struct client_records *c = *holder;

    *holder = NULL;
    if (c == NULL)
        return;
    while (!list_empty(&c->rest))
        forget(c, CONTAINER_OF(c->rest.next, struct client_record, rest));
    assert(c->n == 0);
    free(c);
}

static size_t address_bytes(const struct addr *a)
{
    return a->family == AF_INET ? 4 : sizeof a->bytes;
}

static bool same_client(const struct addr *a, const struct addr *b)
{
    return a->family == b->family && memcmp(a->bytes, b->bytes, address_bytes(a)) == 0;
}

/* Keyed: clients of a large IPv6 network can't choose a place. */
static unsigned place_of(const struct addr *client)
{
    return (unsigned)(hash128(client->bytes, address_bytes(client)).low % CLIENT_RECORD_PLACES);
}

static struct client_record *find(struct client_records *c, const struct addr *client, unsigned place)
{
    struct client_record *r = c->places[place];

    while (r != NULL && !same_client(&r->client, client))
        r = r->next;
    return r;
}

struct client_record *client_records_take(struct client_records *c, const struct addr *client)
{
    unsigned place = place_of(client);
    struct client_record *r = find(c, client, place);

    if (r == NULL) {
        r = xcalloc(1, sizeof *r);
        r->client.family = client->family;
        memcpy(r->client.bytes, client->bytes, address_bytes(client));
        r->place = place;
        r->next = c->places[place];
        c->places[place] = r;
        c->n++;
    } else if (r->connections == 0) {
        list_remove(&r->rest);
        c->n_rest--;
    }
    r->connections++;
    return r;
}

void client_records_give(struct client_records *c, struct client_record **holder)
{
    struct client_record *r = *holder;

    *holder = NULL;
    if (r == NULL || --r->connections > 0)
        return;
    list_append(&c->rest, &r->rest);
    if (++c->n_rest > c->rest_most)
        forget(c, CONTAINER_OF(c->rest.next, struct client_record, rest));
}

void client_records_count(struct client_records *c, const struct addr *client, enum log_tag tag)
{
    struct client_record *r = c->last;

    if (r == NULL || !same_client(&r->client, client))
        r = find(c, client, place_of(client));
    if (r == NULL || r->connections == 0)
        return;
    c->last = r;
    r->requests++;
    r->tags[tag]++;
    c->totals.requests++;
    c->totals.hits += log_tag_rows[tag].is_hit;
}

unsigned client_records_each(const struct client_records *c, size_t most,
                             void (*each)(const struct client_record *r, void *ctx), void *ctx)
{
    size_t seen = 0;
    unsigned place = 0;

    for (; place < CLIENT_RECORD_PLACES && seen < most; place++)
        for (const struct client_record *r = c->places[place]; r != NULL; r = r->next) {
            each(r, ctx);
            seen++;
        }
    return place;
}

size_t client_records_number(const struct client_records *c)
{
    return c->n;
}

struct client_totals client_records_totals(const struct client_records *c)
{
    return c->totals;
}
