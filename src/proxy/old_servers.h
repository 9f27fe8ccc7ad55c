/* proxy/old_servers.h: servers whose last response was HTTP/1.0, as far as one worker remembers: they can't be sent a chunked
 * body (RFC 9112 section 6.1). One worker's. */
#pragma once
#include <stdbool.h>

#define OLD_SERVERS_MAX 64

struct old_servers {
    char *names[OLD_SERVERS_MAX]; /* NULL: free */
    unsigned n, next;             /* how many are there; which goes next */
};

bool old_servers_have(const struct old_servers *o, const char *name);
/* What its latest response was. */
void old_servers_note(struct old_servers *o, const char *name, bool is_old);
void old_servers_free(struct old_servers *o);
