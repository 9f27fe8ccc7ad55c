/* access/digest.h: Digest credentials (RFC 7616) taken apart, and the response they should have. Pure; any thread. */
#pragma once
#include "base/span.h"

enum digest_algorithm { DIGEST_MD5, DIGEST_SHA256, DIGEST_ALGORITHM_N };
#define DIGEST_HEX_MAX 64 /* digits of the longest */

const char *digest_algorithm_name(enum digest_algorithm a); /* "SHA-256" */
size_t digest_hex_len(enum digest_algorithm a);             /* digits of one hash */
/* Hexadecimal digits, as many as one of a's hashes has? */
bool digest_is_hash(enum digest_algorithm a, struct span hex);

#define DIGEST_VALUE_MAX 12288 /* bytes of a field value */
#define DIGEST_USER_MAX 255

struct digest_credentials {
    struct span user, realm, nonce, uri, response, cnonce, nc_text; /* without quotes; in text */
    enum digest_algorithm algorithm;
    bool is_session; /* -sess */
    uint32_t nc;
    char text[DIGEST_VALUE_MAX];
};

/* rest is what credentials_split() left. False: *why (static text) says what is wrong. qop=auth alone is taken: without qop
 * anybody could say the same again. */
bool digest_credentials_parse(struct span rest, struct digest_credentials *out, const char **why);

/* H(user:realm:password). False: this machine's OpenSSL doesn't have it. */
bool digest_ha1(enum digest_algorithm a, struct span user, struct span realm, struct span password,
                char out[DIGEST_HEX_MAX + 1]);
/* Do they have the response of this HA1 to this method? Compares in constant time. */
bool digest_matches(const struct digest_credentials *c, struct span ha1, struct span method);
