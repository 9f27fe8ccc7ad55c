/* Fills under load: producers and readers on threads of their own, as workers are, with all that can happen to a fetch
 * happening by chance. What counts: right bytes only, no wait that nobody ends (a lost wake-up), everything given back;
 * and under TSan no race. */
#include <errno.h>
#include <pthread.h>
#include <time.h>
#include "cache/store.h"
#include "stored.h"

#define MIB ((size_t)1 << 20)
#define READERS 4
#define PRODUCERS 2
#define KEYS 1500
#define WINDOW 16384
#define WAIT_S 30
/* cmocka's assertions jump, which only its own thread may. */
#define CHECK(what) ((what) ? (void)0 : check_failed(#what))

static void check_failed(const char *what)
{
    fprintf(stderr, "not so: %s\n", what);
    abort();
}

/* A worker's mailbox: what worker_post() does with a queue and an eventfd. */
struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool posted;
};

static void post(struct mailbox *m)
{
    pthread_mutex_lock(&m->lock);
    m->posted = true;
    pthread_cond_signal(&m->changed);
    pthread_mutex_unlock(&m->lock);
}

static void wait_for_post(struct mailbox *m, const char *who)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_S;
    pthread_mutex_lock(&m->lock);
    while (!m->posted)
        if (pthread_cond_timedwait(&m->changed, &m->lock, &until) == ETIMEDOUT) {
            fprintf(stderr, "%s: waited %d s in vain: a lost wake-up\n", who, WAIT_S);
            abort();
        }
    m->posted = false;
    pthread_mutex_unlock(&m->lock);
}

/* What the origin answers to a key: drawn from the key alone, so that every thread knows it. */
struct answer {
    uint64_t size;
    size_t step;
    bool announced, keep, shareable, revalidates;
    uint64_t cut_at;     /* the connection breaks there; UINT64_MAX: it doesn't */
    bool lies;           /* ends before the announced length */
};

static struct answer answer_to(uint64_t n)
{
    uint64_t r = n * UINT64_C(0x9E3779B97F4A7C15);
    struct answer a = {
        .size = r >> 60 == 0 ? (r >> 20) % 400000 : (r >> 20) % 30000,
        .step = 1 + (r >> 8) % (n % 3 == 0 ? 16384 : 1500),
        .announced = r >> 59 & 1,
        .keep = (r >> 55) % 4 != 0,
        .shareable = (r >> 51) % 5 != 0,
        .revalidates = (r >> 40) % 11 == 0,
        .cut_at = UINT64_MAX,
    };

    a.keep = a.keep && a.shareable;
    if ((r >> 43) % 7 == 0)
        a.cut_at = a.size / 2;
    a.lies = a.announced && a.cut_at == UINT64_MAX && (r >> 37) % 9 == 0 && a.size > 0;
    return a;
}

static bool is_whole(uint64_t n)
{
    struct answer a = answer_to(n);

    return a.cut_at == UINT64_MAX && !a.lies;
}

/* Fills waiting for a producer. */
struct job {
    struct job *next;
    struct fill *fill;
    uint64_t n;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job *first;
    bool closed;
} jobs = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, false };

static void job_put(struct fill *f, uint64_t n)
{
    struct job *j = malloc(sizeof *j);

    pthread_mutex_lock(&jobs.lock);
    *j = (struct job){ jobs.first, f, n };
    jobs.first = j;
    pthread_cond_signal(&jobs.changed);
    pthread_mutex_unlock(&jobs.lock);
}

static struct job *job_take(void)
{
    struct job *j;

    pthread_mutex_lock(&jobs.lock);
    while (jobs.first == NULL && !jobs.closed)
        pthread_cond_wait(&jobs.changed, &jobs.lock);
    if ((j = jobs.first) != NULL)
        jobs.first = j->next;
    pthread_mutex_unlock(&jobs.lock);
    return j;
}

struct producer {
    struct store *store;
    struct mailbox box;
    struct epoch_thread *epoch;
    unsigned completed, stored, paused;
};

static void post_producer(void *ctx)
{
    struct producer *p = ctx;

    post(&p->box);
}

static void turn_ends(struct epoch_thread *t)
{
    epoch_exit(t);
    epoch_poll(t);
    epoch_enter(t);
}

