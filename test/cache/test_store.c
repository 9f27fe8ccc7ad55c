#include <pthread.h>
#include <sched.h>
#include "cache/evict.h"
#include "cache/store.h"
#include "stored.h"

#define MIB ((size_t)1 << 20)

static const struct store_limits limits = {
    .cache_mem = 4 * MIB,
    .max_object_size = MIB,
    .policy = EVICT_S3FIFO,
    .variants_max = 4,
};

/* A store, and this thread's epoch, inside. */
struct bench {
    struct store *store;
    struct epoch_thread *epoch;
};

static struct bench bench_of(const struct store_limits *l)
{
    struct bench b = { store_new(l), epoch_register() };

    epoch_enter(b.epoch);
    return b;
}

/* What a worker does between two turns: a grace period, since no other thread is inside. */
static void next_turn(struct bench *b)
{
    epoch_exit(b->epoch);
    epoch_poll(b->epoch);
    epoch_poll(b->epoch);
    epoch_enter(b->epoch);
}

static void bench_end(struct bench *b)
{
    epoch_exit(b->epoch);
    epoch_unregister(&b->epoch);
    store_free(&b->store);
}

/* Stores an object of key n; false when there was no room or it was refused. */
static bool put(struct bench *b, uint64_t n, uint64_t length)
{
    struct object *o;
    bool ok;

    store_make_room(b->store, b->epoch, length + 400 < ARENA_BLOCK_MAX ? length + 400 : ARENA_BLOCK_MAX);
    if ((o = test_stored(store_arena(b->store), n, length)) == NULL)
        return false;
    ok = store_insert(b->store, b->epoch, o, store_now(b->store));
    object_unref(&o);
    return ok;
}

static struct object *get(struct bench *b, uint64_t n)
{
    return store_lookup(b->store, test_key(n), NULL, NULL);
}

static void what_is_put_in_is_found(void **state)
{
    struct bench b = bench_of(&limits);
    struct store_stats st;
    bool any = true;

    (void)state;
    assert_null(store_lookup(b.store, test_key(1), NULL, &any));
    assert_false(any);
    for (uint64_t n = 0; n < 500; n++)
        assert_true(put(&b, n, n));
    for (uint64_t n = 0; n < 500; n++) {
        struct object *o = store_lookup(b.store, test_key(n), NULL, &any);

        if (o == NULL || !any || object_length(o) != n || (n > 0 && !body_is(o->body, n, 0, n)))
            fail_msg("object %llu", (unsigned long long)n);
        assert_int_equal(o->use, 1);
    }
    st = store_stats(b.store);
    assert_int_equal(st.objects, 500);
    assert_int_equal(st.inserts, 500);
    assert_int_equal(st.evictions, 0);
    assert_int_equal(st.capacity, 4 * MIB);
    assert_true(st.bytes_used <= st.bytes_footprint && st.bytes_footprint <= st.capacity);
    assert_true(st.index_bytes > 500 * 8);
    bench_end(&b);
}

static void the_newest_answer_replaces_the_old(void **state)
{
    struct bench b = bench_of(&limits);
    struct object *first;

    (void)state;
    put(&b, 1, 100);
    first = get(&b, 1);
    put(&b, 1, 200);
    assert_int_equal(object_length(get(&b, 1)), 200);
    assert_int_equal(store_stats(b.store).objects, 1);
    /* Still ours: we are in the epoch we found it in. */
    assert_true(body_is(first->body, 1, 0, 100));
    assert_true(first->flags & OBJECT_DEAD);
    object_ref(first);
    next_turn(&b);
    assert_true(body_is(first->body, 1, 0, 100));
    object_unref(&first);
    bench_end(&b);
}

/* A 304 makes a new object: it is as popular as the old one was. */
static void a_replacement_takes_the_uses_over(void **state)
{
    struct store_limits l = limits;
    struct bench b;

    (void)state;
    b = bench_of(&limits);
    put(&b, 1, 100);
    get(&b, 1);
    put(&b, 1, 100);
    assert_int_equal(get(&b, 1)->use, 1);
    bench_end(&b);
    l.policy = EVICT_LFUDA;
    b = bench_of(&l);
    put(&b, 1, 100);
    put(&b, 2, 100);
    for (int i = 0; i < 9; i++)
        get(&b, 1);
    put(&b, 1, 200);
    assert_int_equal(use_count(get(&b, 1)->use), 10);
    assert_int_equal(use_count(get(&b, 2)->use), 1);
    bench_end(&b);
}

