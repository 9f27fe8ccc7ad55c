#include "access/helper.h"

#include <stdlib.h>
#include <string.h>
#include "access/helper_private.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"

const char helper_is_late[] = "the helper program is too slow";

/* --- pools ------------------------------------------------------------------------------------------------------ */

struct helper_pool *helper_pool_new(const struct helper_config *c)
{
    struct helper_pool *p = xcalloc(1, sizeof *p);
    size_t n = 0;

    while (c->argv[n] != NULL)
        n++;
    p->name = xstrdup(c->name);
    p->argv = xcalloc(n + 1, sizeof *p->argv);
    for (size_t i = 0; i < n; i++)
        p->argv[i] = xstrdup(c->argv[i]);
    p->config = *c;
    p->config.name = p->name;
    p->config.argv = p->argv;
    if (p->config.max == 0)
        p->config.max = 1;
    atomic_init(&p->refs, 1);
    list_init(&p->programs);
    list_init(&p->queue);
    return p;
}

static void pool_unref(struct helper_pool *p)
{
    if (atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (char **arg = p->argv; *arg != NULL; arg++)
        free(*arg);
    free(p->argv);
    free(p->name);
    free(p);
}

void helper_pool_stats(const struct helper_pool *p, struct helper_stats *out)
{
    struct helper_pool *w = (struct helper_pool *)(uintptr_t)p;

    *out = (struct helper_stats){
        .name = p->name,
        .running = atomic_load_explicit(&w->running, memory_order_relaxed),
        .max = p->config.max,
        .asked = atomic_load_explicit(&w->n_asked, memory_order_relaxed),
        .answered = atomic_load_explicit(&w->n_answered, memory_order_relaxed),
        .queued_now = atomic_load_explicit(&w->waiting, memory_order_relaxed),
        .failures = atomic_load_explicit(&w->n_failures, memory_order_relaxed),
    };
}

unsigned helper_capacity(const struct helper_pool *p)
{
    return p->config.concurrency > 0 ? p->config.concurrency : 1;
}

/* --- questions -------------------------------------------------------------------------------------------------- */

static void question_free(struct helper_question *q)
{
    if (q->query != NULL)
        q->query->question = NULL;
    sb_free(&q->text);
    pool_unref(q->pool);
    free(q);
}

/* On the asker's thread. */
static void deliver(struct worker_msg *m)
{
    struct helper_question *q = CONTAINER_OF(m, struct helper_question, msg);
    struct helper_query *query = q->query;
    struct helper_reply reply = { .status = HELPER_BH };

    q->query = NULL;
    if (query != NULL) {
        query->question = NULL;
        if (q->why == NULL)
            helper_reply_parse(q->text.p, q->text.len, &reply);
        query->done(query, &reply, q->why);
    }
    question_free(q);
}

void helper_answer(struct helper_question *q)
{
    atomic_fetch_add_explicit(&q->pool->n_answered, 1, memory_order_relaxed);
    q->msg.run = deliver;
    worker_post(q->asker, &q->msg);
}

void helper_give_up(struct helper_question *q, const char *why)
{
    q->why = why;
    helper_answer(q);
}

void helper_enqueue(struct helper_pool *p, struct helper_question *q)
{
    list_append(&p->queue, &q->node);
    p->n_queue++;
    atomic_store_explicit(&p->waiting, p->n_queue, memory_order_relaxed);
}

static struct helper_question *dequeue(struct helper_pool *p, struct list_node *n)
{
    list_remove(n);
    p->n_queue--;
    atomic_store_explicit(&p->waiting, p->n_queue, memory_order_relaxed);
    return CONTAINER_OF(n, struct helper_question, node);
}

/* --- the queue -------------------------------------------------------------------------------------------------- */

static bool may_start(const struct helper_pool *p)
{
    return p->n_programs < p->config.max && helper_now(p) >= p->next_start;
}

static struct program *least_busy(struct helper_pool *p)
{
    struct program *best = NULL;
    struct list_node *n, *following;

    LIST_EACH (n, following, &p->programs) {
        struct program *g = CONTAINER_OF(n, struct program, node);

        if (best == NULL || g->n_asked < best->n_asked)
            best = g;
    }
    return best;
}

static unsigned count_idle(struct helper_pool *p)
{
    unsigned idle = 0;
    struct list_node *n, *following;

    LIST_EACH (n, following, &p->programs)
        idle += CONTAINER_OF(n, struct program, node)->n_asked == 0;
    return idle;
}

/* Who gets the next question; NULL: it has to wait. */
static struct program *choose(struct helper_pool *p)
{
    struct program *g = least_busy(p);

    if ((g == NULL || g->n_asked > 0) && may_start(p)) {
        struct program *fresh = program_start(p);

        g = fresh != NULL ? fresh : g;
    }
    return g != NULL && g->n_asked < helper_capacity(p) ? g : NULL;
}

static void keep_some_idle(struct helper_pool *p)
{
    while (!p->closing && count_idle(p) < p->config.idle && may_start(p) && program_start(p) != NULL)
        ;
}

/* Failed and failed: who asks now is told so at once, instead of waiting out its time. */
static bool is_out_of_order(const struct helper_pool *p)
{
    return p->n_programs == 0 && p->failures > 1 && helper_now(p) < p->next_start;
}

static void serve_queue(struct helper_pool *p)
{
    while (p->n_queue > 0) {
        struct program *g = choose(p);

        if (g != NULL)
            program_ask(g, dequeue(p, p->queue.next));
        else if (is_out_of_order(p))
            helper_give_up(dequeue(p, p->queue.next), "the helper program fails again and again");
        else
            break;
    }
    keep_some_idle(p);
}

/* A closing pool with nothing left to do. */
static void try_end(struct helper_pool *p)
{
    struct list_node *n, *following;

    if (!p->closing || p->n_queue > 0 || count_idle(p) < p->n_programs)
        return;
    p->closing = false;
    LIST_EACH (n, following, &p->programs)
        program_send_away(CONTAINER_OF(n, struct program, node));
    list_remove(&p->node);
    pool_unref(p);
}

/* After anything that may have freed a program, or a question. p may be gone. */
void helper_settle(struct helper_pool *p)
{
    serve_queue(p);
    try_end(p);
}

/* --- asking ----------------------------------------------------------------------------------------------------- */

static void refuse_overload(struct helper_pool *p, struct helper_question *q)
{
    if (p->overload_told == 0 || helper_now(p) - p->overload_told > HELPER_PAUSE_MAX) {
        log_line(LOG_ERROR,
                 "ERROR: %s: %u questions wait for %u processes: more are refused; raise children or queue-size",
                 p->name, p->n_queue, p->n_programs);
        p->overload_told = helper_now(p);
    }
    helper_give_up(q, "too many questions wait for the helper program");
}

/* On the host's thread. */
static void asked(struct worker_msg *m)
{
    struct helper_question *q = CONTAINER_OF(m, struct helper_question, msg);
    struct helper_pool *p = q->pool;

    if (p->host == NULL) {
        question_free(q);
        return;
    }
    q->asked = helper_now(p);
    if (q->text.len > HELPER_LINE_MAX || (q->text.len > 0 && memchr(q->text.p, '\n', q->text.len) != NULL)) {
        helper_give_up(q, "no question that a helper program could be asked");
        return;
    }
    if (p->n_queue >= p->config.queue_max && choose(p) == NULL && !is_out_of_order(p)) {
        refuse_overload(p, q);
        return;
    }
    helper_enqueue(p, q);
    serve_queue(p);
}

void helper_ask(struct helper_pool *p, struct worker *w, struct helper_query *query, struct span line)
{
    struct helper_question *q = xcalloc(1, sizeof *q);

    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&p->n_asked, 1, memory_order_relaxed);
    q->pool = p;
    q->asker = w;
    q->query = query;
    query->question = q;
    if (p->host == NULL) {
        helper_give_up(q, "the process ends");
        return;
    }
    sb_span(&q->text, line);
    q->msg.run = asked;
    worker_post(p->host->worker, &q->msg);
}

