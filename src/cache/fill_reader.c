/* The readers' side of cache/fill.h. */
#include <assert.h>
#include <sys/uio.h>
#include "cache/fill_private.h"
#include "cache/vary.h"

void fill_attach(struct fill *f, struct fill_reader *r, bool owner)
{
    assert(r->fill == NULL && r->wake != NULL);
    r->fill = fill_ref(f);
    r->owner = owner;
    r->sleeping = r->released = false;
    r->at = 0;
    r->seg = f->received > 0 ? f->first : NULL;
    r->seg_at = 0;
    if (r->seg != NULL)
        r->seg->readers++;
    list_append(&f->readers, &r->node);
    f->readers_n++;
}

void fill_leave_segment(struct fill_reader *r)
{
    if (r->seg == NULL)
        return;
    assert(r->seg->readers > 0);
    r->seg->readers--;
    r->seg = NULL;
}

enum fill_state fill_state(struct fill_reader *r)
{
    enum fill_state s;

    pthread_mutex_lock(&r->fill->lock);
    s = r->released ? FILL_RELEASED : r->fill->state;
    r->sleeping = true;
    pthread_mutex_unlock(&r->fill->lock);
    return s;
}

/* Object and length are set before BODY is entered and stay: a caller that has seen BODY needs no lock. */
struct object *fill_object(const struct fill_reader *r)
{
    return r->fill->object;
}

uint64_t fill_length(const struct fill_reader *r)
{
    return r->fill->announced;
}

size_t fill_peek(struct fill_reader *r, struct iovec *v, size_t n)
{
    struct segment *s;
    uint32_t at;
    size_t used = 0;

    pthread_mutex_lock(&r->fill->lock);
    at = r->seg_at;
    for (s = r->seg; s != NULL && used < n; s = atomic_load_explicit(&s->next, memory_order_acquire), at = 0)
        if (s->len > at)
            v[used++] = (struct iovec){ s->bytes + at, s->len - at };
    r->sleeping = used == 0;
    pthread_mutex_unlock(&r->fill->lock);
    return used;
}

void fill_advance(struct fill_reader *r, uint64_t bytes)
{
    struct fill *f = r->fill;

    if (bytes == 0)
        return;
    pthread_mutex_lock(&f->lock);
    assert(bytes <= f->received - r->at);
    r->at += bytes;
    while (r->seg != NULL) {
        struct segment *s = r->seg;
        uint64_t here = s->len - r->seg_at;

        if (bytes < here) {
            r->seg_at += (uint32_t)bytes;
            break;
        }
        bytes -= here;
        fill_leave_segment(r);
        if (r->at == f->received)
            break;
        r->seg = atomic_load_explicit(&s->next, memory_order_acquire);
        r->seg_at = 0;
        r->seg->readers++;
    }
    fill_drop_taken(f);
    pthread_mutex_unlock(&f->lock);
}

uint64_t fill_total(const struct fill_reader *r)
{
    uint64_t n;

    pthread_mutex_lock(&r->fill->lock);
    n = r->fill->received;
    pthread_mutex_unlock(&r->fill->lock);
    return n;
}

bool fill_is_kept(const struct fill_reader *r)
{
    bool kept;

    pthread_mutex_lock(&r->fill->lock);
    kept = r->fill->kept;
    pthread_mutex_unlock(&r->fill->lock);
    return kept;
}

int fill_error(const struct fill_reader *r, int *detail)
{
    int error;

    pthread_mutex_lock(&r->fill->lock);
    error = r->fill->error;
    if (detail != NULL)
        *detail = r->fill->detail;
    pthread_mutex_unlock(&r->fill->lock);
    return error;
}

bool fill_answers(const struct fill_reader *r, const struct head *request)
{
    const struct object *o = fill_object(r);

    if (r->owner)
        return true;
    if (atomic_load_explicit(&((struct object *)(uintptr_t)o)->flags, memory_order_relaxed) & OBJECT_VARY_STAR)
        return false;
    return o->vary.len == 0 || hash128_eq(o->vary_print, vary_fingerprint(object_piece(o, o->vary), request));
}

size_t fill_detach(struct fill_reader *r)
{
    struct fill *f = r->fill;
    size_t left;

    if (f == NULL)
        return 0;
    pthread_mutex_lock(&f->lock);
    fill_leave_segment(r);
    list_remove(&r->node);
    if (!r->released)
        f->readers_n--;
    fill_drop_taken(f);
    left = f->readers_n;
    pthread_mutex_unlock(&f->lock);
    fill_unref(&r->fill);
    return left;
}
