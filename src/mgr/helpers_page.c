/* mgr:redirector, mgr:store_id, mgr:external_acl and those of the authenticators: helper programs. A program's arguments aren't
 * shown: there are passwords among them. */
#include <inttypes.h>
#include "mgr/page.h"

static void add_pool(struct strbuf *out, const struct program_setting *p)
{
    struct helper_stats s;

    helper_pool_stats(p->pool, &s);
    sb_printf(out, "program: %s\n", p->argv[0]);
    sb_printf(out, "number active: %u of %u\n", s.running, s.max);
    sb_printf(out, "requests sent: %" PRIu64 "\n", s.asked);
    sb_printf(out, "replies received: %" PRIu64 "\n", s.answered);
    sb_printf(out, "queue length: %" PRIu64 "\n", s.queued_now);
    sb_printf(out, "failures: %" PRIu64 "\n", s.failures);
}

static void add_program(struct strbuf *out, const struct program_setting *p, const char *title, const char *none)
{
    if (p->pool == NULL) {
        sb_printf(out, "%s\n", none);
        return;
    }
    sb_printf(out, "%s Statistics:\n", title);
    add_pool(out, p);
}

void redirector_page(struct page_request *r, struct strbuf *out)
{
    add_program(out, &r->q->settings->url_rewrite.program, "Redirector", "No redirectors defined");
}

void store_id_page(struct page_request *r, struct strbuf *out)
{
    add_program(out, &r->q->settings->store_id.program, "StoreId helper", "No StoreId helpers defined");
}

static void add_authenticator(struct page_request *r, enum auth_scheme scheme, struct strbuf *out)
{
    char title[64];

    snprintf(title, sizeof title, "%s Authenticator", auth_scheme_name(scheme));
    add_program(out, &r->q->settings->auth_programs[scheme], title, "No such helper program is configured");
}

void basic_authenticator_page(struct page_request *r, struct strbuf *out)
{
    add_authenticator(r, AUTH_BASIC, out);
}

void digest_authenticator_page(struct page_request *r, struct strbuf *out)
{
    add_authenticator(r, AUTH_DIGEST, out);
}

void negotiate_authenticator_page(struct page_request *r, struct strbuf *out)
{
    add_authenticator(r, AUTH_NEGOTIATE, out);
}

void external_acl_page(struct page_request *r, struct strbuf *out)
{
    const struct settings *s = r->q->settings;

    sb_str(out, "External ACL Statistics:\n");
    for (size_t i = 0; i < s->n_externals; i++) {
        sb_printf(out, "\nExternal ACL: %s\n", s->externals[i].acl->name);
        if (s->externals[i].program.pool != NULL)
            add_pool(out, &s->externals[i].program);
    }
}
