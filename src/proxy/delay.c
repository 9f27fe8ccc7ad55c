#include "proxy/delay.h"

#include "proxy/request_access.h"

/* The first that takes it; NULL: none. */
static const struct delay_setting *pool_for(const struct delay_settings *all, const struct request *r)
{
    for (size_t i = 0; i < all->n_pools; i++)
        if (all->pools[i].pool != NULL && !access_list_is_empty(all->pools[i].access) &&
            request_allowed(all->pools[i].access, r))
            return &all->pools[i];
    return NULL;
}

/* Class 5 goes by the tag of an external ACL, class 4 by the user. */
static struct span name_for(const struct delay_setting *p, const struct request *r)
{
    struct span name, value;

    if (p->class != 5)
        return r->user;
    for (size_t i = 0; notes_at(r->notes, i, &name, &value); i++)
        if (span_eq(name, SPAN("tag")))
            return value;
    return SPAN_NONE;
}

static void begin(struct delay_use *u, const struct delay_settings *all, struct proxy_worker *pw,
                  const struct settings *s, const struct request *r)
{
    const struct delay_setting *p = all->n_pools > 0 ? pool_for(all, r) : NULL;

    if (p != NULL)
        delay_begin(u, p->pool, s->delay_pool_uses_indirect_client ? request_acl_client(r) : &r->client, name_for(p, r),
                    worker_mono(pw->worker));
}

void delay_from_server(struct delay_use *u, struct proxy_worker *pw, const struct settings *s, const struct request *r)
{
    begin(u, &s->delays, pw, s, r);
}

void delay_to_client(struct delay_use u[CLIENT_DELAYS], struct proxy_worker *pw, const struct settings *s,
                     const struct request *r)
{
    begin(&u[0], &s->client_delays, pw, s, r);
    begin(&u[1], &s->response_delays, pw, s, r);
}

bool delay_limits_client(const struct settings *s, const struct request *r)
{
    return (s->client_delays.n_pools > 0 && pool_for(&s->client_delays, r) != NULL) ||
           (s->response_delays.n_pools > 0 && pool_for(&s->response_delays, r) != NULL);
}

size_t delays_allow(struct delay_use *u, size_t n_uses, size_t bytes, int64_t now, int64_t *wait)
{
    *wait = 0;
    for (size_t i = 0; i < n_uses; i++) {
        int64_t longer;

        bytes = delay_allows(&u[i], bytes, now, &longer);
        if (longer > *wait)
            *wait = longer;
    }
    return bytes;
}

void delays_took(struct delay_use *u, size_t n_uses, size_t bytes, int64_t now)
{
    for (size_t i = 0; i < n_uses; i++)
        delay_took(&u[i], bytes, now);
}

void delays_end(struct delay_use *u, size_t n_uses)
{
    for (size_t i = 0; i < n_uses; i++)
        delay_end(&u[i]);
}
