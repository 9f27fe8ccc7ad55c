/* net/stream.h: a connected byte stream (TCP today, TLS beside it later) in a worker's loop, edge-triggered: one
 * registration for its whole life, no epoll_ctl per message.
 *
 * After `ready` says readable (writable), keep receiving (sending) until it blocks; nothing is said again before that.
 * Threads: its worker only. */
#pragma once
#include <stdint.h>
#include <sys/uio.h>
#include "base/span.h"
#include "net/addr.h"
#include "net/worker.h"

/* STREAM_ENDED: the peer has ended its side, perhaps behind bytes that wait to be read: receive until 0, whatever a
 * short read suggests, for it isn't said again. */
enum stream_event { STREAM_READABLE = 1, STREAM_WRITABLE = 2, STREAM_ENDED = 4 };

struct stream {
    struct event event;
    struct worker *worker;
    int fd;                                         /* -1: none */
    void (*ready)(struct stream *s, unsigned what); /* may close and free the stream */
};

/* Takes over fd (non-blocking) and registers it. s is zeroed and embedded. */
void stream_open(struct stream *s, struct worker *w, int fd, void (*ready)(struct stream *s, unsigned what));
/* Takes the descriptor out again without closing it (to the pool); returns it. */
int stream_take(struct stream *s);
/* Idempotent. reset: an RST instead of a FIN, so that the peer sees a cut, not an end. */
void stream_close(struct stream *s, bool reset);
bool stream_is_open(const struct stream *s);

/* > 0 bytes; 0: the peer ended its side; STREAM_AGAIN: nothing now; STREAM_ERROR: errno says. */
enum { STREAM_AGAIN = -1, STREAM_ERROR = -2 };
ssize_t stream_recv(struct stream *s, void *buf, size_t n);
/* A piece for stream_send(), which only reads it. */
static inline struct iovec stream_piece(struct span s)
{
    return (struct iovec){ (void *)(uintptr_t)s.p, s.len };
}
/* > 0 bytes taken; STREAM_AGAIN; STREAM_ERROR. more: further bytes follow at once (MSG_MORE). */
ssize_t stream_send(struct stream *s, const struct iovec *v, size_t n, bool more);
/* Between the socket and a pipe (splice(2)), n bytes at the most: as stream_recv() and stream_send(). STREAM_AGAIN from the
 * first also where the pipe is full: have it empty. */
ssize_t stream_splice_from(struct stream *s, int pipe, size_t n);
ssize_t stream_splice_to(struct stream *s, int pipe, size_t n);
/* Looks without taking: > 0 bytes wait; 0: the peer ended its side; STREAM_AGAIN; STREAM_ERROR: it is gone. */
ssize_t stream_peek(struct stream *s);
/* Ends our side (FIN). */
void stream_shutdown(struct stream *s);
/* Our end of a connected descriptor. */
struct addr stream_local_addr(int fd);
/* Any bytes or an end waiting? What makes an idle origin connection dead. */
bool stream_is_readable(int fd);
