/* supervisor.h: from the command line to a running proxy, and the small parent process that watches over it.
 *
 *   starter --fork--> parent: pid file, sockets, privileges kept --fork--> child: daemon.c
 *      `-- waits until the child serves, then exits 0
 *
 * The parent talks to nobody outside. It keeps the listening sockets, so that connections made while a dead child is
 * replaced wait in the kernel's queue instead of being refused. One thread. */
#pragma once
#include "options.h"

/* Returns the exit status. */
int supervisor_main(const struct options *o);
