/* How well the eviction policies choose: hit ratios over generated traces, the same on every run. The policies are those
 * of cache/evict.c, the code the daemon runs, not a model of it. Beside them a least recently used in a list of its own,
 * Belady's choice (who is asked for again last goes first), and a bound that no policy can pass (doc/eviction.md). */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/hash.h"
#include "base/mem.h"
#include "cache/evict.h"
#include "trace.h"

static const char usage[] =
    "usage: sim_eviction [--quick] [--json] [--largest PERMILLE]\n"
    "Simulates evictions over generated traces and prints object and byte hit ratios.\n"
    "  --quick             a tenth of the requests, for tests; fails when a policy isn't what it is for\n"
    "  --json              one JSON object a line instead of the table\n"
    "  --largest PERMILLE  admits objects up to this share of the cache (500, as the daemon does at most)\n";

/* What the trace is made of. */
static const struct shape {
    const char *name;
    double alpha;   /* of Zipf's law */
    unsigned once;  /* percent of the requests for what nobody asks for again */
    unsigned drift; /* the ranks move on by one every so many requests; 0: they don't */
} shapes[] = {
    { "zipf 0.8", 0.8, 0, 0 },
    { "zipf 0.8, 25% once", 0.8, 25, 0 },
    { "zipf 0.8, 50% once", 0.8, 50, 0 },
    { "zipf 1.0", 1.0, 0, 0 },
    { "zipf 1.0, 25% once", 1.0, 25, 0 },
    { "zipf 1.0, 50% once", 1.0, 50, 0 },
    { "zipf 1.2", 1.2, 0, 0 },
    { "zipf 1.2, 25% once", 1.2, 25, 0 },
    { "zipf 1.2, 50% once", 1.2, 50, 0 },
    { "zipf 0.8, 25% once, drift", 0.8, 25, 40 },
};
static const unsigned cache_percents[] = { 1, 10 };

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
static struct ratio run_evictor(const struct trace *t, uint64_t capacity, uint64_t largest, enum eviction_policy policy)
{
    struct evictor *e = evictor_new(policy, capacity);
    const struct hit_clock *clock = evictor_clock(e);
    struct object **in = xcalloc(t->objects, sizeof *in), *o;
    struct ratio r = { 0 };

    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t id = t->id[i];

        score(&r, t->size[id], in[id] != NULL);
        if (in[id] != NULL) {
            evictor_hit(clock, in[id]);
            continue;
        }
        if (t->size[id] > largest)
            continue;
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

static struct ratio run_list_lru(const struct trace *t, uint64_t capacity, uint64_t largest)
{
    struct list_node order, *nodes = xcalloc(t->objects, sizeof *nodes);
    struct ratio r = { 0 };
    uint64_t used = 0;

    list_init(&order);
    for (uint32_t i = 0; i < t->n; i++) {
        struct list_node *mine = &nodes[t->id[i]];
        bool hit = list_linked(mine);

        score(&r, t->size[t->id[i]], hit);
        if (t->size[t->id[i]] > largest)
            continue;
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

static struct ratio run_belady(const struct trace *t, uint64_t capacity, uint64_t largest)
{
    struct use *heap = xmalloc((size_t)t->n * sizeof *heap);
    uint32_t *next = xcalloc(t->objects, sizeof *next), n = 0; /* next use of what is in; 0: not in */
    struct ratio r = { 0 };
    uint64_t used = 0;

    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t id = t->id[i];

        score(&r, t->size[id], next[id] != 0);
        if (t->size[id] > largest)
            continue;
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

/* To hit at a request, its object must have lain in the cache since the request before: size times time of the cache's
 * capacity times the length of the trace. The bound takes the hits that are worth most for their room until that is
 * spent, as if it could be shifted freely in time: every policy has to pay as much, and no hit is dearer than it has to
 * be. (D. Berger et al., SIGMETRICS 2018, call it PFOO-L.) */
struct stay {
    uint32_t time, size;
};

static int by_room(const void *a, const void *b)
{
    const struct stay *x = a, *y = b;
    uint64_t rx = (uint64_t)x->time * x->size, ry = (uint64_t)y->time * y->size;

    return rx < ry ? -1 : rx > ry;
}

static int by_time(const void *a, const void *b)
{
    const struct stay *x = a, *y = b;

    return x->time < y->time ? -1 : x->time > y->time;
}

static uint32_t stays_of(const struct trace *t, struct stay *stays)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->n; i++)
        if (t->next[i] != UINT32_MAX)
            stays[n++] = (struct stay){ t->next[i] - i, t->size[t->id[i]] };
    return n;
}

/* An object's worth is 1, or its size: in order of worth per room. */
static struct ratio run_bound(const struct trace *t, uint64_t capacity, uint64_t largest)
{
    struct stay *stays = xmalloc((size_t)t->n * sizeof *stays);
    uint32_t n = stays_of(t, stays);
    struct ratio r = { 0 };

