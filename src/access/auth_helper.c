/* Helper programs asked about users. */
#include <stdlib.h>
#include "access/auth_private.h"
#include "base/mem.h"

static void forget(struct auth_asking *k)
{
    list_remove(&k->node);
    helper_cancel(&k->query);
    free(k);
}

/* Who waits for a token's answer: one, or nobody any more. */
static void settle_token(struct auth_asking *k, const struct auth_result *r)
{
    struct auth_query *q;

    if (list_empty(&k->asker))
        return;
    q = CONTAINER_OF(k->asker.next, struct auth_query, node);
    list_remove(&q->node);
    q->done(q, r);
}

static void answered(struct helper_query *query, const struct helper_reply *reply, const char *why)
{
    struct auth_asking *k = CONTAINER_OF(query, struct auth_asking, query);
    struct auth *a = k->auth;
    struct auth_result r = { .answer = AUTH_BUSY, .why = why };

    /* Off the list first: what the asker does next may end everything but k. */
    list_remove(&k->node);
    if (why == NULL)
        k->read(k, reply, &r);
    if (k->login != NULL) {
        char user[LOGIN_USER_MAX + 1];

        memcpy(user, k->login->user, k->login->user_len + 1);
        r.user = span_of(user, k->login->user_len);
        auth_settle(a, k->login, &r);
    } else {
        settle_token(k, &r);
    }
    free(k);
}

struct auth_asking *auth_asking_new(struct auth *a, struct login *one, auth_reader *read)
{
    struct auth_asking *k = xcalloc(1, sizeof *k);

    k->auth = a;
    k->login = one;
    k->read = read;
    k->query.done = answered;
    list_init(&k->asker);
    list_append(&a->askings, &k->node);
    return k;
}

void auth_asking_send(struct auth_asking *k, const struct auth_scheme_settings *s, struct span line)
{
    helper_ask(s->pool, k->auth->worker, &k->query, line);
}

void auth_askings_forget(struct auth *a)
{
    while (!list_empty(&a->askings)) {
        struct auth_asking *k = CONTAINER_OF(a->askings.next, struct auth_asking, node);

        if (k->login != NULL)
            k->login->is_pending = false;
        forget(k);
    }
}

void auth_add_escaped(struct strbuf *line, struct span text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-._@,+=/", c) != NULL)
            sb_char(line, (char)c);
        else
            sb_printf(line, "%%%02x", c);
    }
}
