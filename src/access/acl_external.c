/* external and tag: what helper programs say. */
#include <stdlib.h>
#include "access/acl_type.h"
#include "access/external.h"
#include "base/mem.h"

static struct external_memo *memo_of(struct external_memo **holder)
{
    if (*holder == NULL)
        *holder = xcalloc(1, sizeof **holder);
    return *holder;
}

void external_memo_add(struct external_memo **holder, const struct external_use *use, enum external_answer answer)
{
    struct external_memo *m = memo_of(holder);

    if (m->n == EXTERNALS_MAX)
        return;
    m->known[m->n].use = use;
    m->known[m->n++].answer = answer;
}

static void *use_make(const struct acl_type *type)
{
    (void)type;
    return xcalloc(1, sizeof(struct external_use));
}

static void use_release(void *values)
{
    struct external_use *u = values;

    for (size_t i = 0; i < u->n_args; i++)
        free(u->args[i]);
    free(u->args);
    free(u);
}

/* The definition's name, then arguments; further lines of the ACL add arguments. */
static bool use_parse(const struct acl_line *l, void *values)
{
    struct external_use *u = values;
    const struct external_acl *acl;

    if (l->at == l->n)
        return acl_fail(l->problem, 1, "acl type external needs the name of an external_acl_type, then arguments");
    acl = acl_set_external(l->set, l->words[l->at]);
    if (acl == NULL)
        return acl_fail(l->problem, l->at, "there is no external_acl_type '%.*s' in front of this line",
                        ACL_SHOWN(l->words[l->at]));
    if (u->acl != NULL && u->acl != acl)
        return acl_fail(l->problem, l->at, "this acl asks external_acl_type '%s' already", u->acl->name);
    u->acl = acl;
    u->name = l->self->name;
    for (size_t i = l->at + 1; i < l->n; i++) {
        u->args = xrealloc(u->args, (u->n_args + 1) * sizeof *u->args);
        u->args[u->n_args++] = xspandup(l->words[i]);
    }
    return true;
}

static void use_print(const struct acl *a, struct strbuf *out)
{
    const struct external_use *u = a->values;

    sb_printf(out, "%s ", u->acl->name);
    for (size_t i = 0; i < u->n_args; i++)
        sb_printf(out, "%s ", u->args[i]);
}

enum acl_answer external_use_match(const struct external_use *u, const struct access_facts *f)
{
    struct external_memo *m;

    if (f->externals == NULL)
        return ACL_UNDECIDED;
    m = memo_of(f->externals);
    for (size_t i = 0; i < m->n; i++)
        if (m->known[i].use == u)
            return m->known[i].answer == EXTERNAL_YES  ? ACL_YES
                   : m->known[i].answer == EXTERNAL_NO ? ACL_NO
                                                       : ACL_UNDECIDED;
    if (m->n == EXTERNALS_MAX)
        return ACL_UNDECIDED;
    if (u->acl->needs_user && f->user_state != USER_KNOWN)
        return acl_user_needed(f);
    m->wanted = u;
    return ACL_NEED_EXTERNAL;
}

const struct acl_kind acl_kind_external = { use_make, use_parse, use_print, use_release };
