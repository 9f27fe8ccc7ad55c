/* access/credentials.h: what a client says in Proxy-Authorization or Authorization (RFC 9110 section 11.4, RFC 7617),
 * taken apart and judged. Pure; any thread. */
#pragma once
#include "base/span.h"

/* "Basic dXNlcjpwYXNz" to the scheme and the rest, without blanks around it. False: it has no scheme, or bytes that
 * credentials can't have. Spans are value's. */
bool credentials_split(struct span value, struct span *scheme, struct span *rest);

/* Longer ones are nobody's: libcrypt takes passwords up to 511 bytes. */
#define BASIC_USER_MAX 255
#define BASIC_PASSWORD_MAX 511
/* Of text in base64: more can't be within the two. */
#define BASIC_TOKEN_MAX 1024

struct basic_credentials {
    struct span user, password; /* in text; a NUL behind each */
    char text[2 * (BASIC_USER_MAX + BASIC_PASSWORD_MAX) + 2];
};

struct basic_options {
    bool fold_case; /* casesensitive off: the user's name in lower case (ASCII) */
    bool utf8;      /* what isn't UTF-8 is taken as ISO 8859-1 and made UTF-8 */
};

/* rest is what credentials_split() left. False: *why (static text) says what is wrong; nothing of it is of use. The
 * caller wipes `out` when it is done: it holds a password. */
bool basic_credentials_parse(struct span rest, const struct basic_options *o, struct basic_credentials *out,
                             const char **why);
