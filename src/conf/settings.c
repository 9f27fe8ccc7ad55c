#include "conf/settings.h"

#include <stdlib.h>
#include "conf/directive.h"
#include "conf/page_template.h"

bool settings_is_own_name(const struct settings *s, struct span host)
{
    const char *p = s->hostname_aliases;

    if (span_eq_nocase(host, span_str(s->visible_hostname)))
        return true;
    while (p != NULL && *p != '\0') {
        size_t n = strcspn(p, " ");

        if (span_eq_nocase(host, span_of(p, n)))
            return true;
        p += n + (p[n] == ' ');
    }
    return false;
}

struct settings *settings_ref(struct settings *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

static void free_size_limits(struct size_limits *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->p[i].where);
        access_list_free(&l->p[i].when);
    }
    free(l->p);
}

static void free_lists(struct settings *s)
{
    for (size_t i = 0; i < s->n_ports; i++) {
        free(s->ports[i].name);
        free(s->ports[i].defaultsite);
    }
    for (size_t i = 0; i < s->n_peers; i++) {
        free(s->peers[i].name);
        free(s->peers[i].host);
        free(s->peers[i].login);
        access_list_free(&s->peers[i].access);
        server_health_unref(&s->peers[i].health);
    }
    for (size_t i = 0; i < s->n_upgrades; i++) {
        free(s->upgrades[i].protocol);
        access_list_free(&s->upgrades[i].access);
    }
    for (size_t i = 0; i < s->n_auth_offers; i++) {
        free(s->auth_offers[i].written);
        access_list_free(&s->auth_offers[i].when);
    }
    for (size_t i = 0; i < s->n_notes; i++) {
        free(s->notes[i].name);
        free(s->notes[i].value);
        access_list_free(&s->notes[i].when);
    }
    for (size_t i = 0; i < s->n_outgoing; i++)
        access_list_free(&s->outgoing[i].when);
    for (size_t i = 0; i < s->n_error_pages; i++) {
        free(s->error_pages[i].name);
        page_template_free(&s->error_pages[i].page);
    }
    for (size_t i = 0; i < s->n_deny_infos; i++) {
        free(s->deny_infos[i].name);
        free(s->deny_infos[i].written);
        free(s->deny_infos[i].where);
        page_template_free(&s->deny_infos[i].page);
    }
    for (size_t i = 0; i < s->n_refresh; i++) {
        free(s->refresh[i].pattern);
        regex_set_free(&s->refresh[i].regex);
    }
    for (size_t i = 0; i < s->n_cachemgr; i++) {
        free(s->cachemgr[i].password);
        for (size_t a = 0; a < s->cachemgr[i].n_actions; a++)
            free(s->cachemgr[i].actions[a]);
        free(s->cachemgr[i].actions);
    }
    free(s->ports);
    free(s->peers);
    free(s->upgrades);
    free(s->auth_offers);
    free(s->notes);
    free(s->outgoing);
    free(s->affinities);
    header_rules_free(&s->request_headers, s->logformat_free);
    header_rules_free(&s->reply_headers, s->logformat_free);
    free_size_limits(&s->reply_limits);
    free_size_limits(&s->range_offset_limits);
    free(s->error_pages);
    free(s->deny_infos);
    free(s->stylesheet);
    free(s->refresh);
    free(s->cachemgr);
    free(s->nameservers);
}

void program_free(struct program_setting *p)
{
    for (size_t i = 0; p->argv != NULL && p->argv[i] != NULL; i++)
        free(p->argv[i]);
    free(p->argv);
    free(p->written);
    p->argv = NULL;
    p->written = NULL;
    helper_pool_close(&p->pool);
}

static void free_rewriter(struct settings *s, struct rewrite_setting *w)
{
    program_free(&w->program);
    if (w->extras_format != NULL)
        s->logformat_free(w->extras_format);
}

static void free_delays(struct delay_settings *all)
{
    for (size_t i = 0; i < all->n_pools; i++) {
        free(all->pools[i].name);
        access_list_free(&all->pools[i].access);
        delay_pool_unref(&all->pools[i].pool);
    }
    free(all->pools);
}

static void free_externals(struct settings *s)
{
    for (size_t i = 0; i < s->n_externals; i++) {
        struct external_acl *a = s->externals[i].acl;

        program_free(&s->externals[i].program);
        for (size_t w = 0; w < a->n_words; w++) {
            free(a->words[w].written);
            if (a->words[w].format != NULL)
                s->logformat_free(a->words[w].format);
        }
        free(a->words);
        free(a->name);
        free(a);
    }
    free(s->externals);
}

void settings_start_helpers(struct settings *s, struct helpers *host)
{
    for (size_t i = 0; i < s->n_externals; i++)
        helper_pool_start(s->externals[i].program.pool, host);
    if (s->url_rewrite.program.pool != NULL)
        helper_pool_start(s->url_rewrite.program.pool, host);
    if (s->store_id.program.pool != NULL)
        helper_pool_start(s->store_id.program.pool, host);
    for (int i = 0; i < AUTH_SCHEME_N; i++)
        if (s->auth_programs[i].pool != NULL)
            helper_pool_start(s->auth_programs[i].pool, host);
}

static void free_logs(struct settings *s)
{
    for (size_t i = 0; i < s->n_logs; i++) {
        free(s->logs[i].module);
        free(s->logs[i].place);
        free(s->logs[i].format_name);
        access_list_free(&s->logs[i].acl);
    }
    for (size_t i = 0; i < s->n_logformats; i++) {
        free(s->logformats[i].name);
        free(s->logformats[i].spec);
        if (s->logformat_free != NULL && s->logformats[i].format != NULL)
            s->logformat_free(s->logformats[i].format);
    }
    free(s->logs);
    free(s->logformats);
}

/* The strings and access lists are those the table knows. */
static void free_rows(struct settings *s)
{
    for (const struct directive *d = directives_working; d->name != NULL; d++) {
        void *at = (char *)s + d->at;

        if (d->kind == &kind_string || d->kind == &kind_text || d->kind == &kind_field_names)
            free(*(char **)at);
        else if (d->kind == &kind_access)
            access_list_free(at);
    }
}

void settings_unref(struct settings **holder)
{
    struct settings *s = *holder;

    *holder = NULL;
    /* Release: our reads end before another thread frees. Acquire: if we are last, so have theirs. */
    if (s == NULL || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    free_lists(s);
    free_logs(s);
    free_rewriter(s, &s->url_rewrite);
    free_rewriter(s, &s->store_id);
    free_externals(s);
    free_delays(&s->delays);
    free_delays(&s->client_delays);
    free_delays(&s->response_delays);
    free(s->url_rewrite_timeout.response);
    free_rows(s);
    auth_settings_free(&s->auth, s->logformat_free);
    for (int i = 0; i < AUTH_SCHEME_N; i++)
        program_free(&s->auth_programs[i]);
    acl_set_free(&s->acls);
    free(s->file);
    free(s);
}