    (void)largest; /* a bound for who admits all is one for who doesn't */
    for (uint32_t i = 0; i < t->n; i++)
        score(&r, t->size[t->id[i]], false);
    for (int bytes = 0; bytes <= 1; bytes++) {
        uint64_t room = capacity * t->n;

        qsort(stays, n, sizeof *stays, bytes ? by_time : by_room);
        for (uint32_t i = 0; i < n && room > 0; i++) {
            uint64_t takes = (uint64_t)stays[i].time * stays[i].size;

            room = takes < room ? room - takes : 0; /* the last one counts in full, as it is a bound */
            if (bytes)
                r.hit_bytes += stays[i].size;
            else
                r.hits++;
        }
    }
    free(stays);
    return r;
}

/* NULL: the daemon's policy. */
static const struct {
    const char *name;
    struct ratio (*run)(const struct trace *t, uint64_t capacity, uint64_t largest);
    enum eviction_policy policy;
} columns[] = {
    { "s3fifo", NULL, EVICT_S3FIFO },    { "lru", NULL, EVICT_LRU },         { "heap GDSF", NULL, EVICT_GDSF },
    { "heap LFUDA", NULL, EVICT_LFUDA }, { "LRU, a list", run_list_lru, 0 }, { "Belady", run_belady, 0 },
    { "bound", run_bound, 0 },
};
enum { S3FIFO, LRU, GDSF, LFUDA, LIST_LRU, BELADY, BOUND, COLUMNS };
_Static_assert(COLUMNS == sizeof columns / sizeof columns[0], "a name for each column");

struct row {
    double object[COLUMNS], bytes[COLUMNS]; /* hit ratios, percent */
};

static struct row run_row(const struct trace *t, unsigned percent, unsigned largest_permille)
{
    uint64_t capacity = t->working_set * percent / 100;
    uint64_t largest = evictor_admits(capacity, capacity * largest_permille / 1000);
    struct row row;

    for (int c = 0; c < COLUMNS; c++) {
        struct ratio r = columns[c].run != NULL ? columns[c].run(t, capacity, largest)
                                                : run_evictor(t, capacity, largest, columns[c].policy);

        row.object[c] = 100.0 * (double)r.hits / (double)r.asked;
        row.bytes[c] = 100.0 * (double)r.hit_bytes / (double)r.asked_bytes;
    }
    return row;
}

static void print_head(void)
{
    printf("hit ratios in percent, of objects and of bytes; cache: its share of all bytes asked for\n%-26s cache",
           "trace");
    for (int c = 0; c < COLUMNS; c++)
        printf("  %11s", columns[c].name);
    puts("");
}

static void print_row(const struct shape *s, unsigned percent, const struct row *row, bool json)
{
    if (json) {
        printf("{\"trace\":\"%s\",\"cache_percent\":%u", s->name, percent);
        for (int c = 0; c < COLUMNS; c++)
            printf(",\"%s\":{\"object\":%.2f,\"byte\":%.2f}", columns[c].name, row->object[c], row->bytes[c]);
        puts("}");
    } else {
        printf("%-26s %4u%%", s->name, percent);
        for (int c = 0; c < COLUMNS; c++)
            printf("   %4.1f  %4.1f", row->object[c], row->bytes[c]);
        puts("");
    }
    fflush(stdout);
}

/* What each policy is for; NULL: it is so. */
static const char *what_is_odd(const struct shape *s, const struct row *row)
{
    double apart = row->object[LRU] - row->object[LIST_LRU];

    if (s->once > 0 && row->object[S3FIFO] < row->object[LRU])
        return "s3fifo is worse than lru where much is asked for once only";
    if (apart < -0.05 || apart > 0.05)
        return "lru isn't the least recently used";
    if (row->object[GDSF] < row->object[LRU] || row->object[GDSF] < row->object[LFUDA])
        return "heap GDSF doesn't have the most hits of Squid's policies";
    if (s->drift == 0 && row->bytes[LFUDA] < row->bytes[GDSF])
        return "heap LFUDA has fewer bytes from the cache than heap GDSF";
    for (int c = 0; c < BOUND; c++)
        if (row->object[c] > row->object[BOUND] || row->bytes[c] > row->bytes[BOUND])
            return "the bound is none";
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "quick", no_argument, NULL, 'q' },
                                             { "json", no_argument, NULL, 'j' },
                                             { "largest", required_argument, NULL, 'l' },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    bool quick = false, json = false, odd = false;
    unsigned largest = 500;
    int c;

    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
        switch (c) {
        case 'q': quick = true; break;
        case 'j': json = true; break;
        case 'l': largest = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'h': fputs(usage, stdout); return 0;
        default: fputs(usage, stderr); return 2;
        }
    if (!json)
        print_head();
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        struct trace t = trace_new(&shapes[s], quick ? 200000 : 2000000);

        for (size_t i = 0; i < sizeof cache_percents / sizeof cache_percents[0]; i++) {
            struct row row = run_row(&t, cache_percents[i], largest);
            const char *why = what_is_odd(&shapes[s], &row);

            print_row(&shapes[s], cache_percents[i], &row, json);
            if (why != NULL)
                fprintf(stderr, "%s, %u%%: %s\n", shapes[s].name, cache_percents[i], why);
            odd |= why != NULL;
        }
        trace_free(&t);
    }
    return quick && odd ? 1 : 0;
}
