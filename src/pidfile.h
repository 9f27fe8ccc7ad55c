/* pidfile.h: the file that says which process to signal, and that there is only one.
 *
 * A running proxy holds a lock (flock) on it, so a file left behind by a crash, or a number the kernel has given to
 * another program since, is never taken for a running proxy. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

struct pidfile {
    int fd; /* -1: none */
    char *path;
};

/* Locks and writes it. path NULL or "none": no file, true. False: the reason is in error (a proxy already runs: its
 * process id; or the file can't be written). */
bool pidfile_take(struct pidfile *f, const char *path, char error[256]);
/* The running process writes its own number; after a fork into the background. */
void pidfile_write(const struct pidfile *f);
/* Removes the file (or empties it, where the privileges to remove it are gone) and the lock. */
void pidfile_release(struct pidfile *f);
/* Closes without removing: for a child, so that the lock is the parent's alone. */
void pidfile_forget(struct pidfile *f);
/* The process that holds path, or -1 with the reason in error. */
pid_t pidfile_running(const char *path, char error[256]);
