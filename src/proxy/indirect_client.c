#include "proxy/indirect_client.h"

#include "access/access_list.h"
#include "hdrs/field_list.h"

#define MEMBERS_MAX 64

/* The last MEMBERS_MAX members of all lines together, in order. */
struct members {
    struct span ring[MEMBERS_MAX];
    size_t n; /* seen in all */
};

static void read_members(const struct head *h, struct members *m)
{
    m->n = 0;
    for (const struct head_field *f = head_find(h, TOKEN_X_FORWARDED_FOR); f != NULL; f = head_next(h, f)) {
        struct span rest = field_value(h, f), member;

        while (list_next(&rest, &member))
            m->ring[m->n++ % MEMBERS_MAX] = member;
    }
}

/* 192.0.2.1, 2001:db8::1, [2001:db8::1], and both with a port, as proxies write them. */
static bool member_address(struct span member, struct addr *a)
{
    const char *colon = memrchr(member.p, ':', member.len);
    bool six = memchr(member.p, ':', member.len) != colon;

    if (colon != NULL && (!six || (member.p[0] == '[' && colon[-1] == ']')))
        member.len = (size_t)(colon - member.p);
    return addr_parse(member, a);
}

static struct addr find(const struct request *r, const struct access_list *trusted)
{
    struct addr in_hand = r->client, next;
    struct access_facts facts;
    struct members m;
    size_t oldest;

    read_members(r->head, &m);
    oldest = m.n > MEMBERS_MAX ? m.n - MEMBERS_MAX : 0;
    request_facts(r, &facts);
    while (m.n > oldest) {
        facts.client = in_hand; /* whose name nobody has looked up: srcdomain trusts none of them */
        if (access_check(trusted, &facts).answer != ACCESS_ALLOWED)
            break;
        if (!member_address(m.ring[--m.n % MEMBERS_MAX], &next))
            break;
        next.port = in_hand.port;
        in_hand = next;
    }
    return in_hand;
}

void indirect_client_find(struct request *r, const struct settings *s)
{
    if (access_list_is_empty(s->follow_x_forwarded_for))
        return;
    r->indirect = find(r, s->follow_x_forwarded_for);
    r->acl_indirect = s->acl_uses_indirect_client;
    r->log_indirect = s->log_uses_indirect_client;
}
