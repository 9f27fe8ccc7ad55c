#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cache/evict.h"
#include "cache/evict_heap.h"
#include "heads.h"

#define SMALL_SIZE 10
#define LARGE_SIZE 1000

/* An evictor, and the objects that were queued, by letter. */
struct play {
    struct evictor *e;
    struct object *o[128];
    char gone[256]; /* victims, in order */
    size_t n_gone;
    unsigned round; /* the same letter in another round is another key */
};

static void come(struct play *p, char name, uint64_t charge)
{
    struct object *o = object_new(NULL, 0);
    uint64_t key = (unsigned char)name + 256u * p->round;

    o->key = hash128(&key, sizeof key);
    o->status = (uint16_t)name;
    o->charge = charge;
    p->o[(unsigned char)name] = o;
    evictor_add(p->e, o);
}

static bool go(struct play *p)
{
    struct object *o = evictor_pick(p->e);

    if (o == NULL)
        return false;
    assert_true(p->n_gone < sizeof p->gone - 1);
    p->gone[p->n_gone++] = (char)o->status;
    assert_ptr_equal(p->o[o->status], o);
    object_unref(&p->o[o->status]);
    return true;
}

static void leave(struct play *p, char name)
{
    struct object **o = &p->o[(unsigned char)name];

    atomic_fetch_or(&(*o)->flags, OBJECT_DEAD);
    evictor_drop(p->e, *o);
    evictor_add(p->e, *o); /* late: nothing */
    object_unref(o);
}

static void play_end(struct play *p)
{
    while (go(p))
        ;
    assert_int_equal(evictor_bytes(p->e), 0);
    evictor_free(&p->e);
}

/* a: a small object comes, A: a large one; .a: a hit; -a: it leaves the store; !: somebody must go; =2: the policy of
 * that number from now on. */
static void play(struct play *p, enum eviction_policy policy, const char *script)
{
    *p = (struct play){ .e = evictor_new(policy, 1 << 20) };
    for (const char *s = script; *s != '\0'; s++)
        switch (*s) {
        case ' ': break;
        case '.': evictor_hit(evictor_clock(p->e), p->o[(unsigned char)*++s]); break;
        case '-': leave(p, *++s); break;
        case '!': assert_true(go(p)); break;
        case '=': evictor_set_policy(p->e, (enum eviction_policy)(*++s - '0')); break;
        default: come(p, *s, *s >= 'a' ? SMALL_SIZE : LARGE_SIZE); break;
        }
}

static const struct {
    const char *why;
    enum eviction_policy policy;
    const char *script, *gone;
} plays[] = {
    { "s3fifo: first in, first out", EVICT_S3FIFO, "abc", "abc" },
    { "what was hit goes to the main queue, what wasn't leaves by the small one", EVICT_S3FIFO, "abc.b", "acb" },
    { "many who come once don't push it out", EVICT_S3FIFO, "a.ab!c!d!e!f!g!", "bcdefga" },
    { "one mark, however many hits", EVICT_S3FIFO, "a.a.a.a.ab!c!", "bca" },
    { "who comes back soon goes to the main queue", EVICT_S3FIFO, "ab!acd", "abcda" },
    { "when small is a tenth no more, the main queue is cut", EVICT_S3FIFO, "A.AB.B!c!!", "ABc" },
    { "s3fifo: out of the middle", EVICT_S3FIFO, "abcd-b-d", "ac" },

    { "lru: as they came", EVICT_LRU, "abc", "abc" },
    { "the last use counts", EVICT_LRU, "abc.ad.be", "cadbe" },
    { "not how often", EVICT_LRU, "a.a.a.ab.b.bc", "abc" },
    { "not the size", EVICT_LRU, "AbCd.A", "bCdA" },
    { "once more each time", EVICT_LRU, "abc!.bd!.be!", "acdbe" },
    { "lru: out of the middle", EVICT_LRU, "abcdefgh-c-a-h", "bdefg" },

    { "GDSF: the large go first", EVICT_GDSF, "aBc.c", "Bac" },
    { "though they came last and were hit more often", EVICT_GDSF, "ab.bC.C.C.C", "Cab" },
    { "of a size, the one with fewer hits", EVICT_GDSF, "a.a.ab.bc", "cba" },
    { "GDSF: out of the middle", EVICT_GDSF, "a.a.aC.C.Cb.bDe-D-b", "Cea" },

    { "LFUDA: the one with fewer hits", EVICT_LFUDA, "a.a.ab.bc", "cba" },
    { "whatever its size", EVICT_LFUDA, "a.aB.B.Bc", "caB" },
    { "and whenever it was", EVICT_LFUDA, "a.a.a.ab!c!d", "bcda" },
    { "LFUDA: out of the middle", EVICT_LFUDA, "a.ab.b.bcd.d.d.d-b", "cad" },

    { "a change of policy: the order stays", EVICT_S3FIFO, "abcd=1", "abcd" },
    { "and so do the uses", EVICT_S3FIFO, "a.ab=3", "ba" },
    { "they are judged anew", EVICT_LFUDA, "a.a.aB.Bc=2", "Bca" },
    { "by lru: the uses don't matter", EVICT_LFUDA, "ab.b=1c", "abc" },
    { "back to queues", EVICT_LFUDA, "a.ab=0d", "bda" },
    { "from GDSF, whose ages say nothing any more", EVICT_GDSF, "A!B!cd=0.c", "ABdc" },
    { "from one heap to the other, and who leaves meanwhile", EVICT_LRU, "a.a.ab.bc.cd=2-d=3-c=1=3!", "ba" },
    { "who is to come over can leave", EVICT_S3FIFO, "abcdef=3-b=2-f", "acde" },
    { "to the same: nothing", EVICT_LRU, "abc.a=1", "bca" },
};

