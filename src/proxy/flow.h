/* proxy/flow.h: one direction of a tunnel: bytes from one connection to another, never more than one buffer or pipe of them
 * held, so that a slow reader slows its writer. Bulk goes through a pipe by splice(2), which costs half of copying; everything
 * else is copied through the worker's scratch, since a pipe is two descriptors.
 *
 * Threads: one worker. */
#pragma once
#include "base/strbuf.h"
#include "net/stream.h"

struct flow {
    struct strbuf waits; /* received, but not taken by the other side yet; at most one scratch buffer */
    size_t at;
    int pipe[2];       /* read end, write end; 0, 0: none */
    size_t piped;      /* bytes in it */
    unsigned in_a_row; /* helpings that filled the buffer: bulk is coming */
    bool ended;        /* its source has ended, and that was passed on */
    uint64_t bytes;    /* passed on */
};

/* Where the bytes come from; both read as stream_recv() does. splice: NULL, or STREAM_AGAIN now, when there is no way. */
struct flow_source {
    void *from;
    ssize_t (*recv)(void *from, char *buf, size_t n);
    ssize_t (*splice)(void *from, int pipe, size_t n);
    bool (*may_splice)(void *from); /* nothing was received already that has to go first */
};

enum flow_result {
    FLOW_WAITS,  /* for an event of either side, or for nothing: it has ended */
    FLOW_MORE,   /* it has had its turn, others want theirs: run it again soon */
    FLOW_BROKEN, /* a side is gone */
};

/* Passes on what there is. scratch: WORKER_SCRATCH bytes. *moved: something went. */
enum flow_result flow_run(struct flow *f, const struct flow_source *source, struct stream *to, char *scratch,
                          bool *moved);
/* Sends what waits. *blocked: some of it still does. */
enum flow_result flow_flush(struct flow *f, struct stream *to, bool *blocked);
/* Gives the pipe back when it is empty: nothing has come for a while. */
void flow_rest(struct flow *f);
void flow_free(struct flow *f);