struct variant {
    const char *names;   /* NULL: without Vary */
    const char *request; /* fields of the request that it answers */
};

/* Stores one after the other under one key, then asks. */
static const struct {
    const char *why;
    struct variant put[6];
    const char *ask;
    int want; /* index in put, -1: none */
    unsigned left;
} variant_cases[] = {
    { "V: values select", { { "x-a", "X-A: 1" }, { "x-a", "X-A: 2" } }, "X-A: 1", 0, 2 },
    { "the other value", { { "x-a", "X-A: 1" }, { "x-a", "X-A: 2" } }, "X-A: 2", 1, 2 },
    { "no variant", { { "x-a", "X-A: 1" }, { "x-a", "X-A: 2" } }, "X-A: 3", -1, 2 },
    { "the same again replaces", { { "x-a", "X-A: 1" }, { "x-a", "X-A: 2" }, { "x-a", "X-A: 1" } }, "X-A: 1", 2, 2 },
    { "other names: the newest that fits", { { "x-a", "X-A: 1" }, { "x-b", "X-B: 1" } }, "X-A: 1\nX-B: 1", 1, 2 },
    { "other names: an older one fits", { { "x-a", "X-A: 1" }, { "x-b", "X-B: 1" } }, "X-A: 1\nX-B: 2", 0, 2 },
    { "newest without Vary is for all", { { "x-a", "X-A: 1" }, { NULL, "" } }, "X-A: 1", 1, 1 },
    { "Vary ends the answer for all", { { NULL, "" }, { "x-a", "X-A: 1" } }, "X-A: 2", -1, 1 },
    { "vary_variants_max: the oldest goes",
      { { "x-a", "X-A: 1" }, { "x-a", "X-A: 2" }, { "x-a", "X-A: 3" }, { "x-a", "X-A: 4" }, { "x-a", "X-A: 5" } },
      "X-A: 1",
      -1,
      4 },
    { "vary_variants_max: the others stay",
      { { "x-a", "X-A: 1" }, { "x-a", "X-A: 2" }, { "x-a", "X-A: 3" }, { "x-a", "X-A: 4" }, { "x-a", "X-A: 5" } },
      "X-A: 2",
      1,
      4 },
};

static void variants_are_selected_by_vary(void **state)
{
    static struct test_head request;

    (void)state;
    for (size_t i = 0; i < ROWS(variant_cases); i++) {
        struct bench b = bench_of(&limits);
        struct object *put_in[6] = { NULL }, *o;
        bool any;

        for (int k = 0; k < 6 && variant_cases[i].put[k].request != NULL; k++) {
            const struct variant *v = &variant_cases[i].put[k];

            put_in[k] = test_object(store_arena(b.store), 1, v->names, request_head(&request, "GET", v->request));
            assert_true(store_insert(b.store, b.epoch, put_in[k], 0));
        }
        o = store_lookup(b.store, test_key(1), request_head(&request, "GET", variant_cases[i].ask), &any);
        if (o != (variant_cases[i].want < 0 ? NULL : put_in[variant_cases[i].want]) || !any ||
            store_stats(b.store).objects != variant_cases[i].left)
            fail_msg("%s", variant_cases[i].why);
        /* The others go one by one, from wherever they are in the chain. */
        for (int k = 0; k < 6; k++) {
            if (put_in[(k + 2) % 6] != NULL)
                store_remove(b.store, b.epoch, put_in[(k + 2) % 6]);
            object_unref(&put_in[(k + 2) % 6]);
        }
        if (store_stats(b.store).objects != 0)
            fail_msg("%s: left behind", variant_cases[i].why);
        next_turn(&b);
        assert_int_equal(store_stats(b.store).bytes_used, 0);
        bench_end(&b);
    }
}

