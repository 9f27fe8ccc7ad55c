/* access/htpasswd.h: the users of an htpasswd or htdigest file, `NAME:HASH` a line, and the file watched for changes.
 *
 * Threads: a table is read-only; a file is any thread's. */
#pragma once
#include <stdint.h>
#include "base/span.h"

struct htpasswd; /* the users at one time */

/* Told of a line that is of no use: its user can't log in. */
typedef void htpasswd_problem(void *ctx, unsigned line, const char *why);

struct htpasswd_form {
    bool fold_case;    /* names count in any letter case */
    const char *realm; /* htdigest's lines, `NAME:REALM:HA1`, of this realm; NULL: htpasswd's */
};

/* From a file's text: empty lines and those with a # in front are comments; of two lines for a user the first counts.
 * One reference, the caller's. Never NULL. */
struct htpasswd *htpasswd_parse(struct span text, const struct htpasswd_form *form, htpasswd_problem *problem,
                                void *ctx);
void htpasswd_unref(struct htpasswd **holder);
/* NULL: no such user. Lives as long as the table. */
const char *htpasswd_hash(const struct htpasswd *t, struct span user);
/* Of htdigest's form: that of so many digits. NULL: none. */
const char *htpasswd_ha1(const struct htpasswd *t, struct span user, size_t digits);
/* Some user's, so that a wrong name takes as long as a wrong password; NULL: there are no users. */
const char *htpasswd_any_hash(const struct htpasswd *t);
size_t htpasswd_count(const struct htpasswd *t);

struct htpasswd_file;

/* Reads it; form is copied. NULL: errno says why it can't be read. One reference, the caller's. */
struct htpasswd_file *htpasswd_file_open(const char *path, const struct htpasswd_form *form, htpasswd_problem *problem,
                                         void *ctx);
struct htpasswd_file *htpasswd_file_ref(struct htpasswd_file *f);
void htpasswd_file_unref(struct htpasswd_file **holder);
const char *htpasswd_file_path(const struct htpasswd_file *f);
/* A number that changes when the file does, and that no other file in the process has. Looks at the file once a second at
 * most: mono is now, in monotonic microseconds. */
uint64_t htpasswd_file_generation(struct htpasswd_file *f, int64_t mono);
/* Another such number, for what isn't a file. */
uint64_t htpasswd_new_generation(void);
/* Its users, read anew if it has changed; the caller unrefs. What can't be read any more changes nothing, but for a line
 * in cache.log. May take long: not for a worker. */
struct htpasswd *htpasswd_file_table(struct htpasswd_file *f, uint64_t *generation);
