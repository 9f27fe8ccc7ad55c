#include "proxy/log_place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define RETRY_US US_PER_S
#define TELL_US (60 * US_PER_S)
#define IOV_N 64

/* Mapped, so that what no line has reached yet takes no memory. */
static char *ring_bytes_new(void)
{
    void *p = mmap(NULL, LOG_RING_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED) {
        log_line(LOG_ERROR, "FATAL: no memory for an access log ring: %s", strerror(errno));
        abort();
    }
    return p;
}

struct log_place *log_place_new(const char *path, unsigned workers, uid_t owner)
{
    struct log_place *p = xcalloc(1, sizeof *p);

    p->path = xstrdup(path);
    p->n_rings = workers;
    p->owner = owner;
    p->fd = -1;
    atomic_init(&p->handed, -1);
    /* Whole cache lines: xcalloc() promises 16 bytes only. */
    if (posix_memalign((void **)&p->rings, alignof(struct log_ring), workers * sizeof p->rings[0]) != 0)
        abort();
    memset(p->rings, 0, workers * sizeof p->rings[0]);
    for (unsigned i = 0; i < workers; i++)
        p->rings[i].bytes = ring_bytes_new();
    return p;
}

void log_place_free(struct log_place **holder)
{
    struct log_place *p = *holder;
    int handed;

    *holder = NULL;
    if (p == NULL)
        return;
    if ((handed = atomic_load(&p->handed)) >= 0)
        close(handed);
    if (p->fd >= 0)
        close(p->fd);
    for (unsigned i = 0; i < p->n_rings; i++)
        munmap(p->rings[i].bytes, LOG_RING_BYTES);
    free(p->rings);
    free(p->path);
    free(p);
}

/* The descriptor that a name stands for, -1 for other names. */
static int standard_fd(const char *path)
{
    static const struct {
        const char *path;
        int fd;
    } names[] = {
        { "/dev/stdout", 1 }, { "/proc/self/fd/1", 1 }, { "/dev/fd/1", 1 },
        { "/dev/stderr", 2 }, { "/proc/self/fd/2", 2 }, { "/dev/fd/2", 2 },
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(path, names[i].path) == 0)
            return names[i].fd;
    return -1;
}