static void invalidation_takes_all_variants_and_what_was_under_way(void **state)
{
    static struct test_head request;
    struct bench b = bench_of(&limits);
    uint64_t before = store_now(b.store);
    struct object *o[3];
    bool any;

    (void)state;
    for (int i = 0; i < 3; i++) {
        char field[] = "X-A: 0";

        field[5] = (char)('0' + i);
        o[i] = test_object(store_arena(b.store), 1, "x-a", request_head(&request, "GET", field));
    }
    assert_true(store_insert(b.store, b.epoch, o[0], before));
    assert_true(store_insert(b.store, b.epoch, o[1], before));
    put(&b, 2, 10);
    assert_int_equal(store_invalidate(b.store, b.epoch, test_key(1)), 2);
    assert_int_equal(store_invalidate(b.store, b.epoch, test_key(1)), 0);
    assert_null(store_lookup(b.store, test_key(1), request_head(&request, "GET", "X-A: 0"), &any));
    assert_false(any);
    assert_non_null(get(&b, 2));
    assert_true(store_now(b.store) > before);
    assert_false(store_insert(b.store, b.epoch, o[2], before)); /* I5 */
    assert_true(store_insert(b.store, b.epoch, o[2], store_now(b.store)));
    assert_true(store_insert(b.store, b.epoch, o[2], before));              /* is in */
    assert_false(store_insert(b.store, b.epoch, o[0], store_now(b.store))); /* left once */
    for (int i = 0; i < 3; i++)
        object_unref(&o[i]);
    bench_end(&b);
}

static void what_is_not_the_arenas_is_refused(void **state)
{
    struct bench b = bench_of(&limits);
    struct object *o = test_stored(NULL, 1, 10);

    (void)state;
    assert_false(store_insert(b.store, b.epoch, o, 0));
    object_unref(&o);
    bench_end(&b);
}

static void limits_change_but_for_memory(void **state)
{
    struct bench b = bench_of(&limits);
    struct store_limits l = limits;

    (void)state;
    l.max_object_size = 5;
    l.policy = EVICT_LRU;
    assert_true(store_set_limits(b.store, &l));
    for (uint64_t n = 0; n < 8000; n++)
        assert_true(put(&b, n, 1000) || n > 2000);
    l.policy = EVICT_S3FIFO;
    l.cache_mem *= 2;
    assert_false(store_set_limits(b.store, &l));
    assert_int_equal(store_stats(b.store).capacity, 4 * MIB);
    for (uint64_t n = 0; n < 8000; n++) {
        put(&b, n, 1000);
        next_turn(&b);
    }
    bench_end(&b);
}

static const enum eviction_policy policies[] = { EVICT_S3FIFO, EVICT_LRU, EVICT_GDSF, EVICT_LFUDA };

/* Ten times what fits goes through; a few objects are asked for all the time. */
static void the_popular_survive(void **state)
{
    (void)state;
    for (size_t p = 0; p < ROWS(policies); p++) {
        struct store_limits l = limits;
        struct bench b;
        struct store_stats st;

        l.policy = policies[p];
        b = bench_of(&l);
        for (uint64_t n = 0; n < 12000; n++) {
            if (!put(&b, n, 1024))
                fail_msg("no room for object %llu", (unsigned long long)n);
            for (uint64_t hot = 0; hot < 20 && hot <= n; hot++)
                if (get(&b, hot) == NULL)
                    fail_msg("object %llu was evicted after %llu", (unsigned long long)hot, (unsigned long long)n);
            if (n % 8 == 0)
                next_turn(&b);
        }
        st = store_stats(b.store);
        assert_int_equal(st.inserts, 12000);
        assert_int_equal(st.objects + st.evictions, 12000);
        /* Full but for the reserve. */
        assert_true(st.bytes_used > st.capacity * 8 / 10);
        assert_null(get(&b, 6000));
        bench_end(&b);
    }
}

static const struct {
    const char *why;
    uint64_t first, then;
} shifts[] = {
    { "small, then large", 1000, 40000 },
    { "large, then small", 40000, 1000 },
    { "small, then somewhat larger", 900, 3000 },
    { "and back", 3000, 900 },
};

