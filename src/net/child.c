#include "net/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/affinity.h"

/* fd[0] is ours. */
static bool make_pair(int fd[2])
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd) != 0)
        return false;
    return fcntl(fd[0], F_SETFL, O_NONBLOCK) == 0; /* the program's end blocks, as programs expect */
}

static void close_pair(int fd[2])
{
    int error = errno;

    for (int i = 0; i < 2; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    errno = error;
}

static int spawn(pid_t *pid, char *const *argv, int io, int errors)
{
    extern char **environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    struct affinity on;
    int error;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, io, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, io, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    /* A library in another thread may hold a file open without O_CLOEXEC just now (c-ares reads resolv.conf so). */
    posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0);
    on = affinity_leave();
    error = posix_spawn(pid, argv[0], &files, &attributes, argv, environ);
    affinity_return(&on);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

bool child_start(struct child *c, char *const *argv)
{
    int io[2] = { -1, -1 }, errors[2] = { -1, -1 };

    if (!make_pair(io) || !make_pair(errors) || (errno = spawn(&c->pid, argv, io[1], errors[1])) != 0) {
        close_pair(io);
        close_pair(errors);
        return false;
    }
    close(io[1]);
    close(errors[1]);
    c->io = io[0];
    c->errors = errors[0];
    return true;
}

bool child_has_ended(pid_t pid, int *status)
{
    pid_t got;

    do
        got = waitpid(pid, status, WNOHANG);
    while (got < 0 && errno == EINTR);
    if (got < 0) /* reaped by somebody else: it has ended all the same */
        *status = 0;
    return got != 0;
}
