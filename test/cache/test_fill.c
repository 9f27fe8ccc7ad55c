#include "cache/store.h"
#include "stored.h"

#define MIB ((size_t)1 << 20)
#define KEY 7
#define WINDOW ((size_t)65536)

static const struct store_limits limits = {
    .cache_mem = 8 * MIB,
    .max_object_size = MIB,
    .min_object_size = 0,
    .policy = EVICT_S3FIFO,
    .variants_max = 4,
};

static struct store *store;
static struct epoch_thread *epoch;

static int set_up(void **state)
{
    (void)state;
    store = store_new(&limits);
    epoch = epoch_register();
    epoch_enter(epoch);
    return 0;
}

/* Every test ends here with all it took given back. */
static int tear_down(void **state)
{
    struct store_stats st;

    (void)state;
    store_invalidate(store, epoch, test_key(KEY));
    epoch_exit(epoch);
    epoch_unregister(&epoch);
    st = store_stats(store);
    if (st.bytes_used != 0 || st.fills != 0) {
        fprintf(stderr, "left: %llu bytes, %llu fills\n", (unsigned long long)st.bytes_used,
                (unsigned long long)st.fills);
        return -1;
    }
    store_free(&store);
    return 0;
}

struct client {
    struct fill_reader r;
    unsigned wakes;
    bool started;
};

static void count_wake(struct fill_reader *r)
{
    CONTAINER_OF(r, struct client, r)->wakes++;
}

static struct fill *open_fill(struct client *c, bool shared)
{
    *c = (struct client){ .r.wake = count_wake };
    return fill_open(store, test_key(KEY), shared, &c->r, &c->started);
}

static bool set_head(struct fill *f, uint64_t length, bool keep, bool shareable)
{
    struct fill_head h = { .object = test_object(keep ? store_arena(store) : NULL, KEY, NULL, NULL),
                           .keep = keep, .shareable = shareable, .length = length, .window = WINDOW };

    return fill_set_head(f, epoch, &h);
}

/* The next n bytes of the body that belongs to KEY. */
static bool append(struct fill *f, size_t n)
{
    unsigned char *bytes = malloc(n);
    bool ok;

    body_bytes(bytes, KEY, fill_received(f), n);
    ok = fill_append(f, epoch, bytes, n);
    free(bytes); /* the fill has its own copy */
    return ok;
}

/* Takes up to max bytes, and looks at each. */
static uint64_t drink(struct client *c, uint64_t max)
{
    struct iovec v[2];
    uint64_t took = 0;
    size_t n;

    while (took < max && (n = fill_peek(&c->r, v, 2)) > 0) {
        uint64_t now = 0;

        for (size_t i = 0; i < n && took + now < max; i++) {
            size_t part = v[i].iov_len < max - took - now ? v[i].iov_len : (size_t)(max - took - now);

            if (bytes_right(v[i].iov_base, KEY, c->r.at + now, part) != part)
                fail_msg("wrong byte behind %llu", (unsigned long long)(c->r.at + now));
            now += part;
        }
        fill_advance(&c->r, now);
        took += now;
    }
    return took;
}

static bool is_stored(void)
{
    return store_lookup(store, test_key(KEY), NULL, NULL) != NULL;
}

static const struct { const char *why; uint64_t size; size_t step; bool announced; } bodies[] = {
    { "1 KiB at once",                        1024,   1024,   true },
    { "1 KiB at once, chunked",               1024,   1024,   false },
    { "dripping",                             3000,   1,      true },
    { "dripping, chunked",                    3000,   1,      false },
    { "40 000 bytes: two segments",           40000,  1460,   true },
    { "100 KiB, chunked",                     102400, 16384,  false },
    { "half a megabyte",                      500000, 65536,  true },
};