/* Pages belong to classes: when what is stored changes its size, they must change hands. */
static void a_shift_of_sizes_is_followed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(shifts); i++) {
        struct bench b = bench_of(&limits);
        unsigned stored = 0;

        for (uint64_t n = 0; n < 10000; n++) {
            put(&b, n, shifts[i].first);
            next_turn(&b);
        }
        for (uint64_t n = 20000; n < 21000; n++) {
            stored += put(&b, n, shifts[i].then);
            next_turn(&b);
        }
        if (stored < 900)
            fail_msg("%s: %u of 1000 stored", shifts[i].why, stored);
        bench_end(&b);
    }
}

static void room_is_made_ahead_or_refused(void **state)
{
    struct bench b = bench_of(&limits);
    struct object *held[64];
    uint64_t n = 0;

    (void)state;
    assert_true(store_make_room(b.store, b.epoch, 1000));
    assert_false(store_make_room(b.store, b.epoch, 5 * MIB));
    /* What is evicted doesn't come back within a turn: the reserve must last for one. */
    while (n < 4000)
        if (put(&b, n++, 1024) && n % 64 == 0)
            next_turn(&b);
    assert_true(arena_unused(store_arena(b.store)) > 60 * 1024);
    assert_true(store_make_room(b.store, b.epoch, 2 * MIB) || store_stats(b.store).evictions > 1000);
    next_turn(&b);
    assert_true(store_make_room(b.store, b.epoch, 2 * MIB));
    /* All in use by slow readers: no room, and no endless search for it. */
    while (n-- > 0)
        store_invalidate(b.store, b.epoch, test_key(n));
    next_turn(&b);
    for (int i = 0; i < 63; i++)
        assert_non_null(held[i] = test_stored(store_arena(b.store), 100000 + (uint64_t)i, 60000));
    held[63] = NULL;
    for (n = 0; n < 10; n++)
        put(&b, n, 1024);
    if (get(&b, 9) != NULL)
        held[63] = object_ref(get(&b, 9));
    for (int turn = 0; turn < 100 && store_stats(b.store).objects > 0; turn++) {
        assert_false(store_make_room(b.store, b.epoch, ARENA_BLOCK_MAX));
        next_turn(&b);
    }
    assert_int_equal(store_stats(b.store).objects, 0);
    assert_false(store_make_room(b.store, b.epoch, ARENA_BLOCK_MAX));
    for (int i = 0; i < 64; i++)
        object_unref(&held[i]);
    assert_true(store_make_room(b.store, b.epoch, ARENA_BLOCK_MAX));
    bench_end(&b);
}

struct count {
    unsigned n, most;
};

static bool count_one(const struct object *o, void *ctx)
{
    struct count *c = ctx;

    assert_int_equal(o->status, 200);
    return ++c->n < c->most;
}

static void each_is_seen_once(void **state)
{
    struct bench b = bench_of(&limits);
    struct count all = { 0, 10000 }, some = { 0, 10 };

    (void)state;
    for (uint64_t n = 0; n < 1000; n++)
        put(&b, n, 10);
    store_each(b.store, count_one, &all);
    assert_int_equal(all.n, 1000);
    store_each(b.store, count_one, &some);
    assert_int_equal(some.n, 10);
    bench_end(&b);
}

#define THREADS 4
#define KEYS 2000

struct hand {
    struct store *store;
    uint64_t random;
    unsigned rounds, hits;
    bool reloads; /* now and then with another policy */
};

static uint64_t draw(struct hand *h)
{
    h->random = h->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return h->random >> 33;
}

static bool is_sound(const struct object *o, uint64_t n)
{
    return hash128_eq(o->key, test_key(n)) && (o->body == NULL || body_is(o->body, n, 0, o->body->length));
}

