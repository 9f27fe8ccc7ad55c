/* RFC 7616, by an htdigest file or a helper program. */
#include <stdlib.h>
#include "access/auth_private.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define THREADS 1 /* nothing is computed: they only read the file */
#define WAITING 100

struct digest_job {
    struct job job;
    struct auth *auth;
    struct login *login; /* pending: it stays */
    struct htpasswd_file *file;
    size_t digits;
    uint64_t generation;
    char ha1[DIGEST_HEX_MAX + 1]; /* found; "" */
};

static void free_job(struct digest_job *j)
{
    htpasswd_file_unref(&j->file);
    free(j);
}

/* On a thread of the pool. */
static void work(struct job *job)
{
    struct digest_job *j = CONTAINER_OF(job, struct digest_job, job);
    struct htpasswd *t = htpasswd_file_table(j->file, &j->generation);
    const char *ha1 = htpasswd_ha1(t, span_of(j->login->user, j->login->user_len), j->digits);

    if (ha1 != NULL)
        memcpy(j->ha1, ha1, j->digits + 1);
    htpasswd_unref(&t);
}

static void done(struct job *job)
{
    struct digest_job *j = CONTAINER_OF(job, struct digest_job, job);
    struct auth_result r = { .answer = AUTH_NOBODY, .why = "wrong user name or password" };
    char user[DIGEST_USER_MAX + 1];

    memcpy(user, j->login->user, j->login->user_len + 1);
    r.user = span_of(user, j->login->user_len);
    if (j->ha1[0] != '\0') {
        r = (struct auth_result){ .answer = AUTH_AGAIN };
        j->login->verified = worker_mono(j->auth->worker);
        j->login->generation = j->generation;
        memcpy(j->login->ha1, j->ha1, sizeof j->ha1);
    } else if (!j->job.worked) {
        auth_busy(j->auth, &r);
    }
    auth_settle(j->auth, j->login, &r);
    free_job(j);
}

static void hand_to_thread(struct auth *a, const struct auth_scheme_settings *s, struct login *one, size_t digits,
                           bool *taken)
{
    struct digest_job *j = xcalloc(1, sizeof *j);

    j->job = (struct job){ .worker = a->worker, .work = work, .done = done };
    j->auth = a;
    j->login = one;
    j->file = htpasswd_file_ref(s->file);
    j->digits = digits;
    *taken = job_pool_add(auth_jobs(a->shared), &j->job, THREADS, WAITING);
    if (!*taken)
        free_job(j);
}

/* `OK ha1="..."`, or from older programs the digits alone. */
static void read_reply(struct auth_asking *k, const struct helper_reply *reply, struct auth_result *r)
{
    struct span ha1 = reply->status == HELPER_OTHER ? span_trim(reply->rest) : helper_reply_value(reply, "ha1");

    r->why = "the helper program can't tell";
    if (reply->status == HELPER_ERR) {
        r->answer = AUTH_NOBODY;
        r->why = "wrong user name or password";
    } else if (digest_is_hash(k->algorithm, ha1)) {
        r->answer = AUTH_AGAIN;
        k->login->verified = worker_mono(k->auth->worker);
        k->login->generation = k->generation;
        memcpy(k->login->ha1, ha1.p, ha1.len);
        k->login->ha1[ha1.len] = '\0';
    }
}

static void add_quoted(struct strbuf *line, struct span text)
{
    sb_char(line, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] == '"' || text.p[i] == '\\')
            sb_char(line, '\\');
        sb_char(line, text.p[i]);
    }
    sb_char(line, '"');
}

static void hand_to_program(struct auth *a, const struct auth_scheme_settings *s, struct login *one,
                            const struct digest_credentials *c, struct span extras)
{
    struct auth_asking *k = auth_asking_new(a, one, read_reply);
    struct strbuf line = { 0 };

    k->algorithm = c->algorithm;
    k->generation = s->generation;
    add_quoted(&line, c->user);
    sb_char(&line, ':');
    add_quoted(&line, c->realm);
    sb_span(&line, extras);
    auth_asking_send(k, s, sb_view(&line));
    sb_free(&line);
}

/* False: too many wait. */
static bool hand_over(struct auth *a, const struct auth_scheme_settings *s, struct login *one,
                      const struct digest_credentials *c, struct span extras)
{
    bool taken = true;

    if (s->file != NULL)
        hand_to_thread(a, s, one, digest_hex_len(c->algorithm), &taken);
    else
        hand_to_program(a, s, one, c, extras);
    return taken;
}

/* What a file says holds until it changes; what a program says as long as a challenge: but once at least. */
static bool is_current(const struct auth_scheme_settings *s, const struct login *one, int64_t mono)
{
    if (s->file != NULL)
        return one->generation == htpasswd_file_generation(s->file, mono);
    return one->generation == s->generation && mono - one->verified <= s->nonce_max_duration;
}

