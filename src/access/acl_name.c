/* srcdomain, srcdom_regex, and dstdomain and dstdom_regex about a host that is an address: what addresses are called.
 *
 * A name is its address's owner's word. Confirmed (net/reverse.h) it counts as any other. One that isn't confirmed counts
 * against who has it only: what it would match is undecided, so that no allow line matches by it, and every deny line does
 * that would. Who has no name, or whose name couldn't be found out, is called `none`, as in Squid; so is who has only one
 * that isn't confirmed and not listed. */
#include "access/acl_type.h"
#include "access/domain_set.h"

static enum acl_answer name_match(const struct address_name *n, acl_name_test *test, const void *values)
{
    enum acl_answer answer;

    if (n->trust == NAME_CONFIRMED)
        return test(values, n->name);
    if (n->trust == NAME_UNCONFIRMED && (answer = test(values, n->name)) != ACL_NO)
        return ACL_UNDECIDED;
    return test(values, SPAN("none"));
}

enum acl_answer acl_domains_test(const void *values, struct span name)
{
    const struct acl_domains *d = values;

    return domain_set_matches(d->set, name) ? ACL_YES : ACL_NO;
}

enum acl_answer acl_patterns_test(const void *values, struct span name)
{
    return acl_patterns_match(values, name);
}

/* Where nobody can look it up and it isn't known, it can't be told. */
enum acl_answer acl_client_name_match(const struct access_facts *f, acl_name_test *test, const void *values)
{
    if (f->client_name.is_known)
        return name_match(&f->client_name, test, values);
    return f->may_ask_names ? ACL_NEED_CLIENT_NAME : ACL_UNDECIDED;
}

/* Where nobody can look it up and it isn't known, the address as text is all there is. */
enum acl_answer acl_host_name_match(const struct access_facts *f, acl_name_test *test, const void *values)
{
    if (f->host_name.is_known)
        return name_match(&f->host_name, test, values);
    return f->may_ask_names ? ACL_NEED_HOST_NAME : ACL_NO;
}

bool acl_no_lookup_parse(const struct acl_line *l, size_t i, bool *no_lookup)
{
    *no_lookup = true;
    return strncmp(l->self->type->name, "srcdom", strlen("srcdom")) != 0 ||
           acl_fail(l->problem, i, "acl type %s has no flag '-n': without a look-up it would never match",
                    l->self->type->name);
}
