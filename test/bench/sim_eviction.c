/* How well the eviction policies choose: hit ratios over generated traces. The policies are those of cache/evict.c, the
 * code the daemon runs, not a model of it; beside them a true LRU and, as a bound, the clairvoyant choice (the object
 * whose next request is farthest away goes first). */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"
#include "cache/evict.h"
#include "trace.h"

static const char usage[] =
    "usage: sim_eviction [--quick] [--json]\n"
    "Simulates evictions over generated traces and prints object and byte hit ratios.\n"
    "  --quick  a tenth of the requests, for tests; fails when s3fifo isn't better than lru where it should be\n"
    "  --json   one JSON object a line instead of the table\n";

/* What the trace is made of. */
static const struct shape {
    const char *name;
    double alpha;   /* of Zipf's law */
    unsigned once;  /* percent of the requests for what nobody asks for again */
    unsigned drift; /* the ranks move on by one every so many requests; 0: they don't */
} shapes[] = {
    { "zipf 0.9", 0.9, 0, 0 },
    { "zipf 0.9, 25% once", 0.9, 25, 0 },
    { "zipf 1.0, 50% once", 1.0, 50, 0 },
    { "zipf 0.7, 25% once", 0.7, 25, 0 },
    { "zipf 0.9, 25% once, drift", 0.9, 25, 40 },
};

struct trace {
    uint32_t *id;   /* of the object asked for */
    uint32_t *next; /* position of the next request for the same; UINT32_MAX: none */
    uint32_t *size; /* by id */
    uint32_t n, objects;
    uint64_t working_set; /* bytes of all objects */
};

static void find_next_uses(struct trace *t)
{
    uint32_t *seen = xmalloc(t->objects * sizeof *seen);

    memset(seen, 0xff, t->objects * sizeof *seen);
    for (uint32_t i = t->n; i-- > 0;) {
        t->next[i] = seen[t->id[i]];
        seen[t->id[i]] = i;
    }
    free(seen);
}

static struct trace trace_new(const struct shape *s, uint32_t n)
{
    uint32_t ranks = n / 10, used = 0;
    struct zipf z = zipf_new(ranks, s->alpha);
    struct dice d = { 20140101 };
    uint32_t *id_of_rank = xmalloc(((size_t)ranks + n) * sizeof *id_of_rank);
    struct trace t = { .id = xmalloc(n * sizeof *t.id), .next = xmalloc(n * sizeof *t.next), .n = n };

    memset(id_of_rank, 0xff, ((size_t)ranks + n) * sizeof *id_of_rank);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t *id, once = UINT32_MAX;

        id = dice_next(&d) % 100 < s->once ? &once : &id_of_rank[zipf_draw(&z, &d) + (s->drift > 0 ? i / s->drift : 0)];
        if (*id == UINT32_MAX)
            *id = used++;
        t.id[i] = *id;
    }
    t.objects = used;
    t.size = xmalloc(used * sizeof *t.size);
    for (uint32_t i = 0; i < used; i++)
        t.working_set += t.size[i] = size_of_key(i);
    find_next_uses(&t);
    free(id_of_rank);
    zipf_free(&z);
    return t;
}

static void trace_free(struct trace *t)
{
    free(t->id);
    free(t->next);
    free(t->size);
}

struct ratio {
    uint64_t asked, hits, asked_bytes, hit_bytes;
};

static void score(struct ratio *r, uint32_t size, bool hit)
{
    r->asked++;
    r->asked_bytes += size;
    if (hit) {
        r->hits++;
        r->hit_bytes += size;
    }
}

/* Not hash128(): that differs from process to process, and so would the ghosts' collisions. */
static struct hash128 key_of(uint32_t id)
{
    struct dice d = { (id + 1) * UINT64_C(0x9E3779B97F4A7C15) };
    uint64_t low = dice_next(&d);

    return (struct hash128){ low, dice_next(&d) };
}

/* The daemon's evictor. */
static struct ratio run_evictor(const struct trace *t, uint64_t capacity, enum eviction_policy policy)
{
    struct evictor *e = evictor_new(policy, capacity);
    struct object **in = xcalloc(t->objects, sizeof *in), *o;
    struct ratio r = { 0 };

    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t id = t->id[i];

        score(&r, t->size[id], in[id] != NULL);
        if (in[id] != NULL) {
            atomic_store_explicit(&in[id]->visited, 1, memory_order_relaxed);
            continue;
        }
        o = in[id] = object_new(NULL, 0);
        o->key = key_of(id);
        o->head_len = id; /* to find it again: there is no head here */
        o->charge = t->size[id];
        evictor_add(e, o);
        while (evictor_bytes(e) > capacity) {
            o = evictor_pick(e);
            in[o->head_len] = NULL;
            object_unref(&o);
        }
    }
    for (uint32_t id = 0; id < t->objects; id++)
        object_unref(&in[id]);
    free(in);
    evictor_free(&e);
    return r;
}

static struct ratio run_s3fifo(const struct trace *t, uint64_t capacity)
{
    return run_evictor(t, capacity, EVICT_S3FIFO);
}

static struct ratio run_lru(const struct trace *t, uint64_t capacity)
{
    return run_evictor(t, capacity, EVICT_LRU);
}

