#include "proxy/admission.h"

#include <stdlib.h>
#include "base/mem.h"
#include "proxy/account.h"
#include "proxy/logformat.h"
#include "proxy/request_access.h"

/* Of a question to a helper program. */
#define EXTRAS_MAX 8192

/* --- who is it? -------------------------------------------------------------------------------------------------------- */

static void take_user(struct proxy_worker *pw, const struct settings *s, struct request *r,
                      const struct auth_result *found)
{
    request_set_user(r, found->user, found->token);
    r->user_any_case = found->any_case;
    r->user_problem = found->why;
    r->user_stale = found->stale;
    r->user_unchecked = found->answer == AUTH_BUSY;
    r->user_state = found->answer == AUTH_USER ? USER_KNOWN : USER_ABSENT;
    if (r->user_state == USER_KNOWN && pw->counting_users) {
        r->user_table = auth_addresses(pw->auth_shared);
        r->user_addresses = user_addresses_seen(r->user_table, r->user, request_acl_client(r), worker_mono(pw->worker),
                                                s->auth.ip_ttl, (size_t)s->auth.cache_max);
    }
}

/* key_extras of auth_param. */
static void print_extras(const struct auth_request *q, void *format, struct strbuf *out)
{
    struct log_entry e;
    size_t n;

    log_entry_from_request(&e, q->ctx);
    n = logformat_line(format, &(struct logformat_options){ .strip_query_terms = false }, &e,
                       sb_reserve(out, EXTRAS_MAX), EXTRAS_MAX);
    out->len += n > 0 ? n - 1 : 0; /* without its end */
}

static void ask(struct proxy_worker *pw, const struct settings *s, const struct request *r, struct span value,
                struct auth_query *query, struct auth_result *found)
{
    const struct auth_request q = { .value = value,
                                    .method = head_piece(r->head, r->head->method_name),
                                    .target = head_piece(r->head, r->head->target),
                                    .connection = r->connection,
                                    .print_extras = print_extras,
                                    .ctx = r };

    auth_ask(pw->auth, &s->auth, &q, query, found);
}

/* A token has said whose connection it is. */
static bool is_connection_s(const struct settings *s, const struct request *r)
{
    return s->auth.schemes[AUTH_NEGOTIATE].works && r->connection != NULL && r->connection->user != NULL;
}

/* False: it takes a while; query, if there is one, waits for it. */
static bool find_user(struct proxy_worker *pw, const struct settings *s, struct request *r, struct auth_query *query)
{
    enum token field = r->accel ? TOKEN_AUTHORIZATION : TOKEN_PROXY_AUTHORIZATION;
    const struct head_field *f = head_find(r->head, field);
    struct auth_result found = { .answer = AUTH_NOBODY, .why = "no credentials" };

    if (f != NULL && head_next(r->head, f) != NULL)
        found.why = "more than one field with credentials";
    else if (f != NULL)
        ask(pw, s, r, field_value(r->head, f), query, &found);
    else if (is_connection_s(s, r))
        found = (struct auth_result){ .answer = AUTH_USER, .user = span_str(r->connection->user) };
    if (found.answer == AUTH_WAIT)
        return false;
    take_user(pw, s, r, &found);
    return true;
}

/* --- what is it called? ------------------------------------------------------------------------------------------------ */

/* Which one an access list stopped for. */
static bool wants_name(enum access_answer answer, enum request_name *which)
{
    *which = answer == ACCESS_NEED_HOST_NAME ? REQUEST_HOST : REQUEST_CLIENT;
    return answer == ACCESS_NEED_HOST_NAME || answer == ACCESS_NEED_CLIENT_NAME;
}

/* The lists behind http_access can't wait for a look-up: if there is one that may ask what the client is called, it is found out
 * here. */
static struct access_verdict want_client_name(const struct proxy_worker *pw, const struct request *r, enum gate gate,
                                              struct access_verdict v)
{
    if (v.answer == ACCESS_ALLOWED && gate == GATE_HTTP && pw->naming_clients && !r->names[REQUEST_CLIENT].is_known)
        v.answer = ACCESS_NEED_CLIENT_NAME;
    return v;
}

/* False: it takes a look-up. */
static bool find_name(struct proxy_worker *pw, struct request *r, enum request_name which)
{
    enum name_trust trust;

    if (!reverse_cached(pw->resolver, request_named(r, which), &trust, pw->names[which]))
        return false;
    request_set_name(r, which, trust, span_str(pw->names[which]));
    return true;
}

/* --- at once ------------------------------------------------------------------------------------------------------------ */

/* Addresses of the host, as far as they have been asked for. */
struct destination {
    bool known;
    struct addr addrs[RESOLVE_ADDRS_MAX];
    size_t n;
};

