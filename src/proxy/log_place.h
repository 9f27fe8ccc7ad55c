/* proxy/log_place.h: one file (device, pipe) that log lines go to, with a ring for each worker.
 *
 * Threads: made by the main thread; then the log thread's, but for the rings' producers and the atomic members. */
#pragma once
#include <sys/types.h>
#include "proxy/log_ring.h"

struct log_place {
    char *path;
    struct log_ring *rings; /* one a worker */
    unsigned n_rings;
    atomic_bool wanted; /* in the settings in force */
    atomic_bool die;    /* on-error=die */
    atomic_int handed;  /* a descriptor from the main thread to be used from now on; -1: none */
    uid_t owner;        /* of files that root makes; (uid_t)-1: leave them */
    /* the log thread's */
    int fd; /* -1: not open */
    bool regular;
    bool failing;
    unsigned resume;  /* the ring to go on with: another's line must not get into the middle of this one's */
    int64_t retry_at; /* monotonic; after a failure */
    int64_t idle_since;
    int64_t drops_told_at;
    uint64_t drops_told;
};

/* Not open. Never NULL. */
struct log_place *log_place_new(const char *path, unsigned workers, uid_t owner);
void log_place_free(struct log_place **holder);
/* A descriptor to append with, or -1 with errno. /dev/stdout and its kin are the descriptor itself. */
int log_place_open(const struct log_place *p);
/* Makes fd the one in use, closing another. */
void log_place_use(struct log_place *p, int fd);

enum log_place_result {
    LOG_PLACE_IDLE,  /* the rings are empty */
    LOG_PLACE_WROTE, /* there may be more */
    LOG_PLACE_STUCK, /* can't be written now: a full pipe, a full disk; try again in a while */
};
/* Writes one run. Doesn't block but on a regular file. */
enum log_place_result log_place_write(struct log_place *p, int64_t now);
bool log_place_empty(struct log_place *p);
/* Renames the file to .0, the older ones up to .(keep - 1), and opens a new one; keep 0 only reopens. What isn't a
 * regular file stays as it is. When the new one can't be opened the old one stays in use. */
void log_place_rotate(struct log_place *p, int keep);
/* Once a minute at most, or when `finally`: a line in cache.log when lines were dropped. */
void log_place_tell_drops(struct log_place *p, int64_t now, bool finally);
