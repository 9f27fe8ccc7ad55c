#include "proxy/upgrade.h"

#include "hdrs/field_list.h"
#include "proxy/request_access.h"

/* The lines for it: its own, those of its name without a version, or OTHER's. */
static const struct access_list *lines_of(const struct settings *s, struct span protocol)
{
    const char *slash = memchr(protocol.p, '/', protocol.len);
    struct span names[] = { protocol, span_of(protocol.p, slash ? (size_t)(slash - protocol.p) : protocol.len),
                            SPAN("OTHER") };

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        for (size_t i = 0; i < s->n_upgrades; i++)
            if (span_eq_nocase(span_str(s->upgrades[i].protocol), names[k]))
                return s->upgrades[i].access;
    return NULL;
}

static bool may_be(const struct request *r, const struct settings *s, struct span protocol)
{
    const struct access_list *l = lines_of(s, protocol);

    return l != NULL && request_access(l, r).answer == ACCESS_ALLOWED;
}

/* Adds the protocols that may be to out, unless that is NULL. Was there any? */
static bool offer(const struct request *r, const struct settings *s, struct strbuf *out)
{
    bool any = false;

    for (const struct head_field *f = head_find(r->head, TOKEN_UPGRADE); f != NULL; f = head_next(r->head, f)) {
        struct span rest = field_value(r->head, f), member;

        while (list_next(&rest, &member))
            if (may_be(r, s, member)) {
                if (out != NULL && any)
                    sb_str(out, ", ");
                if (out != NULL)
                    sb_span(out, member);
                any = true;
            }
    }
    return any;
}

void upgrade_protocols(const struct request *r, const struct settings *s, struct strbuf *out)
{
    (void)offer(r, s, out);
}

/* A 101 that http_reply_access would keep from the client isn't asked for. */
static bool reply_may_be(const struct request *r, const struct settings *s)
{
    return access_always_allows(s->http_reply_access) ||
           request_access_reply(s->http_reply_access, r, 101, SPAN_NONE, NULL).answer == ACCESS_ALLOWED;
}

bool upgrade_wanted(const struct request *r, const struct settings *s)
{
    return s->n_upgrades > 0 && r->method == METHOD_GET && r->minor_version && r->framing.kind == FRAMING_NONE &&
           head_lists(r->head, TOKEN_CONNECTION, SPAN("upgrade")) && offer(r, s, NULL) && reply_may_be(r, s);
}

bool upgrade_agrees(const struct head *switching, const struct request *r, const struct settings *s)
{
    bool any = false;

    for (const struct head_field *f = head_find(switching, TOKEN_UPGRADE); f != NULL; f = head_next(switching, f)) {
        struct span rest = field_value(switching, f), member;

        while (list_next(&rest, &member)) {
            if (!head_lists(r->head, TOKEN_UPGRADE, member) || !may_be(r, s, member))
                return false;
            any = true;
        }
    }
    return any;
}