static struct ratio run_true_lru(const struct trace *t, uint64_t capacity)
{
    struct list_node order, *nodes = xcalloc(t->objects, sizeof *nodes);
    struct ratio r = { 0 };
    uint64_t used = 0;

    list_init(&order);
    for (uint32_t i = 0; i < t->n; i++) {
        struct list_node *mine = &nodes[t->id[i]];
        bool hit = list_linked(mine);

        score(&r, t->size[t->id[i]], hit);
        if (hit)
            list_remove(mine);
        else
            used += t->size[t->id[i]];
        list_append(&order, mine);
        while (used > capacity) {
            struct list_node *oldest = order.next;

            used -= t->size[oldest - nodes];
            list_remove(oldest);
        }
    }
    free(nodes);
    return r;
}

/* A heap of (next use, object), the farthest on top; entries that are no longer true are skipped. */
struct use {
    uint32_t next, id;
};

static void heap_push(struct use *h, uint32_t *n, struct use u)
{
    uint32_t i = (*n)++;

    for (; i > 0 && h[(i - 1) / 2].next < u.next; i = (i - 1) / 2)
        h[i] = h[(i - 1) / 2];
    h[i] = u;
}

static struct use heap_pop(struct use *h, uint32_t *n)
{
    struct use top = h[0], last = h[--*n];
    uint32_t i = 0, child;

    while ((child = 2 * i + 1) < *n) {
        if (child + 1 < *n && h[child + 1].next > h[child].next)
            child++;
        if (h[child].next <= last.next)
            break;
        h[i] = h[child];
        i = child;
    }
    h[i] = last;
    return top;
}

static struct ratio run_clairvoyant(const struct trace *t, uint64_t capacity)
{
    struct use *heap = xmalloc((size_t)t->n * sizeof *heap);
    uint32_t *next = xcalloc(t->objects, sizeof *next), n = 0; /* next use of what is in; 0: not in */
    struct ratio r = { 0 };
    uint64_t used = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t id = t->id[i];

        score(&r, t->size[id], next[id] != 0);
        if (next[id] == 0)
            used += t->size[id];
        next[id] = t->next[i];
        heap_push(heap, &n, (struct use){ t->next[i], id });
        while (used > capacity) {
            struct use u = heap_pop(heap, &n);

            if (next[u.id] != u.next)
                continue;
            next[u.id] = 0;
            used -= t->size[u.id];
        }
    }
    free(heap);
    free(next);
    return r;
}

static const struct {
    const char *name;
    struct ratio (*run)(const struct trace *t, uint64_t capacity);
} policies[] = {
    { "s3fifo", run_s3fifo },
    { "lru", run_lru },
    { "true lru", run_true_lru },
    { "clairvoyant", run_clairvoyant },
};
#define POLICIES (sizeof policies / sizeof policies[0])

/* Hit ratios of one cache size, a column a policy. Returns how far s3fifo is above lru, objects in percent. */
static double report(const struct shape *s, const struct trace *t, unsigned percent, bool json)
{
    double object[POLICIES], bytes[POLICIES];

    for (size_t p = 0; p < POLICIES; p++) {
        struct ratio r = policies[p].run(t, t->working_set * percent / 100);

        object[p] = 100.0 * (double)r.hits / (double)r.asked;
        bytes[p] = 100.0 * (double)r.hit_bytes / (double)r.asked_bytes;
    }
    if (json) {
        printf("{\"trace\":\"%s\",\"cache_percent\":%u", s->name, percent);
        for (size_t p = 0; p < POLICIES; p++)
            printf(",\"%s\":{\"object\":%.2f,\"byte\":%.2f}", policies[p].name, object[p], bytes[p]);
        puts("}");
    } else {
        printf("%-28s %5u%%", s->name, percent);
        for (size_t p = 0; p < POLICIES; p++)
            printf("   %5.1f %5.1f", object[p], bytes[p]);
        puts("");
    }
    fflush(stdout);
    return object[0] - object[1];
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "quick", no_argument, NULL, 'q' },
                                             { "json", no_argument, NULL, 'j' },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    bool quick = false, json = false, worse = false;
    int c;

    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
        switch (c) {
        case 'q': quick = true; break;
        case 'j': json = true; break;
        case 'h': fputs(usage, stdout); return 0;
        default: fputs(usage, stderr); return 2;
        }
    if (!json) {
        printf("hit ratios in percent, of objects and of bytes; cache: its share of all bytes asked for\n%-28s  cache",
               "trace");
        for (size_t p = 0; p < POLICIES; p++)
            printf("   %11s", policies[p].name);
        puts("");
    }
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        struct trace t = trace_new(&shapes[s], quick ? 200000 : 2000000);

        /* Where much is asked for once only, keeping that out is the point of the small queue. */
        worse |= report(&shapes[s], &t, 1, json) < 0 && shapes[s].once > 0;
        worse |= report(&shapes[s], &t, 10, json) < 0 && shapes[s].once > 0;
        trace_free(&t);
    }
    if (quick && worse)
        fputs("s3fifo is worse than lru\n", stderr);
    return quick && worse ? 1 : 0;
}