static void a_kept_body_reaches_all_and_the_store(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(bodies); i++) {
        uint64_t size = bodies[i].size;
        struct client a, b, c;
        struct fill *f = open_fill(&a, true);
        struct object *o;
        bool late = false;

        if (!a.started || open_fill(&b, true) != f || b.started || fill_state(&b.r) != FILL_WAIT_HEAD)
            fail_msg("%s: not joined", bodies[i].why);
        assert_true(set_head(f, bodies[i].announced ? size : UINT64_MAX, true, true));
        assert_int_equal(fill_length(&a.r), bodies[i].announced ? size : UINT64_MAX);
        while (fill_received(f) < size) {
            size_t n = size - fill_received(f) < bodies[i].step ? (size_t)(size - fill_received(f)) : bodies[i].step;

            assert_true(fill_room(f) >= n);
            assert_true(append(f, n));
            drink(&a, UINT64_MAX);
            drink(&b, n / 2);
            if (!late && fill_received(f) >= size / 2) {
                assert_ptr_equal(open_fill(&c, true), f);
                late = true;
            }
        }
        assert_false(is_stored());
        assert_int_equal(fill_state(&a.r), FILL_BODY);
        assert_true(fill_complete(f, epoch));
        assert_int_equal(fill_state(&b.r), FILL_DONE);
        assert_int_equal(fill_total(&b.r), size);
        drink(&b, UINT64_MAX);
        assert_int_equal(a.r.at, size);
        assert_int_equal(b.r.at, size);
        assert_int_equal(drink(&c, UINT64_MAX), size);
        assert_non_null(o = store_lookup(store, test_key(KEY), NULL, NULL));
        assert_ptr_equal(o, fill_object(&a.r));
        if (!body_is(o->body, KEY, 0, size))
            fail_msg("%s: stored otherwise than it came", bodies[i].why);
        if (arena_used(store_arena(store)) > size + size / 2 + 1200 + object_charge(o) - body_charge(o->body))
            fail_msg("%s: takes %zu bytes", bodies[i].why, arena_used(store_arena(store)));
        assert_int_equal(fill_detach(&a.r), 2);
        assert_int_equal(fill_detach(&c.r), 1);
        assert_int_equal(fill_detach(&b.r), 0);
        assert_int_equal(fill_detach(&b.r), 0);
        fill_close(&f);
        store_remove(store, epoch, o);
        epoch_exit(epoch);
        epoch_poll(epoch);
        epoch_enter(epoch);
    }
}

static void a_wake_comes_once_and_only_when_asked_for(void **state)
{
    struct client a;
    struct fill *f = open_fill(&a, true);

    (void)state;
    set_head(f, 100, true, true);
    assert_int_equal(a.wakes, 0); /* never asked */
    assert_int_equal(fill_state(&a.r), FILL_BODY);
    append(f, 10);
    append(f, 10);
    assert_int_equal(a.wakes, 1);
    assert_int_equal(drink(&a, UINT64_MAX), 20); /* its last peek found nothing */
    append(f, 30);
    assert_int_equal(a.wakes, 2);
    assert_int_equal(drink(&a, 5), 5); /* found something: busy */
    append(f, 50);
    assert_int_equal(a.wakes, 2);
    drink(&a, UINT64_MAX);
    fill_complete(f, epoch);
    assert_int_equal(a.wakes, 3);
    fill_detach(&a.r);
    fill_close(&f);
}

static unsigned rooms;

static void count_room(void *ctx)
{
    assert_ptr_equal(ctx, &rooms);
    rooms++;
}

static void a_passing_body_is_held_back_by_the_slowest(void **state)
{
    struct client fast, slow;
    struct fill *f = open_fill(&fast, true);
    uint64_t total = 0;

    (void)state;
    rooms = 0;
    open_fill(&slow, true);
    fill_on_room(f, count_room, &rooms);
    assert_false(set_head(f, 10 * MIB, true, true)); /* too large */
    for (int round = 0; round < 20; round++) {
        size_t room;

        while ((room = fill_room(f)) > 0) {
            append(f, room < 10000 ? room : 10000);
            total += room < 10000 ? room : 10000;
            drink(&fast, UINT64_MAX);
        }
        assert_true(total - slow.r.at <= WINDOW);
        assert_true(total - slow.r.at > WINDOW / 2);
        assert_int_equal(rooms, round);
        drink(&slow, WINDOW / 2);
        assert_int_equal(rooms, round + 1);
    }
    assert_true(total > 9 * WINDOW);
    assert_int_equal(fast.r.at, total);
    /* Who leaves makes room too. */
    while (fill_room(f) > 0)
        append(f, fill_room(f) < 10000 ? fill_room(f) : 10000);
    drink(&fast, UINT64_MAX);
    rooms = 0;
    assert_int_equal(fill_detach(&slow.r), 1);
    assert_int_equal(rooms, 1);
    assert_int_equal(fill_room(f), WINDOW);
    assert_int_equal(arena_used(store_arena(store)), object_charge(fill_object(&fast.r))); /* bodies on the heap */
    /* Nobody reads: nothing is held. */
    fill_detach(&fast.r);
    append(f, WINDOW);
    assert_int_equal(fill_room(f), WINDOW);
    fill_close(&f);
}

