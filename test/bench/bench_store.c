/* What a look-up costs, and what a second core adds. 98 % look-ups by Zipf's law, 1 % inserts, 1 % removals of 1 KiB
 * objects. As a control, the same in processes that share nothing: how far two cores of this machine add up at all
 * while it is doing other things (shared / apart is what sharing costs). And, since this machine may have few cores:
 * a proof that a hit on an object that is visited already writes to no memory that cores share, so that nothing but
 * memory bandwidth keeps more cores from adding up. */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "cache/store.h"
#include "trace.h"

static const char usage[] =
    "usage: bench_store [--keys N] [--alpha A] [--ops N] [--rounds N] [--threads N] [--policy NAME] [--json]\n"
    "Look-ups in the store, 98 % of the operations, on one thread and on several, each on a CPU of its own.\n"
    "  --keys N     distinct keys (100000)\n"
    "  --alpha A    exponent of Zipf's law (0.95)\n"
    "  --ops N      operations a thread and round (500000)\n"
    "  --rounds N   the best of so many counts (10)\n"
    "  --threads N  how many are compared with one (2)\n"
    "  --policy P   s3fifo, lru, gdsf or lfuda (s3fifo)\n"
    "  --json       one JSON object instead of text\n";

#define BODY 1024
#define HEAD 250
#define TURN 16 /* operations in one epoch: ready connections of a turn of the loop */
#define POLL                                                                                                           \
    16 /* turns between polls for what may be freed: a worker polls every turn, but its turns have system calls
                 * in them and are a hundred times longer */
#define THREADS_MAX 64

static struct {
    unsigned keys, ops, rounds, threads;
    double alpha;
    enum eviction_policy policy;
    bool json;
} opt = { 100000, 500000, 10, 2, 0.95, EVICT_S3FIFO, false };

static const char *const policy_names[] = {
    [EVICT_S3FIFO] = "s3fifo", [EVICT_LRU] = "lru", [EVICT_GDSF] = "gdsf", [EVICT_LFUDA] = "lfuda"
};
#define POLICIES (sizeof policy_names / sizeof policy_names[0])

static struct hash128 *key; /* by rank: hashing the URI isn't the store's work */

static bool insert(struct store *s, struct epoch_thread *t, uint32_t rank)
{
    struct object *o;
    bool ok;

    store_make_room(s, t, BODY + HEAD);
    if ((o = object_new(store_arena(s), HEAD)) == NULL)
        return false;
    memset(o->head, 'h', HEAD);
    o->key = key[rank];
    o->head_len = HEAD;
    if ((o->body = body_new(store_arena(s), BODY)) == NULL) {
        object_unref(&o);
        return false;
    }
    memset(o->body->last->bytes, 'b', BODY);
    o->body->length = o->body->last->len = BODY;
    ok = store_insert(s, t, o, store_now(s));
    object_unref(&o);
    return ok;
}

static struct store *store_filled(void)
{
    struct store_limits limits = {
        .cache_mem = (size_t)opt.keys * 1900, .max_object_size = 1 << 20, .policy = opt.policy, .variants_max = 1
    };
    struct store *s = store_new(&limits);
    struct epoch_thread *t = epoch_register();

    for (uint32_t rank = 0; rank < opt.keys; rank++) {
        epoch_enter(t);
        insert(s, t, rank);
        epoch_exit(t);
        epoch_poll(t);
    }
    epoch_unregister(&t);
    return s;
}

/* On cache lines of its own: two runners that counted on one line would measure that. */
struct runner {
    alignas(128) struct store *store;
    pthread_barrier_t *start;
    uint32_t *ranks;
    unsigned cpu;
    bool only_look_up;
    uint64_t hits, inserts, removals;
    int64_t began, ended;
};

static void operate(struct runner *r, struct epoch_thread *t, unsigned i)
{
    uint32_t rank = r->ranks[i];
    struct object *o;

    if (i % 100 == 50 && !r->only_look_up) {
        r->inserts += insert(r->store, t, rank);
        return;
    }
    if (i % 100 == 99 && !r->only_look_up) /* the popular are rarely evicted: any key, then */
        rank = (uint32_t)(((uint64_t)i * 2654435761u) % opt.keys);
    o = store_lookup(r->store, key[rank], NULL, NULL);
    if (o == NULL)
        return;
    if (i % 100 == 99 && !r->only_look_up) {
        store_remove(r->store, t, o);
        r->removals++;
    } else {
        r->hits += o->head[0] == 'h'; /* as a hit would, touch what was found */
    }
}

