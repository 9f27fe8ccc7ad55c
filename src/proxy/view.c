#include "proxy/view.h"

#include <stdlib.h>
#include "base/mem.h"
#include "proxy/worker_state.h"

struct proxy_worker *view_worker(struct worker *w)
{
    return w->user;
}

size_t view_rows_most(const struct worker *w)
{
    const struct proxy_worker *pw = w->user;

    return VIEW_ROWS / pw->n_workers > VIEW_ROWS_LEAST ? VIEW_ROWS / pw->n_workers : VIEW_ROWS_LEAST;
}

void *view_row(struct view_rows *r, size_t size)
{
    char *row;

    if (r->n == r->most) {
        r->passed++;
        return NULL;
    }
    if (r->n == r->capacity) {
        r->capacity = r->capacity > 0 ? 2 * r->capacity : 16;
        r->p = xrealloc(r->p, r->capacity * size);
    }
    row = (char *)r->p + r->n++ * size;
    return memset(row, 0, size);
}

struct view_text view_keep(struct view_rows *r, struct span text)
{
    struct view_text t = { r->text.len, text.len };

    sb_span(&r->text, text);
    return t;
}

struct view_text view_keep_url(struct view_rows *r, struct span url)
{
    return view_keep(r, url.len > VIEW_URL_MAX ? span_of(url.p, VIEW_URL_MAX) : url);
}

void view_rows_free(struct view_rows *r)
{
    free(r->p);
    sb_free(&r->text);
}
