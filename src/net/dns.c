#include "net/dns.h"

#include <ares.h>
#include <arpa/nameser.h>
#include <assert.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "net/dns_wire.h"
#include "net/ptr_answer.h"

/* RFC 8305 section 3, Resolution Delay: how long one family's answer waits for the other's. */
#define GRACE_US 50000

struct dns {
    struct worker *worker;
    dns_answered *answered;
    ares_channel channel;
    struct dns_wire *wire;
    struct list_node sockets, questions;
    struct worker_timer timer; /* c-ares' next time-out */
    int64_t timer_at;
    int64_t timeout_us, retransmit_us;
    bool ending;
};

/* A socket of c-ares', as its state callback tells of it. */
struct dns_socket {
    struct list_node node;
    struct event event;
    struct dns *dns;
};

enum { V6, V4, FAMILIES };

struct half {
    struct question *question;
    bool here;
    enum resolve_status status;
    int64_t ttl, arrived; /* seconds; monotonic */
    size_t n, cnames;
    struct addr addrs[RESOLVE_ADDRS_MAX / 2];
};

/* Lives until c-ares has called back for all of it: it can't forget a question. */
struct question {
    struct list_node node;
    struct dns *dns;
    void *ctx;
    struct worker_timer overall, grace;
    bool told;          /* finally: c-ares may come as late as it likes */
    bool about_address; /* what `asked` is called; else halves */
    char asked[PTR_QUESTION_MAX];
    struct half halves[FAMILIES];
};

static void timer_arm(struct dns *d, int64_t us);

/* c-ares' own clock isn't the loop's cached one, and a time-out rounds down: an early call finds nothing and comes
 * back. */
static void timer_rearm(struct dns *d)
{
    struct timeval room, *after = ares_timeout(d->channel, NULL, &room);

    if (after != NULL)
        timer_arm(d, (int64_t)after->tv_sec * US_PER_S + after->tv_usec);
}

static void on_ares_timeout(struct worker_timer *t)
{
    struct dns *d = CONTAINER_OF(t, struct dns, timer);

    ares_process_fd(d->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    timer_rearm(d);
}

static void timer_arm(struct dns *d, int64_t us)
{
    d->timer_at = worker_mono(d->worker) + us;
    worker_timer_set(d->worker, &d->timer, us, on_ares_timeout);
}

static void on_socket(evutil_socket_t fd, short what, void *arg)
{
    struct dns_socket *s = arg;
    struct dns *d = s->dns;

    worker_turn(d->worker);
    /* May close the socket, which frees s. */
    ares_process_fd(d->channel, what & EV_READ ? fd : ARES_SOCKET_BAD, what & EV_WRITE ? fd : ARES_SOCKET_BAD);
}

static struct dns_socket *socket_find(struct dns *d, int fd)
{
    struct list_node *n, *following;

    LIST_EACH (n, following, &d->sockets) {
        struct dns_socket *s = CONTAINER_OF(n, struct dns_socket, node);

        if (event_get_fd(&s->event) == fd)
            return s;
    }
    return NULL;
}

/* c-ares wants fd watched for these from now on; for neither: it is about to close it. */
static void on_socket_state(void *arg, ares_socket_t fd, int readable, int writable)
{
    struct dns *d = arg;
    struct dns_socket *s = socket_find(d, fd);

    if (s != NULL)
        event_del(&s->event);
    if (!readable && !writable) {
        if (s != NULL) {
            list_remove(&s->node);
            free(s);
        }
        return;
    }
    if (s == NULL) {
        s = xcalloc(1, sizeof *s);
        s->dns = d;
        list_append(&d->sockets, &s->node);
    }
    event_assign(&s->event, d->worker->base, fd,
                 (short)((readable ? EV_READ : 0) | (writable ? EV_WRITE : 0) | EV_PERSIST), on_socket, s);
    event_add(&s->event, NULL); /* if it can't be, the question times out */
}

static void library_init(void)
{
    if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) {
        log_line(LOG_ERROR, "FATAL: cannot initialise c-ares");
        exit(EXIT_FAILURE);
    }
}

