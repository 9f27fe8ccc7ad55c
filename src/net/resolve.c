#include "net/resolve.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "net/dns.h"
#include "net/dns_wire.h"
#include "net/hosts.h"

#define NAME_MAX_LEN HOST_NAME_MAX_LEN
/* Of one direction, under way at a time: what clients of a dead DNS server can make us hold. */
#define QUESTIONS_MAX 4096
#define BUCKETS_MAX 65536
/* Seconds a failure is kept: RFC 9520 wants some; but a server that came back shall soon be noticed. */
#define FAILURE_TTL 5

/* Addresses in the order to try, without ports; or what an address is called. Immutable; kept by the name and by each
 * query not told yet. */
struct answer {
    unsigned refs;
    enum resolve_status status;
    bool literal; /* the name was the address */
    bool invalid; /* RESOLVE_NO_NAME because it can't be one */
    char *called; /* NULL: not asked for, or nothing */
    size_t n;
    struct addr addrs[];
};

/* A name asked for, or an address as text: with an answer that holds until `expires`, or being asked, or both for the time
 * until the second family's answer is there. */
struct name {
    struct list_node chain, lru;
    struct list_node waiting; /* struct resolve_query */
    struct resolver *resolver;
    enum resolve_direction direction;
    struct answer *answer;
    int64_t expires, asked_at, used; /* monotonic */
    bool asking;
    size_t tried; /* of the search list, for this question */
    size_t len;
    char text[];
};

/* What is kept of one direction. */
struct side {
    size_t cache_max, n_names, n_asking;
    struct list_node lru;        /* all its names, least recently used first */
    struct resolver_stats stats; /* but for `entries` */
};

struct resolver {
    struct worker *worker;
    struct dns *dns;
    struct hosts *hosts;
    char *append_domain; /* without its leading dot; NULL: none */
    char **search;       /* what is tried behind dotless names, in this order, before they are asked for as they are */
    size_t n_search;
    int64_t positive_ttl_max, negative_ttl;
    struct side sides[RESOLVE_DIRECTIONS];
    size_t mask;
    struct list_node *buckets; /* mask + 1 */
    struct list_node ready;    /* struct resolve_query, each with its answer in `internal` */
    struct worker_timer tell;
};

static void dns_has_answered(void *ctx, const struct dns_answer *a, bool final);

/* Answers. */

static struct answer *answer_new(enum resolve_status status, const struct addr *addrs, size_t n)
{
    struct answer *a = xmalloc(sizeof *a + n * sizeof a->addrs[0]);

    *a = (struct answer){ .refs = 1, .status = status, .n = n };
    for (size_t i = 0; i < n; i++)
        a->addrs[i] = addrs[i];
    return a;
}

static struct answer *answer_named(enum resolve_status status, struct span name)
{
    struct answer *a = answer_new(status, NULL, 0);

    if (name.len > 0)
        a->called = xspandup(name);
    return a;
}

static struct answer *answer_of(const struct dns_answer *d)
{
    return d->name != NULL ? answer_named(d->status, span_str(d->name)) : answer_new(d->status, d->addrs, d->n);
}

static struct answer *answer_ref(struct answer *a)
{
    a->refs++;
    return a;
}

static void answer_unref(struct answer **holder)
{
    struct answer *a = *holder;

    *holder = NULL;
    if (a == NULL || --a->refs > 0)
        return;
    free(a->called);
    free(a);
}

static size_t answer_copy(const struct answer *a, uint16_t port, struct addr *out)
{
    for (size_t i = 0; i < a->n; i++) {
        out[i] = a->addrs[i];
        out[i].port = port;
    }
    return a->n;
}

static struct span answer_name(const struct answer *a)
{
    return a->status == RESOLVE_OK && a->called != NULL ? span_str(a->called) : SPAN("");
}

/* Telling. */

/* q may be gone afterwards. */
static void tell(struct resolve_query *q, const struct answer *a)
{
    struct addr addrs[RESOLVE_ADDRS_MAX];

    if (q->named != NULL) {
        q->named(q, a->status, answer_name(a));
        return;
    }
    (void)answer_copy(a, q->port, addrs);
    q->done(q, a->status, addrs, a->n);
}

