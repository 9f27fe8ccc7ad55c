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

enum acl_answer acl_words_match(const struct acl_word *words, size_t n, const struct access_facts *f)
{
    enum acl_answer all = ACL_YES;

    for (size_t i = 0; i < n; i++) {
        enum acl_answer one = words[i].match(words[i].values, f);

        if (acl_needs_more(one))
            return one;
        if (one == ACL_UNDECIDED)
            all = ACL_UNDECIDED;
        else if ((one == ACL_YES) == words[i].is_negated)
            return ACL_NO;
    }
    return all;
}
