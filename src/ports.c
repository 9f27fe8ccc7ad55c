#include "ports.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/log.h"
#include "base/mem.h"
#include "net/listener.h"

void ports_alloc(struct ports *out, size_t n, unsigned workers)
{
    *out = (struct ports){ .n = n, .workers = workers };
    out->at = xcalloc(n, sizeof *out->at);
    out->fds = xmalloc(n * workers * sizeof *out->fds);
    for (size_t i = 0; i < n * workers; i++)
        out->fds[i] = -1;
}

static bool holds(const struct ports *p, int fd)
{
    for (size_t i = 0; p != NULL && i < p->n * p->workers; i++)
        if (p->fds[i] == fd)
            return true;
    return false;
}

static void ports_free(struct ports *p)
{
    free(p->at);
    free(p->fds);
    *p = (struct ports){ 0 };
}

void ports_close(struct ports *p, const struct ports *now)
{
    for (size_t i = 0; i < p->n * p->workers; i++)
        if (p->fds[i] >= 0 && !holds(now, p->fds[i]))
            close(p->fds[i]);
    ports_free(p);
}

void ports_split(struct ports *p, const struct ports *now, struct ports *gone)
{
    struct ports all;
    size_t n = gone->n * gone->workers;

    ports_alloc(&all, p->n + gone->n, p->workers);
    if (n > 0)
        memcpy(all.fds, gone->fds, n * sizeof *all.fds);
    for (size_t i = 0; i < p->n * p->workers; i++)
        if (p->fds[i] >= 0 && !holds(now, p->fds[i]))
            all.fds[n++] = p->fds[i];
    ports_free(gone);
    ports_free(p);
    *gone = all;
}

void ports_refuse(const struct ports *p)
{
    for (size_t i = 0; i < p->n * p->workers; i++)
        if (p->fds[i] >= 0)
            shutdown(p->fds[i], SHUT_RDWR);
}

/* http_port without an address is [::], which takes IPv4 too; a kernel without IPv6 gets 0.0.0.0. */
static struct addr as_ipv4_any(const struct addr *at)
{
    return (struct addr){ .family = AF_INET, .port = at->port };
}

static bool no_ipv6(const struct addr *at, int error)
{
    return at->family == AF_INET6 && addr_is_any(at) && (error == EAFNOSUPPORT || error == EADDRNOTAVAIL);
}

/* Our sockets share their port (SO_REUSEPORT), so the kernel would let a second proxy of the same user in, and the two
 * would share the connections at random. A socket that doesn't share asks first whether anybody is there. */
static int somebody_listens(const struct addr *at)
{
    struct sockaddr_storage sa;
    socklen_t len = addr_to_sockaddr(at, &sa);
    int on = 1, off = 0, error = 0;
    int fd = socket(at->family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, (struct sockaddr *)&sa, len) != 0)
        error = errno;
    close(fd);
    return error;
}

static const char *hint(int error)
{
    switch (error) {
    case EADDRINUSE: return " (another process already listens there; `ss -ltnp` names it)";
    case EACCES: return " (ports below 1024 need root or CAP_NET_BIND_SERVICE)";
    case EADDRNOTAVAIL: return " (no interface of this machine has that address)";
    default: return "";
    }
}

/* One socket per worker on one address; 0 or an errno, and then none is open. */
static int open_port(const struct addr *at, int *fds, unsigned workers)
{
    int error = somebody_listens(at);

    for (unsigned w = 0; error == 0 && w < workers; w++)
        if ((fds[w] = listener_socket(at)) < 0)
            error = errno;
    for (unsigned w = 0; error != 0 && w < workers; w++) {
        if (fds[w] >= 0)
            close(fds[w]);
        fds[w] = -1;
    }
    return error;
}

static bool take_over(const struct ports *have, const struct addr *at, int *fds, unsigned workers)
{
    for (size_t i = 0; have != NULL && i < have->n && have->workers == workers; i++)
        if (addr_eq(&have->at[i], at) && have->fds[i * workers] >= 0) {
            memcpy(fds, &have->fds[i * workers], workers * sizeof *fds);
            return true;
        }
    return false;
}

bool ports_open(struct ports *out, const struct settings *s, unsigned workers, const struct ports *have)
{
    ports_alloc(out, s->n_ports, workers);
    for (size_t i = 0; i < out->n; i++) {
        int *fds = &out->fds[i * workers];
        char text[ADDR_TEXT_MAX];
        int error;

        out->at[i] = s->ports[i].at;
        if (take_over(have, &out->at[i], fds, workers))
            continue;
        error = open_port(&out->at[i], fds, workers);
        if (no_ipv6(&out->at[i], error)) {
            struct addr any = as_ipv4_any(&out->at[i]);

            error = open_port(&any, fds, workers);
        }
        if (error != 0) {
            addr_print_port(&out->at[i], text);
            log_line(LOG_ERROR, "ERROR: cannot listen on %s: %s%s", text, strerror(error), hint(error));
            ports_close(out, have);
            return false;
        }
        addr_print_port(&out->at[i], text);
        log_line(LOG_IMPORTANT, "Accepting HTTP connections at %s%s", text, s->ports[i].accel ? " (accelerator)" : "");
    }
    return true;
}
