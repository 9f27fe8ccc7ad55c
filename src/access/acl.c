#include "access/acl.h"

#include <stdlib.h>
#include "access/acl_type.h"
#include "access/external.h"
#include "access/addr_set.h"
#include "base/mem.h"
#include "base/similar.h"

struct acl_set {
    struct acl **acls; /* in order of definition; each stays where it is, lists point to them */
    size_t n;
    const struct external_acl **externals;
    size_t n_externals;
};

void acl_set_add_external(struct acl_set *s, const struct external_acl *acl)
{
    s->externals = xrealloc(s->externals, (s->n_externals + 1) * sizeof *s->externals);
    s->externals[s->n_externals++] = acl;
}

const struct external_acl *acl_set_external(const struct acl_set *s, struct span name)
{
    for (size_t i = 0; i < s->n_externals; i++)
        if (span_eq(span_str(s->externals[i]->name), name))
            return s->externals[i];
    return NULL;
}

struct acl_set *acl_set_new(void)
{
    struct acl_set *s = xcalloc(1, sizeof *s);

    acl_built_in_define(s);
    return s;
}

void acl_set_free(struct acl_set **holder)
{
    struct acl_set *s = *holder;

    *holder = NULL;
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->n; i++) {
        s->acls[i]->type->kind->release(s->acls[i]->values);
        free(s->acls[i]->name);
        free(s->acls[i]);
    }
    free(s->acls);
    free(s->externals);
    free(s);
}

static struct acl *find(const struct acl_set *s, struct span name)
{
    for (size_t i = 0; i < s->n; i++)
        if (span_eq_nocase(acl_name(s->acls[i]), name))
            return s->acls[i];
    return NULL;
}

const struct acl *acl_find(const struct acl_set *s, struct span name)
{
    return find(s, name);
}

struct span acl_similar_name(const struct acl_set *s, struct span name)
{
    const char **names = xcalloc(s->n + 1, sizeof *names);
    const char *best;

    for (size_t i = 0; i < s->n; i++)
        names[i] = s->acls[i]->name;
    best = similar_word(names, name);
    free(names);
    return span_str(best);
}

struct acl *acl_set_insert(struct acl_set *s, struct span name, const struct acl_type *type)
{
    struct acl *a = xcalloc(1, sizeof *a);

    a->type = type;
    a->name = xspandup(name);
    a->values = type->kind->make(type);
    s->acls = xrealloc(s->acls, (s->n + 1) * sizeof *s->acls);
    s->acls[s->n++] = a;
    return a;
}

bool acl_add_values(struct acl_set *s, struct acl *a, const struct span *words, size_t n, struct acl_problem *p)
{
    struct acl_line line = { .set = s, .self = a, .words = words, .n = n, .at = 2, .problem = p };

    if (n > 2 && span_eq(words[2], SPAN("--"))) {
        line.at = 3;
        line.flags_ended = true;
    }
    if (!a->type->kind->parse(&line, a->values))
        return false;
    /* Of dst it can't be said: a host without addresses matches none. */
    a->is_constant = span_eq(span_str(a->type->name), SPAN("src")) && addr_set_is_everything(a->values);
    if (line.at == n)
        acl_warn(p, 0, "acl '%.*s' has no values: it never matches", ACL_SHOWN(words[0]));
    return true;
}

static bool refuse_type(struct span type, struct acl_problem *p)
{
    const char *instead = acl_type_instead(type);

    if (instead != NULL)
        return acl_fail(p, 1, "acl type '%.*s' is not supported yet: %s", ACL_SHOWN(type), instead);
    acl_fail(p, 1, "acl type '%.*s' is unknown", ACL_SHOWN(type));
    p->suggestion = span_str(similar_word(acl_type_names(), type));
    return false;
}

bool acl_define(struct acl_set *s, const struct span *words, size_t n, struct acl_problem *p)
{
    const struct acl_type *type;
    struct acl *a;

    *p = (struct acl_problem){ 0 };
    if (n < 2)
        return acl_fail(p, n, "an acl line has a name, a type and values");
    if (words[0].len == 0 || words[0].p[0] == '!')
        return acl_fail(p, 0, "the name of an acl can't start with '!': that negates it where it is used");
    type = acl_type_find(words[1]);
    a = find(s, words[0]);
    if (a != NULL && a->is_built_in)
        return acl_built_in_redefine(s, a, type, words, n, p);
    if (type == NULL) {
        if (a == NULL)
            acl_set_insert(s, words[0], &acl_type_broken);
        return refuse_type(words[1], p);
    }
    if (a == NULL)
        a = acl_set_insert(s, words[0], type);
    if (a->type == &acl_type_broken)
        return acl_fail(p, 0, "acl '%s' failed before", a->name);
    if (a->type != type)
        return acl_fail(p, 1, "acl '%s' has type %s already", a->name, a->type->name);
    return acl_add_values(s, a, words, n, p);
}

enum acl_answer acl_matches(const struct acl *a, const struct access_facts *f)
{
    return a->type->match(a->values, f);
}

struct span acl_name(const struct acl *a)
{
    return span_str(a->name);
}

const char *acl_type_name(const struct acl *a)
{
    return a->type->name;
}

bool acl_set_has_type(const struct acl_set *s, const char *type)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->acls[i]->type->name, type) == 0)
            return true;
    return false;
}

bool acl_is_about_user(const struct acl *a)
{
    const struct external_use *use = a->type->kind == &acl_kind_external ? a->values : NULL;

    return strncmp(a->type->name, "proxy_auth", strlen("proxy_auth")) == 0 ||
           (use != NULL && use->acl != NULL && use->acl->needs_user);
}

bool acl_set_names_method(const struct acl_set *s, enum http_method method)
{
    const struct access_facts f = { .method = method, .method_name = span_str(method_name(method)) };

    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->acls[i]->type->name, "method") == 0 && acl_matches(s->acls[i], &f) == ACL_YES)
            return true;
    return false;
}

void acl_set_print(const struct acl_set *s, struct strbuf *out)
{
    for (size_t i = 0; i < s->n; i++) {
        sb_printf(out, "acl %s %s ", s->acls[i]->name, s->acls[i]->type->name);
        s->acls[i]->type->kind->print(s->acls[i], out);
        sb_char(out, '\n');
    }
}
