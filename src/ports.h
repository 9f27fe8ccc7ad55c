/* ports.h: the listening sockets, one per http_port and worker. They outlive a reload and, in the parent's hands, the
 * child.
 *
 * Threads: the main thread. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include "conf/settings.h"
#include "net/addr.h"

struct ports {
    size_t n; /* http_port lines */
    unsigned workers;
    struct addr *at; /* n: as configured */
    int *fds;        /* n * workers: fds[port * workers + worker] */
};

/* Sockets for every port of s, in its order; those of `have` (NULL: none) with the same address are taken over as they
 * are: the same descriptors in both. False: cache.log says which address and why; nothing was opened. */
bool ports_open(struct ports *out, const struct settings *s, unsigned workers, const struct ports *have);
/* Room for n ports, no descriptor in it (-1). */
void ports_alloc(struct ports *out, size_t n, unsigned workers);
/* Closes what `now` (NULL: nothing) doesn't hold, and frees the table. */
void ports_close(struct ports *p, const struct ports *now);
/* Moves what `now` doesn't hold out of p and adds it to gone, for closing later; frees p. */
void ports_split(struct ports *p, const struct ports *now, struct ports *gone);
/* From here on the kernel refuses connections to them, whoever else holds the descriptors. */
void ports_refuse(const struct ports *p);
