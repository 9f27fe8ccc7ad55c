#include "access/job_pool.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/affinity.h"
#include "base/log.h"
#include "base/mem.h"

struct job_pool {
    pthread_mutex_t lock;
    pthread_cond_t work; /* a job waits, or it ends */
    struct job *first, **last;
    unsigned n_waiting;
    pthread_t *threads;
    unsigned n_threads, n_busy;
    bool ending;
};

struct job_pool *job_pool_new(void)
{
    struct job_pool *p = xcalloc(1, sizeof *p);

    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    p->last = &p->first;
    return p;
}

static void come_back(struct worker_msg *m)
{
    struct job *j = CONTAINER_OF(m, struct job, msg);

    j->done(j);
}

static void post(struct job *j)
{
    j->msg.run = come_back;
    worker_post(j->worker, &j->msg);
}

/* Under the lock. */
static struct job *take(struct job_pool *p)
{
    struct job *j = p->first;

    if (j == NULL)
        return NULL;
    p->first = j->next;
    if (p->first == NULL)
        p->last = &p->first;
    p->n_waiting--;
    return j;
}

static void *run(void *arg)
{
    struct job_pool *p = arg;

    affinity_unpin();
    pthread_mutex_lock(&p->lock);
    while (!p->ending) {
        struct job *j = take(p);

        if (j == NULL) {
            pthread_cond_wait(&p->work, &p->lock);
            continue;
        }
        p->n_busy++;
        pthread_mutex_unlock(&p->lock);
        j->work(j);
        j->worked = true;
        post(j);
        pthread_mutex_lock(&p->lock);
        p->n_busy--;
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Under the lock. */
static void start_thread(struct job_pool *p)
{
    sigset_t all, before;
    int error;

    p->threads = xrealloc(p->threads, (p->n_threads + 1) * sizeof *p->threads);
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&p->threads[p->n_threads], NULL, run, p);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error == 0)
        p->n_threads++;
    else
        log_line(LOG_IMPORTANT, "WARNING: no thread for passwords: %s", strerror(error));
}

bool job_pool_add(struct job_pool *p, struct job *j, unsigned threads, unsigned waiting)
{
    bool taken;

    j->next = NULL;
    j->worked = false;
    pthread_mutex_lock(&p->lock);
    if (p->n_waiting + p->n_busy >= p->n_threads && p->n_threads < threads)
        start_thread(p);
    /* With a thread that is free a job doesn't wait, and without any it would for ever. */
    taken = p->n_threads > 0 && p->n_waiting + p->n_busy < p->n_threads + waiting;
    if (taken) {
        *p->last = j;
        p->last = &j->next;
        p->n_waiting++;
        pthread_cond_signal(&p->work);
    }
    pthread_mutex_unlock(&p->lock);
    return taken;
}

void job_pool_free(struct job_pool **holder)
{
    struct job_pool *p = *holder;
    struct job *j;

    *holder = NULL;
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->ending = true;
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->n_threads; i++)
        pthread_join(p->threads[i], NULL);
    while ((j = take(p)) != NULL)
        post(j);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    free(p->threads);
    free(p);
}
