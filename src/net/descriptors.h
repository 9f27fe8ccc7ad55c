/* net/descriptors.h: are the process's descriptors running short? A part of them is kept from clients, for connections to
 * servers, files and pipes: a proxy that has accepted more clients than it can serve serves none.
 *
 * Nothing is counted: the kernel gives out the lowest free number, so the highest numbers are the reserve, and a client's
 * connection that gets one of them says that all below are in use. Threads: any. */
#pragma once
#include <stdbool.h>

/* The limit in force, and how many of it are kept from clients: a quarter, at most 1000 (max_filedescriptors). */
struct descriptor_limits {
    int most, reserve;
};
struct descriptor_limits descriptors_limits(void);
/* fd has just been made: does it come from the reserve? */
bool descriptors_short(int fd);
/* Would the next one? Two system calls: not for every connection. */
bool descriptors_short_now(void);
