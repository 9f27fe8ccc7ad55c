#include "proxy/gather.h"

#include <assert.h>
#include <stdlib.h>
#include "base/mem.h"

struct part {
    struct worker_msg msg;
    struct gathering *gathering;
    struct worker *worker;
    atomic_bool answered; /* its worker writes the share before, and never again after it is set */
    bool in_time;         /* the asker's: answered when done() was called */
    void *share;
};

struct gathering {
    const struct gather_kind *kind;
    struct worker *asker;
    void (*done)(void *owner);
    void *owner;          /* the asker's thread only; NULL: over */
    atomic_bool given_up; /* shares that aren't begun needn't be */
    atomic_uint refs; /* the owner's, and one of each part until it has run; the last part hands its own to `back` */
    atomic_uint under_way; /* parts that haven't run */
    struct worker_msg back;
    struct worker_timer timer;
    unsigned n;
    struct part parts[];
};

static void unref(struct gathering *g)
{
    if (atomic_fetch_sub_explicit(&g->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (unsigned i = 0; i < g->n; i++) {
        g->kind->drop(g->parts[i].share);
        free(g->parts[i].share);
    }
    free(g);
}

/* On the asker's thread. */
static void finish(struct gathering *g)
{
    worker_timer_clear(&g->timer);
    for (unsigned i = 0; i < g->n; i++)
        g->parts[i].in_time = atomic_load_explicit(&g->parts[i].answered, memory_order_acquire);
    atomic_store_explicit(&g->given_up, true, memory_order_relaxed);
    g->done(g->owner); /* may end g */
}

static void run_back(struct worker_msg *m)
{
    struct gathering *g = CONTAINER_OF(m, struct gathering, back);

    if (g->owner != NULL && !atomic_load_explicit(&g->given_up, memory_order_relaxed))
        finish(g);
    unref(g);
}

static void waited_enough(struct worker_timer *t)
{
    finish(CONTAINER_OF(t, struct gathering, timer));
}

/* On the part's worker; or, when that has stopped, on the thread that frees it: then what the share would be made of is gone, and
 * the asker, stopped as well, may be freed already. */
static void run_part(struct worker_msg *m)
{
    struct part *p = CONTAINER_OF(m, struct part, msg);
    struct gathering *g = p->gathering;
    bool stopping = atomic_load_explicit(&p->worker->stopping, memory_order_acquire);

    if (!stopping && !atomic_load_explicit(&g->given_up, memory_order_relaxed)) {
        g->kind->add(p->worker, p->share);
        atomic_store_explicit(&p->answered, true, memory_order_release);
    }
    if (atomic_fetch_sub_explicit(&g->under_way, 1, memory_order_acq_rel) == 1 && !stopping)
        worker_post(g->asker, &g->back);
    else
        unref(g);
}

struct gathering *gather_start(const struct gather_plan *plan)
{
    struct gathering *g = xcalloc(1, sizeof *g + plan->n * sizeof g->parts[0]);

    assert(plan->owner != NULL && plan->n > 0);
    g->kind = plan->kind;
    g->asker = plan->asker;
    g->done = plan->done;
    g->owner = plan->owner;
    g->n = plan->n;
    g->back.run = run_back;
    atomic_init(&g->refs, 1 + plan->n);
    atomic_init(&g->under_way, plan->n);
    worker_timer_set(plan->asker, &g->timer, plan->wait_us, waited_enough);
    for (unsigned i = 0; i < plan->n; i++) {
        struct part *p = &g->parts[i];

        p->gathering = g;
        p->worker = plan->workers[i];
        p->share = xcalloc(1, plan->kind->share_size);
        p->msg.run = run_part;
    }
    /* Each may have run when worker_post() returns; our reference keeps g. */
    for (unsigned i = 0; i < plan->n; i++)
        worker_post(plan->workers[i], &g->parts[i].msg);
    return g;
}

void gather_end(struct gathering **holder)
{
    struct gathering *g = *holder;

    *holder = NULL;
    if (g == NULL)
        return;
    worker_timer_clear(&g->timer);
    g->owner = NULL;
    atomic_store_explicit(&g->given_up, true, memory_order_relaxed);
    unref(g);
}

unsigned gather_workers(const struct gathering *g)
{
    return g->n;
}

const void *gather_share(const struct gathering *g, unsigned worker)
{
    return g->parts[worker].in_time ? g->parts[worker].share : NULL;
}

unsigned gather_missing(const struct gathering *g)
{
    unsigned n = 0;

    for (unsigned i = 0; i < g->n; i++)
        n += !g->parts[i].in_time;
    return n;
}