static void one_operation(struct hand *h, struct epoch_thread *t, struct object **held, const struct head *request)
{
    uint64_t n = draw(h) % KEYS, what = draw(h) % 100;
    struct object *o;

    if (what < 60) {
        if ((o = store_lookup(h->store, test_key(n), request, NULL)) == NULL)
            return;
        h->hits++;
        assert_true(is_sound(o, n));
        if (what < 5) { /* a slow reader keeps it beyond its turn */
            object_unref(held);
            *held = object_ref(o);
        } else if (what < 8) {
            store_remove(h->store, t, o);
        }
    } else if (what < 90) {
        store_make_room(h->store, t, 3000);
        o = what < 85 ? test_stored(store_arena(h->store), n, draw(h) % 12000)
                      : test_object(store_arena(h->store), n, what < 88 ? "x-a" : "x-b", request);
        if (o != NULL)
            store_insert(h->store, t, o, store_now(h->store));
        object_unref(&o);
    } else if (what < 93) {
        store_invalidate(h->store, t, test_key(n));
    } else if (what < 95) {
        store_make_room(h->store, t, 30000);
    } else if (what == 98 && h->reloads && draw(h) % 20 == 0) {
        struct store_limits l = limits;

        l.policy = policies[draw(h) % ROWS(policies)];
        store_set_limits(h->store, &l);
    } else if (what == 99 && draw(h) % 50 == 0) {
        struct count c = { 0, 1000 };

        store_each(h->store, count_one, &c);
    }
}

static void *work(void *ctx)
{
    struct hand *h = ctx;
    struct epoch_thread *t = epoch_register();
    struct test_head *heads = calloc(2, sizeof *heads);
    const struct head *requests[] = { request_head(&heads[0], "GET", "X-A: 1"),
                                      request_head(&heads[1], "GET", "X-B: 1") };
    struct object *held = NULL;

    for (unsigned i = 0; i < h->rounds; i++) {
        epoch_enter(t);
        for (uint64_t k = draw(h) % 8; k > 0; k--)
            one_operation(h, t, &held, requests[k % 2]);
        epoch_exit(t);
        epoch_poll(t);
        sched_yield(); /* outside, as a worker waits outside: else a thread is preempted inside and holds all up */
    }
    object_unref(&held);
    epoch_unregister(&t);
    free(heads);
    return NULL;
}

/* Random operations on few keys in a cache that is too small for them; by each policy, and by one after the other. */
static void threads_may_do_all_at_once(void **state)
{
    struct store_limits l = limits;
    struct hand hands[THREADS];
    pthread_t threads[THREADS];
    struct bench b;
    struct store_stats st;
    uint64_t evicted = 0;

    (void)state;
    for (size_t p = 0; p <= ROWS(policies); p++) {
        l.policy = policies[p % ROWS(policies)];
        b = bench_of(&l);
        epoch_exit(b.epoch);
        for (int i = 0; i < THREADS; i++) {
            hands[i] = (struct hand){ b.store, 1234567u + (uint64_t)i * 99991u, 6000, 0, p == ROWS(policies) };
            assert_int_equal(pthread_create(&threads[i], NULL, work, &hands[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
            if (hands[i].hits < 500)
                fail_msg("only %u hits", hands[i].hits);
        }
        epoch_enter(b.epoch);
        evicted += store_stats(b.store).evictions;
        for (uint64_t n = 0; n < KEYS; n++)
            store_invalidate(b.store, b.epoch, test_key(n));
        next_turn(&b);
        /* Nothing lost, nothing twice: the accounts come out even. */
        st = store_stats(b.store);
        assert_int_equal(st.objects, 0);
        assert_int_equal(st.bytes_used, 0);
        assert_int_equal(st.bytes_footprint, 0);
        assert_int_equal(arena_limbo(store_arena(b.store)), 0);
        bench_end(&b);
    }
    assert_true(evicted > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_in_is_found),
        cmocka_unit_test(the_newest_answer_replaces_the_old),
        cmocka_unit_test(a_replacement_takes_the_uses_over),
        cmocka_unit_test(variants_are_selected_by_vary),
        cmocka_unit_test(invalidation_takes_all_variants_and_what_was_under_way),
        cmocka_unit_test(what_is_not_the_arenas_is_refused),
        cmocka_unit_test(limits_change_but_for_memory),
        cmocka_unit_test(the_popular_survive),
        cmocka_unit_test(a_shift_of_sizes_is_followed),
        cmocka_unit_test(room_is_made_ahead_or_refused),
        cmocka_unit_test(each_is_seen_once),
        cmocka_unit_test(threads_may_do_all_at_once),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