static int servers_set(ares_channel channel, const struct addr *servers, size_t n)
{
    struct strbuf csv = { 0 };
    int status;

    for (size_t i = 0; i < n; i++) {
        struct addr a = servers[i];
        char text[ADDR_TEXT_MAX];

        if (a.port == 0)
            a.port = 53;
        addr_print_port(&a, text);
        sb_printf(&csv, "%s%s", i > 0 ? "," : "", text);
    }
    status = ares_set_servers_ports_csv(channel, csv.p);
    sb_free(&csv);
    return status;
}

/* c-ares doubles its time-out from one try of all servers to the next: how many tries fill the whole time. */
static int tries_within(int64_t timeout_us, int64_t retransmit_us)
{
    int tries = 1;

    for (int64_t span = retransmit_us; span < timeout_us && tries < 10; span = span * 2 + retransmit_us)
        tries++;
    return tries;
}

/* c-ares has no buffer for longer answers. */
#define PACKET_MOST 4096

/* EDNS (RFC 6891): servers may send longer answers by UDP. One that doesn't know it is asked again without. */
static int packets_set(struct ares_options *options, int64_t packet_max)
{
    if (packet_max <= 0)
        return 0;
    options->flags |= ARES_FLAG_EDNS;
    options->ednspsz = packet_max < PACKET_MOST ? (int)packet_max : PACKET_MOST;
    return ARES_OPT_EDNSPSZ;
}

static void library_needed(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, library_init);
}

char **dns_search_list(size_t *n)
{
    struct ares_options found = { 0 };
    ares_channel channel; /* one of its own, that reads resolv.conf whole */
    char **list = NULL;
    int mask;

    *n = 0;
    library_needed();
    if (ares_init(&channel) != ARES_SUCCESS)
        return NULL;
    if (ares_save_options(channel, &found, &mask) == ARES_SUCCESS) {
        list = xcalloc((size_t)found.ndomains + 1, sizeof *list);
        for (int i = 0; i < found.ndomains; i++)
            list[(*n)++] = xstrdup(found.domains[i]);
        ares_destroy_options(&found);
    }
    ares_destroy(channel);
    return list;
}

struct dns *dns_new(struct worker *w, const struct resolver_config *config, dns_answered *answered)
{
    static char only_dns[] = "b"; /* the hosts file is ours to read */
    struct dns *d = xcalloc(1, sizeof *d);
    struct ares_options options = { 0 };
    int status, mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB;

    d->worker = w;
    d->answered = answered;
    d->timeout_us = config->timeout_us > 0 ? config->timeout_us : 30 * US_PER_S;
    d->retransmit_us = config->retransmit_us >= 1000 ? config->retransmit_us : 5 * US_PER_S;
    if (d->retransmit_us > d->timeout_us)
        d->retransmit_us = d->timeout_us;
    list_init(&d->sockets);
    list_init(&d->questions);
    library_needed();
    /* No search list of c-ares's: the resolver says what is put behind a name. The flag alone doesn't keep
     * ares_getaddrinfo() from searching (1.18); no domains do. Sockets aren't kept open between bursts of questions, so that the
     * source port keeps changing (RFC 5452). */
    options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES;
    options.timeout = (int)(d->retransmit_us / 1000);
    options.tries = tries_within(d->timeout_us, d->retransmit_us);
    options.lookups = only_dns;
    options.sock_state_cb = on_socket_state;
    options.sock_state_cb_data = d;
    mask |= packets_set(&options, config->packet_max);
    status = ares_init_options(&d->channel, &options, mask | ARES_OPT_DOMAINS);
    if (status == ARES_SUCCESS && config->n_servers > 0)
        status = servers_set(d->channel, config->servers, config->n_servers);
    if (status != ARES_SUCCESS) {
        log_line(LOG_ERROR, "FATAL: cannot make a resolver: %s", ares_strerror(status));
        exit(EXIT_FAILURE);
    }
    d->wire = dns_wire_new(w, d->timeout_us);
    dns_wire_attach(d->wire, d->channel);
    return d;
}

static void question_free(struct question *q)
{
    worker_timer_clear(&q->overall);
    worker_timer_clear(&q->grace);
    list_remove(&q->node);
    if (list_empty(&q->dns->questions))
        dns_wire_forget(q->dns->wire);
    free(q);
}

