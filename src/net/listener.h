/* net/listener.h: listening sockets. They are opened once, by the process that lives longest, and handed to each
 * worker. */
#pragma once
#include "net/addr.h"
#include "net/worker.h"

/* A bound, listening, non-blocking SO_REUSEPORT socket, or -1 with errno. backlog 4096 (the kernel cuts it). */
int listener_socket(const struct addr *at);

struct listener {
    struct event event;
    struct event resume; /* while descriptors are short */
    struct worker *worker;
    int fd;
    /* A new connection: non-blocking, close-on-exec, TCP_NODELAY. Takes fd over. */
    void (*accepted)(struct listener *l, int fd, const struct addr *peer);
    /* Set after listener_start(), or NULL: descriptors are short, every tenth of a second while they are. Close what can be
     * spared. */
    void (*short_of_descriptors)(struct listener *l);
    void *user;
    bool paused;
};

/* Registers fd with w; accepts in bounded batches; when descriptors run out (the reserve of net/descriptors.h is reached;
 * EMFILE, ENFILE, ENOBUFS, ENOMEM) pauses until there are some again, asked every tenth of a second, and says so once a
 * minute. */
void listener_start(struct listener *l, struct worker *w, int fd,
                    void (*accepted)(struct listener *l, int fd, const struct addr *peer));
/* The kernel's receive buffer, in bytes, of what is accepted from now on. */
void listener_receive_buffer(struct listener *l, int bytes);
/* Stops accepting; the descriptor stays open (it may be shared). */
void listener_stop(struct listener *l);