static void *run(void *ctx)
{
    struct runner *r = ctx;
    struct epoch_thread *t = epoch_register();
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(r->cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof set, &set); /* where it is refused, the figure says so */
    pthread_barrier_wait(r->start);
    r->began = clock_mono_us();
    for (unsigned i = 0; i < opt.ops; i += TURN) {
        epoch_enter(t);
        for (unsigned k = i; k < i + TURN && k < opt.ops; k++)
            operate(r, t, k);
        epoch_exit(t);
        if (i / TURN % POLL == 0)
            epoch_poll(t);
    }
    r->ended = clock_mono_us();
    epoch_unregister(&t);
    return NULL;
}

/* One thread's own rate. */
static double rate_alone(const struct runner *r)
{
    return opt.ops / (double)(r->ended - r->began) * 1e6;
}

/* Operations a second of n threads together. */
static double rate_of(struct runner *runners, unsigned n, bool only_look_up)
{
    pthread_t threads[THREADS_MAX];
    pthread_barrier_t start;
    double sum = 0;

    pthread_barrier_init(&start, NULL, n);
    for (unsigned i = 0; i < n; i++) {
        runners[i].start = &start;
        runners[i].hits = 0;
        runners[i].only_look_up = only_look_up;
        pthread_create(&threads[i], NULL, run, &runners[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        sum += rate_alone(&runners[i]);
    }
    pthread_barrier_destroy(&start);
    return sum;
}

/* The control: n processes with a store each, at the same time. */
struct apart {
    pthread_barrier_t start;
    double rate[THREADS_MAX];
};

static double rate_apart(struct runner *runners, unsigned n)
{
    struct apart *a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_t attr;
    double sum = 0;

    if (a == MAP_FAILED)
        return 0;
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&a->start, &attr, n);
    for (unsigned i = 0; i < n; i++)
        if (fork() == 0) {
            runners[i].only_look_up = false;
            runners[i].store = store_filled();
            runners[i].start = &a->start;
            (void)run(&runners[i]);
            a->rate[i] = rate_alone(&runners[i]);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    for (unsigned i = 0; i < n; i++)
        sum += a->rate[i];
    munmap(a, sizeof *a);
    return sum;
}

/* The proof: in a child, all memory that threads could share is made read-only, then objects are looked up. */

static volatile sig_atomic_t faults;

static void on_fault(int sig, siginfo_t *info, void *context)
{
    uintptr_t page = (uintptr_t)info->si_addr & ~(uintptr_t)4095;

    (void)sig, (void)context;
    /* Noted, and allowed this time, so that the write takes place. */
    faults++;
    if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) != 0)
        _exit(3);
}

/* Private to the thread, or not memory of the store: this stack, thread-local storage, our own statics, the thread's
 * epoch slot (of which it writes nothing but its own line), and what belongs to files. */
static bool is_spared(uintptr_t from, uintptr_t to, const char *name, const struct epoch_thread *t)
{
    const void *spared[] = { &from, &errno, (const void *)&faults, &opt, t };

    for (size_t i = 0; i < sizeof spared / sizeof spared[0]; i++)
        if ((uintptr_t)spared[i] >= from && (uintptr_t)spared[i] < to)
            return true;
    return *name != '\0' && strcmp(name, "[heap]") != 0;
}

/* Returns the bytes protected. */
static uint64_t protect_shared(const struct epoch_thread *t)
{
    static struct {
        uintptr_t from, to;
    } found[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    unsigned n = 0;
    uint64_t bytes = 0;

    if (maps == NULL)
        return 0;
    while (n < 4096 && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;
        char mode[5], name[256] = "";

        if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %255s", &from, &to, mode, name) >= 3 && strcmp(mode, "rw-p") == 0 &&
            !is_spared(from, to, name, t)) {
            found[n].from = from;
            found[n++].to = to;
        }
    }
    fclose(maps);
    for (unsigned i = 0; i < n; i++)
        if (mprotect((void *)found[i].from, found[i].to - found[i].from, PROT_READ) == 0)
            bytes += found[i].to - found[i].from;
    return bytes;
}