void dns_free(struct dns **holder)
{
    struct dns *d = *holder;

    *holder = NULL;
    if (d == NULL)
        return;
    d->ending = true;
    ares_destroy(d->channel); /* calls back for every question, and for every socket it closes */
    assert(list_empty(&d->questions) && list_empty(&d->sockets));
    dns_wire_free(&d->wire);
    worker_timer_clear(&d->timer);
    free(d);
}

/* Both families' addresses by turns, IPv6 first (RFC 8305 section 4). */
static size_t interleave(const struct question *q, struct addr *out)
{
    const struct half *six = &q->halves[V6], *four = &q->halves[V4];
    size_t n = 0;

    for (size_t i = 0; i < six->n || i < four->n; i++) {
        if (i < six->n)
            out[n++] = six->addrs[i];
        if (i < four->n)
            out[n++] = four->addrs[i];
    }
    return n;
}

/* Without an address: a name doesn't exist only if both halves say so; a failure outweighs that. */
static enum resolve_status status_without_address(const struct question *q)
{
    enum resolve_status status = RESOLVE_NO_NAME;

    for (int i = 0; i < FAMILIES; i++) {
        const struct half *h = &q->halves[i];

        if (!h->here)
            return RESOLVE_TIMEOUT;
        if (h->status > status)
            status = h->status;
    }
    return status;
}

/* What is left of the shorter time to live: the first family's records may have waited long for the second's. */
static int64_t ttl_left(const struct question *q)
{
    int64_t now = worker_mono(q->dns->worker), least = INT32_MAX;

    for (int i = 0; i < FAMILIES; i++) {
        const struct half *h = &q->halves[i];
        int64_t left = h->ttl - (now - h->arrived) / US_PER_S;

        if (h->n > 0 && left < least)
            least = left > 0 ? left : 0;
    }
    return least;
}

static void tell(struct question *q, bool final)
{
    struct addr addrs[RESOLVE_ADDRS_MAX];
    struct dns_answer a = { .addrs = addrs };

    a.n = interleave(q, addrs);
    a.cnames = q->halves[V6].cnames + q->halves[V4].cnames;
    if (a.n > 0) {
        a.status = RESOLVE_OK;
        a.ttl = ttl_left(q);
    } else {
        a.status = status_without_address(q);
    }
    if (final)
        q->told = true;
    q->dns->answered(q->ctx, &a, final);
}

static void on_grace(struct worker_timer *t)
{
    tell(CONTAINER_OF(t, struct question, grace), false);
}

static void tell_name(struct question *q, const struct dns_answer *a)
{
    q->told = true;
    q->dns->answered(q->ctx, a, true);
}

static void on_overall(struct worker_timer *t)
{
    struct question *q = CONTAINER_OF(t, struct question, overall);

    worker_timer_clear(&q->grace);
    if (q->about_address)
        tell_name(q, &(struct dns_answer){ .status = RESOLVE_TIMEOUT });
    else
        tell(q, true);
}

static enum resolve_status status_of(int ares_status)
{
    switch (ares_status) {
    case ARES_SUCCESS: return RESOLVE_OK;
    case ARES_ENODATA:
    case ARES_ENOTFOUND:
    case ARES_EBADNAME:
    case ARES_ENONAME: return RESOLVE_NO_NAME;
    case ARES_ETIMEOUT: return RESOLVE_TIMEOUT;
    default: return RESOLVE_FAILED;
    }
}

static void half_fill(struct half *h, const struct ares_addrinfo *info)
{
    h->ttl = INT32_MAX;
    h->arrived = worker_mono(h->question->dns->worker);
    for (const struct ares_addrinfo_node *n = info->nodes; n != NULL; n = n->ai_next) {
        struct addr a = addr_from_sockaddr(n->ai_addr);

        if (n->ai_ttl < h->ttl)
            h->ttl = n->ai_ttl > 0 ? n->ai_ttl : 0;
        if (a.family != 0 && h->n < sizeof h->addrs / sizeof h->addrs[0])
            h->addrs[h->n++] = a;
    }
    for (const struct ares_addrinfo_cname *c = info->cnames; c != NULL; c = c->next) {
        h->cnames++;
        if (c->ttl < h->ttl)
            h->ttl = c->ttl > 0 ? c->ttl : 0;
    }
}

