/* test/net/dns_server.h: a DNS server of the test's own on 127.0.0.1, UDP, that answers by a script. */
#pragma once
#include <stdatomic.h>
#include <stdint.h>
#include "net/addr.h"

enum dns_reply {
    DNS_RECORDS,  /* those of the row's family; none: NODATA */
    DNS_NXDOMAIN, /* for both families */
    DNS_SERVFAIL,
    DNS_SILENCE,
    DNS_SILENT_AAAA, /* A is answered, AAAA isn't */
    DNS_LATE_AAAA,   /* AAAA is answered when dns_server_release() says so */
};

#define DNS_A 1
#define DNS_AAAA 28
#define DNS_PTR 12

struct dns_row {
    const char *name;
    enum dns_reply reply;
    uint32_t ttl;
    const char *a[3], *aaaa[3]; /* as addr_parse() reads them */
    const char *cname;          /* NULL: the records are name's own; else cname's, with cname_ttl on the way there */
    uint32_t cname_ttl;
    const char *ptr[3];
    atomic_uint asked_a, asked_aaaa, asked_ptr;
};

/* Serves rows until dns_server_stop(); returns where. Names that aren't in rows don't exist. */
struct addr dns_server_start(struct dns_row *rows, size_t n);
/* Sends the one AAAA answer held back; waits until it has been asked for. */
void dns_server_release(void);
void dns_server_stop(void);
