#include "access/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

static const struct {
    const char *name, *session;
    size_t hex;
} algorithms[DIGEST_ALGORITHM_N] = {
    [DIGEST_MD5] = { "MD5", "MD5-sess", 32 },
    [DIGEST_SHA256] = { "SHA-256", "SHA-256-sess", 64 },
};

const char *digest_algorithm_name(enum digest_algorithm a)
{
    return algorithms[a].name;
}

size_t digest_hex_len(enum digest_algorithm a)
{
    return algorithms[a].hex;
}

static bool is_hex(struct span s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = ascii_lower(s.p[i]);

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
    }
    return true;
}

bool digest_is_hash(enum digest_algorithm a, struct span hex)
{
    return hex.len == algorithms[a].hex && is_hex(hex);
}

/* --- what the client says ----------------------------------------------------------------------------------------------- */

struct param {
    struct span name, value;
};

struct reader {
    struct span left;
    char *to; /* where values go */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == ',';
}

static void skip(struct reader *r, size_t n)
{
    r->left = span_of(r->left.p + n, r->left.len - n);
}

static struct span put(struct reader *r, const char *from, size_t n)
{
    char *at = r->to;

    memcpy(at, from, n);
    r->to += n;
    return span_of(at, n);
}

/* "..." with \ before what it quotes. */
static bool read_quoted(struct reader *r, struct span *value)
{
    char *from = r->to;

    for (size_t i = 1; i < r->left.len; i++) {
        char c = r->left.p[i];

        if (c == '"') {
            *value = span_of(from, (size_t)(r->to - from));
            skip(r, i + 1);
            return true;
        }
        if (c == '\\' && ++i == r->left.len)
            return false;
        *r->to++ = r->left.p[i];
    }
    return false;
}

/* False at the end, *good false when it is none. */
static bool next_param(struct reader *r, struct param *p, bool *good)
{
    size_t n = 0;

    *good = true;
    while (r->left.len > 0 && is_blank(r->left.p[0]))
        skip(r, 1);
    if (r->left.len == 0)
        return false;
    *good = false;
    while (n < r->left.len && r->left.p[n] != '=' && !is_blank(r->left.p[n]) && r->left.p[n] != '"')
        n++;
    if (n == 0 || n + 1 >= r->left.len || r->left.p[n] != '=')
        return false;
    p->name = span_of(r->left.p, n);
    skip(r, n + 1);
    if (r->left.p[0] == '"') {
        *good = read_quoted(r, &p->value);
    } else {
        n = 0;
        while (n < r->left.len && !is_blank(r->left.p[n]) && r->left.p[n] != '"')
            n++;
        p->value = put(r, r->left.p, n);
        skip(r, n);
        *good = n > 0;
    }
    if (r->left.len > 0 && !is_blank(r->left.p[0]))
        *good = false;
    return *good;
}

static bool read_algorithm(struct digest_credentials *c, struct span name)
{
    for (int a = 0; a < DIGEST_ALGORITHM_N; a++) {
        c->is_session = span_eq_nocase(name, span_str(algorithms[a].session));
        if (c->is_session || span_eq_nocase(name, span_str(algorithms[a].name))) {
            c->algorithm = (enum digest_algorithm)a;
            return true;
        }
    }
    return false;
}

