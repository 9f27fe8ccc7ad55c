#include "mgr/manager.h"

#include <stdlib.h>
#include "base/mem.h"
#include "mgr/page.h"

struct manager {
    struct internal_service service;
    struct history history;
    _Atomic(struct proxy *) proxy; /* NULL until attached */
};

static void answer(void *ctx, const struct internal_request *q, struct internal_answer *a)
{
    struct manager *m = ctx;
    struct page_request r = { .history = &m->history, .proxy = atomic_load(&m->proxy), .q = q };

    if (r.proxy == NULL) {
        a->status = 404;
        a->error_name = "ERR_INVALID_URL";
        return;
    }
    page_answer(&r, a);
}

struct manager *manager_new(void)
{
    struct manager *m = xcalloc(1, sizeof *m);

    m->service = (struct internal_service){ answer, m };
    history_init(&m->history);
    return m;
}

const struct internal_service *manager_service(struct manager *m)
{
    return &m->service;
}

void manager_attach(struct manager *m, struct proxy *p)
{
    history_begin(&m->history, proxy_start_time(p));
    atomic_store(&m->proxy, p);
}

void manager_free(struct manager **holder)
{
    struct manager *m = *holder;

    *holder = NULL;
    if (m == NULL)
        return;
    history_free(&m->history);
    free(m);
}

void manager_sample(struct manager *m)
{
    struct sample s;

    sample_take(&s, atomic_load(&m->proxy));
    history_add(&m->history, &s);
}
