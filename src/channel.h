/* channel.h: what the child tells its parent: that it serves, and which listening sockets it has after a reload, so
 * that the next child starts with exactly these. One way; a socket pair of the SOCK_SEQPACKET kind.
 *
 * Threads: the main thread of either process. */
#pragma once
#include <stdbool.h>
#include "ports.h"

/* fds[0] is the parent's end (non-blocking), fds[1] the child's. Close-on-exec. False with errno. */
bool channel_open(int fds[2]);

/* The child's side; a parent that is gone is no error here (PR_SET_PDEATHSIG tells). fd -1: nothing happens. */
void channel_send_up(int fd);
void channel_send_ports(int fd, const struct ports *p);

enum channel_event {
    CHANNEL_NOTHING, /* nothing more for now */
    CHANNEL_CLOSED,  /* the child is gone */
    CHANNEL_UP,
    CHANNEL_PORTS, /* a whole table, the caller's from now on */
};

/* A table that is arriving in pieces. Starts zeroed. */
struct channel_in {
    struct ports table;
};
enum channel_event channel_receive(int fd, struct channel_in *in, struct ports *out);
/* Forgets half a table. */
void channel_reset(struct channel_in *in);