static void tell_ready(struct worker_timer *t)
{
    struct resolver *r = CONTAINER_OF(t, struct resolver, tell);

    struct list_node round;

    if (list_empty(&r->ready))
        return;
    /* What is told may cancel another one that is ready, and may ask anew: that one is told in the next round. */
    round = r->ready;
    round.next->prev = round.prev->next = &round;
    list_init(&r->ready);
    while (!list_empty(&round)) {
        struct resolve_query *q = CONTAINER_OF(round.next, struct resolve_query, node);
        struct answer *a = q->internal;

        list_remove(&q->node);
        q->pending = false;
        q->internal = NULL;
        tell(q, a);
        answer_unref(&a);
    }
}

/* Takes the reference. */
static void make_ready(struct resolver *r, struct resolve_query *q, struct answer *a)
{
    q->internal = a;
    list_append(&r->ready, &q->node);
    if (!r->tell.set)
        worker_timer_soon(r->worker, &r->tell, tell_ready);
}

/* Names. */

static struct list_node *bucket_of(struct resolver *r, struct span name)
{
    return &r->buckets[hash128(name.p, name.len).low & r->mask];
}

static struct name *name_find(struct resolver *r, enum resolve_direction d, struct span name)
{
    struct list_node *bucket = bucket_of(r, name);
    struct list_node *n, *following;

    LIST_EACH (n, following, bucket) {
        struct name *known = CONTAINER_OF(n, struct name, chain);

        if (known->direction == d && span_eq(span_of(known->text, known->len), name))
            return known;
    }
    return NULL;
}

static struct side *side_of(const struct name *n)
{
    return &n->resolver->sides[n->direction];
}

static void name_drop(struct name *n)
{
    assert(!n->asking && list_empty(&n->waiting));
    list_remove(&n->chain);
    list_remove(&n->lru);
    side_of(n)->n_names--;
    side_of(n)->stats.bytes -= sizeof *n + n->len;
    answer_unref(&n->answer);
    free(n);
}

/* Names being asked for can't go; their number has its own limit. */
static void make_room(struct side *s)
{
    struct list_node *n, *following;

    if (s->n_names - s->n_asking < s->cache_max)
        return;
    LIST_EACH (n, following, &s->lru) {
        struct name *old = CONTAINER_OF(n, struct name, lru);

        if (!old->asking) {
            name_drop(old);
            return;
        }
    }
}

static struct name *name_new(struct resolver *r, enum resolve_direction d, struct span text)
{
    struct side *s = &r->sides[d];
    struct name *n;

    make_room(s);
    n = xcalloc(1, sizeof *n + text.len);
    n->resolver = r;
    n->direction = d;
    n->used = worker_mono(r->worker);
    n->len = text.len;
    memcpy(n->text, text.p, text.len);
    list_init(&n->waiting);
    list_append(bucket_of(r, text), &n->chain);
    list_append(&s->lru, &n->lru);
    s->n_names++;
    s->stats.bytes += sizeof *n + text.len;
    return n;
}

/* Its answer while that holds, else NULL. whole: not one that may yet be added to. */
static struct answer *name_answer(struct name *n, bool whole)
{
    if (n->answer == NULL || (whole && n->asking) || worker_mono(n->resolver->worker) >= n->expires)
        return NULL;
    list_remove(&n->lru);
    list_append(&side_of(n)->lru, &n->lru);
    n->used = worker_mono(n->resolver->worker);
    return n->answer;
}

static int64_t seconds_to_keep(const struct resolver *r, const struct dns_answer *a)
{
    switch (a->status) {
    case RESOLVE_OK: return a->ttl < r->positive_ttl_max ? a->ttl : r->positive_ttl_max;
    case RESOLVE_NO_NAME: return r->negative_ttl;
    default: return r->negative_ttl < FAILURE_TTL ? r->negative_ttl : FAILURE_TTL;
    }
}