static void an_answer_for_one_lets_the_others_go(void **state)
{
    struct client owner, other, next;
    struct fill *f = open_fill(&owner, true), *g;

    (void)state;
    open_fill(&other, true);
    fill_state(&other.r);
    set_head(f, 10, false, false);
    assert_int_equal(other.wakes, 1);
    assert_int_equal(fill_state(&other.r), FILL_RELEASED);
    assert_int_equal(fill_state(&owner.r), FILL_BODY);
    assert_int_equal(fill_readers(f), 1);
    g = open_fill(&next, true);
    assert_true(next.started);
    append(f, 10);
    assert_int_equal(drink(&owner, UINT64_MAX), 10);
    assert_int_equal(drink(&other, UINT64_MAX), 0);
    assert_false(fill_complete(f, epoch));
    assert_int_equal(fill_state(&owner.r), FILL_DONE);
    assert_int_equal(fill_detach(&other.r), 1);
    fill_detach(&owner.r);
    fill_close(&f);
    fill_release_others(g);
    assert_int_equal(fill_state(&next.r), FILL_WAIT_HEAD);
    fill_detach(&next.r);
    fill_close(&g);
    assert_false(is_stored());
}

/* Kept for the store, though nobody may wait for it. */
static void a_fill_not_shared_is_stored_all_the_same(void **state)
{
    struct client one, two;
    struct fill *f = open_fill(&one, false), *g = open_fill(&two, false);

    (void)state;
    assert_true(one.started && two.started);
    assert_true(set_head(f, 3, true, true));
    append(f, 3);
    assert_true(fill_complete(f, epoch));
    assert_true(is_stored());
    fill_detach(&one.r);
    fill_detach(&two.r);
    fill_close(&f);
    fill_close(&g);
}

static void a_304_gives_readers_the_updated_object(void **state)
{
    struct client a, b;
    struct object *old = test_stored(store_arena(store), KEY, 50);
    struct object *updated = test_object(store_arena(store), KEY, NULL, NULL);
    struct fill *f;

    (void)state;
    store_insert(store, epoch, old, store_now(store));
    f = open_fill(&a, true);
    open_fill(&b, true);
    updated->body = body_ref(old->body);
    fill_state(&b.r);
    fill_revalidated(f, epoch, updated);
    assert_int_equal(b.wakes, 1);
    assert_int_equal(fill_state(&b.r), FILL_REVALIDATED);
    assert_ptr_equal(fill_object(&a.r), updated);
    assert_ptr_equal(store_lookup(store, test_key(KEY), NULL, NULL), updated);
    object_unref(&old);
    object_unref(&updated);
    fill_close(&f);
    assert_true(body_is(fill_object(&b.r)->body, KEY, 0, 50));
    fill_detach(&a.r);
    fill_detach(&b.r);
}

static void a_failure_shows_what_came_and_then_itself(void **state)
{
    struct client a, b, c;
    struct fill *f = open_fill(&a, true), *g;
    int detail = 0;

    (void)state;
    fill_fail(f, 42, 111);
    assert_int_equal(fill_state(&a.r), FILL_FAILED);
    assert_int_equal(fill_error(&a.r, &detail), 42);
    assert_int_equal(detail, 111);
    assert_null(fill_object(&a.r));
    fill_detach(&a.r);
    fill_close(&f);
    for (int keep = 0; keep < 2; keep++) {
        f = open_fill(&a, true);
        open_fill(&b, true);
        set_head(f, 1000, keep, true);
        append(f, 600);
        drink(&b, UINT64_MAX);
        fill_fail(f, 0, 0);
        assert_int_equal(b.wakes, 1);
        assert_int_equal(fill_state(&a.r), FILL_FAILED);
        assert_int_equal(drink(&a, UINT64_MAX), 600);
        g = open_fill(&c, true);
        assert_true(c.started); /* the next request fetches again */
        fill_detach(&c.r);
        fill_close(&g);
        fill_detach(&a.r);
        fill_detach(&b.r);
        fill_close(&f);
    }
    assert_false(is_stored());
}

