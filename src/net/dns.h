/* net/dns.h: questions to DNS servers, through c-ares in the worker's loop. Private to net's resolver, which keeps
 * the answers. A and AAAA are asked for side by side and judged apart: a server that never answers one of them (there
 * are such) does not cost the other's answer. What an address is called (PTR) is one question.
 *
 * Threads: its worker only. */
#pragma once
#include "net/resolve.h"

struct dns;

struct dns_answer {
    enum resolve_status status;
    int64_t ttl;              /* seconds, when RESOLVE_OK: the shortest of the records' */
    size_t n, cnames;         /* cnames: aliases on the way to the addresses */
    const struct addr *addrs; /* IPv6 and IPv4 alternating */
    const char *name;         /* of the address asked about, when RESOLVE_OK: valid (host_name.h), lower case */
};

/* final: nothing more comes for ctx. Otherwise one family has answered and the other is late; a final answer with
 * both, or with the first one's alone, follows. May be called from within dns_ask(). */
typedef void dns_answered(void *ctx, const struct dns_answer *a, bool final);

/* Never NULL (exits with a message when c-ares refuses). Uses the servers and times of config. */
struct dns *dns_new(struct worker *w, const struct resolver_config *config, dns_answered *answered);
/* The search list of resolv.conf (or LOCALDOMAIN) as it is now: *n names; they and the array are the caller's. */
char **dns_search_list(size_t *n);
/* What is outstanding is dropped without an answer. */
void dns_free(struct dns **holder);
void dns_ask(struct dns *d, const char *name, void *ctx);
/* What a is called: one final answer. */
void dns_ask_name(struct dns *d, const struct addr *a, void *ctx);
/* Lent. */
struct dns_wire;
const struct dns_wire *dns_wire_of(const struct dns *d);
/* Those that are open. */
void dns_sockets(const struct dns *d, void (*each)(int fd, void *ctx), void *ctx);
