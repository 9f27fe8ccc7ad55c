/* net/addr.h: a socket address as a value. IPv4-mapped IPv6 addresses are kept as IPv4, so that one address has one
 * form (a mapped 127.0.0.1 is 127.0.0.1 for every rule). Pure. */
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>
#include "base/span.h"

struct addr {
    uint8_t family;    /* AF_INET, AF_INET6, 0: none */
    uint16_t port;     /* host order */
    uint8_t bytes[16]; /* the first 4 for AF_INET */
};

/* The two ends of a connection of ours. */
struct endpoints {
    struct addr peer, local;
    bool chosen;       /* local is an address that was asked for; else whichever routing gave */
    int64_t opened;    /* when it was connected, monotonic microseconds */
    unsigned requests; /* sent on it */
};

/* How many bits at the end of an address count as 0; none in zeroed memory. */
struct addr_cut {
    uint8_t v4, v6;
};
/* For showing: the port stays. */
struct addr addr_cut(const struct addr *a, struct addr_cut cut);

#define ADDR_TEXT_MAX 64
/* From what accept() or getsockname() gave; other families give family 0. */
struct addr addr_from_sockaddr(const struct sockaddr *sa);
/* Returns the length for connect() or bind(). */
socklen_t addr_to_sockaddr(const struct addr *a, struct sockaddr_storage *out);
/* Dotted quad, or IPv6 in inet_pton forms, with or without brackets; nothing looser. */
bool addr_parse(struct span text, struct addr *out);
/* The address alone, IPv6 without brackets; NUL-terminated. Returns the length. */
size_t addr_print(const struct addr *a, char out[ADDR_TEXT_MAX]);
/* address:port, IPv6 in brackets. */
size_t addr_print_port(const struct addr *a, char out[ADDR_TEXT_MAX]);
bool addr_eq(const struct addr *a, const struct addr *b); /* port included */
bool addr_is_any(const struct addr *a);
