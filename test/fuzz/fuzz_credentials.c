/* test/fuzz/fuzz_credentials.c: the value of Proxy-Authorization. The first byte chooses the options. What is taken has a
 * name, no control characters, and lengths within bounds; what isn't has a reason. */
#include "access/credentials.h"
#include "access/digest.h"
#include "fuzz_heads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge_text(struct span s, size_t most)
{
    MUST(s.len <= 2 * most && s.p[s.len] == '\0');
    for (size_t i = 0; i < s.len; i++)
        MUST((unsigned char)s.p[i] >= ' ' && s.p[i] != 0x7f);
}

static void judge_digest(struct span rest)
{
    static struct digest_credentials c;
    const char *why = NULL;

    if (!digest_credentials_parse(rest, &c, &why)) {
        MUST(why != NULL);
        return;
    }
    MUST(c.user.len > 0 && c.user.len <= DIGEST_USER_MAX && c.nc > 0 && c.nonce.len > 0 && c.uri.len > 0);
    MUST(digest_is_hash(c.algorithm, c.response));
    (void)digest_matches(&c, c.response, SPAN("GET"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct basic_credentials c;
    struct basic_options o;
    struct span scheme, rest;
    const char *why = NULL;
    char *in;

    if (size < 1)
        return 0;
    o = (struct basic_options){ .fold_case = data[0] & 1, .utf8 = data[0] & 2 };
    in = malloc(size); /* of its own size: reading beyond it is seen by the sanitizer */
    memcpy(in, data + 1, size - 1);
    if (credentials_split(span_of(in, size - 1), &scheme, &rest)) {
        MUST(scheme.len > 0 && scheme.p >= in && rest.p + rest.len <= in + size - 1);
        judge_digest(rest);
        if (basic_credentials_parse(rest, &o, &c, &why)) {
            MUST(c.user.len > 0 && memchr(c.user.p, ':', c.user.len) == NULL);
            judge_text(c.user, BASIC_USER_MAX);
            judge_text(c.password, BASIC_PASSWORD_MAX);
        } else {
            MUST(why != NULL);
        }
    }
    free(in);
    return 0;
}
