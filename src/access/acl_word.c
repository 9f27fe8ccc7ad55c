#include "access/acl_type.h"

bool acl_word_parse(const struct acl_set *s, const struct span *words, size_t at, struct acl_word *out,
                    struct acl_problem *p)
{
    struct span name = words[at];
    bool is_negated = name.len > 0 && name.p[0] == '!';
    const struct acl *a;

    if (is_negated)
        name = span_of(name.p + 1, name.len - 1);
    if (name.len == 0)
        return acl_fail(p, at, "the name of an acl is missing; '!' stands directly in front of it");
    if ((a = acl_find(s, name)) == NULL) {
        acl_fail(p, at, "acl '%.*s' is not defined: its acl line must stand before its use", ACL_SHOWN(name));
        p->suggestion = acl_similar_name(s, name);
        return false;
    }
    *out = (struct acl_word){ a->type->match, a->values, a, is_negated };
    return true;
}
