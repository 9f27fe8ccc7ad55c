/* What a client that has to log in is asked: a field for each way to do so. */
#include "access/auth_private.h"

/* RFC 9110 section 5.6.4. */
static void add_quoted(struct strbuf *out, const char *text)
{
    sb_char(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            sb_char(out, '\\');
        sb_char(out, *text);
    }
    sb_char(out, '"');
}

static void begin(const struct auth_settings *s, enum auth_scheme which, bool accel, struct strbuf *out)
{
    sb_printf(out, "%s-Authenticate: %s realm=", accel ? "WWW" : "Proxy", auth_scheme_name(which));
    add_quoted(out, s->schemes[which].realm);
}

static void add_basic(const struct auth_settings *s, bool accel, struct strbuf *out)
{
    begin(s, AUTH_BASIC, accel, out);
    if (s->schemes[AUTH_BASIC].utf8)
        sb_str(out, ", charset=\"UTF-8\""); /* RFC 7617 section 2.1 */
    sb_str(out, "\r\n");
}

/* RFC 7616 section 3.7: one for each algorithm, the better one first. */
static void add_digest(struct auth *a, const struct auth_settings *s, bool accel, bool stale, struct strbuf *out)
{
    const struct auth_scheme_settings *digest = &s->schemes[AUTH_DIGEST];
    char nonce[NONCE_TEXT + 1];

    for (unsigned i = 0; i < digest->n_algorithms; i++) {
        nonce_make(auth_nonces(a->shared), worker_mono(a->worker), nonce);
        begin(s, AUTH_DIGEST, accel, out);
        sb_printf(out, ", nonce=\"%s\", qop=\"auth\", algorithm=%s, stale=%s\r\n", nonce,
                  digest_algorithm_name(digest->algorithms[i]), stale ? "true" : "false");
    }
}

static void add_negotiate(bool accel, struct span token, struct strbuf *out)
{
    sb_printf(out, "%s-Authenticate: Negotiate%s%.*s\r\n", accel ? "WWW" : "Proxy", token.len > 0 ? " " : "",
              SPAN_ARG(token));
}

void auth_challenge(struct auth *a, const struct auth_settings *s, const struct auth_offer *offer,
                    const struct auth_challenged *c, struct strbuf *out)
{
    if (offer == NULL || offer->n == 0)
        offer = &s->named;
    if (c->token.len > 0) {
        add_negotiate(c->accel, c->token, out);
        return;
    }
    for (unsigned i = 0; i < offer->n; i++) {
        if (!s->schemes[offer->order[i]].works)
            continue;
        switch (offer->order[i]) {
        case AUTH_BASIC: add_basic(s, c->accel, out); break;
        case AUTH_DIGEST: add_digest(a, s, c->accel, c->stale, out); break;
        case AUTH_NEGOTIATE: add_negotiate(c->accel, SPAN_NONE, out); break;
        case AUTH_SCHEME_N: break;
        }
    }
}
