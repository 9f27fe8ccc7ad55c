/* net/connect.h: a TCP connection to the first of several addresses that answers (RFC 8305, Happy Eyeballs): the next
 * is tried when one fails or after a pause, the winner is kept, the others closed.
 *
 * Threads: its worker only. */
#pragma once
#include "net/addr.h"
#include "net/worker.h"

#define CONNECT_ADDRS_MAX 32

struct connector;

struct connect_config {
    int64_t timeout_us;       /* connect_timeout, over all addresses */
    int64_t attempt_us;       /* happy_eyeballs_connect_timeout: pause before the next one starts too */
    const struct addr *local; /* tcp_outgoing_address: one for each address, or family 0 for any; NULL: any for all */
    unsigned retries;         /* connect_retries: more tries of an address that failed, before it is given up */
    int spares_max;           /* happy_eyeballs_connect_limit: connections under way beside another one for the same
                                 asker, in the whole process; -1: any number, 0: one address after the other */
    int64_t spare_gap_us;     /* happy_eyeballs_connect_gap: between the starts of two of those; <= 0: none */
    int receive_buffer;       /* tcp_recv_bufsize, in bytes; 0: the kernel's */
};

/* fd: connected, non-blocking, close-on-exec, TCP_NODELAY, the callee's; or -1 with error an errno (ETIMEDOUT,
 * EADDRNOTAVAIL: the local address isn't this machine's ...). ends: who answered, or who failed last (then without a
 * local end). Never called from within connect_start(). The connector is gone afterwards. */
typedef void connect_done(void *ctx, int fd, int error, const struct endpoints *ends);
struct connector *connect_start(struct worker *w, const struct addr *addrs, size_t n,
                                const struct connect_config *config, connect_done *done, void *ctx);
/* No answer wanted any more; clears the holder. NULL is fine. */
void connect_cancel(struct connector **holder);
