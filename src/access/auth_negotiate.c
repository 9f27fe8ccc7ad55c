/* RFC 4559: SPNEGO tokens, which a helper program judges. They say who uses the connection, not who sends the request. */
#include <stdlib.h>
#include "access/auth_private.h"
#include "base/mem.h"

static bool is_token(struct span s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '/' ||
              c == '='))
            return false;
    }
    return s.len > 0;
}

/* A token and a user as older programs say them: words. */
static void read_words(struct span rest, struct span *token, struct span *user)
{
    const char *blank = rest.len > 0 ? memchr(rest.p, ' ', rest.len) : NULL;

    *token = SPAN_NONE;
    *user = rest;
    if (blank == NULL)
        return;
    *token = span_of(rest.p, (size_t)(blank - rest.p));
    *user = span_trim(span_of(blank, rest.len - token->len));
}

static void set_user(struct auth_connection *c, struct span user)
{
    free(c->user);
    c->user = user.len > 0 ? xspandup(user) : NULL;
    c->in_handshake = false;
}

static bool is_name(struct span user)
{
    for (size_t i = 0; i < user.len; i++)
        if ((unsigned char)user.p[i] < ' ' || user.p[i] == 0x7f)
            return false;
    return user.len > 0 && user.len <= LOGIN_USER_MAX;
}

static void read_reply(struct auth_asking *k, const struct helper_reply *reply, struct auth_result *r)
{
    struct auth_connection *c = list_empty(&k->asker) ? NULL : k->connection;
    struct span token = helper_reply_value(reply, "token"), user = helper_reply_value(reply, "user"), first;

    if (c == NULL)
        return; /* who asked has gone, and the connection with it */
    r->answer = AUTH_NOBODY;
    r->why = "the token was refused";
    if (reply->status == HELPER_TT) {
        if (token.len == 0)
            token = span_trim(reply->rest);
        set_user(c, SPAN_NONE);
        if (is_token(token)) {
            c->in_handshake = true;
            r->token = token;
            r->why = "another token is needed";
        }
        return;
    }
    if (reply->status == HELPER_AF && user.len == 0)
        read_words(span_trim(reply->rest), &first, &user);
    if ((reply->status != HELPER_AF && reply->status != HELPER_OK) || !is_name(user)) {
        set_user(c, SPAN_NONE);
        return;
    }
    set_user(c, user);
    r->answer = AUTH_USER;
    r->user = span_str(c->user);
    r->why = NULL;
}

void auth_negotiate_ask(struct auth *a, const struct auth_settings *all, const struct auth_request *q, struct span rest,
                        struct auth_query *query, struct auth_result *r)
{
    const struct auth_scheme_settings *s = &all->schemes[AUTH_NEGOTIATE];
    struct auth_asking *k;
    struct strbuf line = { 0 };

    if (!is_token(rest) || q->connection == NULL) {
        r->why = "malformed credentials";
        return;
    }
    r->answer = AUTH_WAIT;
    if (query == NULL)
        return;
    k = auth_asking_new(a, NULL, read_reply);
    k->connection = q->connection;
    list_append(&k->asker, &query->node);
    sb_str(&line, q->connection->in_handshake ? "KK " : "YR ");
    sb_span(&line, rest);
    auth_request_extras(q, s, &line);
    auth_asking_send(k, s, sb_view(&line));
    sb_free(&line);
}
