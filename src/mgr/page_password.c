#include "mgr/page_password.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>

/* Longer ones than this are no passwords of ours. */
#define CREDENTIALS_MAX 1024

static bool names_page(const struct cachemgr_setting *c, const char *page)
{
    for (size_t i = 0; i < c->n_actions; i++)
        if (strcmp(c->actions[i], "all") == 0 || strcmp(c->actions[i], page) == 0)
            return true;
    return false;
}

enum page_access page_access(const struct settings *s, const char *page, bool needs_password, const char **password)
{
    for (size_t i = 0; i < s->n_cachemgr; i++) {
        const struct cachemgr_setting *c = &s->cachemgr[i];

        if (!names_page(c, page))
            continue;
        if (strcmp(c->password, "none") == 0)
            return PAGE_PUBLIC;
        if (strcmp(c->password, "disable") == 0)
            return PAGE_DISABLED;
        *password = c->password;
        return PAGE_PROTECTED;
    }
    return needs_password ? PAGE_HIDDEN : PAGE_PUBLIC;
}

const char *page_access_name(enum page_access a)
{
    static const char *const names[] = {
        [PAGE_PUBLIC] = "public",
        [PAGE_PROTECTED] = "protected",
        [PAGE_HIDDEN] = "hidden",
        [PAGE_DISABLED] = "disabled",
    };

    return names[a];
}

/* In a time that tells neither how much of it is right nor how long the right one is. */
static bool same_secret(struct span given, struct span wanted)
{
    unsigned char a[SHA256_DIGEST_LENGTH], b[SHA256_DIGEST_LENGTH];

    SHA256((const unsigned char *)(given.p ? given.p : ""), given.len, a);
    SHA256((const unsigned char *)(wanted.p ? wanted.p : ""), wanted.len, b);
    return CRYPTO_memcmp(a, b, sizeof a) == 0;
}

/* "user:password" from base64; false when it isn't. EVP_DecodeBlock() lets blanks pass and leaves the padding's
 * zeros. */
static bool decode_basic(struct span coded, unsigned char out[CREDENTIALS_MAX], struct span *decoded)
{
    size_t padding = 0;
    int n;

    if (coded.len == 0 || coded.len % 4 != 0 || coded.len > CREDENTIALS_MAX)
        return false;
    while (padding < 2 && coded.p[coded.len - 1 - padding] == '=')
        padding++;
    if ((n = EVP_DecodeBlock(out, (const unsigned char *)coded.p, (int)coded.len)) < (int)padding)
        return false;
    *decoded = span_of((const char *)out, (size_t)n - padding);
    return true;
}

static bool basic_matches(struct span authorization, struct span wanted)
{
    unsigned char bytes[CREDENTIALS_MAX];
    struct span decoded;
    const char *colon;
    bool same = false;

    if (!span_starts_nocase(authorization, SPAN("Basic ")))
        return false;
    authorization = span_trim(span_of(authorization.p + 6, authorization.len - 6));
    if (decode_basic(authorization, bytes, &decoded) && (colon = memchr(bytes, ':', decoded.len)) != NULL)
        same = same_secret(span_of(colon + 1, decoded.len - (size_t)(colon + 1 - decoded.p)), wanted);
    OPENSSL_cleanse(bytes, sizeof bytes);
    return same;
}

bool page_password_given(const struct internal_request *q, const char *password)
{
    struct span wanted = span_str(password);
    const struct head_field *f;

    if (q->password.len > 0)
        return same_secret(q->password, wanted);
    f = q->request ? head_find_name(q->request, SPAN("Authorization"), NULL) : NULL;
    return f != NULL && basic_matches(field_value(q->request, f), wanted);
}
