/* net/listener.h: listening sockets. They are opened once, by the process that lives longest, and handed to each
 * worker. */
#pragma once
#include "net/addr.h"
#include "net/worker.h"

/* A bound, listening, non-blocking SO_REUSEPORT socket, or -1 with errno. backlog 4096 (the kernel cuts it). */
int listener_socket(const struct addr *at);

struct listener {
    struct event event;
    struct event resume; /* after descriptors ran out */
    struct worker *worker;
    int fd;
    /* A new connection: non-blocking, close-on-exec, TCP_NODELAY. Takes fd over. */
    void (*accepted)(struct listener *l, int fd, const struct addr *peer);
    void *user;
    bool paused;
};

/* Registers fd with w; accepts in bounded batches; when descriptors run out (EMFILE, ENFILE, ENOBUFS, ENOMEM) pauses
 * for a tenth of a second instead of spinning, and says so once a minute. */
void listener_start(struct listener *l, struct worker *w, int fd,
                    void (*accepted)(struct listener *l, int fd, const struct addr *peer));
/* Stops accepting; the descriptor stays open (it may be shared). */
void listener_stop(struct listener *l);