static void tell_waiting(struct name *n, bool final)
{
    struct resolver *r = n->resolver;
    struct list_node *at, *following;

    LIST_EACH (at, following, &n->waiting) {
        struct resolve_query *q = CONTAINER_OF(at, struct resolve_query, node);

        if (q->whole && !final)
            continue;
        list_remove(&q->node);
        make_ready(r, q, answer_ref(n->answer));
    }
}

/* Answered without a question. */
static void count_known(struct side *s, const struct answer *a)
{
    s->stats.lookups++;
    s->stats.hits++;
    if (a->literal)
        s->stats.literals++;
    else if (a->invalid)
        s->stats.invalid++;
    else if (a->status != RESOLVE_OK)
        s->stats.negative_hits++;
}

/* Has been asked for. */
static void count_retrieved(struct side *s, const struct dns_answer *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->addrs[i].family == AF_INET6)
            s->stats.retrieved_aaaa++;
        else
            s->stats.retrieved_a++;
    s->stats.retrieved_cname += a->cnames;
}

/* What is put behind this name; NULL: nothing. */
static const char *suffix_of(const struct resolver *r, const struct name *n)
{
    const char *suffix = r->append_domain != NULL ? r->append_domain
                         : n->tried < r->n_search ? r->search[n->tried]
                                                  : NULL;

    if (suffix == NULL || memchr(n->text, '.', n->len) != NULL || n->len + 1 + strlen(suffix) > NAME_MAX_LEN)
        return NULL;
    return suffix;
}

/* The name as DNS is asked for it. */
static void ask_next_form(struct resolver *r, struct name *n)
{
    const char *suffix = suffix_of(r, n);
    char text[NAME_MAX_LEN + 2];

    if (suffix != NULL)
        sprintf(text, "%.*s.%s", (int)n->len, n->text, suffix);
    else
        sprintf(text, "%.*s", (int)n->len, n->text);
    dns_ask(r->dns, text, n); /* n may be gone after that */
}

/* There is none of that name in this domain: is there another to try? */
static bool asks_on(struct resolver *r, struct name *n, const struct dns_answer *a, bool final)
{
    if (!final || a->status != RESOLVE_NO_NAME || n->direction != RESOLVE_ADDRESSES || r->append_domain != NULL ||
        n->tried >= r->n_search || memchr(n->text, '.', n->len) != NULL)
        return false;
    n->tried++;
    ask_next_form(r, n);
    return true;
}

static void dns_has_answered(void *ctx, const struct dns_answer *a, bool final)
{
    struct name *n = ctx;
    struct resolver *r = n->resolver;
    struct side *s = side_of(n);
    int64_t keep = seconds_to_keep(r, a);

    if (asks_on(r, n, a, final))
        return;
    answer_unref(&n->answer);
    n->answer = answer_of(a);
    n->expires = worker_mono(r->worker) + keep * US_PER_S;
    if (!list_empty(&n->waiting))
        count_time(r->worker->counters, TIME_DNS, worker_mono(r->worker) - n->asked_at);
    tell_waiting(n, final);
    if (!final)
        return;
    count_retrieved(s, a);
    n->asking = false;
    s->n_asking--;
    if (keep <= 0 || s->cache_max == 0)
        name_drop(n);
    else if (s->n_names - s->n_asking > s->cache_max)
        make_room(s);
}

static void begin_asking(struct name *n)
{
    struct resolver *r = n->resolver;

    n->asking = true;
    n->asked_at = worker_mono(r->worker);
    side_of(n)->n_asking++;
    count(r->worker->counters, DNS_LOOKUPS, 1);
}

static void ask_addresses(struct resolver *r, struct name *n)
{
    begin_asking(n);
    n->tried = 0;
    ask_next_form(r, n);
}

/* What is known without a question. */

/* A name that is whole already may say so with a dot. */
static struct span without_dot(struct span host)
{
    if (host.len > 0 && host.p[host.len - 1] == '.')
        host.len--;
    return host;
}

