#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/mem.h"

#define LINE_MAX_BYTES 2048

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the three below */
static int file = -1;
static int stderr_level = -1;
static char *file_path;

static atomic_int level_now = LOG_IMPORTANT;

static bool open_locked(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    if (fd < 0)
        return false;
    if (file >= 0)
        close(file);
    file = fd;
    return true;
}

bool log_open(const char *path, int also_stderr)
{
    bool ok = true;

    pthread_mutex_lock(&lock);
    if (path == NULL) {
        if (file >= 0)
            close(file);
        file = -1;
        free(file_path);
        file_path = NULL;
    } else if ((ok = open_locked(path))) {
        char *copy = xstrdup(path);

        free(file_path);
        file_path = copy;
    }
    if (ok)
        stderr_level = also_stderr;
    pthread_mutex_unlock(&lock);
    return ok;
}

bool log_reopen(void)
{
    bool ok;

    pthread_mutex_lock(&lock);
    ok = file_path == NULL || open_locked(file_path);
    pthread_mutex_unlock(&lock);
    return ok;
}

const char *log_path(void)
{
    return file_path;
}

void log_set_level(int level)
{
    atomic_store(&level_now, level);
}

int log_level_now(void)
{
    return atomic_load(&level_now);
}

static void write_all(int fd, const char *line, size_t n)
{
    while (n > 0) {
        ssize_t w = write(fd, line, n);

        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return; /* a log that can't be written never stops traffic (faults.md) */
        line += w;
        n -= (size_t)w;
    }
}

void log_line(enum log_level level, const char *fmt, ...)
{
    char line[LINE_MAX_BYTES];
    struct tm tm;
    time_t now;
    size_t n;
    va_list ap;
    int m, saved = errno;

    if ((int)level > log_level_now())
        return;
    now = time(NULL);
    localtime_r(&now, &tm);
    n = strftime(line, sizeof line, "%Y/%m/%d %H:%M:%S| ", &tm);
    va_start(ap, fmt);
    m = vsnprintf(line + n, sizeof line - n - 1, fmt, ap);
    va_end(ap);
    if (m > 0)
        n = n + (size_t)m < sizeof line - 1 ? n + (size_t)m : sizeof line - 2;
    /* Log injection (hostile-inputs M04): whatever was quoted, a line stays one line. */
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = '?';
    line[n++] = '\n';
    pthread_mutex_lock(&lock);
    if (file < 0 || (int)level <= stderr_level)
        write_all(STDERR_FILENO, line, n);
    if (file >= 0)
        write_all(file, line, n);
    pthread_mutex_unlock(&lock);
    errno = saved;
}