static bool read_count(struct digest_credentials *c)
{
    if (c->nc_text.len != 8 || !is_hex(c->nc_text))
        return false;
    c->nc = 0;
    for (size_t i = 0; i < 8; i++) {
        char digit = ascii_lower(c->nc_text.p[i]);

        c->nc = c->nc << 4 | (uint32_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return c->nc > 0;
}

static bool judge(struct digest_credentials *c, struct span algorithm, struct span qop, const char **why)
{
    *why = "Digest credentials with something missing";
    if (c->user.len == 0 || c->realm.p == NULL || c->nonce.len == 0 || c->uri.len == 0 || c->response.len == 0)
        return false;
    *why = "Digest credentials without qop=auth";
    if (!span_eq_nocase(qop, SPAN("auth")) || c->cnonce.len == 0)
        return false;
    *why = "Digest credentials with an algorithm that isn't known";
    if (algorithm.p == NULL)
        algorithm = SPAN("MD5"); /* RFC 7616 section 3.3 */
    if (!read_algorithm(c, algorithm))
        return false;
    *why = "malformed Digest credentials";
    if (!read_count(c) || !digest_is_hash(c->algorithm, c->response))
        return false;
    *why = "credentials that are too long";
    return c->user.len <= DIGEST_USER_MAX;
}

bool digest_credentials_parse(struct span rest, struct digest_credentials *out, const char **why)
{
    struct span algorithm = SPAN_NONE, qop = SPAN_NONE;
    const struct {
        struct span name;
        struct span *value;
    } known[] = {
        { SPAN("username"), &out->user }, { SPAN("realm"), &out->realm },       { SPAN("nonce"), &out->nonce },
        { SPAN("uri"), &out->uri },       { SPAN("response"), &out->response }, { SPAN("cnonce"), &out->cnonce },
        { SPAN("nc"), &out->nc_text },    { SPAN("algorithm"), &algorithm },    { SPAN("qop"), &qop },
    };
    struct reader r = { rest, out->text };
    struct param p;
    bool good = true;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        *known[i].value = SPAN_NONE;
    *why = "credentials that are too long";
    if (rest.len > DIGEST_VALUE_MAX)
        return false;
    *why = "malformed Digest credentials";
    while (next_param(&r, &p, &good))
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (span_eq_nocase(p.name, known[i].name)) {
                if (known[i].value->p != NULL)
                    return false; /* said twice: which counts? */
                *known[i].value = p.value;
            }
    return good && judge(out, algorithm, qop, why);
}

/* --- arithmetic --------------------------------------------------------------------------------------------------------- */

static const EVP_MD *md_of(enum digest_algorithm a)
{
    return a == DIGEST_MD5 ? EVP_md5() : EVP_sha256();
}

/* The hash of the parts with colons between, in lower-case hexadecimal. */
static bool hash(enum digest_algorithm a, const struct span *parts, size_t n, char out[DIGEST_HEX_MAX + 1])
{
    static const char digits[] = "0123456789abcdef";
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char sum[EVP_MAX_MD_SIZE];
    bool good = ctx != NULL && EVP_DigestInit_ex(ctx, md_of(a), NULL) == 1;

    for (size_t i = 0; good && i < n; i++)
        good = (i == 0 || EVP_DigestUpdate(ctx, ":", 1) == 1) &&
               (parts[i].len == 0 || EVP_DigestUpdate(ctx, parts[i].p, parts[i].len) == 1);
    good = good && EVP_DigestFinal_ex(ctx, sum, NULL) == 1;
    EVP_MD_CTX_free(ctx);
    if (!good)
        return false;
    for (size_t i = 0; i < algorithms[a].hex / 2; i++) {
        out[2 * i] = digits[sum[i] >> 4];
        out[2 * i + 1] = digits[sum[i] & 15];
    }
    out[algorithms[a].hex] = '\0';
    return true;
}

bool digest_ha1(enum digest_algorithm a, struct span user, struct span realm, struct span password,
                char out[DIGEST_HEX_MAX + 1])
{
    const struct span parts[] = { user, realm, password };

    return hash(a, parts, 3, out);
}

/* Hashes are compared, and hashed again, in lower case. */
static struct span lowered(struct span hex, char out[DIGEST_HEX_MAX + 1])
{
    for (size_t i = 0; i < hex.len; i++)
        out[i] = ascii_lower(hex.p[i]);
    return span_of(out, hex.len);
}

bool digest_matches(const struct digest_credentials *c, struct span ha1, struct span method)
{
    char first[DIGEST_HEX_MAX + 1], second[DIGEST_HEX_MAX + 1], wanted[DIGEST_HEX_MAX + 1], said[DIGEST_HEX_MAX + 1];
    size_t n = digest_hex_len(c->algorithm);
    struct span a1;

    if (!digest_is_hash(c->algorithm, ha1))
        return false;
    a1 = lowered(ha1, first);
    if (c->is_session) {
        const struct span session[] = { a1, c->nonce, c->cnonce };

        if (!hash(c->algorithm, session, 3, said))
            return false;
        memcpy(first, said, n);
    }
    {
        const struct span a2[] = { method, c->uri };

        if (!hash(c->algorithm, a2, 2, second))
            return false;
    }
    {
        const struct span all[] = { a1, c->nonce, c->nc_text, c->cnonce, SPAN("auth"), span_of(second, n) };

        if (!hash(c->algorithm, all, 6, wanted))
            return false;
    }
    (void)lowered(c->response, said);
    return CRYPTO_memcmp(said, wanted, n) == 0;
}
