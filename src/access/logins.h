/* access/logins.h: credentials that were found right, remembered for a while, and those that are being looked at. Passwords
 * aren't kept: what is remembered is found by an HMAC under a key that nobody outside the process has.
 *
 * Threads: one worker. */
#pragma once
#include "base/hash.h"
#include "base/list.h"
#include "base/span.h"

#define LOGIN_KEY_BYTES 32
#define LOGIN_USER_MAX 510 /* bytes of a name, made UTF-8 */

struct login {
    struct list_node age;    /* logins.c's: the longest unused first */
    struct login *next;      /* logins.c's: of its bucket */
    struct list_node askers; /* struct auth_query: who waits for it; is_pending */
    bool is_pending;         /* somebody finds out whether it is right: it isn't dropped meanwhile */
    bool is_good;            /* it was found right: */
    int64_t verified;        /* when, monotonic microseconds */
    uint64_t generation;     /* by which state of the source (htpasswd_file_generation()) */
    struct hash128 mark;     /* Basic: of what it was found by: the password's hash */
    char ha1[65];            /* Digest: the user's HA1 */
    bool is_proven;          /* Digest: somebody knew the password; Basic's are good or forgotten */
    int64_t used;            /* asked for last */
    unsigned char key[LOGIN_KEY_BYTES];
    size_t user_len;
    char user[]; /* with a NUL */
};

struct logins;
struct logins *logins_new(void);
/* None is pending any more. */
void logins_free(struct logins **holder);
/* The key of a user's password; more: other things that must be the same, or SPAN_NONE. */
void logins_key(struct logins *l, struct span user, struct span password, struct span more,
                unsigned char key[LOGIN_KEY_BYTES]);
/* NULL: not known. What is found is the youngest now. */
struct login *logins_find(struct logins *l, const unsigned char key[LOGIN_KEY_BYTES], int64_t mono);
/* A new one, not good yet. most: how many may be remembered; the longest unused go. */
struct login *logins_add(struct logins *l, const unsigned char key[LOGIN_KEY_BYTES], struct span user, int64_t mono,
                         size_t most);
void logins_drop(struct logins *l, struct login *one);
/* Those that weren't asked for since then go. */
void logins_drop_unused(struct logins *l, int64_t since);
/* The youngest first, until each() says false. */
void logins_each(const struct logins *l, bool (*each)(const struct login *one, void *ctx), void *ctx);
size_t logins_count(const struct logins *l);
size_t logins_bytes(const struct logins *l);