static void each_policy_picks_its_victims(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(plays); i++) {
        struct play p;

        play(&p, plays[i].policy, plays[i].script);
        play_end(&p);
        if (strcmp(p.gone, plays[i].gone) != 0)
            fail_msg("%s: %s", plays[i].why, p.gone);
    }
}

/* How many that come once, one after the other, it takes until `a` goes. */
static unsigned outlives(enum eviction_policy policy, const char *script, char passing, unsigned most)
{
    struct play p;
    unsigned n = 0;

    play(&p, policy, script);
    while (p.o['a'] != NULL && n < most) {
        p.round++;
        come(&p, passing, passing >= 'a' ? SMALL_SIZE : LARGE_SIZE);
        assert_true(go(&p));
        n += p.o['a'] != NULL;
        p.n_gone = 0;
    }
    play_end(&p);
    return n;
}

static const struct {
    const char *why;
    enum eviction_policy policy;
    const char *script;
    char passing;
    unsigned least, most;
} lives[] = {
    { "lru: none", EVICT_LRU, "a.a.a.a", 'x', 0, 0 },
    { "s3fifo: for ever", EVICT_S3FIFO, "a.a", 'x', 1000, 1000 },
    { "LFUDA: as many as it had hits, then it has aged", EVICT_LFUDA, "a.a.a.a.a.a.a.a.a.a", 'x', 9, 10 },
    { "whatever their size", EVICT_LFUDA, "a.a.a.a.a.a.a.a.a.a", 'X', 9, 10 },
    { "GDSF: as many as weigh what it does", EVICT_GDSF, "a", 'X', 98, 101 },
    { "twice as many when it was hit", EVICT_GDSF, "a.a", 'X', 198, 202 },
    { "few when they are as small", EVICT_GDSF, "a.a.a", 'x', 2, 3 },
};

static void the_popular_age(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(lives); i++) {
        unsigned n = outlives(lives[i].policy, lives[i].script, lives[i].passing, 1000);

        if (n < lives[i].least || n > lives[i].most)
            fail_msg("%s: %u", lives[i].why, n);
    }
}

static void a_hit_writes_once_by_s3fifo(void **state)
{
    struct play p;
    uint64_t use;

    (void)state;
    play(&p, EVICT_S3FIFO, "b.b");
    assert_int_equal(p.o['b']->use, 1);
    p.o['b']->use = 6; /* as if it were: a store would show */
    evictor_hit(evictor_clock(p.e), p.o['b']);
    assert_int_equal(p.o['b']->use, 6);
    assert_int_equal(evictor_clock(p.e)->age, 0); /* the line hits read isn't written either */
    play_end(&p);
    play(&p, EVICT_LFUDA, "a");
    for (int i = 0; i < 70000; i++)
        evictor_hit(evictor_clock(p.e), p.o['a']);
    use = p.o['a']->use;
    assert_int_equal(use_count(use), USE_COUNT_MAX);
    assert_int_equal(use_age(use), 1);
    play_end(&p);
}

/* Against a list of who was used when: objects come, are used, leave from anywhere in the heap, are evicted. */
static void lru_is_exact(void **state)
{
    static struct object *in[20000];
    static unsigned used[20000];
    struct evictor *e = evictor_new(EVICT_LRU, 1 << 20);
    unsigned n = 0, random = 1, oldest = 0;

    (void)state;
    for (unsigned now = 1; now < 20000; now++) {
        unsigned any = oldest + (random = random * 1103515245u + 12345u) / 65536 % (n - oldest + 1);

        if (any < n && in[any] != NULL && now % 3 == 0) {
            used[any] = now;
            evictor_hit(evictor_clock(e), in[any]);
        } else if (any < n && in[any] != NULL && now % 3 == 1) {
            atomic_fetch_or(&in[any]->flags, OBJECT_DEAD);
            evictor_drop(e, in[any]);
            object_unref(&in[any]);
        } else if (now % 50 == 2) {
            struct object *o = evictor_pick(e);

            for (unsigned i = 0; o != NULL && i < n; i++)
                if (in[i] != NULL && used[i] < used[o->head_len])
                    fail_msg("%u goes, last used %u, before %u, %u", o->head_len, used[o->head_len], i, used[i]);
            if (o != NULL)
                object_unref(&in[o->head_len]);
        }
        /* After each, so that no two uses are of one time. */
        in[n] = object_new(NULL, 0);
        in[n]->charge = 1;
        in[n]->head_len = n;
        used[n] = now;
        evictor_add(e, in[n++]);
        while (oldest < n && in[oldest] == NULL)
            oldest++;
    }
    assert_true(evictor_bytes(e) > 1000);
    for (unsigned i = 0; i < n; i++)
        object_unref(&in[i]);
    evictor_free(&e);
}

