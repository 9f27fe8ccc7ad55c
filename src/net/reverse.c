#include "net/reverse.h"

#include <stdio.h>

static enum name_trust trust_of(const struct addr *a, const struct addr *addrs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (addr_eq(a, &addrs[i]))
            return NAME_CONFIRMED;
    return NAME_UNCONFIRMED;
}

/* The name of an address is whole: append_domain has no say in it. */
static struct span make_whole(char name[HOST_NAME_MAX_LEN + 2])
{
    strcat(name, ".");
    return span_str(name);
}

static void confirmed(struct resolve_query *query, enum resolve_status status, const struct addr *addrs, size_t n)
{
    struct reverse_query *q = CONTAINER_OF(query, struct reverse_query, query);

    (void)status;
    q->done(q, trust_of(&q->addr, addrs, n), span_of(q->name, strlen(q->name) - 1));
}

static void named(struct resolve_query *query, enum resolve_status status, struct span name)
{
    struct reverse_query *q = CONTAINER_OF(query, struct reverse_query, query);

    (void)status;
    if (name.len == 0) {
        q->done(q, NAME_NONE, name);
        return;
    }
    snprintf(q->name, sizeof q->name, "%.*s", SPAN_ARG(name));
    q->query.done = confirmed;
    q->query.whole = true;
    resolve(q->resolver, &q->query, make_whole(q->name), 0);
}

void reverse(struct resolver *r, struct reverse_query *q, const struct addr *a)
{
    q->resolver = r;
    q->addr = *a;
    q->addr.port = 0;
    q->query.named = named;
    resolve_name_of(r, &q->query, &q->addr);
}

void reverse_cancel(struct reverse_query *q)
{
    resolve_cancel(&q->query);
}

bool reverse_cached(struct resolver *r, const struct addr *a, enum name_trust *trust, char name[HOST_NAME_MAX_LEN + 1])
{
    struct addr addrs[RESOLVE_ADDRS_MAX], plain = *a;
    char whole[HOST_NAME_MAX_LEN + 2];
    bool negative;
    size_t n;

    plain.port = 0;
    if (!resolve_name_of_cached(r, &plain, name))
        return false;
    *trust = NAME_NONE;
    if (name[0] == '\0')
        return true;
    strcpy(whole, name);
    n = resolve_cached(r, make_whole(whole), 0, true, addrs, &negative);
    if (n == 0 && !negative)
        return false;
    *trust = trust_of(&plain, addrs, n);
    return true;
}
