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

static bool connection_names_upgrade(const struct head *h)
{
    for (const struct head_field *f = head_find(h, TOKEN_CONNECTION); f != NULL; f = head_next(h, f)) {
        struct span rest = field_value(h, f), member;

        while (list_next(&rest, &member))
            if (span_eq_nocase(member, SPAN("upgrade")))
                return true;
    }
    return false;
}

void upgrade_protocols(const struct request *r, const struct settings *s, struct strbuf *out)
{
    for (const struct head_field *f = head_find(r->head, TOKEN_UPGRADE); f != NULL; f = head_next(r->head, f)) {
        struct span rest = field_value(r->head, f), member;

        while (list_next(&rest, &member))
            if (may_be(r, s, member)) {
                if (out->len > 0)
                    sb_str(out, ", ");
                sb_span(out, member);
            }
    }
}

bool upgrade_wanted(const struct request *r, const struct settings *s)
{
    struct strbuf offered = { 0 };
    bool any;

    if (s->n_upgrades == 0 || r->method != METHOD_GET || !r->minor_version || r->framing.kind != FRAMING_NONE ||
        head_find(r->head, TOKEN_UPGRADE) == NULL || !connection_names_upgrade(r->head))
        return false;
    upgrade_protocols(r, s, &offered);
    any = offered.len > 0;
    sb_free(&offered);
    return any;
}

static bool was_offered(const struct request *r, struct span protocol)
{
    for (const struct head_field *f = head_find(r->head, TOKEN_UPGRADE); f != NULL; f = head_next(r->head, f)) {
        struct span rest = field_value(r->head, f), member;

        while (list_next(&rest, &member))
            if (span_eq_nocase(member, protocol))
                return true;
    }
    return false;
}

bool upgrade_agrees(const struct head *switching, const struct request *r, const struct settings *s)
{
    bool any = false;

    for (const struct head_field *f = head_find(switching, TOKEN_UPGRADE); f != NULL; f = head_next(switching, f)) {
        struct span rest = field_value(switching, f), member;

        while (list_next(&rest, &member)) {
            if (!was_offered(r, member) || !may_be(r, s, member))
                return false;
            any = true;
        }
    }
    return any;
}
