/* RFC 7617, by an htpasswd file or a helper program. */
#include <openssl/crypto.h>
#include <stdlib.h>
#include "access/auth_private.h"
#include "access/credentials.h"
#include "access/password_hash.h"
#include "base/mem.h"

#define THREADS 2 /* without `children` */

struct basic_job {
    struct job job;
    struct auth *auth;
    struct login *login; /* pending: it stays */
    struct htpasswd_file *file;
    bool any_case;
    char password[2 * BASIC_PASSWORD_MAX + 1];
    bool is_known;       /* it was right, by the password hash of this mark: */
    struct hash128 mark; /* found */
    bool is_right;
    uint64_t generation;
};

static void free_job(struct basic_job *j)
{
    OPENSSL_cleanse(j->password, sizeof j->password);
    htpasswd_file_unref(&j->file);
    free(j);
}

/* On a thread of the pool. */
static void work(struct job *job)
{
    struct basic_job *j = CONTAINER_OF(job, struct basic_job, job);
    struct htpasswd *t = htpasswd_file_table(j->file, &j->generation);
    const char *hash = htpasswd_hash(t, span_of(j->login->user, j->login->user_len));
    struct hash128 mark;

    if (hash != NULL) {
        mark = hash128(hash, strlen(hash));
        /* Another user's line has changed, not this one's. */
        j->is_right = (j->is_known && hash128_eq(mark, j->mark)) || password_matches(j->password, hash);
        j->mark = mark;
    } else if ((hash = htpasswd_any_hash(t)) != NULL) {
        (void)password_matches(j->password, hash); /* a name that isn't known must take no less time */
    }
    htpasswd_unref(&t);
}

static void done(struct job *job)
{
    struct basic_job *j = CONTAINER_OF(job, struct basic_job, job);
    struct auth_result r = { .answer = AUTH_NOBODY, .any_case = j->any_case, .why = "wrong user name or password" };
    char user[2 * BASIC_USER_MAX + 1];

    memcpy(user, j->login->user, j->login->user_len + 1);
    r.user = span_of(user, j->login->user_len);
    if (j->is_right) {
        r.answer = AUTH_USER;
        r.why = NULL;
        if (!j->is_known)
            j->login->verified = worker_mono(j->auth->worker);
        j->login->generation = j->generation;
        j->login->mark = j->mark;
    } else if (!j->job.worked) {
        auth_busy(j->auth, &r);
    }
    auth_settle(j->auth, j->login, &r);
    free_job(j);
}

static void hand_to_thread(struct auth *a, const struct auth_scheme_settings *s, struct login *one,
                           struct span password, bool is_known, bool *taken)
{
    struct basic_job *j = xcalloc(1, sizeof *j);
    int threads = s->children > 0 ? s->children : THREADS;
    int waiting = s->queue_size >= 0 ? s->queue_size : 2 * threads;

    j->job = (struct job){ .worker = a->worker, .work = work, .done = done };
    j->auth = a;
    j->login = one;
    j->file = htpasswd_file_ref(s->file);
    j->any_case = !s->case_sensitive;
    j->is_known = is_known;
    j->mark = one->mark;
    memcpy(j->password, password.p, password.len + 1);
    *taken = job_pool_add(auth_jobs(a->shared), &j->job, (unsigned)threads, (unsigned)waiting);
    if (!*taken)
        free_job(j);
}

static void read_reply(struct auth_asking *k, const struct helper_reply *reply, struct auth_result *r)
{
    r->any_case = k->any_case;
    r->why = "the helper program can't tell";
    if (reply->status == HELPER_OK) {
        r->answer = AUTH_USER;
        r->why = NULL;
        k->login->verified = worker_mono(k->auth->worker);
        k->login->generation = k->generation;
    } else if (reply->status == HELPER_ERR) {
        r->answer = AUTH_NOBODY;
        r->why = "wrong user name or password";
    }
}

static void hand_to_program(struct auth *a, const struct auth_scheme_settings *s, struct login *one,
                            const struct basic_credentials *c, struct span extras)
{
    struct auth_asking *k = auth_asking_new(a, one, read_reply);
    struct strbuf line = { 0 };

    k->any_case = !s->case_sensitive;
    k->generation = s->generation;
    auth_add_escaped(&line, c->user);
    sb_char(&line, ' ');
    auth_add_escaped(&line, c->password);
    sb_span(&line, extras);
    auth_asking_send(k, s, sb_view(&line));
    OPENSSL_cleanse(line.p, line.len);
    sb_free(&line);
}

/* False: too many wait. */
static bool hand_over(struct auth *a, const struct auth_scheme_settings *s, struct login *one,
                      const struct basic_credentials *c, struct span extras, bool is_known)
{
    bool taken = true;

    if (s->file != NULL)
        hand_to_thread(a, s, one, c->password, is_known, &taken);
    else
        hand_to_program(a, s, one, c, extras);
    return taken;
}

static uint64_t generation_of(const struct auth_scheme_settings *s, int64_t mono)
{
    return s->file != NULL ? htpasswd_file_generation(s->file, mono) : s->generation;
}

static void look(struct auth *a, const struct auth_settings *all, const struct basic_credentials *c, struct span extras,
                 struct auth_query *query, struct auth_result *r)
{
    const struct auth_scheme_settings *s = &all->schemes[AUTH_BASIC];
    int64_t mono = worker_mono(a->worker);
    uint64_t generation = generation_of(s, mono);
    unsigned char key[LOGIN_KEY_BYTES];
    struct login *one;
    bool is_young;

    logins_key(a->logins, c->user, c->password, extras, key);
    one = logins_find(a->logins, key, mono);
    is_young = one != NULL && one->is_good && mono - one->verified < s->credentials_ttl;
    if (is_young && one->generation == generation) {
        r->answer = AUTH_USER;
        r->user = span_of(one->user, one->user_len);
        r->any_case = !s->case_sensitive;
        return;
    }
    r->answer = AUTH_WAIT;
    if (query == NULL)
        return;
    if (one == NULL)
        one = logins_add(a->logins, key, c->user, mono, (size_t)all->cache_max);
    if (!one->is_pending && !hand_over(a, s, one, c, extras, is_young)) {
        logins_drop(a->logins, one);
        auth_busy(a, r);
        return;
    }
    one->is_pending = true;
    list_append(&one->askers, &query->node);
}

void auth_basic_ask(struct auth *a, const struct auth_settings *s, const struct auth_request *q, struct span rest,
                    struct auth_query *query, struct auth_result *r)
{
    const struct auth_scheme_settings *basic = &s->schemes[AUTH_BASIC];
    struct basic_options o = { .fold_case = !basic->case_sensitive, .utf8 = basic->utf8 };
    struct basic_credentials c;
    struct strbuf extras = { 0 };

    if (basic_credentials_parse(rest, &o, &c, &r->why)) {
        auth_request_extras(q, basic, &extras);
        look(a, s, &c, sb_view(&extras), query, r);
    }
    sb_free(&extras);
    OPENSSL_cleanse(&c, sizeof c);
}