/* The user's HA1 for this realm; NULL: *r says why there is none now. */
static struct login *find_ha1(struct auth *a, const struct auth_settings *all, const struct digest_credentials *c,
                              struct span extras, struct auth_query *query, struct auth_result *r)
{
    const struct auth_scheme_settings *s = &all->schemes[AUTH_DIGEST];
    int64_t mono = worker_mono(a->worker);
    unsigned char key[LOGIN_KEY_BYTES];
    struct login *one;

    logins_key(a->logins, c->user, span_str(digest_algorithm_name(c->algorithm)), extras, key);
    one = logins_find(a->logins, key, mono);
    if (one != NULL && one->is_good && is_current(s, one, mono))
        return one;
    r->answer = AUTH_WAIT;
    if (query == NULL)
        return NULL;
    if (one == NULL)
        one = logins_add(a->logins, key, c->user, mono, (size_t)all->cache_max);
    if (!one->is_pending && !hand_over(a, s, one, c, extras)) {
        logins_drop(a->logins, one);
        auth_busy(a, r);
        return NULL;
    }
    one->is_pending = true;
    list_append(&one->askers, &query->node);
    return NULL;
}

/* What follows scheme and authority of an absolute URL. */
static struct span path_of(struct span url)
{
    const char *scheme = url.len > 0 ? memmem(url.p, url.len, "://", 3) : NULL, *end = url.p + url.len, *path;

    if (scheme == NULL)
        return url;
    path = scheme + 3;
    while (path < end && *path != '/' && *path != '?')
        path++;
    return path == end ? SPAN("/") : span_of(path, (size_t)(end - path));
}

/* RFC 7616 section 3.4.6: else what was overheard for one URL would do for others. Clients of proxies give the whole URL or
 * its path alone. */
static bool is_for(const struct digest_credentials *c, struct span target)
{
    return span_eq(c->uri, target) || span_eq(path_of(c->uri), path_of(target));
}

static bool is_right(const struct auth_scheme_settings *s, const struct digest_credentials *c, struct span ha1,
                     struct span method)
{
    return digest_matches(c, ha1, method) ||
           (s->post_workaround && span_eq(method, SPAN("POST")) && digest_matches(c, ha1, SPAN("GET")));
}

struct nonce_rules auth_nonce_rules(const struct auth_settings *s)
{
    const struct auth_scheme_settings *digest = &s->schemes[AUTH_DIGEST];

    return (struct nonce_rules){ .max_duration = digest->nonce_max_duration,
                                 .max_count = (unsigned)digest->nonce_max_count,
                                 .check_count = digest->check_nonce_count,
                                 .strict = digest->nonce_strictness,
                                 .most = (size_t)s->cache_max };
}

static bool is_offered(const struct auth_scheme_settings *s, enum digest_algorithm a)
{
    for (unsigned i = 0; i < s->n_algorithms; i++)
        if (s->algorithms[i] == a)
            return true;
    return false;
}

void auth_digest_ask(struct auth *a, const struct auth_settings *all, const struct auth_request *q, struct span rest,
                     struct auth_query *query, struct auth_result *r)
{
    const struct auth_scheme_settings *s = &all->schemes[AUTH_DIGEST];
    const struct nonce_rules rules = auth_nonce_rules(all);
    struct digest_credentials *c = &a->digest;
    struct strbuf extras = { 0 };
    struct login *one;

    if (!digest_credentials_parse(rest, c, &r->why))
        return;
    r->user = c->user;
    r->why = span_eq(c->realm, span_str(s->realm)) ? NULL : "Digest credentials for another realm";
    if (r->why == NULL && !is_offered(s, c->algorithm))
        r->why = "Digest credentials with an algorithm that wasn't asked for";
    if (r->why == NULL && !is_for(c, q->target))
        r->why = "Digest credentials for another URL";
    if (r->why != NULL)
        return;
    auth_request_extras(q, s, &extras);
    one = find_ha1(a, all, c, sb_view(&extras), query, r);
    sb_free(&extras);
    if (one == NULL)
        return;
    if (!is_right(s, c, span_str(one->ha1), q->method)) {
        r->why = "wrong user name or password";
    } else if (nonce_use(auth_nonces(a->shared), c->nonce, c->nc, &rules, worker_mono(a->worker)) != NONCE_GOOD) {
        r->stale = true;
        r->why = "the Digest nonce is used up";
    } else {
        one->is_proven = true;
        r->answer = AUTH_USER;
        r->user = span_of(one->user, one->user_len);
    }
}
