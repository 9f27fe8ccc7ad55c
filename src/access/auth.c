#include "access/auth_private.h"

#include <assert.h>
#include <stdlib.h>
#include "access/credentials.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define TELL_US (60 * US_PER_S)

struct auth_shared {
    struct job_pool *jobs;
    struct user_addresses *addresses;
    struct nonces *nonces;
};

struct auth_shared *auth_shared_new(void)
{
    struct auth_shared *s = xcalloc(1, sizeof *s);

    s->jobs = job_pool_new();
    s->addresses = user_addresses_new();
    s->nonces = nonces_new();
    return s;
}

void auth_shared_end(struct auth_shared *s)
{
    job_pool_free(&s->jobs);
}

void auth_shared_free(struct auth_shared **holder)
{
    struct auth_shared *s = *holder;

    *holder = NULL;
    if (s == NULL)
        return;
    job_pool_free(&s->jobs);
    user_addresses_free(&s->addresses);
    nonces_free(&s->nonces);
    free(s);
}

struct user_addresses *auth_addresses(struct auth_shared *s)
{
    return s->addresses;
}

struct job_pool *auth_jobs(struct auth_shared *s)
{
    return s->jobs;
}

struct nonces *auth_nonces(struct auth_shared *s)
{
    return s->nonces;
}

struct auth *auth_new(struct worker *w, struct auth_shared *s)
{
    struct auth *a = xcalloc(1, sizeof *a);

    a->worker = w;
    a->shared = s;
    a->logins = logins_new();
    list_init(&a->askings);
    return a;
}

void auth_free(struct auth **holder)
{
    struct auth *a = *holder;

    *holder = NULL;
    if (a == NULL)
        return;
    auth_askings_forget(a);
    logins_free(&a->logins);
    free(a);
}

void auth_sweep(struct auth *a, const struct auth_settings *s, int64_t mono)
{
    const struct auth_scheme_settings *digest = &s->schemes[AUTH_DIGEST];

    if (mono - a->swept >= s->garbage_interval) {
        a->swept = mono;
        logins_drop_unused(a->logins, mono - s->ttl);
    }
    if (a->worker->id == 0 && digest->works && mono - a->nonces_swept >= digest->nonce_garbage_interval) {
        const struct nonce_rules rules = auth_nonce_rules(s);

        a->nonces_swept = mono;
        nonces_sweep(a->shared->nonces, &rules, mono);
    }
}

void auth_busy(struct auth *a, struct auth_result *r)
{
    int64_t mono = worker_mono(a->worker);

    r->answer = AUTH_BUSY;
    r->why = "too many passwords wait to be checked";
    if (a->told_busy != 0 && mono - a->told_busy < TELL_US)
        return;
    a->told_busy = mono;
    log_line(LOG_IMPORTANT, "WARNING: too many passwords wait to be checked: see `auth_param basic children`");
}

void auth_settle(struct auth *a, struct login *one, const struct auth_result *r)
{
    struct list_node askers = one->askers;

    /* A ring's head can't be copied while nodes point to it. */
    if (list_empty(&one->askers)) {
        list_init(&askers);
    } else {
        askers.next->prev = &askers;
        askers.prev->next = &askers;
        list_init(&one->askers);
    }
    one->is_pending = false;
    one->is_good = r->answer == AUTH_USER || r->answer == AUTH_AGAIN;
    if (!one->is_good)
        logins_drop(a->logins, one); /* before anybody is told: they may ask again, and this one may go then */
    while (!list_empty(&askers)) {
        struct auth_query *q = CONTAINER_OF(askers.next, struct auth_query, node);

        list_remove(&q->node);
        q->done(q, r);
    }
}

void auth_cancel(struct auth_query *q)
{
    if (list_linked(&q->node))
        list_remove(&q->node);
}

void auth_request_extras(const struct auth_request *q, const struct auth_scheme_settings *s, struct strbuf *line)
{
    if (s->key_extras_format == NULL || q->print_extras == NULL)
        return;
    sb_char(line, ' ');
    q->print_extras(q, s->key_extras_format, line);
}

void auth_ask(struct auth *a, const struct auth_settings *s, const struct auth_request *q, struct auth_query *query,
              struct auth_result *r)
{
    struct span scheme, rest;

    *r = (struct auth_result){ .answer = AUTH_NOBODY };
    if (!credentials_split(q->value, &scheme, &rest)) {
        r->why = "malformed credentials";
    } else if (span_eq_nocase(scheme, SPAN("Basic")) && s->schemes[AUTH_BASIC].works) {
        auth_basic_ask(a, s, q, rest, query, r);
    } else if (span_eq_nocase(scheme, SPAN("Digest")) && s->schemes[AUTH_DIGEST].works) {
        auth_digest_ask(a, s, q, rest, query, r);
    } else if (span_eq_nocase(scheme, SPAN("Negotiate")) && s->schemes[AUTH_NEGOTIATE].works) {
        auth_negotiate_ask(a, s, q, rest, query, r);
    } else {
        r->why = "credentials of a kind that wasn't asked for";
    }
}

struct teller {
    const struct auth *auth;
    bool (*each)(const struct auth_entry *e, void *ctx);
    void *ctx;
};

static bool tell_login(const struct login *one, void *ctx)
{
    const struct teller *t = ctx;
    bool digest = one->ha1[0] != '\0';
    int64_t mono = worker_mono(t->auth->worker);
    const struct auth_entry e = {
        .scheme = digest ? AUTH_DIGEST : AUTH_BASIC,
        .user = span_of(one->user, one->user_len),
        .verified = mono - one->verified,
        .used = mono - one->used,
    };

    return (digest ? one->is_proven : one->is_good) ? t->each(&e, t->ctx) : true;
}

void auth_each(const struct auth *a, bool (*each)(const struct auth_entry *e, void *ctx), void *ctx)
{
    struct teller t = { a, each, ctx };

    logins_each(a->logins, tell_login, &t);
}

size_t auth_logins(const struct auth *a, size_t *bytes)
{
    *bytes = logins_bytes(a->logins);
    return logins_count(a->logins);
}
