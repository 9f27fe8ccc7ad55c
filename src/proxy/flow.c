#include "proxy/flow.h"

#include <fcntl.h>
#include <unistd.h>
#include "net/descriptors.h"
#include "net/worker.h"

/* Bytes passed on in one turn of the worker's loop. */
#define TURN_MAX (256u << 10)
/* So many full buffers in a row are bulk. */
#define BULK_AFTER 4

/* --- copying ---------------------------------------------------------------------------------------------------- */

enum flow_result flow_flush(struct flow *f, struct stream *to, bool *blocked)
{
    *blocked = false;
    while (f->at < f->waits.len) {
        struct iovec v = stream_piece(sb_from(&f->waits, f->at));
        ssize_t n = stream_send(to, &v, 1, false);

        if (n == STREAM_AGAIN) {
            *blocked = true;
            return FLOW_WAITS;
        }
        if (n == STREAM_ERROR)
            return FLOW_BROKEN;
        f->at += (size_t)n;
        f->bytes += (uint64_t)n;
    }
    if (f->waits.p != NULL)
        sb_free(&f->waits);
    f->at = 0;
    return FLOW_WAITS;
}

/* A helping that was received. */
static enum flow_result copy(struct flow *f, struct stream *to, const char *p, size_t n)
{
    struct iovec v = stream_piece(span_of(p, n));
    ssize_t sent = stream_send(to, &v, 1, false);

    if (sent == STREAM_ERROR)
        return FLOW_BROKEN;
    if (sent == STREAM_AGAIN)
        sent = 0;
    f->bytes += (uint64_t)sent;
    if ((size_t)sent < n)
        sb_add(&f->waits, p + sent, n - (size_t)sent);
    return FLOW_MORE;
}

/* --- splicing --------------------------------------------------------------------------------------------------- */

static bool is_piped(const struct flow *f)
{
    return f->pipe[1] != 0;
}

static void close_pipe(struct flow *f)
{
    if (is_piped(f)) {
        close(f->pipe[0]);
        close(f->pipe[1]);
    }
    f->pipe[0] = f->pipe[1] = 0;
    f->piped = 0;
}

/* From here on, if there are descriptors to spare. */
static void open_pipe(struct flow *f)
{
    f->in_a_row = 0;
    if (pipe2(f->pipe, O_NONBLOCK | O_CLOEXEC) != 0) {
        f->pipe[0] = f->pipe[1] = 0;
        return;
    }
    if (descriptors_short(f->pipe[1]))
        close_pipe(f);
}

/* What is in the pipe goes out. */
static enum flow_result drain_pipe(struct flow *f, struct stream *to, bool *blocked)
{
    *blocked = false;
    while (f->piped > 0) {
        ssize_t n = stream_splice_to(to, f->pipe[0], f->piped);

        if (n == STREAM_AGAIN) {
            *blocked = true;
            return FLOW_WAITS;
        }
        if (n == STREAM_ERROR)
            return FLOW_BROKEN;
        f->piped -= (size_t)n;
        f->bytes += (uint64_t)n;
    }
    return FLOW_WAITS;
}

void flow_rest(struct flow *f)
{
    if (f->piped == 0)
        close_pipe(f);
}

/* --- both ------------------------------------------------------------------------------------------------------- */

static ssize_t take(struct flow *f, const struct flow_source *source, char *scratch)
{
    if (f->in_a_row >= BULK_AFTER && !is_piped(f) && source->may_splice(source->from))
        open_pipe(f);
    return is_piped(f) ? source->splice(source->from, f->pipe[1], WORKER_SCRATCH)
                       : source->recv(source->from, scratch, WORKER_SCRATCH);
}

enum flow_result flow_run(struct flow *f, const struct flow_source *source, struct stream *to, char *scratch,
                          bool *moved)
{
    uint64_t began = f->bytes;

    while (!f->ended) {
        bool blocked;
        ssize_t n;

        if (flow_flush(f, to, &blocked) == FLOW_BROKEN || (!blocked && drain_pipe(f, to, &blocked) == FLOW_BROKEN))
            return FLOW_BROKEN;
        if (blocked)
            return FLOW_WAITS;
        if (f->bytes - began >= TURN_MAX)
            return FLOW_MORE;
        n = take(f, source, scratch);
        if (n == STREAM_AGAIN)
            return FLOW_WAITS;
        if (n == STREAM_ERROR)
            return FLOW_BROKEN;
        if (n == 0) {
            f->ended = true;
            close_pipe(f);
            stream_shutdown(to);
            return FLOW_WAITS;
        }
        *moved = true;
        f->in_a_row = (size_t)n == WORKER_SCRATCH ? f->in_a_row + 1 : 0;
        if (is_piped(f))
            f->piped += (size_t)n;
        else if (copy(f, to, scratch, (size_t)n) == FLOW_BROKEN)
            return FLOW_BROKEN;
    }
    return FLOW_WAITS;
}

void flow_free(struct flow *f)
{
    sb_free(&f->waits);
    close_pipe(f);
}
