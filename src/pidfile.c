#include "pidfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"

static pid_t read_pid(int fd)
{
    char text[32];
    ssize_t n = pread(fd, text, sizeof text - 1, 0);

    if (n <= 0)
        return -1;
    text[n] = '\0';
    n = strtol(text, NULL, 10);
    return n > 1 ? (pid_t)n : -1;
}

static bool wanted(const char *path)
{
    return path != NULL && path[0] != '\0' && strcmp(path, "none") != 0;
}

/* Is path still the file that fd is? A proxy on its way out may have removed it between our open() and our lock. */
static bool still_there(int fd, const char *path)
{
    struct stat ours, theirs;

    return fstat(fd, &ours) == 0 && lstat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
           ours.st_ino == theirs.st_ino;
}

bool pidfile_take(struct pidfile *f, const char *path, char error[256])
{
    *f = (struct pidfile){ .fd = -1 };
    if (!wanted(path))
        return true;
again:
    f->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (f->fd < 0) {
        snprintf(error, 256, "cannot write the pid file %s: %s (pid_filename names it, or is none)", path, strerror(errno));
        return false;
    }
    if (flock(f->fd, LOCK_EX | LOCK_NB) != 0) {
        snprintf(error, 256, "already running: process %ld holds %s", (long)read_pid(f->fd), path);
        close(f->fd);
        f->fd = -1;
        return false;
    }
    if (!still_there(f->fd, path)) {
        close(f->fd);
        goto again;
    }
    f->path = xstrdup(path);
    pidfile_write(f);
    return true;
}

void pidfile_write(const struct pidfile *f)
{
    char text[32];
    int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());

    /* A full disk costs -k, not the start. */
    if (f->fd >= 0 && (ftruncate(f->fd, 0) != 0 || pwrite(f->fd, text, (size_t)n, 0) != n))
        fprintf(stderr, "loligo: cannot write the pid file %s: %s\n", f->path, strerror(errno));
}

void pidfile_forget(struct pidfile *f)
{
    if (f->fd >= 0)
        close(f->fd);
    free(f->path);
    *f = (struct pidfile){ .fd = -1 };
}

void pidfile_release(struct pidfile *f)
{
    if (f->fd >= 0 && unlink(f->path) != 0 && ftruncate(f->fd, 0) != 0)
        fprintf(stderr, "loligo: cannot remove the pid file %s: %s\n", f->path, strerror(errno));
    pidfile_forget(f);
}

pid_t pidfile_running(const char *path, char error[256])
{
    pid_t pid = -1;
    int fd;

    if (!wanted(path)) {
        snprintf(error, 256, "pid_filename is none, so there is no telling which process to signal");
        return -1;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        if (errno == ENOENT)
            snprintf(error, 256, "not running: there is no pid file %s", path);
        else
            snprintf(error, 256, "cannot read the pid file %s: %s", path, strerror(errno));
        return -1;
    }
    if (flock(fd, LOCK_SH | LOCK_NB) == 0)
        snprintf(error, 256, "not running: the pid file %s was left behind by a proxy that is gone", path);
    else if ((pid = read_pid(fd)) < 0)
        snprintf(error, 256, "the pid file %s holds no process id", path);
    close(fd);
    return pid;
}