/* RFC 6761 section 6.3: never asked of a DNS server. */
static bool is_localhost(struct span host)
{
    const struct span name = SPAN("localhost"), suffix = SPAN(".localhost");

    return span_eq_nocase(host, name) ||
           (host.len > suffix.len && span_eq_nocase(span_of(host.p + host.len - suffix.len, suffix.len), suffix));
}

static size_t hosts_lookup(const struct resolver *r, struct span host, struct addr *out)
{
    char text[NAME_MAX_LEN + 2];
    size_t n = hosts_find(r->hosts, without_dot(host), out, RESOLVE_ADDRS_MAX);

    if (n == 0 && r->append_domain != NULL && memchr(host.p, '.', host.len) == NULL &&
        host.len + 1 + strlen(r->append_domain) <= NAME_MAX_LEN)
        n = hosts_find(r->hosts, span_of(text, (size_t)sprintf(text, "%.*s.%s", SPAN_ARG(host), r->append_domain)), out,
                       RESOLVE_ADDRS_MAX);
    return n;
}

/* In place: IPv6 and IPv4 by turns, as long as there are both. */
static void alternate(struct addr *a, size_t n)
{
    struct addr by_family[2][RESOLVE_ADDRS_MAX];
    size_t have[2] = { 0 }, out = 0;

    for (size_t i = 0; i < n; i++) {
        int four = a[i].family == AF_INET;

        by_family[four][have[four]++] = a[i];
    }
    for (size_t i = 0; i < have[0] || i < have[1]; i++)
        for (int four = 0; four < 2; four++)
            if (i < have[four])
                a[out++] = by_family[four][i];
}

/* From the literal or the hosts file; 0: neither. */
static size_t known_here(const struct resolver *r, struct span host, struct addr *out)
{
    size_t n;

    if (addr_parse(host, &out[0]))
        return 1;
    n = hosts_lookup(r, host, out);
    if (n == 0 && is_localhost(without_dot(host))) {
        (void)addr_parse(SPAN("::1"), &out[n++]);
        (void)addr_parse(SPAN("127.0.0.1"), &out[n++]);
    }
    alternate(out, n);
    return n;
}

/* example.com. is example.com to the tables; only append_domain cares, and a dotless name with a dot has one. */
static struct span without_root(struct span host)
{
    if (host.len > 1 && host.p[host.len - 1] == '.' && memchr(host.p, '.', host.len - 1) != NULL)
        host.len--;
    return host;
}

/* A reference for the caller, or NULL: DNS has to be asked. */
static struct answer *known(struct resolver *r, struct span host, bool whole)
{
    struct addr addrs[RESOLVE_ADDRS_MAX];
    struct name *name;
    struct answer *a;
    size_t n = host.len > 0 ? known_here(r, host, addrs) : 0;

    if (n > 0) {
        a = answer_new(RESOLVE_OK, addrs, n);
        a->literal = n == 1 && addr_parse(host, &addrs[0]);
        return a;
    }
    /* To c-ares a backslash would be an escape. */
    if (!host_name_is_valid(without_dot(host))) {
        a = answer_new(RESOLVE_NO_NAME, NULL, 0);
        a->invalid = true;
        return a;
    }
    name = name_find(r, RESOLVE_ADDRESSES, host);
    a = name != NULL ? name_answer(name, whole) : NULL;
    return a != NULL ? answer_ref(a) : NULL;
}

static bool is_loopback(const struct addr *a)
{
    static const unsigned char four[4] = { 127, 0, 0, 1 }, six[16] = { [15] = 1 };

    return a->family == AF_INET ? memcmp(a->bytes, four, sizeof four) == 0 : memcmp(a->bytes, six, sizeof six) == 0;
}

/* The same of what a is called; text is a's. */
static struct answer *known_name(struct resolver *r, const struct addr *a, struct span text)
{
    struct span here = hosts_name_of(r->hosts, a);
    struct answer *answer;
    struct name *name;