/* False: the connection broke. */
static bool bring_body(struct producer *p, struct fill *f, uint64_t n, const struct answer *a)
{
    unsigned char bytes[16384];
    uint64_t end = a->lies ? a->size - 1 : a->size;

    while (fill_received(f) < end) {
        size_t want = a->step, room;

        if (fill_received(f) >= a->cut_at)
            return false;
        while ((room = fill_room(f)) == 0) {
            epoch_exit(p->epoch);
            p->paused++;
            wait_for_post(&p->box, "producer");
            epoch_enter(p->epoch);
        }
        if (want > end - fill_received(f))
            want = (size_t)(end - fill_received(f));
        if (want > room)
            want = room;
        body_bytes(bytes, n, fill_received(f), want);
        fill_append(f, p->epoch, bytes, want);
        turn_ends(p->epoch);
    }
    return a->cut_at == UINT64_MAX;
}

static void produce(struct producer *p, struct fill *f, uint64_t n)
{
    struct answer a = answer_to(n);
    struct arena *arena = store_arena(p->store);
    struct fill_head h = { .keep = a.keep, .shareable = a.shareable, .window = WINDOW,
                           .length = a.announced ? a.size : UINT64_MAX };

    fill_on_room(f, post_producer, p);
    store_make_room(p->store, p->epoch, 65000);
    if (a.revalidates && a.keep) {
        struct object *o = test_stored(arena, n, a.size < 60000 ? a.size : 60000);

        if (o != NULL) {
            fill_revalidated(f, p->epoch, o);
            object_unref(&o);
            return;
        }
    }
    h.object = a.keep ? test_object(arena, n, NULL, NULL) : NULL;
    if (h.object == NULL) {
        h.object = test_object(NULL, n, NULL, NULL);
        h.keep = false;
    }
    if (n % 17 == 0)
        fill_release_others(f);
    fill_set_head(f, p->epoch, &h);
    if (!bring_body(p, f, n, &a)) {
        fill_fail(f, 1, EPIPE);
        return;
    }
    if (n % 29 == 0) /* an unsafe request in between */
        store_invalidate(p->store, p->epoch, test_key(n));
    p->completed++;
    p->stored += fill_complete(f, p->epoch);
}

static void *producer_main(void *ctx)
{
    struct producer *p = ctx;
    struct job *j;

    p->epoch = epoch_register();
    while ((j = job_take()) != NULL) {
        epoch_enter(p->epoch);
        produce(p, j->fill, j->n);
        epoch_exit(p->epoch);
        epoch_poll(p->epoch);
        fill_on_room(j->fill, NULL, NULL);
        fill_close(&j->fill);
        free(j);
    }
    epoch_unregister(&p->epoch);
    return NULL;
}

struct reader {
    struct store *store;
    struct mailbox box;
    struct epoch_thread *epoch;
    struct fill_reader r;
    uint64_t random;
    unsigned hits, whole, failed, released, revalidated, joined, left_early;
};

static uint64_t draw(struct reader *me)
{
    me->random = me->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return me->random >> 33;
}

static void post_reader(struct fill_reader *r)
{
    post(&CONTAINER_OF(r, struct reader, r)->box);
}

static void expect_bytes(const unsigned char *p, uint64_t n, uint64_t at, size_t len)
{
    if (bytes_right(p, n, at, len) != len) {
        fprintf(stderr, "key %llu: wrong byte behind %llu\n", (unsigned long long)n, (unsigned long long)at);
        abort();
    }
}

static void expect_object(const struct object *o, uint64_t n)
{
    CHECK(hash128_eq(o->key, test_key(n)) && (o->body == NULL || body_is(o->body, n, 0, o->body->length)));
}

/* Takes some of what is there. False: nothing was. */
static bool take(struct reader *me, uint64_t n)
{
    struct iovec v[3];
    size_t pieces = fill_peek(&me->r, v, 1 + draw(me) % 3);
    uint64_t took = 0;

    for (size_t i = 0; i < pieces; i++) {
        expect_bytes(v[i].iov_base, n, me->r.at + took, v[i].iov_len);
        took += v[i].iov_len;
    }
    if (pieces > 0)
        fill_advance(&me->r, draw(me) % 3 == 0 ? 1 + draw(me) % took : took);
    return pieces > 0;
}

/* Reads a fill to its end. False: released, so fetch for yourself. */
static bool follow(struct reader *me, uint64_t n)
{
    bool leaves = draw(me) % 10 == 0;

    for (;;) {
        enum fill_state s = fill_state(&me->r);

        if (s == FILL_RELEASED) {
            me->released++;
            return false;
        }
        if (s == FILL_REVALIDATED) {
            expect_object(fill_object(&me->r), n);
            me->revalidated++;
            return true;
        }
        if (s != FILL_WAIT_HEAD && take(me, n))
            continue;
        if (s == FILL_DONE) {
            CHECK(is_whole(n) && me->r.at == fill_total(&me->r) && me->r.at == answer_to(n).size);
            me->whole++;
            return true;
        }
        if (s == FILL_FAILED) {
            CHECK(!is_whole(n));
            me->failed++;
            return true;
        }
        if (leaves && draw(me) % 4 == 0) {
            me->left_early++;
            return true;
        }
        wait_for_post(&me->box, "reader");
    }
}