static bool find_destination(struct proxy_worker *pw, const struct request *r, struct destination *d)
{
    bool negative;

    d->n = resolve_cached(pw->resolver, r->uri.host, r->uri.port, false, d->addrs, &negative);
    d->known = d->n > 0 || negative;
    return d->known;
}

/* What the list stopped for. False: it takes a while. */
static bool find_at_once(struct proxy_worker *pw, struct request *r, enum access_answer need, struct destination *d)
{
    enum request_name name;

    if (wants_name(need, &name))
        return find_name(pw, r, name);
    if (need == ACCESS_NEED_USER)
        return find_user(pw, pw->settings, r, NULL);
    if (need == ACCESS_NEED_EXTERNAL)
        return external_find(pw, pw->settings, r, NULL);
    return find_destination(pw, r, d);
}

static struct access_verdict ask_at_once(const struct proxy_worker *pw, const struct request *r,
                                         const struct destination *d)
{
    struct access_verdict v = request_access_asking(pw->settings->http_access, r, d->known, d->addrs, d->n);

    return want_client_name(pw, r, GATE_HTTP, v);
}

bool admission_at_once(struct proxy_worker *pw, struct request *r, struct access_verdict *v)
{
    struct destination d;

    d.known = false;
    d.n = 0;
    for (*v = ask_at_once(pw, r, &d); !access_is_final(v->answer); *v = ask_at_once(pw, r, &d))
        if (!find_at_once(pw, r, v->answer, &d))
            return false;
    return true;
}

const struct access_list *gate_list(const struct settings *s, enum gate g)
{
    switch (g) {
    case GATE_HTTP: return s->http_access;
    case GATE_ADAPTED: return s->adapted_http_access;
    case GATE_MISS: return s->miss_access;
    }
    return NULL;
}

/* --- in a while --------------------------------------------------------------------------------------------------------- */

static void go_on(struct admission *a);

static void resolved(struct resolve_query *q, enum resolve_status status, const struct addr *addrs, size_t n)
{
    struct admission *a = CONTAINER_OF(q, struct admission, query);

    (void)status; /* without an address no `dst` matches; the fetch will say what was wrong with the name */
    a->dst_known = true;
    a->n_dst = n;
    if (n > 0) {
        a->dst = xmalloc(n * sizeof *addrs);
        memcpy(a->dst, addrs, n * sizeof *addrs);
    }
    go_on(a);
}

static void named(struct reverse_query *q, enum name_trust trust, struct span name)
{
    struct admission *a = CONTAINER_OF(q, struct admission, reverse);

    request_set_name(a->request, a->reversing, trust, name);
    go_on(a);
}

static void user_found(struct auth_query *q, const struct auth_result *found)
{
    struct admission *a = CONTAINER_OF(q, struct admission, login);

    if (found->answer != AUTH_AGAIN)
        take_user(a->pw, a->settings, a->request, found);
    go_on(a);
}

static void external_found(struct external_wait *w)
{
    go_on(CONTAINER_OF(w, struct admission, external));
}

/* What the list stopped for. False: go_on() is called when it is there. */
static bool find(struct admission *a, enum access_answer need)
{
    struct request *r = a->request;

    if (wants_name(need, &a->reversing)) {
        a->reverse.done = named;
        reverse(a->pw->resolver, &a->reverse, request_named(r, a->reversing));
        return false;
    }
    if (need == ACCESS_NEED_DST) {
        a->query.done = resolved;
        resolve(a->pw->resolver, &a->query, r->uri.host, r->uri.port);
        return false;
    }
    if (need == ACCESS_NEED_EXTERNAL) {
        a->external.done = external_found;
        return external_find(a->pw, a->settings, r, &a->external);
    }
    a->login.done = user_found;
    return find_user(a->pw, a->settings, r, &a->login);
}

static void go_on(struct admission *a)
{
    const struct access_list *list = gate_list(a->settings, a->gate);
    struct access_verdict v;

    do {
        v = request_access_asking(list, a->request, a->dst_known, a->dst, a->n_dst);
        v = want_client_name(a->pw, a->request, a->gate, v);
        if (access_is_final(v.answer)) {
            a->done(a, &v);
            return;
        }
    } while (find(a, v.answer));
}

void admission_start(struct admission *a)
{
    go_on(a);
}

void admission_forget(struct admission *a)
{
    admission_cancel(a);
    a->dst_known = false;
    a->n_dst = 0;
}

void admission_cancel(struct admission *a)
{
    resolve_cancel(&a->query);
    reverse_cancel(&a->reverse);
    auth_cancel(&a->login);
    free(a->dst);
    a->dst = NULL;
    external_cancel(&a->external);
}
