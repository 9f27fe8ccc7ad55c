#include "proxy/external.h"

#include <stdlib.h>
#include "base/mem.h"
#include "proxy/account.h"
#include "proxy/logformat.h"

#define WORD_MAX 8192
#define BUCKETS_FIRST 64

/* What one program said to one question. */
struct reply {
    struct reply *chain;
    struct list_node lru; /* of its definition, the oldest first */
    struct hash128 key;
    struct externals *all;
    const struct external_acl *acl;
    struct helper_query query;
    struct list_node waiters; /* struct external_wait */
    bool known, pending;
    unsigned held; /* being told to waiters */
    enum external_answer answer;
    int64_t at;          /* monotonic: when it was said */
    struct strbuf pairs; /* NAME \0 VALUE \0 ... */
};

/* All replies under one configuration. */
struct externals {
    struct list_node node; /* pw->externals */
    struct proxy_worker *pw;
    struct settings *settings; /* a reference: definitions are its */
    struct reply **buckets;
    size_t n_buckets, n;   /* n_buckets is a power of two */
    struct list_node *lru; /* per definition */
    size_t *counts;
    size_t pending;
};

/* --- questions -------------------------------------------------------------------------------------------------- */

static bool is_plain(unsigned char c)
{
    return c > ' ' && c < 0x7f && c != '%' && c != '"' && c != '\'' && c != '\\';
}

static void add_encoded(struct strbuf *out, struct span s)
{
    if (out->len > 0)
        sb_char(out, ' ');
    for (size_t i = 0; i < s.len; i++)
        if (is_plain((unsigned char)s.p[i]))
            sb_char(out, s.p[i]);
        else
            sb_printf(out, "%%%02X", (unsigned char)s.p[i]);
}

static void add_code(struct strbuf *out, const struct external_word *word, const struct log_entry *e)
{
    char *text = xmalloc(WORD_MAX);
    size_t n =
        logformat_line(word->format, &(struct logformat_options){ .strip_query_terms = false }, e, text, WORD_MAX);

    add_encoded(out, span_of(text, n > 0 ? n - 1 : 0)); /* without its end */
    free(text);
}

static void add_args(struct strbuf *out, const struct external_use *u)
{
    for (size_t i = 0; i < u->n_args; i++)
        add_encoded(out, span_str(u->args[i]));
}

static void make_line(struct strbuf *out, const struct external_use *u, const struct request *r)
{
    struct log_entry e;

    log_entry_from_request(&e, r);
    e.notes = r->notes;
    for (size_t i = 0; i < u->acl->n_words; i++) {
        const struct external_word *word = &u->acl->words[i];

        if (word->kind == EXTERNAL_ACL)
            add_encoded(out, span_str(u->name));
        else if (word->kind == EXTERNAL_CODE && word->format != NULL)
            add_code(out, word, &e);
        else if (u->n_args > 0)
            add_args(out, u);
        else
            add_encoded(out, SPAN("-"));
    }
    if (!u->acl->has_data)
        add_args(out, u);
}

/* --- replies ---------------------------------------------------------------------------------------------------- */

static struct reply **bucket(struct externals *x, struct hash128 key)
{
    return &x->buckets[key.low & (x->n_buckets - 1)];
}

static struct reply *find(struct externals *x, struct hash128 key)
{
    struct reply *p = *bucket(x, key);

    while (p != NULL && !hash128_eq(p->key, key))
        p = p->chain;
    return p;
}

static void grow(struct externals *x)
{
    struct reply **old = x->buckets, *p, *next;
    size_t n = x->n_buckets;

    x->n_buckets *= 2;
    x->buckets = xcalloc(x->n_buckets, sizeof(struct reply *));
    for (size_t i = 0; i < n; i++)
        for (p = old[i]; p != NULL; p = next) {
            next = p->chain;
            p->chain = *bucket(x, p->key);
            *bucket(x, p->key) = p;
        }
    free(old);
}

