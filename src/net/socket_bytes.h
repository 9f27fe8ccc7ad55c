/* net/socket_bytes.h: what has gone through a TCP connection, as the kernel counts it: so that nobody else has to on the
 * paths where bytes pass. Any thread; one system call. */
#pragma once
#include <stdint.h>

struct socket_bytes {
    uint64_t received, sent; /* retransmissions not counted */
};
/* All zeros for what isn't a TCP connection. */
struct socket_bytes socket_bytes(int fd);