static void on_half(void *arg, int status, int timeouts, struct ares_addrinfo *info)
{
    struct half *h = arg;
    struct question *q = h->question;
    struct dns *d = q->dns;
    bool both;

    (void)timeouts;
    h->here = true;
    h->status = status_of(status);
    if (info != NULL) {
        if (status == ARES_SUCCESS && !q->told)
            half_fill(h, info);
        ares_freeaddrinfo(info);
    }
    if (h->status == RESOLVE_OK && h->n == 0)
        h->status = RESOLVE_NO_NAME;
    both = q->halves[V6].here && q->halves[V4].here;
    if (both) {
        if (!q->told && !d->ending)
            tell(q, true);
        question_free(q);
    } else if (h->n > 0) {
        worker_timer_set(d->worker, &q->grace, GRACE_US, on_grace);
    }
}

static void on_name(void *arg, int status, int timeouts, unsigned char *message, int len)
{
    static const enum resolve_status statuses[] = {
        [PTR_NAME] = RESOLVE_OK,
        [PTR_NO_NAME] = RESOLVE_NO_NAME,
        [PTR_BROKEN] = RESOLVE_FAILED,
    };
    struct question *q = arg;
    struct dns_answer a = { .status = status_of(status) };
    struct ptr_answer found;

    (void)timeouts;
    if (!q->told && !q->dns->ending) {
        if (a.status == RESOLVE_OK) {
            a.status = statuses[ptr_answer_read(message, (size_t)len, q->asked, &found)];
            a.name = found.name;
            a.ttl = found.ttl;
        }
        tell_name(q, &a);
    }
    question_free(q);
}

static struct question *question_new(struct dns *d, void *ctx)
{
    struct question *q = xcalloc(1, sizeof *q);

    q->dns = d;
    q->ctx = ctx;
    q->halves[V6].question = q->halves[V4].question = q;
    list_append(&d->questions, &q->node);
    worker_timer_set(d->worker, &q->overall, d->timeout_us, on_overall);
    return q;
}

/* A first try's time-out is the shortest there is, but a running timer may wait for a later try's. Asking c-ares would
 * cost a walk over all questions for each new one. */
static void timer_arm_for_new(struct dns *d)
{
    if (!d->timer.set || d->timer_at > worker_mono(d->worker) + d->retransmit_us)
        timer_arm(d, d->retransmit_us);
}

void dns_ask_name(struct dns *d, const struct addr *a, void *ctx)
{
    struct question *q = question_new(d, ctx);

    q->about_address = true;
    ptr_question(a, q->asked);
    ares_query(d->channel, q->asked, ns_c_in, ns_t_ptr, on_name, q); /* may call back at once, which frees q */
    timer_arm_for_new(d);
}

void dns_ask(struct dns *d, const char *name, void *ctx)
{
    struct ares_addrinfo_hints six = { .ai_family = AF_INET6, .ai_flags = ARES_AI_NOSORT, .ai_socktype = SOCK_STREAM };
    struct ares_addrinfo_hints four = { .ai_family = AF_INET, .ai_flags = ARES_AI_NOSORT, .ai_socktype = SOCK_STREAM };
    struct question *q = question_new(d, ctx);

    /* Either may call back at once; the second call's callback may free q. */
    ares_getaddrinfo(d->channel, name, NULL, &six, on_half, &q->halves[V6]);
    ares_getaddrinfo(d->channel, name, NULL, &four, on_half, &q->halves[V4]);
    timer_arm_for_new(d);
}

void dns_sockets(const struct dns *d, void (*each)(int fd, void *ctx), void *ctx)
{
    for (const struct list_node *n = d->sockets.next; n != &d->sockets; n = n->next)
        each(event_get_fd(&CONTAINER_OF(n, struct dns_socket, node)->event), ctx);
}

const struct dns_wire *dns_wire_of(const struct dns *d)
{
    return d->wire;
}
