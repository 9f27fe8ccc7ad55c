/* access/acl.h: named conditions (`acl NAME TYPE values`). One row per type in acl_type.c.
 *
 * Threads: built by the thread that reads the configuration; read-only afterwards, by any. */
#pragma once
#include "access/facts.h"

struct acl;
struct acl_set; /* all ACLs of one configuration */

/* With the built-in ones: all, localhost, manager, to_localhost, to_linklocal, CONNECT. */
struct acl_set *acl_set_new(void);
void acl_set_free(struct acl_set **holder);
/* In any letter case, as Squid compares them. NULL: none. */
const struct acl *acl_find(const struct acl_set *s, struct span name);

/* One problem found in a line, with where in the words it is. */
struct acl_problem {
    char text[256];
    size_t word; /* index into the words given */
    bool is_warning;
    struct span suggestion; /* "did you mean": SPAN_NONE, static, or the set's own */
};

/* `acl NAME TYPE [flags] values`: words are NAME, TYPE and the rest, with list files already expanded into values.
 * False: *p says why; the name is known all the same, so that later lines don't fail for want of it, but the set is
 * no good. True with p->text[0] set: a warning. Adding to an ACL of the same name and type adds values. */
bool acl_define(struct acl_set *s, const struct span *words, size_t n, struct acl_problem *p);

/* Is it true of these facts? ACL_UNDECIDED: a pattern gave up on a text that takes it too long, or an address has a name that
 * isn't confirmed; an access list then lets no allow line match for it, and every deny line. The others say what it can't be told without. */
enum acl_answer {
    ACL_NO,
    ACL_YES,
    ACL_UNDECIDED,
    ACL_NEED_LOGIN,       /* credentials that are right: the client has to be asked for them */
    ACL_NEED_DST,         /* ask again with dst known */
    ACL_NEED_USER,        /* ask again with user_state known */
    ACL_NEED_EXTERNAL,    /* ask again when (*externals)->wanted is known */
    ACL_NEED_CLIENT_NAME, /* ask again with client_name known */
    ACL_NEED_HOST_NAME,   /* ask again with host_name known */
};
static inline bool acl_needs_more(enum acl_answer a)
{
    return a >= ACL_NEED_LOGIN;
}
enum acl_answer acl_matches(const struct acl *a, const struct access_facts *f);
/* Is one of this type defined? What costs something to know is only found out when somebody asks. */
bool acl_set_has_type(const struct acl_set *s, const char *type);
/* External ACLs that later `acl` lines may name; they outlive the set. */
struct external_acl;
void acl_set_add_external(struct acl_set *s, const struct external_acl *acl);
/* NULL: none of that name. */
const struct external_acl *acl_set_external(const struct acl_set *s, struct span name);
/* Does some ACL of type `method` name it? */
bool acl_set_names_method(const struct acl_set *s, enum http_method method);
/* Are users asked for: proxy_auth, proxy_auth_regex, an external one with %LOGIN? A denial by such a one asks for other credentials. */
bool acl_is_about_user(const struct acl *a);
/* The name it was defined under, its type's name, and "acl NAME TYPE values" for mgr:config. */
struct span acl_name(const struct acl *a);
const char *acl_type_name(const struct acl *a);
struct strbuf;
void acl_set_print(const struct acl_set *s, struct strbuf *out);
/* Type names for "did you mean" and the manual: NULL-terminated. */
const char *const *acl_type_names(void);