struct proof {
    uint64_t looked_up, protected_bytes;
    long writes;         /* by look-ups of objects visited already */
    long control_writes; /* by one look-up of an object not visited: 1, or the trap doesn't work */
};

static void prove_in_child(struct store *s, int out)
{
    struct epoch_thread *t = epoch_register();
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
    struct proof p = { 0 };
    struct object *control = NULL;
    uint32_t control_rank = 0;

    epoch_enter(t);
    for (uint32_t rank = 0; rank < opt.keys; rank++) {
        struct object *o = store_lookup(s, key[rank], NULL, NULL);

        if (o != NULL) {
            control = o;
            control_rank = rank;
        }
    }
    epoch_exit(t);
    if (control == NULL)
        _exit(2);
    sigaction(SIGSEGV, &action, NULL);
    p.protected_bytes = protect_shared(t);
    for (uint32_t rank = 0; rank < opt.keys; rank++) {
        epoch_enter(t);
        p.looked_up += store_lookup(s, key[rank], NULL, NULL) != NULL;
        epoch_exit(t);
    }
    p.writes = faults;
    atomic_store_explicit(&control->use, 0, memory_order_relaxed); /* a fault of our own, after which ... */
    mprotect((void *)((uintptr_t)control & ~(uintptr_t)4095), 8192, PROT_READ);
    faults = 0;
    epoch_enter(t);
    (void)store_lookup(s, key[control_rank], NULL, NULL); /* ... this one must set the flag again */
    epoch_exit(t);
    p.control_writes = faults;
    _exit(write(out, &p, sizeof p) == (ssize_t)sizeof p ? 0 : 2);
}

static bool prove(struct store *s, struct proof *p)
{
    int fd[2], status = 0;
    pid_t child;
    bool ok;

    if (pipe(fd) != 0 || (child = fork()) < 0)
        return false;
    if (child == 0)
        prove_in_child(s, fd[1]);
    close(fd[1]);
    ok = read(fd[0], p, sizeof *p) == (ssize_t)sizeof *p;
    close(fd[0]);
    waitpid(child, &status, 0);
    return ok && status == 0;
}

/* Operations a second. */
struct rates {
    double one, many, apart;
    double one_pure, many_pure; /* look-ups only */
};

static double max_double(double a, double b)
{
    return a > b ? a : b;
}

static void print_text(const struct rates *r, const struct store_stats *st, double hits, bool proven,
                       const struct proof *p)
{
    printf("%u keys, zipf %.2f, 98 %% look-ups, 1 %% inserts, 1 %% removals, %u operations an epoch\n", opt.keys,
           opt.alpha, TURN);
    printf("1 thread                %8.2f M/s  %6.1f ns an operation (%.1f %% of the look-ups hit)\n", r->one / 1e6,
           1e9 / r->one, hits);
    printf("%2u threads              %8.2f M/s  x %.2f\n", opt.threads, r->many / 1e6, r->many / r->one);
    printf("%2u processes, control   %8.2f M/s  x %.2f: sharing keeps %.2f of what this machine gives\n", opt.threads,
           r->apart / 1e6, r->apart / r->one, r->many / r->apart);
    printf("look-ups only: 1 thread %8.2f M/s, %u threads %.2f M/s  x %.2f\n", r->one_pure / 1e6, opt.threads,
           r->many_pure / 1e6, r->many_pure / r->one_pure);
    printf("%llu objects, %u bytes of body, %u of head: beyond the body %.1f bytes of arena and %.1f of index each\n",
           (unsigned long long)st->objects, BODY, HEAD, (double)st->bytes_used / (double)st->objects - BODY,
           (double)st->index_bytes / (double)st->objects);
    if (proven)
        printf("%llu look-ups of visited objects, %llu MiB mapped read-only: %ld writes (control, not visited: %ld)\n",
               (unsigned long long)p->looked_up, (unsigned long long)p->protected_bytes >> 20, p->writes,
               p->control_writes);
    else
        puts("the look-ups could not be run with memory mapped read-only");
}

