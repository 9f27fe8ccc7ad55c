#include "access/credentials.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

static bool is_token_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

bool credentials_split(struct span value, struct span *scheme, struct span *rest)
{
    size_t n = 0;

    value = span_trim(value);
    while (n < value.len && is_token_char(value.p[n]))
        n++;
    if (n == 0 || (n < value.len && value.p[n] != ' ' && value.p[n] != '\t'))
        return false;
    for (size_t i = n; i < value.len; i++)
        if (((unsigned char)value.p[i] < ' ' && value.p[i] != '\t') || value.p[i] == 0x7f)
            return false;
    *scheme = span_of(value.p, n);
    *rest = span_trim(span_of(value.p + n, value.len - n));
    return true;
}

/* EVP_DecodeBlock() is lenient about blanks and says nothing of padding: judged first. */
static bool is_base64(struct span s)
{
    size_t padding = 0;

    if (s.len == 0 || s.len % 4 != 0)
        return false;
    while (padding < 2 && s.p[s.len - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < s.len - padding; i++) {
        char c = s.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/'))
            return false;
    }
    return true;
}

static size_t base64_decode(struct span s, char *out)
{
    int n = EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)s.p, (int)s.len);

    if (n < 0)
        return 0;
    for (size_t i = s.len; s.p[i - 1] == '='; i--)
        n--;
    return (size_t)n;
}

/* The length of the sequence of UTF-8 at s; 0: there is none (RFC 3629 section 4). */
static size_t utf8_sequence(const unsigned char *s, size_t n)
{
    size_t len = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : 4;

    if ((s[0] >= 0x80 && s[0] < 0xc2) || s[0] > 0xf4 || len > n)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return len;
}

static bool is_utf8(struct span s)
{
    for (size_t i = 0, len; i < s.len; i += len)
        if ((len = utf8_sequence((const unsigned char *)s.p + i, s.len - i)) == 0)
            return false;
    return true;
}

/* Appends s and a NUL at *at. */
static struct span put(char **at, struct span s, bool latin1, bool fold)
{
    char *from = *at, *p = from;

    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (latin1 && c >= 0x80) {
            *p++ = (char)(0xc0 | c >> 6);
            *p++ = (char)(0x80 | (c & 0x3f));
        } else {
            *p++ = fold ? ascii_lower((char)c) : (char)c;
        }
    }
    *p++ = '\0';
    *at = p;
    return span_of(from, (size_t)(p - from) - 1);
}

static bool has_control(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] < ' ' || s.p[i] == 0x7f)
            return true;
    return false;
}

static bool judge(struct span text, struct span *user, struct span *password, const char **why)
{
    const char *colon = text.len > 0 ? memchr(text.p, ':', text.len) : NULL;

    if (colon == NULL) {
        *why = "credentials without a colon";
        return false;
    }
    *user = span_of(text.p, (size_t)(colon - text.p));
    *password = span_of(colon + 1, text.len - user->len - 1);
    if (user->len == 0)
        *why = "credentials without a user name";
    else if (user->len > BASIC_USER_MAX || password->len > BASIC_PASSWORD_MAX)
        *why = "credentials that are too long";
    else if (has_control(text)) /* RFC 7617 section 2; NUL above all: libcrypt would stop there */
        *why = "control characters in the credentials";
    else
        return true;
    return false;
}

bool basic_credentials_parse(struct span rest, const struct basic_options *o, struct basic_credentials *out,
                             const char **why)
{
    char decoded[BASIC_TOKEN_MAX / 4 * 3 + 1];
    struct span user, password;
    char *at = out->text;
    bool latin1, good;
    size_t n = 0;

    if (rest.len > BASIC_TOKEN_MAX) {
        *why = "credentials that are too long";
        return false;
    }
    if (!is_base64(rest) || (n = base64_decode(rest, decoded)) == 0) {
        *why = "credentials that aren't base64";
        return false;
    }
    good = judge(span_of(decoded, n), &user, &password, why);
    if (good) {
        latin1 = o->utf8 && !is_utf8(span_of(decoded, n));
        out->user = put(&at, user, latin1, o->fold_case);
        out->password = put(&at, password, latin1, false);
    }
    OPENSSL_cleanse(decoded, sizeof decoded);
    return good;
}
