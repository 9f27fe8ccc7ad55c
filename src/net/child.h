/* net/child.h: a program that runs beside us and talks over its standard streams. Threads: any; a child is its owner's. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

/* Our ends, non-blocking and closed on exec: io is the program's standard input and output in one stream socket, errors
 * what it says on standard error. */
struct child {
    pid_t pid;
    int io, errors;
};

/* argv[0] is a path; no shell. The program inherits the environment and nothing else: no descriptor but its three, no blocked or
 * ignored signal; it has a process group of its own, so that a terminal's interrupt is ours to handle. False with errno. */
bool child_start(struct child *c, char *const *argv);
/* Has it ended? Then it is reaped, and *status is as of waitpid(2). */
bool child_has_ended(pid_t pid, int *status);