static void less_than_announced_is_a_failure(void **state)
{
    struct client a;
    struct fill *f = open_fill(&a, true);

    (void)state;
    set_head(f, 1000, true, true);
    append(f, 999);
    assert_false(fill_complete(f, epoch));
    assert_int_equal(fill_state(&a.r), FILL_FAILED);
    assert_false(is_stored());
    fill_detach(&a.r);
    fill_close(&f);
    f = open_fill(&a, true);
    assert_true(a.started);
    set_head(f, UINT64_MAX, true, true);
    append(f, 10);
    fill_close(&f); /* the producer gives up */
    assert_int_equal(fill_state(&a.r), FILL_FAILED);
    assert_int_equal(drink(&a, UINT64_MAX), 10);
    fill_detach(&a.r);
    assert_false(is_stored());
}

/* Of unknown length, and in the end larger than max_object_size. */
static void a_kept_fill_that_grows_too_large_passes(void **state)
{
    struct client owner, slow, next;
    struct fill *f = open_fill(&owner, true), *g;
    bool turned = false;

    (void)state;
    rooms = 0;
    open_fill(&slow, true);
    fill_on_room(f, count_room, &rooms);
    assert_true(set_head(f, UINT64_MAX, true, true));
    drink(&slow, 1);
    while (fill_received(f) < 3 * MIB) {
        size_t room = fill_room(f), n = room < 30000 ? room : 30000;

        if (n == 0) {
            assert_false(fill_kept(f));
            assert_int_equal(rooms, 0);
            assert_true(slow.r.at < fill_received(f));
            drink(&slow, UINT64_MAX);
            assert_int_equal(rooms, 1);
            rooms = 0;
            continue;
        }
        if (!append(f, n)) {
            assert_false(turned);
            turned = true;
            assert_false(fill_kept(f));
        }
        drink(&owner, UINT64_MAX);
    }
    assert_true(turned);
    g = open_fill(&next, true);
    assert_true(next.started);
    drink(&slow, UINT64_MAX);
    assert_int_equal(slow.r.at, fill_received(f));
    assert_int_equal(arena_used(store_arena(store)), object_charge(fill_object(&slow.r)));
    assert_false(fill_complete(f, epoch));
    assert_int_equal(fill_state(&slow.r), FILL_DONE);
    fill_detach(&owner.r);
    fill_detach(&slow.r);
    fill_detach(&next.r);
    fill_close(&f);
    fill_close(&g);
    assert_false(is_stored());
}

static void without_room_it_passes(void **state)
{
    struct object *hogs[200];
    struct client a, b;
    struct fill *f = open_fill(&a, true), *g;

    (void)state;
    assert_true(set_head(f, 300000, true, true));
    append(f, 100000);
    for (int i = 0; i < 200; i++)
        hogs[i] = test_stored(store_arena(store), 1000 + (uint64_t)i, 60000);
    while (fill_received(f) < 300000) {
        size_t room = fill_room(f);

        append(f, room < 50000 ? room : 50000);
        drink(&a, UINT64_MAX);
    }
    assert_false(fill_kept(f));
    assert_false(fill_complete(f, epoch));
    assert_int_equal(a.r.at, 300000);
    /* From the start. */
    g = open_fill(&b, false);
    struct fill_head h = { .object = test_object(NULL, KEY, NULL, NULL), .keep = true, .shareable = true, .length = 5 };
    assert_false(fill_set_head(g, epoch, &h));
    append(g, 5);
    assert_int_equal(drink(&b, UINT64_MAX), 5);
    for (int i = 0; i < 200; i++)
        object_unref(&hogs[i]);
    fill_detach(&a.r);
    fill_detach(&b.r);
    fill_close(&f);
    fill_close(&g);
}

static void what_was_invalidated_meanwhile_is_not_stored(void **state)
{
    struct client a, b;
    struct fill *f = open_fill(&a, true), *g;

    (void)state;
    set_head(f, 10, true, true);
    store_invalidate(store, epoch, test_key(KEY));
    g = open_fill(&b, true);
    assert_true(b.started); /* nobody joins what was asked for before */
    append(f, 10);
    assert_false(fill_complete(f, epoch));
    assert_int_equal(drink(&a, UINT64_MAX), 10);
    assert_false(is_stored());
    set_head(g, 10, true, true);
    append(g, 10);
    assert_true(fill_complete(g, epoch));
    assert_true(is_stored());
    fill_detach(&a.r);
    fill_detach(&b.r);
    fill_close(&f);
    fill_close(&g);
}