int log_place_open(const struct log_place *p)
{
    struct stat st;
    int standard = standard_fd(p->path), flags = O_WRONLY, fd;

    /* The descriptor we were born with, not its name: that may belong to another user or be a socket (containers), and
     * where it is a file ("> log 2>&1"), one opened anew would have an offset of its own and be written over. */
    if (standard >= 0)
        return fcntl(standard, F_DUPFD_CLOEXEC, 3);
    /* A named pipe without a reader must neither hang us nor fail: its reader may come later. */
    if (stat(p->path, &st) == 0 && S_ISFIFO(st.st_mode))
        flags = O_RDWR | O_NONBLOCK;
    fd = open(p->path, flags | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
    /* Opened by root before privileges are dropped; reopened after that. */
    if (fd >= 0 && p->owner != (uid_t)-1 && geteuid() == 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_uid == 0 && fchown(fd, p->owner, (gid_t)-1) != 0)
        log_line(LOG_IMPORTANT, "WARNING: can't give %s to its user: %s", p->path, strerror(errno));
    return fd;
}

void log_place_use(struct log_place *p, int fd)
{
    struct stat st = { 0 }, before = { 0 };
    bool same = p->fd >= 0 && fstat(p->fd, &before) == 0 && fstat(fd, &st) == 0 && before.st_dev == st.st_dev &&
                before.st_ino == st.st_ino;

    if (p->fd >= 0)
        close(p->fd);
    p->fd = fd;
    p->regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (!same && p->rings[p->resume].mid_line)
        log_ring_skip_line(&p->rings[p->resume]); /* its first half is in the file that was */
}

static void fail(struct log_place *p, const char *what, int64_t now)
{
    int error = errno;

    if (!p->failing)
        log_line(LOG_ERROR, "ERROR: can't %s %s: %s; %s", what, p->path, strerror(error),
                 atomic_load(&p->die) ? "on-error=die" : "lines will be dropped, trying again each second");
    if (atomic_load(&p->die))
        _exit(EXIT_FAILURE);
    p->failing = true;
    p->retry_at = now + RETRY_US;
}

/* Two iovecs at most for each ring, starting where the last write stopped. */
static int gather(struct log_place *p, struct iovec v[IOV_N], unsigned ring_of[IOV_N])
{
    int n = 0;

    for (unsigned i = 0; i < p->n_rings && n + 2 <= IOV_N; i++) {
        unsigned ring = (p->resume + i) % p->n_rings;
        int pieces = log_ring_peek(&p->rings[ring], v + n);

        for (int k = 0; k < pieces; k++)
            ring_of[n++] = ring;
    }
    return n;
}

/* One big write for all that is there. */
static ssize_t write_regular(struct log_place *p)
{
    struct iovec v[IOV_N];
    unsigned ring_of[IOV_N];
    int n = gather(p, v, ring_of);
    ssize_t written = writev(p->fd, v, n);
    size_t left = written > 0 ? (size_t)written : 0;

    for (int i = 0; i < n && left > 0; i++) {
        size_t took = left < v[i].iov_len ? left : v[i].iov_len;

        log_ring_advance(&p->rings[ring_of[i]], took);
        p->resume = ring_of[i];
        left -= took;
    }
    return written;
}

/* Up to PIPE_BUF, whole lines where they fit: such a write is atomic, and after poll() it doesn't block. The descriptor
 * may be shared with others, so it can't be made non-blocking. */
static ssize_t write_pipe(struct log_place *p)
{
    struct pollfd wait = { .fd = p->fd, .events = POLLOUT };
    char chunk[PIPE_BUF];
    struct iovec v[IOV_N];
    unsigned ring_of[IOV_N];
    int n = gather(p, v, ring_of);
    size_t len = 0;
    const char *last;
    ssize_t written;

    if (poll(&wait, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    for (int i = 0; i < n && ring_of[i] == ring_of[0] && len < sizeof chunk; i++) {
        size_t take = v[i].iov_len < sizeof chunk - len ? v[i].iov_len : sizeof chunk - len;

        memcpy(chunk + len, v[i].iov_base, take);
        len += take;
    }
    if ((last = memrchr(chunk, '\n', len)) != NULL)
        len = (size_t)(last + 1 - chunk);
    written = write(p->fd, chunk, len);
    if (written > 0) {
        struct log_ring *r = &p->rings[ring_of[0]];

        log_ring_advance(r, (size_t)written);
        p->resume = r->mid_line ? ring_of[0] : (ring_of[0] + 1) % p->n_rings;
    }
    return written;
}

bool log_place_empty(struct log_place *p)
{
    struct iovec v[2];

    for (unsigned i = 0; i < p->n_rings; i++)
        if (log_ring_peek(&p->rings[i], v) > 0)
            return false;
    return true;
}

enum log_place_result log_place_write(struct log_place *p, int64_t now)
{
    int fd = atomic_exchange(&p->handed, -1);

    if (fd >= 0)
        log_place_use(p, fd);
    if (log_place_empty(p))
        return LOG_PLACE_IDLE;
    p->idle_since = now;
    if (p->failing && now < p->retry_at)
        return LOG_PLACE_STUCK;
    if (p->fd < 0) {
        if ((fd = log_place_open(p)) < 0) {
            fail(p, "open", now);
            return LOG_PLACE_STUCK;
        }
        log_place_use(p, fd);
    }
    if ((p->regular ? write_regular(p) : write_pipe(p)) < 0) {
        if (errno != EAGAIN && errno != EINTR)
            fail(p, "write to", now);
        return LOG_PLACE_STUCK;
    }
    if (p->failing) {
        p->failing = false;
        log_line(LOG_IMPORTANT, "%s can be written again", p->path);
    }
    return LOG_PLACE_WROTE;
}

/* .keep-2 becomes .keep-1 and so on; the oldest is written over. */
static void rename_all(const struct log_place *p, int keep)
{
    size_t n = strlen(p->path) + 16;
    char *from = xmalloc(n), *to = xmalloc(n);

    for (int i = keep - 1; i >= 0; i--) {
        snprintf(to, n, "%s.%d", p->path, i);
        if (i > 0)
            snprintf(from, n, "%s.%d", p->path, i - 1);
        else
            snprintf(from, n, "%s", p->path);
        if (rename(from, to) != 0 && errno != ENOENT)
            log_line(LOG_ERROR, "ERROR: can't rename %s to %s: %s", from, to, strerror(errno));
    }
    free(from);
    free(to);
}

void log_place_rotate(struct log_place *p, int keep)
{
    struct stat st;
    int fd;

    if (p->fd >= 0 && !p->regular)
        return; /* a device or a pipe: renaming /dev/stdout would take it from everybody */
    /* A symbolic link is only reopened: what it points to isn't ours to name. */
    if (keep > 0 && lstat(p->path, &st) == 0 && S_ISREG(st.st_mode))
        rename_all(p, keep);
    if ((fd = log_place_open(p)) < 0) {
        log_line(LOG_ERROR, "ERROR: can't reopen %s: %s; the old file stays in use", p->path, strerror(errno));
        return;
    }
    log_place_use(p, fd);
    p->failing = false;
}

void log_place_tell_drops(struct log_place *p, int64_t now, bool finally)
{
    uint64_t dropped = 0;

    for (unsigned i = 0; i < p->n_rings; i++)
        dropped += atomic_load_explicit(&p->rings[i].dropped, memory_order_relaxed);
    if (dropped == p->drops_told || (!finally && p->drops_told_at != 0 && now - p->drops_told_at < TELL_US))
        return;
    log_line(LOG_ERROR, "WARNING: access log lines dropped: %" PRIu64 "; %s can't be written as fast as they come",
             dropped - p->drops_told, p->path);
    p->drops_told = dropped;
    p->drops_told_at = now;
}
