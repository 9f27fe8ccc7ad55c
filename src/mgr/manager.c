#include "mgr/manager.h"

#include <stdlib.h>
#include "base/log.h"
#include "base/mem.h"
#include "mgr/high_water.h"
#include "mgr/page.h"

/* high_..._warning look at the last minute. */
#define WATCHED_SECONDS 60

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

/* One log entry a line. */
static void warn(const struct strbuf *lines)
{
    struct span rest = sb_view(lines);

    while (rest.len > 0) {
        const char *end = memchr(rest.p, '\n', rest.len);
        size_t n = (size_t)(end - rest.p);

        log_line(LOG_ERROR, "%.*s", (int)n, rest.p);
        rest = span_of(end + 1, rest.len - n - 1);
    }
}

void manager_sample(struct manager *m, const struct settings *s)
{
    struct sample now, before, minute;
    struct strbuf lines = { 0 };
    bool is_minute;

    sample_take(&now, atomic_load(&m->proxy));
    if ((is_minute = history_before(&m->history, WATCHED_SECONDS, now.mono, &before)))
        sample_difference(&minute, &before, &now);
    history_add(&m->history, &now);
    high_water_lines(s, is_minute ? &minute : NULL, process_resident(), &lines);
    warn(&lines);
    sb_free(&lines);
}
