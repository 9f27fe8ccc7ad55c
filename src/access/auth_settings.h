/* access/auth_settings.h: auth_param and its kin, read: how users are asked who they are. Part of struct settings. */
#pragma once
#include "access/digest.h"
#include "access/helper.h"
#include "access/htpasswd.h"
#include "base/strbuf.h"

enum auth_scheme { AUTH_BASIC, AUTH_DIGEST, AUTH_NEGOTIATE, AUTH_SCHEME_N };

struct auth_scheme_settings {
    bool is_named; /* some auth_param line has it */
    bool works;    /* it can tell right credentials from wrong: it is offered */
    char *where;   /* FILE:LINE of its first line */
    char *realm;
    int children;               /* threads for hashes; 0: not said */
    int queue_size;             /* logins that wait for one */
    char *file_path;            /* auth_param basic file, auth_param digest file */
    struct htpasswd_file *file; /* NULL: none */
    struct helper_pool *pool;   /* or a program; lent; NULL: none */
    uint64_t generation;        /* with a program: what other settings' programs said doesn't count */
    char *key_extras;           /* what follows in a question, with logformat codes; NULL: nothing */
    void *key_extras_format;    /* compiled */
    /* Basic */
    int64_t credentials_ttl; /* microseconds */
    bool case_sensitive, utf8;
    /* Digest */
    enum digest_algorithm algorithms[DIGEST_ALGORITHM_N]; /* as they are offered */
    unsigned n_algorithms;
    int64_t nonce_garbage_interval, nonce_max_duration; /* microseconds */
    int nonce_max_count;
    bool nonce_strictness, check_nonce_count, post_workaround;
    /* Negotiate */
    bool keep_alive;
};

/* Those that are offered, in order. */
struct auth_offer {
    enum auth_scheme order[AUTH_SCHEME_N];
    unsigned n; /* 0: all that are set up, as their lines stand */
};

struct auth_settings {
    struct auth_scheme_settings schemes[AUTH_SCHEME_N];
    struct auth_offer named;               /* in the order of their first lines */
    int64_t ttl, garbage_interval, ip_ttl; /* authenticate_*; microseconds */
    int cache_max;                         /* authenticate_cache_max */
};

const char *auth_scheme_name(enum auth_scheme s); /* "Basic" */
/* Some scheme works. */
static inline bool auth_is_set(const struct auth_settings *s)
{
    for (unsigned i = 0; i < s->named.n; i++)
        if (s->schemes[s->named.order[i]].works)
            return true;
    return false;
}
/* format_free: what frees key_extras_format; NULL when none was compiled. */
void auth_settings_free(struct auth_settings *s, void (*format_free)(void *format));