    if (here.len == 0 && is_loopback(a)) /* as is_localhost(), the other way round (RFC 6303 section 4) */
        here = SPAN("localhost");
    if (here.len > 0)
        return answer_named(RESOLVE_OK, here);
    name = name_find(r, RESOLVE_NAMES, text);
    answer = name != NULL ? name_answer(name, true) : NULL;
    return answer != NULL ? answer_ref(answer) : NULL;
}

/* The interface. */

struct resolver *resolver_new(struct worker *w, const struct resolver_config *config)
{
    struct resolver *r = xcalloc(1, sizeof *r);
    const char *domain = config->append_domain;
    size_t buckets = 64;

    while (buckets < config->cache_max + config->named_max && buckets < BUCKETS_MAX)
        buckets *= 2;
    r->worker = w;
    r->positive_ttl_max = config->positive_ttl_max;
    r->negative_ttl = config->negative_ttl;
    r->sides[RESOLVE_ADDRESSES].cache_max = config->cache_max;
    r->sides[RESOLVE_NAMES].cache_max = config->named_max;
    if (domain != NULL && *domain == '.')
        domain++;
    if (domain != NULL && *domain != '\0')
        r->append_domain = xstrdup(domain);
    r->mask = buckets - 1;
    r->buckets = xcalloc(buckets, sizeof *r->buckets);
    for (size_t b = 0; b < buckets; b++)
        list_init(&r->buckets[b]);
    for (int d = 0; d < RESOLVE_DIRECTIONS; d++)
        list_init(&r->sides[d].lru);
    list_init(&r->ready);
    if (config->search)
        r->search = dns_search_list(&r->n_search);
    r->hosts = hosts_read(config->hosts_file);
    r->dns = dns_new(w, config, dns_has_answered);
    return r;
}

static void forget(struct side *s)
{
    while (!list_empty(&s->lru)) {
        struct name *n = CONTAINER_OF(s->lru.next, struct name, lru);

        n->asking = false;
        list_init(&n->waiting); /* the askers are gone by contract */
        name_drop(n);
    }
}

void resolver_free(struct resolver **holder)
{
    struct resolver *r = *holder;

    *holder = NULL;
    if (r == NULL)
        return;
    dns_free(&r->dns);
    worker_timer_clear(&r->tell);
    for (int d = 0; d < RESOLVE_DIRECTIONS; d++)
        forget(&r->sides[d]);
    hosts_free(&r->hosts);
    for (size_t i = 0; i < r->n_search; i++)
        free(r->search[i]);
    free(r->search);
    free(r->append_domain);
    free(r->buckets);
    free(r);
}

/* q waits for the answer about text. NULL: q is answered already, or somebody else has asked; else whom to ask about. */
static struct name *wait_for(struct resolver *r, struct resolve_query *q, enum resolve_direction d, struct span text,
                             struct answer *known_already)
{
    struct side *s = &r->sides[d];
    struct name *name;

    if (known_already != NULL) {
        count_known(s, known_already);
        make_ready(r, q, known_already);
        return NULL;
    }
    s->stats.lookups++;
    name = name_find(r, d, text);
    if ((name == NULL || !name->asking) && s->n_asking >= QUESTIONS_MAX) {
        make_ready(r, q, answer_new(RESOLVE_FAILED, NULL, 0));
        return NULL;
    }
    if (name == NULL)
        name = name_new(r, d, text);
    list_append(&name->waiting, &q->node);
    return name->asking ? NULL : name;
}

void resolve(struct resolver *r, struct resolve_query *q, struct span host, uint16_t port)
{
    struct name *name;

    assert(!q->pending);
    q->pending = true;
    q->named = NULL;
    q->port = port;
    host = without_root(host);
    if ((name = wait_for(r, q, RESOLVE_ADDRESSES, host, known(r, host, q->whole))) != NULL)
        ask_addresses(r, name);
}

void resolve_name_of(struct resolver *r, struct resolve_query *q, const struct addr *a)
{
    char text[ADDR_TEXT_MAX];
    struct span key = span_of(text, addr_print(a, text));
    struct name *name;

    assert(!q->pending && q->named != NULL);
    q->pending = true;
    if ((name = wait_for(r, q, RESOLVE_NAMES, key, known_name(r, a, key))) != NULL) {
        begin_asking(name);
        dns_ask_name(r->dns, a, name); /* name may be gone after that */
    }
}