static void drop(struct reply *p)
{
    struct externals *x = p->all;
    struct reply **at = bucket(x, p->key);

    while (*at != p)
        at = &(*at)->chain;
    *at = p->chain;
    list_remove(&p->lru);
    x->n--;
    x->counts[p->acl->index]--;
    helper_cancel(&p->query);
    sb_free(&p->pairs);
    free(p);
}

static bool may_drop(const struct reply *p)
{
    return !p->pending && p->held == 0;
}

/* The oldest go, but those in use. */
static void make_room(struct externals *x, const struct external_acl *acl)
{
    struct list_node *n, *following, *list = &x->lru[acl->index];

    LIST_EACH (n, following, list) {
        struct reply *p = CONTAINER_OF(n, struct reply, lru);

        if (x->counts[acl->index] <= acl->cache_max)
            return;
        if (may_drop(p))
            drop(p);
    }
}

static struct reply *add(struct externals *x, const struct external_acl *acl, struct hash128 key)
{
    struct reply *p = xcalloc(1, sizeof *p);

    if (x->n >= x->n_buckets)
        grow(x);
    p->key = key;
    p->all = x;
    p->acl = acl;
    list_init(&p->waiters);
    p->chain = *bucket(x, key);
    *bucket(x, key) = p;
    list_append(&x->lru[acl->index], &p->lru);
    x->n++;
    x->counts[acl->index]++;
    return p;
}

static int64_t lifetime(const struct reply *p)
{
    return p->answer == EXTERNAL_YES ? p->acl->ttl : p->acl->negative_ttl;
}

static bool is_fresh(const struct reply *p, int64_t now)
{
    return p->known && now - p->at < lifetime(p);
}

static bool wants_refresh(const struct reply *p, int64_t now)
{
    return p->acl->grace > 0 && !p->pending && now - p->at >= lifetime(p) / 100 * (100 - p->acl->grace);
}

/* What p says, into the request. */
static void tell(const struct reply *p, struct request *r, const struct external_use *use)
{
    const char *at = p->pairs.p, *end = at + p->pairs.len;

    external_memo_add(&r->externals, use, p->known ? p->answer : EXTERNAL_BROKEN);
    while (r->notes != NULL && p->known && at < end) {
        struct span name = span_str(at), value = span_str(at + name.len + 1);

        notes_add(r->notes, name, value, true);
        at = value.p + value.len + 1;
    }
}

/* --- asking ----------------------------------------------------------------------------------------------------- */

static void save_pairs(struct reply *p, const struct helper_reply *said)
{
    p->pairs.len = 0;
    for (size_t i = 0; i < said->n_pairs; i++) {
        const struct helper_pair *pair = &said->pairs[i];

        /* A password is nobody's business, and a NUL no text. */
        if (span_eq(pair->name, SPAN("password")) ||
            (pair->value.len > 0 && memchr(pair->value.p, '\0', pair->value.len) != NULL))
            continue;
        sb_span(&p->pairs, pair->name);
        sb_char(&p->pairs, '\0');
        sb_span(&p->pairs, pair->value);
        sb_char(&p->pairs, '\0');
    }
}

static void tell_waiters(struct reply *p)
{
    p->held++;
    while (!list_empty(&p->waiters)) {
        struct external_wait *w = CONTAINER_OF(p->waiters.next, struct external_wait, node);

        list_remove(&w->node);
        tell(p, w->request, w->use);
        w->done(w);
    }
    p->held--;
}

static void answered(struct helper_query *q, const struct helper_reply *said, const char *why)
{
    struct reply *p = CONTAINER_OF(q, struct reply, query);
    struct externals *x = p->all;

    (void)why;
    p->pending = false;
    x->pending--;
    p->known = said->status == HELPER_OK || said->status == HELPER_ERR;
    p->answer = said->status == HELPER_OK ? EXTERNAL_YES : EXTERNAL_NO;
    p->at = worker_mono(x->pw->worker);
    save_pairs(p, said);
    tell_waiters(p);
    if (may_drop(p) && (lifetime(p) == 0 || !p->known || p->acl->cache_max == 0))
        drop(p);
    else
        make_room(x, p->acl);
}