static void in_the_background_one_is_enough(void **state)
{
    struct client a;
    struct fill *f = fill_open_background(store, test_key(KEY));

    (void)state;
    assert_non_null(f);
    assert_null(fill_open_background(store, test_key(KEY)));
    assert_ptr_equal(open_fill(&a, true), f); /* a reader may still come */
    assert_false(a.started);
    assert_int_equal(store_stats(store).fills, 1);
    fill_detach(&a.r);
    set_head(f, 5, true, true);
    append(f, 5);
    assert_true(fill_complete(f, epoch));
    assert_true(is_stored());
    fill_close(&f);
}

static const struct { const char *why; uint64_t min, max, size; bool announced, want; } limit_cases[] = {
    { "smallest", 100, 1000, 100,  true,  true },
    { "too small", 100, 1000, 99,  true,  false },
    { "too small, found out late", 100, 1000, 99, false, false },
    { "largest", 100, 1000, 1000, true,  true },
    { "too large", 100, 1000, 1001, true,  false },
    { "too large, found out late", 100, 1000, 1001, false, false },
    { "empty", 0, 1000, 0, true, true },
    { "empty, chunked", 0, 1000, 0, false, true },
};

static void sizes_are_limited(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(limit_cases); i++) {
        struct store_limits l = limits;
        struct client a;
        struct fill *f = open_fill(&a, true);

        l.min_object_size = limit_cases[i].min;
        l.max_object_size = limit_cases[i].max;
        store_set_limits(store, &l);
        set_head(f, limit_cases[i].announced ? limit_cases[i].size : UINT64_MAX, true, true);
        for (uint64_t n = 0; n < limit_cases[i].size; n++)
            append(f, 1);
        if (fill_complete(f, epoch) != limit_cases[i].want || is_stored() != limit_cases[i].want ||
            drink(&a, UINT64_MAX) != limit_cases[i].size || fill_state(&a.r) != FILL_DONE)
            fail_msg("%s", limit_cases[i].why);
        if (is_stored())
            assert_int_equal(object_length(store_lookup(store, test_key(KEY), NULL, NULL)), limit_cases[i].size);
        fill_detach(&a.r);
        fill_close(&f);
        store_invalidate(store, epoch, test_key(KEY));
    }
}

static void a_head_answers_the_requests_it_varies_for(void **state)
{
    static struct test_head request;
    struct client owner, other;
    struct fill *f = open_fill(&owner, true);
    struct fill_head h = { .keep = true, .shareable = true, .no_body = true };

    (void)state;
    open_fill(&other, true);
    h.object = test_object(store_arena(store), KEY, "x-a", request_head(&request, "GET", "X-A: 1"));
    assert_true(fill_set_head(f, epoch, &h));
    assert_true(fill_answers(&other.r, request_head(&request, "GET", "X-A: 1")));
    assert_false(fill_answers(&other.r, request_head(&request, "GET", "X-A: 2")));
    atomic_fetch_or(&h.object->flags, OBJECT_VARY_STAR);
    assert_false(fill_answers(&other.r, request_head(&request, "GET", "X-A: 1")));
    assert_true(fill_answers(&owner.r, request_head(&request, "GET", "X-A: 2")));
    assert_true(fill_complete(f, epoch));
    assert_null(fill_object(&owner.r)->body);
    fill_detach(&owner.r);
    fill_detach(&other.r);
    fill_close(&f);
}

#define FILL_TEST(t) cmocka_unit_test_setup_teardown(t, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILL_TEST(a_kept_body_reaches_all_and_the_store),
        FILL_TEST(a_wake_comes_once_and_only_when_asked_for),
        FILL_TEST(a_passing_body_is_held_back_by_the_slowest),
        FILL_TEST(an_answer_for_one_lets_the_others_go),
        FILL_TEST(a_fill_not_shared_is_stored_all_the_same),
        FILL_TEST(a_304_gives_readers_the_updated_object),
        FILL_TEST(a_failure_shows_what_came_and_then_itself),
        FILL_TEST(less_than_announced_is_a_failure),
        FILL_TEST(a_kept_fill_that_grows_too_large_passes),
        FILL_TEST(without_room_it_passes),
        FILL_TEST(what_was_invalidated_meanwhile_is_not_stored),
        FILL_TEST(in_the_background_one_is_enough),
        FILL_TEST(sizes_are_limited),
        FILL_TEST(a_head_answers_the_requests_it_varies_for),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
