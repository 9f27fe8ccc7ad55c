#include "proxy/mail.h"

#include <stdlib.h>
#include "base/mem.h"

struct mail {
    struct worker_msg msg;
    struct worker *worker;
    void (*deliver)(void *owner);
    void *owner; /* NULL: closed. The worker's own thread only */
    atomic_bool posted;
    atomic_uint refs; /* the owner's, and one while posted */
};

struct mail *mail_new(struct worker *w, void (*deliver)(void *owner), void *owner)
{
    struct mail *m = xcalloc(1, sizeof *m);

    m->worker = w;
    m->deliver = deliver;
    m->owner = owner;
    atomic_init(&m->posted, false);
    atomic_init(&m->refs, 1);
    return m;
}

static void mail_unref(struct mail *m)
{
    if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) == 1)
        free(m);
}

static void mail_run(struct worker_msg *msg)
{
    struct mail *m = CONTAINER_OF(msg, struct mail, msg);

    /* Cleared first: a knock during deliver() must knock again. */
    atomic_store_explicit(&m->posted, false, memory_order_seq_cst);
    if (m->owner != NULL)
        m->deliver(m->owner);
    mail_unref(m);
}

void mail_send(struct mail *m)
{
    if (atomic_exchange_explicit(&m->posted, true, memory_order_seq_cst))
        return;
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    m->msg.run = mail_run;
    worker_post(m->worker, &m->msg);
}

void mail_close(struct mail **holder)
{
    struct mail *m = *holder;

    *holder = NULL;
    if (m == NULL)
        return;
    m->owner = NULL;
    mail_unref(m);
}