void helper_cancel(struct helper_query *q)
{
    if (q->question != NULL)
        q->question->query = NULL;
    q->question = NULL;
}

/* --- time ------------------------------------------------------------------------------------------------------- */

static void expire_queue(struct helper_pool *p, int64_t before)
{
    struct list_node *n, *following;

    LIST_EACH (n, following, &p->queue) {
        struct helper_question *q = CONTAINER_OF(n, struct helper_question, node);

        if (q->asked < before)
            helper_give_up(dequeue(p, n), helper_is_late);
    }
}

/* A program that owes an answer for too long is stuck; who else waits for it is asked about elsewhere. */
static void expire_programs(struct helper_pool *p, int64_t before)
{
    struct list_node *n, *following, *m, *next;

    LIST_EACH (n, following, &p->programs) {
        struct program *g = CONTAINER_OF(n, struct program, node);
        bool stuck = false;

        LIST_EACH (m, next, &g->asked) {
            struct helper_question *q = CONTAINER_OF(m, struct helper_question, node);

            if (q->asked >= before)
                continue;
            list_remove(&q->node);
            g->n_asked--;
            helper_give_up(q, helper_is_late);
            stuck = true;
        }
        if (stuck) {
            program_fails(g, "doesn't answer in time");
            return; /* the list may have changed; the rest is seen to in a second */
        }
    }
}