static void ask(struct reply *p, struct span line)
{
    p->pending = true;
    p->all->pending++;
    p->query.done = answered;
    helper_ask(p->acl->pool, p->all->pw->worker, &p->query, line);
}

/* --- replies of a configuration --------------------------------------------------------------------------------- */

static struct externals *externals_of(struct proxy_worker *pw, struct settings *s)
{
    struct externals *x;
    struct list_node *n, *following;

    LIST_EACH (n, following, &pw->externals) {
        x = CONTAINER_OF(n, struct externals, node);
        if (x->settings == s)
            return x;
    }
    x = xcalloc(1, sizeof *x);
    x->pw = pw;
    x->settings = settings_ref(s);
    x->n_buckets = BUCKETS_FIRST;
    x->buckets = xcalloc(x->n_buckets, sizeof(struct reply *));
    x->lru = xcalloc(s->n_externals, sizeof *x->lru);
    x->counts = xcalloc(s->n_externals, sizeof *x->counts);
    for (size_t i = 0; i < s->n_externals; i++)
        list_init(&x->lru[i]);
    list_append(&pw->externals, &x->node);
    return x;
}

static void forget(struct externals *x)
{
    for (size_t i = 0; i < x->settings->n_externals; i++)
        while (!list_empty(&x->lru[i]))
            drop(CONTAINER_OF(x->lru[i].next, struct reply, lru));
    list_remove(&x->node);
    free(x->buckets);
    free(x->lru);
    free(x->counts);
    settings_unref(&x->settings);
    free(x);
}

void externals_tick(struct proxy_worker *pw)
{
    struct list_node *n, *following;

    LIST_EACH (n, following, &pw->externals) {
        struct externals *x = CONTAINER_OF(n, struct externals, node);

        if (x->settings != pw->settings && x->pending == 0)
            forget(x);
    }
}

void externals_free(struct proxy_worker *pw)
{
    while (!list_empty(&pw->externals))
        forget(CONTAINER_OF(pw->externals.next, struct externals, node));
}

/* --- finding out ------------------------------------------------------------------------------------------------ */

static struct hash128 key_of(const struct external_acl *acl, const struct strbuf *line)
{
    struct hash128 key = hash128(line->p, line->len);

    key.low ^= (acl->index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return key;
}

bool external_find(struct proxy_worker *pw, struct settings *s, struct request *r, struct external_wait *w)
{
    const struct external_use *use = r->externals->wanted;
    struct externals *x = externals_of(pw, s);
    struct strbuf line = { 0 };
    int64_t now = worker_mono(pw->worker);
    struct reply *p;
    struct hash128 key;
    bool known;

    make_line(&line, use, r);
    if (line.p == NULL)
        sb_str(&line, "");
    key = key_of(use->acl, &line);
    p = find(x, key);
    known = p != NULL && is_fresh(p, now);
    if (known) {
        list_remove(&p->lru);
        list_append(&x->lru[use->acl->index], &p->lru);
        tell(p, r, use);
        if (wants_refresh(p, now))
            ask(p, sb_view(&line));
    } else if (w != NULL) {
        if (p == NULL)
            p = add(x, use->acl, key);
        w->request = r;
        w->use = use;
        list_append(&p->waiters, &w->node);
        if (!p->pending)
            ask(p, sb_view(&line));
    }
    sb_free(&line);
    return known;
}

static bool same_question(const struct external_use *use, const struct request *a, const struct request *b)
{
    struct strbuf one = { 0 }, other = { 0 };
    bool same;

    make_line(&one, use, a);
    make_line(&other, use, b);
    same = span_eq(sb_view(&one), sb_view(&other));
    sb_free(&one);
    sb_free(&other);
    return same;
}

void external_carry_over(struct request *to, const struct request *from)
{
    const struct external_memo *m = from->externals;

    for (size_t i = 0; m != NULL && i < m->n; i++)
        if (same_question(m->known[i].use, to, from))
            external_memo_add(&to->externals, m->known[i].use, m->known[i].answer);
}

void external_cancel(struct external_wait *w)
{
    if (list_linked(&w->node))
        list_remove(&w->node);
}