static void print_json(const struct rates *r, const struct store_stats *st, bool proven, const struct proof *p)
{
    printf("{\"keys\":%u,\"alpha\":%.2f,\"threads\":%u,\"ops_per_s_1\":%.0f,\"ops_per_s_n\":%.0f,"
           "\"ops_per_s_apart\":%.0f,\"ratio\":%.3f,\"ratio_to_apart\":%.3f,\"ratio_pure\":%.3f,\"objects\":%llu,"
           "\"arena_bytes_per_object\":%.1f,\"index_bytes_per_object\":%.1f",
           opt.keys, opt.alpha, opt.threads, r->one, r->many, r->apart, r->many / r->one, r->many / r->apart,
           r->many_pure / r->one_pure, (unsigned long long)st->objects, (double)st->bytes_used / (double)st->objects,
           (double)st->index_bytes / (double)st->objects);
    if (proven)
        printf(",\"visited_lookups\":%llu,\"shared_writes\":%ld,\"control_writes\":%ld",
               (unsigned long long)p->looked_up, p->writes, p->control_writes);
    puts("}");
}

/* POLICIES: no such name. */
static enum eviction_policy policy_named(const char *name)
{
    size_t p = 0;

    while (p < POLICIES && strcmp(policy_names[p], name) != 0)
        p++;
    return (enum eviction_policy)p;
}

static bool read_options(int argc, char **argv)
{
    static const struct option options[] = {
        { "keys", required_argument, NULL, 'k' },
        { "alpha", required_argument, NULL, 'a' },
        { "ops", required_argument, NULL, 'o' },
        { "rounds", required_argument, NULL, 'r' },
        { "threads", required_argument, NULL, 't' },
        { "policy", required_argument, NULL, 'p' },
        { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int c;

    while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
        switch (c) {
        case 'k': opt.keys = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'a': opt.alpha = strtod(optarg, NULL); break;
        case 'o': opt.ops = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'r': opt.rounds = (unsigned)strtoul(optarg, NULL, 10); break;
        case 't': opt.threads = (unsigned)strtoul(optarg, NULL, 10); break;
        case 'p': opt.policy = policy_named(optarg); break;
        case 'j': opt.json = true; break;
        case 'h': fputs(usage, stdout); exit(0);
        default: return false;
        }
    return optind == argc && opt.keys >= 100 && opt.keys <= 100000000 && opt.ops >= 1000 && opt.rounds > 0 &&
           opt.threads > 0 && opt.threads <= THREADS_MAX && opt.policy < POLICIES;
}

int main(int argc, char **argv)
{
    static struct runner runners[THREADS_MAX];
    struct dice dice = { 12345 };
    struct rates best = { 0 };
    double hits = 0;
    struct proof proof = { 0 };
    struct store_stats st;
    struct store *s;
    struct zipf z;
    bool proven;

    if (!read_options(argc, argv)) {
        fputs(usage, stderr);
        return 2;
    }
    hash_init();
    key = xmalloc(opt.keys * sizeof *key);
    for (uint32_t rank = 0; rank < opt.keys; rank++)
        key[rank] = hash128(&rank, sizeof rank);
    z = zipf_new(opt.keys, opt.alpha);
    s = store_filled();
    for (unsigned i = 0; i < opt.threads; i++) {
        runners[i] = (struct runner){ .store = s, .cpu = i, .ranks = xmalloc(opt.ops * sizeof *runners[i].ranks) };
        for (unsigned k = 0; k < opt.ops; k++)
            runners[i].ranks[k] = zipf_draw(&z, &dice);
    }
    /* In turn, so that what else the machine does meets all. */
    for (unsigned round = 0; round < opt.rounds; round++) {
        best.one = max_double(best.one, rate_of(runners, 1, false));
        hits = 100.0 * (double)runners[0].hits / (0.98 * opt.ops);
        best.many = max_double(best.many, rate_of(runners, opt.threads, false));
        best.one_pure = max_double(best.one_pure, rate_of(runners, 1, true));
        best.many_pure = max_double(best.many_pure, rate_of(runners, opt.threads, true));
        best.apart = max_double(best.apart, rate_apart(runners, opt.threads));
    }
    st = store_stats(s);
    proven = prove(s, &proof);
    if (opt.json)
        print_json(&best, &st, proven, &proof);
    else
        print_text(&best, &st, hits, proven, &proof);
    for (unsigned i = 0; i < opt.threads; i++)
        free(runners[i].ranks);
    zipf_free(&z);
    free(key);
    store_free(&s);
    /* By the other policies each hit writes, to the object alone. */
    return proven && opt.policy == EVICT_S3FIFO && (proof.writes != 0 || proof.control_writes != 1) ? 1 : 0;
}
