/* The ACLs that are there without an acl line, and what an acl line that names one of them means: old configurations
 * define them by hand. */
#include <assert.h>
#include "access/acl_type.h"

#define VALUES_MAX 6

/* localhost is 127.0.0.1 and ::1 and no other 127 address: who may bind those isn't the machine's owner by that
 * alone. */
static const struct {
    const char *name, *type, *values[VALUES_MAX];
} built_in[] = {
    { "all", "src", { "all" } },
    { "localhost", "src", { "127.0.0.1", "::1" } },
    { "to_localhost", "dst", { "127.0.0.0/8", "0.0.0.0", "::1", "::" } },
    { "to_linklocal", "dst", { "169.254.0.0/16", "fe80::/10" } },
    { "CONNECT", "method", { "CONNECT" } },
};

/* ---- manager: a fact, not a pattern; printed as the pattern Squid has ---- */

static void *manager_make(const struct acl_type *type)
{
    (void)type;
    return NULL;
}

static bool manager_parse(const struct acl_line *l, void *values)
{
    (void)l;
    (void)values;
    return true;
}

static void manager_print(const struct acl *a, struct strbuf *out)
{
    (void)a;
    sb_str(out, "-i (^cache_object://) +i (^[^:]+://[^/]+/squid-internal-mgr/) ");
}

static void manager_release(void *values)
{
    (void)values;
}

static enum acl_answer match_manager(const void *values, const struct access_facts *f)
{
    (void)values;
    return f->is_manager ? ACL_YES : ACL_NO;
}

static const struct acl_kind manager_kind = { manager_make, manager_parse, manager_print, manager_release };
static const struct acl_type manager_type = { "url_regex", &manager_kind, match_manager, NULL };

void acl_built_in_define(struct acl_set *s)
{
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++) {
        struct span words[2 + VALUES_MAX] = { span_str(built_in[i].name), span_str(built_in[i].type) };
        struct acl_problem problem = { 0 };
        size_t n = 2;
        struct acl *a = acl_set_insert(s, words[0], acl_type_find(words[1]));
        bool good;

        for (; n < 2 + VALUES_MAX && built_in[i].values[n - 2] != NULL; n++)
            words[n] = span_str(built_in[i].values[n - 2]);
        good = acl_add_values(s, a, words, n, &problem);
        assert(good && problem.text[0] == '\0');
        a->is_built_in = true;
    }
    acl_set_insert(s, SPAN("manager"), &manager_type)->is_built_in = true;
}

static bool contains(struct span text, const char *part)
{
    return text.len > 0 && memmem(text.p, text.len, part, strlen(part)) != NULL;
}

/* `proto cache_object` (Squid 2 and 3.1) and the url_regex that mgr:config prints. */
static bool means_manager(const struct span *words, size_t n)
{
    bool legacy = false, internal = false;

    if (span_eq(words[1], SPAN("proto")))
        return n == 3 && span_eq_nocase(words[2], SPAN("cache_object"));
    for (size_t i = 2; i < n; i++) {
        legacy = legacy || contains(words[i], "cache_object");
        internal = internal || contains(words[i], "squid-internal-mgr");
    }
    return span_eq(words[1], SPAN("url_regex")) && legacy && internal;
}

static bool redefine_manager(const struct span *words, size_t n, struct acl_problem *p)
{
    if (!means_manager(words, n))
        return acl_fail(p, 0, "acl 'manager' is built in, for manager requests, and can't mean anything else");
    acl_warn(p, 0, "acl 'manager' is built in: this line can go");
    return true;
}

bool acl_built_in_redefine(struct acl_set *s, struct acl *a, const struct acl_type *type, const struct span *words,
                           size_t n, struct acl_problem *p)
{
    struct strbuf before = { 0 }, after = { 0 };
    bool good;

    if (a->type == &manager_type)
        return redefine_manager(words, n, p);
    if (type != a->type)
        return acl_fail(p, 1, "acl '%s' is built in and has type %s", a->name, a->type->name);
    a->type->kind->print(a, &before);
    if ((good = acl_add_values(s, a, words, n, p))) {
        a->type->kind->print(a, &after);
        p->text[0] = '\0'; /* what this line does to a built-in one matters more than how it is written */
        if (span_eq(sb_view(&before), sb_view(&after)))
            acl_warn(p, 0, "acl '%s' is built in, and this line adds nothing to it: it can go", a->name);
        else
            acl_warn(p, 0, "acl '%s' is built in: these values are added to its own", a->name);
    }
    sb_free(&before);
    sb_free(&after);
    return good;
}
