/* Passwords looked at by threads, for several workers: run it under TSan, too. */
#include "../net/harness.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include "access/auth.h"
#include "access/job_pool.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

/* --- the pool ----------------------------------------------------------------------------------------------------------- */

#define JOBS 400

struct sum {
    struct job job;
    unsigned n, result;
};

static atomic_uint come_back, unworked, on_the_pool;
static pthread_t worker_thread;
static struct gate all_back = GATE_INIT, may_work = GATE_INIT, begun = GATE_INIT;

static void sum_work(struct job *j)
{
    struct sum *s = CONTAINER_OF(j, struct sum, job);

    for (unsigned i = 1; i <= s->n; i++)
        s->result += i;
    if (!pthread_equal(pthread_self(), worker_thread))
        atomic_fetch_add(&on_the_pool, 1);
}

static void sum_done(struct job *j)
{
    struct sum *s = CONTAINER_OF(j, struct sum, job);
    bool right = j->worked && s->result == s->n * (s->n + 1) / 2 && pthread_equal(pthread_self(), worker_thread);

    free(s);
    if (right && atomic_fetch_add(&come_back, 1) + 1 == JOBS)
        gate_open(&all_back);
}

static struct job_pool *pool;
static struct worker *running;

static void add_sums(void *arg)
{
    (void)arg;
    worker_thread = pthread_self();
    for (unsigned i = 0; i < JOBS; i++) {
        struct sum *s = xcalloc(1, sizeof *s);

        s->n = i;
        s->job = (struct job){ .worker = running, .work = sum_work, .done = sum_done };
        if (!job_pool_add(pool, &s->job, 3, JOBS))
            free(s);
    }
}

static void jobs_are_done_elsewhere_and_come_back(void **state)
{
    (void)state;
    pool = job_pool_new();
    running = worker_running();
    call(running, add_sums, NULL);
    assert_true(gate_passed(&all_back));
    assert_int_equal(atomic_load(&on_the_pool), JOBS);
    job_pool_free(&pool);
    worker_end(&running);
}

static void wait_work(struct job *j)
{
    (void)j;
    gate_open(&begun);
    (void)gate_passed(&may_work);
}

static void wait_done(struct job *j)
{
    if (!j->worked)
        atomic_fetch_add(&unworked, 1);
}

static void what_waits_is_bounded_and_comes_back_unworked(void **state)
{
    struct job jobs[4];

    (void)state;
    pool = job_pool_new();
    running = worker_new(0);
    for (size_t i = 0; i < LENGTH(jobs); i++)
        jobs[i] = (struct job){ .worker = running, .work = wait_work, .done = wait_done };
    assert_true(job_pool_add(pool, &jobs[0], 1, 0)); /* the thread takes it: it doesn't wait */
    assert_true(gate_passed(&begun));
    assert_false(job_pool_add(pool, &jobs[1], 1, 0));
    assert_true(job_pool_add(pool, &jobs[1], 1, 2));
    assert_true(job_pool_add(pool, &jobs[2], 1, 2));
    assert_false(job_pool_add(pool, &jobs[3], 1, 2));
    gate_open(&may_work);
    gate_open(&may_work);
    gate_open(&may_work);
    job_pool_free(&pool);
    worker_free(&running);                    /* runs what came back */
    assert_true(atomic_load(&unworked) <= 2); /* those the thread didn't come to */
}

/* --- users -------------------------------------------------------------------------------------------------------------- */

#define WORKERS 3
#define ASKED 60
#define APR1 "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/" /* secret */

static struct auth_shared *shared;
static struct auth_settings settings;

struct asker {
    struct auth_query query;
    struct on_worker *on;
    bool good;
};

static struct on_worker {
    struct worker *worker;
    struct auth *auth;
    struct asker askers[ASKED];
    unsigned answered, wrong, at_once;
    struct gate done;
} workers[WORKERS];

static void count_answer(struct asker *a, const struct auth_result *r)
{
    if ((r->answer == AUTH_USER) != a->good || !span_eq(r->user, SPAN("ann")))
        a->on->wrong++;
    if (++a->on->answered == ASKED)
        gate_open(&a->on->done);
}

static void answered(struct auth_query *q, const struct auth_result *r)
{
    count_answer(CONTAINER_OF(q, struct asker, query), r);
}