static void each_second(struct worker_tick *t)
{
    struct helpers *h = CONTAINER_OF(t, struct helpers, tick);
    struct list_node *n, *following, *m, *next;
    int64_t now = worker_mono(h->worker);

    LIST_EACH (n, following, &h->pools) {
        struct helper_pool *p = CONTAINER_OF(n, struct helper_pool, node);

        LIST_EACH (m, next, &p->programs)
            CONTAINER_OF(m, struct program, node)->sayings = 0;
        if (p->config.timeout > 0) {
            expire_queue(p, now - p->config.timeout);
            expire_programs(p, now - p->config.timeout);
        }
        helper_settle(p);
    }
    programs_reap(h, now, false);
}

/* --- beginning and end ------------------------------------------------------------------------------------------ */

static void begin(struct worker_msg *m)
{
    struct helper_pool *p = CONTAINER_OF(m, struct helper_pool, begin);

    if (p->host == NULL)
        return;
    pthread_mutex_lock(&p->host->lock);
    list_remove(&p->node);
    pthread_mutex_unlock(&p->host->lock);
    list_append(&p->host->pools, &p->node);
    while (p->n_programs < p->config.startup && may_start(p) && program_start(p) != NULL)
        ;
    keep_some_idle(p);
}

void helper_pool_start(struct helper_pool *p, struct helpers *host)
{
    p->host = host;
    pthread_mutex_lock(&host->lock);
    list_append(&host->coming, &p->node);
    pthread_mutex_unlock(&host->lock);
    p->begin.run = begin;
    worker_post(host->worker, &p->begin);
}

static void close_pool(struct worker_msg *m)
{
    struct helper_pool *p = CONTAINER_OF(m, struct helper_pool, close);

    if (p->host == NULL) {
        pool_unref(p);
        return;
    }
    p->closing = true;
    try_end(p);
}

void helper_pool_close(struct helper_pool **holder)
{
    struct helper_pool *p = *holder;

    *holder = NULL;
    if (p == NULL)
        return;
    if (p->host == NULL) {
        pool_unref(p);
        return;
    }
    p->close.run = close_pool;
    worker_post(p->host->worker, &p->close);
}

struct helpers *helpers_new(struct worker *w)
{
    struct helpers *h = xcalloc(1, sizeof *h);

    h->worker = w;
    list_init(&h->pools);
    list_init(&h->coming);
    lock_init(&h->lock);
    list_init(&h->leaving);
    h->tick.run = each_second;
    worker_tick_add(w, &h->tick);
    return h;
}

static void forget_pool(struct helper_pool *p)
{
    struct list_node *n, *following, *m, *next;

    LIST_EACH (n, following, &p->programs) {
        struct program *g = CONTAINER_OF(n, struct program, node);

        LIST_EACH (m, next, &g->asked) {
            list_remove(m);
            question_free(CONTAINER_OF(m, struct helper_question, node));
        }
        program_send_away(g);
    }
    LIST_EACH (n, following, &p->queue)
        question_free(dequeue(p, n));
    list_remove(&p->node);
    p->host = NULL;
    if (p->closing)
        pool_unref(p);
}

void helpers_free(struct helpers **holder)
{
    struct helpers *h = *holder;
    struct list_node *n, *following;

    *holder = NULL;
    if (h == NULL)
        return;
    list_remove(&h->tick.node);
    LIST_EACH (n, following, &h->pools)
        forget_pool(CONTAINER_OF(n, struct helper_pool, node));
    LIST_EACH (n, following, &h->coming)
        forget_pool(CONTAINER_OF(n, struct helper_pool, node));
    programs_reap(h, 0, true);
    pthread_mutex_destroy(&h->lock);
    free(h);
}