static void request(struct reader *me, uint64_t n)
{
    for (bool shared = draw(me) % 12 != 0, again = true; again; shared = false) {
        struct object *o;
        struct fill *f;
        bool started;

        epoch_enter(me->epoch);
        o = store_lookup(me->store, test_key(n), NULL, NULL);
        if (o != NULL) {
            expect_object(o, n);
            me->hits++;
        }
        epoch_exit(me->epoch);
        epoch_poll(me->epoch);
        if (o != NULL)
            return;
        me->r = (struct fill_reader){ .wake = post_reader };
        f = fill_open(me->store, test_key(n), shared, &me->r, &started);
        if (started)
            job_put(f, n);
        else
            me->joined++;
        again = !follow(me, n);
        fill_detach(&me->r);
    }
}

static void *reader_main(void *ctx)
{
    struct reader *me = ctx;

    me->epoch = epoch_register();
    for (uint64_t n = 1; n <= KEYS; n++)
        request(me, n);
    epoch_unregister(&me->epoch);
    return NULL;
}

static void mailbox_init(struct mailbox *m)
{
    pthread_mutex_init(&m->lock, NULL);
    pthread_cond_init(&m->changed, NULL);
    m->posted = false;
}

static void readers_and_producers_on_threads(void **state)
{
    const struct store_limits limits = { .cache_mem = 4 * MIB, .max_object_size = 100000, .variants_max = 4 };
    struct store *store = store_new(&limits);
    struct epoch_thread *epoch = epoch_register();
    static struct producer producers[PRODUCERS];
    static struct reader readers[READERS];
    pthread_t threads[PRODUCERS + READERS];
    struct reader sum = { 0 };
    unsigned stored = 0, paused = 0;
    struct store_stats st;

    (void)state;
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i] = (struct producer){ .store = store };
        mailbox_init(&producers[i].box);
        assert_int_equal(pthread_create(&threads[i], NULL, producer_main, &producers[i]), 0);
    }
    for (int i = 0; i < READERS; i++) {
        readers[i] = (struct reader){ .store = store, .random = 4711u + (uint64_t)i };
        mailbox_init(&readers[i].box);
        assert_int_equal(pthread_create(&threads[PRODUCERS + i], NULL, reader_main, &readers[i]), 0);
    }
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[PRODUCERS + i], NULL);
    pthread_mutex_lock(&jobs.lock);
    jobs.closed = true;
    pthread_cond_broadcast(&jobs.changed);
    pthread_mutex_unlock(&jobs.lock);
    for (int i = 0; i < PRODUCERS; i++) {
        pthread_join(threads[i], NULL);
        stored += producers[i].stored;
        paused += producers[i].paused;
    }
    for (int i = 0; i < READERS; i++) {
        sum.hits += readers[i].hits;
        sum.whole += readers[i].whole;
        sum.failed += readers[i].failed;
        sum.released += readers[i].released;
        sum.revalidated += readers[i].revalidated;
        sum.joined += readers[i].joined;
        sum.left_early += readers[i].left_early;
    }
    print_message("hits %u, whole %u, failed %u, released %u, revalidated %u, joined %u, left early %u; stored %u, "
                  "paused %u\n", sum.hits, sum.whole, sum.failed, sum.released, sum.revalidated, sum.joined,
                  sum.left_early, stored, paused);
    /* Each kind of end must have been seen, or the test shows less than it says. */
    assert_true(sum.hits > 0 && sum.whole > 0 && sum.failed > 0 && sum.released > 0 && sum.revalidated > 0);
    assert_true(sum.joined > 0 && sum.left_early > 0 && stored > 0 && paused > 0);
    epoch_enter(epoch);
    for (uint64_t n = 1; n <= KEYS; n++)
        store_invalidate(store, epoch, test_key(n));
    epoch_exit(epoch);
    epoch_unregister(&epoch);
    st = store_stats(store);
    assert_int_equal(st.objects, 0);
    assert_int_equal(st.bytes_used, 0);
    assert_int_equal(st.fills, 0);
    store_free(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_and_producers_on_threads),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