static void ask_all(void *arg)
{
    struct on_worker *on = arg;

    for (unsigned i = 0; i < ASKED; i++) {
        struct asker *a = &on->askers[i];
        char pair[32], value[80] = "Basic ";
        struct auth_request q;
        struct auth_result r;

        a->on = on;
        a->good = i % 2 == 0;
        a->query.done = answered;
        snprintf(pair, sizeof pair, "Ann:%s", a->good ? "secret" : i % 4 == 1 ? "wrong" : "Secret");
        EVP_EncodeBlock((unsigned char *)value + 6, (const unsigned char *)pair, (int)strlen(pair));
        q = (struct auth_request){ .value = span_str(value), .method = SPAN("GET"), .target = SPAN("/") };
        auth_ask(on->auth, &settings, &q, &a->query, &r);
        if (r.answer != AUTH_WAIT) {
            on->at_once++;
            count_answer(a, &r);
        }
    }
}

static void begin(const char *path)
{
    struct auth_scheme_settings *basic = &settings.schemes[AUTH_BASIC];

    settings = (struct auth_settings){ .named.n = 1, .cache_max = 100, .ttl = US_PER_S, .garbage_interval = US_PER_S };
    basic->works = true;
    basic->children = 2;
    basic->queue_size = 100;
    basic->credentials_ttl = 3600 * US_PER_S;
    basic->file = htpasswd_file_open(path, &(struct htpasswd_form){ .fold_case = true }, NULL, NULL);
    assert_non_null(basic->file);
    shared = auth_shared_new();
    for (unsigned i = 0; i < WORKERS; i++) {
        struct on_worker *on = &workers[i];

        *on = (struct on_worker){ .done = GATE_INIT };
        on->worker = worker_new(i);
        on->auth = auth_new(on->worker, shared);
        worker_start(on->worker, NULL);
    }
}

static void end(void)
{
    for (unsigned i = 0; i < WORKERS; i++) {
        worker_stop(workers[i].worker);
        worker_join(workers[i].worker);
    }
    auth_shared_end(shared);
    for (unsigned i = 0; i < WORKERS; i++) {
        worker_free(&workers[i].worker);
        auth_free(&workers[i].auth);
    }
    auth_shared_free(&shared);
    auth_settings_free(&settings, NULL);
}

static void write_users(char *path)
{
    int fd = mkstemp(path);

    assert_int_equal(dprintf(fd, "ann:%s\nbob:%s\n", APR1, APR1), (int)sizeof APR1 * 2 - 2 + 10);
    close(fd);
}

static void all_workers_ask_at_once(void **state)
{
    char path[] = "/tmp/loligo-auth-XXXXXX";

    (void)state;
    write_users(path);
    begin(path);
    for (int round = 0; round < 2; round++) {
        for (unsigned i = 0; i < WORKERS; i++) {
            workers[i].answered = workers[i].at_once = 0;
            call(workers[i].worker, ask_all, &workers[i]);
        }
        for (unsigned i = 0; i < WORKERS; i++) {
            assert_true(gate_passed(&workers[i].done));
            assert_int_equal(workers[i].wrong, 0);
        }
    }
    for (unsigned i = 0; i < WORKERS; i++)
        assert_int_equal(workers[i].at_once, ASKED / 2); /* in the second round: what was right is remembered */
    end();
    unlink(path);
}

static void cancel_all(void *arg)
{
    struct on_worker *on = arg;

    for (unsigned i = 0; i < ASKED; i++)
        auth_cancel(&on->askers[i].query);
}

static void who_has_gone_is_not_told(void **state)
{
    char path[] = "/tmp/loligo-auth-XXXXXX";

    (void)state;
    write_users(path);
    begin(path);
    for (unsigned i = 0; i < WORKERS; i++) {
        call(workers[i].worker, ask_all, &workers[i]);
        call(workers[i].worker, cancel_all, &workers[i]);
    }
    end(); /* with jobs under way */
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_done_elsewhere_and_come_back),
        cmocka_unit_test(what_waits_is_bounded_and_comes_back_unworked),
        cmocka_unit_test(all_workers_ask_at_once),
        cmocka_unit_test(who_has_gone_is_not_told),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
