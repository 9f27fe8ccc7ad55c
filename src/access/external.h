/* access/external.h: ACLs that helper programs decide: what external_acl_type defines, and what is known of a request.
 *
 * Threads: definitions are built by the thread that reads the configuration, and read by any; a memo is its request's. */
#pragma once
#include "access/helper.h"

/* A word of the question. */
enum external_word_kind {
    EXTERNAL_CODE, /* a compiled logformat */
    EXTERNAL_ACL,  /* the name of the ACL */
    EXTERNAL_DATA, /* its arguments */
};
struct external_word {
    enum external_word_kind kind;
    char *written; /* as in the file */
    void *format;  /* EXTERNAL_CODE */
};

/* external_acl_type */
struct external_acl {
    char *name;
    struct external_word *words;
    size_t n_words;
    bool has_data;             /* one of them is %DATA; else the arguments come last */
    bool needs_user;           /* %LOGIN is among them: who he is has to be known first */
    int64_t ttl, negative_ttl; /* microseconds that an answer is good for */
    int grace;                 /* percent of that, at its end, in which it is asked again while it still counts */
    size_t cache_max;          /* answers a worker keeps; 0: none */
    size_t index;              /* among the definitions */
    struct helper_pool *pool;
};

/* `acl NAME external DEFINITION arguments`: one of these, as constant as the ACL. */
struct external_use {
    const struct external_acl *acl;
    const char *name; /* the ACL's */
    char **args;
    size_t n_args;
};

/* What has been asked about one request. Made when an external ACL is first asked about it; NULL until then; free() ends it. */
#define EXTERNALS_MAX 16 /* uses; more of them are undecided */
enum external_answer { EXTERNAL_NO, EXTERNAL_YES, EXTERNAL_BROKEN };
struct external_memo {
    struct {
        const struct external_use *use;
        enum external_answer answer;
    } known[EXTERNALS_MAX];
    size_t n;
    const struct external_use *wanted; /* the one that an access list stopped at last */
};

/* Makes it when there is none. EXTERNALS_MAX reached: the answer is dropped. */
void external_memo_add(struct external_memo **holder, const struct external_use *use, enum external_answer answer);