void resolve_cancel(struct resolve_query *q)
{
    struct answer *a = q->internal;

    if (!q->pending)
        return;
    q->pending = false;
    q->internal = NULL;
    list_remove(&q->node);
    answer_unref(&a);
}

bool resolve_name_of_cached(struct resolver *r, const struct addr *a, char name[HOST_NAME_MAX_LEN + 1])
{
    char text[ADDR_TEXT_MAX];
    struct answer *answer = known_name(r, a, span_of(text, addr_print(a, text)));
    struct side *s = &r->sides[RESOLVE_NAMES];

    if (answer == NULL)
        return false;
    count_known(s, answer);
    snprintf(name, HOST_NAME_MAX_LEN + 1, "%.*s", SPAN_ARG(answer_name(answer)));
    answer_unref(&answer);
    return true;
}

size_t resolve_cached(struct resolver *r, struct span host, uint16_t port, bool whole, struct addr *out, bool *negative)
{
    struct answer *a = known(r, without_root(host), whole);
    struct side *s = &r->sides[RESOLVE_ADDRESSES];
    size_t n = 0;

    *negative = a != NULL && a->status == RESOLVE_NO_NAME;
    if (a != NULL && (a->status == RESOLVE_OK || *negative)) {
        count_known(s, a);
        n = answer_copy(a, port, out);
    }
    answer_unref(&a);
    return n;
}

bool resolver_is_busy(const struct resolver *r)
{
    size_t asking = 0;

    for (int d = 0; d < RESOLVE_DIRECTIONS; d++)
        asking += r->sides[d].n_asking;
    return asking > 0 || !list_empty(&r->ready);
}

struct resolver_stats resolver_stats(const struct resolver *r, enum resolve_direction d)
{
    const struct side *s = &r->sides[d];

    struct resolver_stats stats = s->stats;

    stats.entries = s->n_names - s->n_asking;
    return stats;
}

size_t resolver_each(const struct resolver *r, enum resolve_direction d, size_t most,
                     void (*each)(const struct resolver_entry *e, void *ctx), void *ctx)
{
    const struct list_node *lru = &r->sides[d].lru;
    int64_t now = worker_mono(r->worker);
    size_t told = 0;

    for (const struct list_node *at = lru->prev; at != lru && told < most; at = at->prev) {
        const struct name *n = CONTAINER_OF(at, struct name, lru);
        struct resolver_entry e = { .text = span_of(n->text, n->len) };

        if (n->answer == NULL)
            continue; /* it is being asked for */
        told++;
        e.status = n->answer->status;
        e.ttl = (n->expires - now) / US_PER_S;
        e.unused = (now - n->used) / US_PER_S;
        e.addrs = n->answer->addrs;
        e.n = n->answer->n;
        e.called = answer_name(n->answer);
        each(&e, ctx);
    }
    return told;
}

const struct hosts *resolver_hosts(const struct resolver *r)
{
    return r->hosts;
}

void resolver_traffic(const struct resolver *r, struct dns_traffic *out)
{
    dns_wire_traffic(dns_wire_of(r->dns), out);
}

size_t resolver_queries(const struct resolver *r, size_t most, void (*each)(const struct dns_query_view *q, void *ctx),
                        void *ctx)
{
    return dns_wire_each(dns_wire_of(r->dns), most, each, ctx);
}

void resolver_sockets(const struct resolver *r, void (*each)(int fd, void *ctx), void *ctx)
{
    dns_sockets(r->dns, each, ctx);
}

const char *resolve_status_text(enum resolve_status s)
{
    switch (s) {
    case RESOLVE_OK: return "resolved";
    case RESOLVE_NO_NAME: return "no such name";
    case RESOLVE_TIMEOUT: return "DNS servers did not answer in time";
    case RESOLVE_FAILED: break;
    }
    return "DNS failure";
}
