#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "base/log.h"

#define FDS_PER_MESSAGE 64 /* the kernel takes 253 */

enum kind { KIND_UP, KIND_BEGIN, KIND_FDS, KIND_END };

struct message {
    enum kind kind;
    uint32_t n_ports, workers;   /* KIND_BEGIN */
    uint32_t port, first, count; /* KIND_FDS: count descriptors come along, for workers first, first + 1 ... */
    struct addr at;
};

union control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(FDS_PER_MESSAGE * sizeof(int))];
};

bool channel_open(int fds[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) == 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0;
}

static void send_message(int fd, const struct message *m, const int *fds)
{
    struct iovec io = { .iov_base = (void *)(uintptr_t)m, .iov_len = sizeof *m };
    struct msghdr h = { .msg_iov = &io, .msg_iovlen = 1 };
    union control control;
    ssize_t n;

    if (m->count > 0) {
        struct cmsghdr *c;

        memset(&control, 0, sizeof control);
        h.msg_control = control.bytes;
        h.msg_controllen = CMSG_SPACE(m->count * sizeof(int));
        c = CMSG_FIRSTHDR(&h);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(m->count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, m->count * sizeof(int));
    }
    do
        n = sendmsg(fd, &h, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        log_line(LOG_NOTICE, "the parent process does not listen: %s", strerror(errno));
}

void channel_send_up(int fd)
{
    if (fd >= 0)
        send_message(fd, &(struct message){ .kind = KIND_UP }, NULL);
}

void channel_send_ports(int fd, const struct ports *p)
{
    struct message m = { .kind = KIND_BEGIN, .n_ports = (uint32_t)p->n, .workers = p->workers };

    if (fd < 0)
        return;
    send_message(fd, &m, NULL);
    m.kind = KIND_FDS;
    for (m.port = 0; m.port < p->n; m.port++) {
        m.at = p->at[m.port];
        for (m.first = 0; m.first < p->workers; m.first += m.count) {
            m.count = p->workers - m.first < FDS_PER_MESSAGE ? p->workers - m.first : FDS_PER_MESSAGE;
            send_message(fd, &m, &p->fds[m.port * p->workers + m.first]);
        }
    }
    send_message(fd, &(struct message){ .kind = KIND_END }, NULL);
}

void channel_reset(struct channel_in *in)
{
    ports_close(&in->table, NULL);
}

/* The descriptors that came with a message, at most FDS_PER_MESSAGE. */
static size_t descriptors(struct msghdr *h, int *fds)
{
    struct cmsghdr *c = CMSG_FIRSTHDR(h);
    size_t n;

    if (c == NULL || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        return 0;
    n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(fds, CMSG_DATA(c), n * sizeof(int));
    return n;
}

static void take_fds(struct ports *table, const struct message *m, const int *fds, size_t n)
{
    /* The child is of our own making, but it is also the process that strangers talk to. */
    if (m->port >= table->n || m->first >= table->workers || n > table->workers - m->first) {
        for (size_t i = 0; i < n; i++)
            close(fds[i]);
        return;
    }
    table->at[m->port] = m->at;
    memcpy(&table->fds[m->port * table->workers + m->first], fds, n * sizeof(int));
}

enum channel_event channel_receive(int fd, struct channel_in *in, struct ports *out)
{
    for (;;) {
        struct message m;
        struct iovec io = { .iov_base = &m, .iov_len = sizeof m };
        union control control;
        struct msghdr h = {
            .msg_iov = &io, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes
        };
        int fds[FDS_PER_MESSAGE];
        size_t n_fds;
        ssize_t n = recvmsg(fd, &h, MSG_CMSG_CLOEXEC);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return CHANNEL_NOTHING;
        if (n <= 0)
            return CHANNEL_CLOSED;
        n_fds = descriptors(&h, fds);
        if ((size_t)n != sizeof m || (m.kind != KIND_FDS && n_fds > 0)) {
            for (size_t i = 0; i < n_fds; i++)
                close(fds[i]);
            continue;
        }
        switch (m.kind) {
        case KIND_UP: return CHANNEL_UP;
        case KIND_BEGIN:
            channel_reset(in);
            if (m.n_ports <= 1024 && m.workers <= 1024)
                ports_alloc(&in->table, m.n_ports, m.workers);
            break;
        case KIND_FDS: take_fds(&in->table, &m, fds, n_fds); break;
        case KIND_END:
            *out = in->table;
            in->table = (struct ports){ 0 };
            return CHANNEL_PORTS;
        }
    }
}
