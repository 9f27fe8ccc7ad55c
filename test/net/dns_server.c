#include "dns_server.h"

#include "harness.h"

#include <arpa/inet.h>
#include <stdio.h>

static struct {
    struct dns_row *rows;
    size_t n;
    int fd;
    pthread_t thread;
    /* the AAAA answer held back */
    unsigned char held[512];
    size_t held_len;
    struct sockaddr_storage held_for;
    socklen_t held_for_len;
    struct gate held_back;
} server = { .held_back = GATE_INIT };

struct packet {
    unsigned char bytes[512];
    size_t len;
};

static void put16(struct packet *p, unsigned v)
{
    p->bytes[p->len++] = (unsigned char)(v >> 8);
    p->bytes[p->len++] = (unsigned char)v;
}

static void put_name(struct packet *p, const char *name)
{
    while (*name != '\0') {
        size_t label = strcspn(name, ".");

        p->bytes[p->len++] = (unsigned char)label;
        memcpy(p->bytes + p->len, name, label);
        p->len += label;
        name += label + (name[label] == '.');
    }
    p->bytes[p->len++] = 0;
}

static void put_record(struct packet *p, const char *name, unsigned type, uint32_t ttl)
{
    put_name(p, name);
    put16(p, type);
    put16(p, 1);
    put16(p, ttl >> 16);
    put16(p, ttl & 0xffff);
}

static unsigned put_addresses(struct packet *p, const char *name, unsigned type, const struct dns_row *row)
{
    unsigned n = 0;

    for (size_t i = 0; i < LENGTH(row->a); i++) {
        const char *text = type == DNS_A ? row->a[i] : row->aaaa[i];
        struct addr a;
        unsigned size = type == DNS_A ? 4 : 16;

        if (text == NULL || !addr_parse(span_str(text), &a))
            continue;
        put_record(p, name, type, row->ttl);
        put16(p, size);
        memcpy(p->bytes + p->len, a.bytes, size);
        p->len += size;
        n++;
    }
    return n;
}

static void put_name_record(struct packet *p, const char *name, unsigned type, uint32_t ttl, const char *data)
{
    struct packet target = { 0 };

    put_name(&target, data);
    put_record(p, name, type, ttl);
    put16(p, (unsigned)target.len);
    memcpy(p->bytes + p->len, target.bytes, target.len);
    p->len += target.len;
}

static unsigned put_names(struct packet *p, const char *name, const struct dns_row *row)
{
    unsigned n = 0;

    for (; n < LENGTH(row->ptr) && row->ptr[n] != NULL; n++)
        put_name_record(p, name, DNS_PTR, row->ttl, row->ptr[n]);
    return n;
}

/* The row's records of that type, as name's. */
static unsigned put_records(struct packet *p, const char *name, unsigned type, const struct dns_row *row)
{
    return type == DNS_PTR ? put_names(p, name, row) : put_addresses(p, name, type, row);
}

static struct dns_row *row_of(const char *name)
{
    for (size_t i = 0; i < server.n; i++)
        if (strcasecmp(server.rows[i].name, name) == 0)
            return &server.rows[i];
    return NULL;
}

/* The question's name, type and length; false: not a question we understand. */
static bool question(const unsigned char *q, size_t len, char name[256], unsigned *type, size_t *q_len)
{
    size_t at = 12, out = 0;

    while (at < len && q[at] != 0) {
        size_t label = q[at++];

        if (label > 63 || at + label >= len || out + label + 2 > 256)
            return false;
        if (out > 0)
            name[out++] = '.';
        memcpy(name + out, q + at, label);
        out += label;
        at += label;
    }
    name[out] = '\0';
    if (at + 5 > len)
        return false;
    *type = (unsigned)q[at + 1] << 8 | q[at + 2];
    *q_len = at + 5 - 12;
    return true;
}

static void answer(const struct packet *q, const struct sockaddr_storage *from, socklen_t from_len)
{
    char name[256];
    unsigned type, n = 0, rcode = 0;
    size_t q_len;
    struct packet p = { .len = 12 };
    struct dns_row *row;

    if (q->len < 12 || !question(q->bytes, q->len, name, &type, &q_len))
        return;
    row = row_of(name);
    if (row != NULL)
        atomic_fetch_add(type == DNS_A ? &row->asked_a : type == DNS_PTR ? &row->asked_ptr : &row->asked_aaaa, 1);
    memcpy(p.bytes + 12, q->bytes + 12, q_len);
    p.len += q_len;
    if (row == NULL || row->reply == DNS_NXDOMAIN)
        rcode = 3;
    else if (row->reply == DNS_SERVFAIL)
        rcode = 2;
    else if (row->reply == DNS_SILENCE || (row->reply == DNS_SILENT_AAAA && type == DNS_AAAA))
        return;
    if (rcode == 0 && row->cname != NULL) {
        put_name_record(&p, name, 5, row->cname_ttl, row->cname);
        n = 1 + put_records(&p, row->cname, type, row);
    } else if (rcode == 0) {
        n = put_records(&p, name, type, row);
    }
    memcpy(p.bytes, q->bytes, 2);
    p.bytes[2] = 0x81; /* response, recursion desired */
    p.bytes[3] = (unsigned char)(0x80 | rcode);
    p.bytes[5] = 1;
    p.bytes[7] = (unsigned char)n;
    if (row != NULL && row->reply == DNS_LATE_AAAA && type == DNS_AAAA) {
        memcpy(server.held, p.bytes, p.len);
        server.held_len = p.len;
        server.held_for = *from;
        server.held_for_len = from_len;
        gate_open(&server.held_back);
        return;
    }
    sendto(server.fd, p.bytes, p.len, 0, (const struct sockaddr *)from, from_len);
}

static void *serve(void *arg)
{
    struct packet q;
    struct sockaddr_storage from;
    socklen_t from_len = sizeof from;
    ssize_t n;

    (void)arg;
    /* An empty packet ends it. */
    while ((n = recvfrom(server.fd, q.bytes, sizeof q.bytes, 0, (struct sockaddr *)&from, &from_len)) > 0) {
        q.len = (size_t)n;
        answer(&q, &from, from_len);
        from_len = sizeof from;
    }
    return NULL;
}

struct addr dns_server_start(struct dns_row *rows, size_t n)
{
    struct addr at = address("127.0.0.1", 0);
    struct sockaddr_storage sa;
    socklen_t len = addr_to_sockaddr(&at, &sa);

    server.rows = rows;
    server.n = n;
    server.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server.fd, (struct sockaddr *)&sa, len), 0);
    assert_int_equal(pthread_create(&server.thread, NULL, serve, NULL), 0);
    return bound_to(server.fd);
}

void dns_server_release(void)
{
    assert_true(gate_passed(&server.held_back));
    sendto(server.fd, server.held, server.held_len, 0, (struct sockaddr *)&server.held_for, server.held_for_len);
}

void dns_server_stop(void)
{
    struct addr at = bound_to(server.fd);
    struct sockaddr_storage sa;
    socklen_t len = addr_to_sockaddr(&at, &sa);

    sendto(server.fd, "", 0, 0, (struct sockaddr *)&sa, len);
    pthread_join(server.thread, NULL);
    close(server.fd);
}
