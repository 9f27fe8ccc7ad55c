/* daemon.h: the process that serves: workers, logs, and what signals ask of them. It runs as the child of
 * supervisor.c, or alone under -N.
 *
 *   HUP  reads the configuration again; a file that doesn't parse changes nothing    USR1  rotates the logs
 *   TERM stops accepting, lets requests finish for shutdown_lifetime                 INT   stops now
 *
 * Threads: daemon_run() is the main thread; signals are blocked everywhere and read here. */
#pragma once
#include "options.h"
#include "ports.h"
#include "privileges.h"

struct daemon_job {
    const struct options *options;
    struct settings *settings; /* one reference, taken over */
    struct ports ports;        /* taken over */
    const struct identity *identity;
    int channel;     /* to the parent; -1 under -N */
    pid_t parent;    /* who watches over us: when it dies we stop; 0 under -N */
    bool background; /* stdin, stdout and stderr go to /dev/null once it serves */
};

/* Returns the exit status: 0 when it was asked to stop. 1: it couldn't start, and cache.log says why. */
int daemon_run(struct daemon_job *job);

/* The workers a configuration asks for: `workers`, or one per CPU this process may use. */
unsigned daemon_workers(const struct settings *s);
/* Opens cache_log as s says, owned by who will write it. False: stderr says why. */
bool daemon_open_cache_log(const struct settings *s, const struct options *o, const struct identity *id);
/* Moves cache_log to .0, .0 to .1 ... up to keep, and opens it anew. */
void daemon_rotate_cache_log(int keep, const struct identity *id);
void daemon_detach_stdio(void);
/* A signalfd for the signals above and SIGCHLD, blocked from here on; those that must not kill are ignored. */
int daemon_signal_fd(void);