/* Values in any order; half leave, from anywhere: the others come out by value. */
static void a_heap_is_in_order_whoever_leaves(void **state)
{
    static struct object *in[1000];
    struct evict_heap h;
    unsigned random = 1;

    (void)state;
    evict_heap_init(&h, QUEUE_HEAP_A);
    for (unsigned i = 0; i < 1000; i++) {
        in[i] = object_new(NULL, 0);
        in[i]->charge = (random = random * 1103515245u + 12345u) >> 16;
        evict_heap_add(&h, in[i], in[i]->charge);
    }
    for (unsigned i = 0; i < 1000; i += 2) {
        evict_heap_drop(&h, in[i]);
        object_unref(&in[i]);
    }
    for (uint64_t before = 0, i = 0; i < 500; i++) {
        struct object *o = evict_heap_take(&h);

        assert_true(o->charge >= before);
        before = o->charge;
        object_unref(&o);
    }
    assert_null(evict_heap_take(&h));
    assert_int_equal(evict_heap_overhead(&h), 0);
    evict_heap_free(&h);
}

#define MANY 5000

/* All were hit since the heap saw them: a pick looks at some and takes the least of these; nobody is lost. */
static void a_pick_is_bounded(void **state)
{
    static struct object *many[MANY];

    (void)state;
    for (enum eviction_policy policy = EVICT_S3FIFO; policy <= EVICT_LFUDA; policy++) {
        struct evictor *e = evictor_new(policy, 1 << 20);
        struct object *o;
        unsigned n = 0;

        for (unsigned i = 0; i < MANY; i++) {
            many[i] = o = object_new(NULL, 0);
            o->charge = 1 + i % 100;
            evictor_add(e, o);
        }
        for (unsigned i = 0; i < MANY; i++)
            for (unsigned k = 0; k <= (i * 7919) % 13; k++)
                evictor_hit(evictor_clock(e), many[i]);
        while ((o = evictor_pick(e)) != NULL) {
            assert_int_equal(o->queue_id, 0);
            object_unref(&o);
            n++;
        }
        assert_int_equal(n, MANY);
        assert_int_equal(evictor_bytes(e), 0);
        evictor_free(&e);
    }
}

static void the_largest_that_is_let_in(void **state)
{
    (void)state;
    assert_int_equal(evictor_admits(1000, 100), 100);
    assert_int_equal(evictor_admits(1000, 900), 500);
    assert_int_equal(evictor_admits(1000, 0), 0);
}

/* What the default costs an object; and what a value of the heap costs: an entry of 16 bytes. */
static void memory_is_accounted(void **state)
{
    struct play p;
    size_t before;

    (void)state;
    assert_true(sizeof(struct object) <= 216);
    play(&p, EVICT_S3FIFO, "");
    before = evictor_overhead(p.e);
    for (int i = 0; i < 100; i++)
        come(&p, (char)(i + 1), SMALL_SIZE);
    assert_int_equal(evictor_overhead(p.e), before);
    assert_int_equal(evictor_bytes(p.e), 100 * SMALL_SIZE);
    evictor_set_policy(p.e, EVICT_GDSF);
    for (int i = 0; i < 20; i++) /* they come over bit by bit */
        leave(&p, (char)(i + 1)), come(&p, (char)(i + 1), SMALL_SIZE);
    assert_in_range(evictor_overhead(p.e), before + 100 * 16, before + 256 * 16);
    evictor_set_policy(p.e, EVICT_S3FIFO);
    for (int i = 0; i < 20; i++)
        leave(&p, (char)(i + 1)), come(&p, (char)(i + 1), SMALL_SIZE);
    assert_int_equal(evictor_overhead(p.e), before);
    assert_int_equal(evictor_bytes(p.e), 100 * SMALL_SIZE);
    play_end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_policy_picks_its_victims),     cmocka_unit_test(the_popular_age),
        cmocka_unit_test(a_hit_writes_once_by_s3fifo),       cmocka_unit_test(lru_is_exact),
        cmocka_unit_test(a_heap_is_in_order_whoever_leaves), cmocka_unit_test(a_pick_is_bounded),
        cmocka_unit_test(the_largest_that_is_let_in),        cmocka_unit_test(memory_is_accounted),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
