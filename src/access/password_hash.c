#include "access/password_hash.h"

#include <crypt.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

#define MD5_BYTES 16
#define SHA1_BYTES 20
#define APR1_PREFIX "$apr1$"
#define APR1_SALT_MAX 8
#define APR1_DIGITS 22 /* of the hash: 16 bytes, 6 bits each */
#define SHA_PREFIX "{SHA}"
#define SHA_DIGITS 28

static bool starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

static bool same(const char *a, const char *b)
{
    size_t n = strlen(a);

    return n == strlen(b) && CRYPTO_memcmp(a, b, n) == 0;
}

/* --- $apr1$: the MD5 crypt of FreeBSD with a name of its own, which libcrypt doesn't know ------------------------- */

/* The digest of what is added until md5_end(). */
struct md5 {
    EVP_MD_CTX *ctx;
    bool works; /* MD5 may be switched off in the machine's OpenSSL */
};

static void md5_begin(struct md5 *m)
{
    m->works = m->works && EVP_DigestInit_ex(m->ctx, EVP_md5(), NULL) == 1;
}

static void md5_add(struct md5 *m, const void *p, size_t n)
{
    m->works = m->works && EVP_DigestUpdate(m->ctx, p, n) == 1;
}

static void md5_end(struct md5 *m, unsigned char out[MD5_BYTES])
{
    m->works = m->works && EVP_DigestFinal_ex(m->ctx, out, NULL) == 1;
}

static void apr1_first(struct md5 *m, const char *password, const char *salt, size_t salt_len,
                       unsigned char out[MD5_BYTES])
{
    size_t len = strlen(password);

    md5_begin(m);
    md5_add(m, password, len);
    md5_add(m, salt, salt_len);
    md5_add(m, password, len);
    md5_end(m, out);
    md5_begin(m);
    md5_add(m, password, len);
    md5_add(m, APR1_PREFIX, strlen(APR1_PREFIX));
    md5_add(m, salt, salt_len);
    for (size_t left = len; left > 0; left -= left < MD5_BYTES ? left : MD5_BYTES)
        md5_add(m, out, left < MD5_BYTES ? left : MD5_BYTES);
    for (size_t bits = len; bits > 0; bits >>= 1)
        md5_add(m, bits & 1 ? "" : password, 1);
    md5_end(m, out);
}

static void apr1_round(struct md5 *m, unsigned i, const char *password, const char *salt, size_t salt_len,
                       unsigned char out[MD5_BYTES])
{
    size_t len = strlen(password);

    md5_begin(m);
    if (i % 2 == 1)
        md5_add(m, password, len);
    else
        md5_add(m, out, MD5_BYTES);
    if (i % 3 != 0)
        md5_add(m, salt, salt_len);
    if (i % 7 != 0)
        md5_add(m, password, len);
    if (i % 2 == 1)
        md5_add(m, out, MD5_BYTES);
    else
        md5_add(m, password, len);
    md5_end(m, out);
}

static void apr1_digits(const unsigned char hash[MD5_BYTES], char out[APR1_DIGITS + 1])
{
    static const char digits[] = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    static const unsigned char order[][3] = { { 0, 6, 12 }, { 1, 7, 13 }, { 2, 8, 14 }, { 3, 9, 15 }, { 4, 10, 5 } };
    char *p = out;

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        unsigned v = (unsigned)hash[order[i][0]] << 16 | (unsigned)hash[order[i][1]] << 8 | hash[order[i][2]];

        for (unsigned k = 0; k < 4; k++, v >>= 6)
            *p++ = digits[v & 63];
    }
    *p++ = digits[hash[11] & 63];
    *p++ = digits[hash[11] >> 6];
    *p = '\0';
}

static bool apr1_matches(const char *password, const char *hash)
{
    const char *salt = hash + strlen(APR1_PREFIX);
    size_t salt_len = strcspn(salt, "$");
    struct md5 m = { .ctx = EVP_MD_CTX_new(), .works = true };
    unsigned char sum[MD5_BYTES];
    char text[APR1_DIGITS + 1];

    m.works = m.ctx != NULL;
    apr1_first(&m, password, salt, salt_len, sum);
    for (unsigned i = 0; i < 1000; i++)
        apr1_round(&m, i, password, salt, salt_len, sum);
    EVP_MD_CTX_free(m.ctx);
    if (!m.works)
        return false;
    apr1_digits(sum, text);
    return same(text, salt + salt_len + 1);
}

static bool apr1_is_usable(const char *hash)
{
    const char *salt = hash + strlen(APR1_PREFIX);
    size_t n = strcspn(salt, "$");

    return n > 0 && n <= APR1_SALT_MAX && salt[n] == '$' && strlen(salt + n + 1) == APR1_DIGITS;
}

/* --- {SHA}: SHA-1 without salt --------------------------------------------------------------------------------------- */

static bool sha_matches(const char *password, const char *hash)
{
    unsigned char sum[EVP_MAX_MD_SIZE], text[SHA_DIGITS + 1];

    if (EVP_Digest(password, strlen(password), sum, NULL, EVP_sha1(), NULL) != 1)
        return false;
    EVP_EncodeBlock(text, sum, SHA1_BYTES);
    return same((const char *)text, hash + strlen(SHA_PREFIX));
}

/* --- the rest is libcrypt's ------------------------------------------------------------------------------------------- */

static bool crypt_matches(const char *password, const char *hash)
{
    struct crypt_data *d = xcalloc(1, sizeof *d); /* 32 KB: too large for a small thread's stack */
    const char *made = crypt_r(password, hash, d);
    bool matches = made != NULL && made[0] != '*' && same(made, hash);

    OPENSSL_cleanse(d, sizeof *d);
    free(d);
    return matches;
}

bool password_hash_is_usable(const char *hash, const char **why)
{
    int known;
    bool usable;

    *why = NULL;
    if (starts(hash, APR1_PREFIX) || starts(hash, SHA_PREFIX)) {
        usable = starts(hash, APR1_PREFIX) ? apr1_is_usable(hash) : strlen(hash) == strlen(SHA_PREFIX) + SHA_DIGITS;
        if (!usable)
            *why = "the hash is cut short or mistyped";
        return usable;
    }
    /* 13 characters may be the old DES crypt, which looks at the first 8 of the password only; or plain text. */
    if (hash[0] != '$') {
        *why = "the password is in plain text, or hashed by the old DES: write it with `htpasswd -B`";
        return false;
    }
    known = crypt_checksalt(hash);
    if (known == CRYPT_SALT_OK || known == CRYPT_SALT_METHOD_LEGACY || known == CRYPT_SALT_TOO_CHEAP)
        return true;
    *why = "libcrypt doesn't know this kind of hash";
    return false;
}

bool password_matches(const char *password, const char *hash)
{
    const char *why;

    if (!password_hash_is_usable(hash, &why))
        return false;
    if (starts(hash, APR1_PREFIX))
        return apr1_matches(password, hash);
    if (starts(hash, SHA_PREFIX))
        return sha_matches(password, hash);
    return crypt_matches(password, hash);
}
