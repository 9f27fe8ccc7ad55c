/* net/hosts.h: the hosts file, read once. For net's resolver, and -k check-access, which runs no loop. Read-only once read: any thread. */
#pragma once
#include "net/addr.h"

struct hosts;

/* Never NULL: NULL, "none" and a file that can't be read (which is logged) give one without names. */
struct hosts *hosts_read(const char *path);
void hosts_free(struct hosts **holder);
/* The addresses of name (any case) in the file's order, each once: how many, at most max. */
size_t hosts_find(const struct hosts *h, struct span name, struct addr *out, size_t max);
/* Each name with an address, in order of names, and each address with its first name, in order of addresses: `most` at the most.
 * Return how many there are. */
size_t hosts_each(const struct hosts *h, size_t most, void (*each)(const char *name, const struct addr *a, void *ctx),
                  void *ctx);
size_t hosts_each_address(const struct hosts *h, size_t most,
                          void (*each)(const char *name, const struct addr *a, void *ctx), void *ctx);
/* The first name in the file that a has, in lower case (host_name.h); SPAN_NONE: it has none there. The hosts' own. */
struct span hosts_name_of(const struct hosts *h, const struct addr *a);
