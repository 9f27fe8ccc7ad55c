/* access/access_list.h: `http_access allow|deny [!]acl ...` and its kin: lines are ORed in order, the words of one
 * are ANDed, the first line that matches decides. No line matches: the opposite of the last line's action; no lines:
 * the default the directive has.
 *
 * Threads: built by the thread that reads the configuration; read-only afterwards, by any. */
#pragma once
#include "access/acl.h"

struct access_list;

/* default_allow: the verdict without any lines. */
struct access_list *access_list_new(bool default_allow);
void access_list_free(struct access_list **holder);
/* words: allow|deny, then [!]acl names, all of them defined already. where: "FILE:LINE", copied. False: *p says why;
 * p->word is the index into words. */
bool access_list_add(struct access_list *l, const struct acl_set *set, const struct span *words, size_t n,
                     const char *where, struct acl_problem *p);
bool access_list_is_empty(const struct access_list *l);

/* What is needed is to be found out, and the list asked again; but for a login: that only the client can give. */
enum access_answer {
    ACCESS_DENIED,
    ACCESS_ALLOWED,
    ACCESS_NEED_LOGIN,
    ACCESS_NEED_DST,
    ACCESS_NEED_USER,
    ACCESS_NEED_EXTERNAL,
    ACCESS_NEED_CLIENT_NAME,
    ACCESS_NEED_HOST_NAME,
};
static inline bool access_is_final(enum access_answer a)
{
    return a <= ACCESS_NEED_LOGIN;
}
struct access_verdict {
    enum access_answer answer;
    const char *where;      /* "FILE:LINE" of the line that decided, or "default" */
    const struct acl *last; /* the last ACL of that line, which may need a login: deny_info's; NULL: none */
};
struct access_verdict access_check(const struct access_list *l, const struct access_facts *f);
/* True: *v is what access_check() says whatever the facts, so that nobody needs to fill them in (`allow all`, NULL). */
bool access_is_constant(const struct access_list *l, struct access_verdict *v);
/* The same verdict, with every line that was tried, in order; the last one may have decided. For whoever asks why
 * (-k check-access): slower, constant ACLs are asked as well. seen: what it is given is its own during the call only. */
struct access_word_seen {
    struct span name;
    const char *type;
    bool is_negated, is_asked; /* not asked: a word in front of it said no */
    enum acl_answer answer;
};
struct access_line_seen {
    const char *where;
    bool allows, decides;
    const struct access_word_seen *words;
    size_t n;
};
typedef void access_seen(void *ctx, const struct access_line_seen *line);
struct access_verdict access_explain(const struct access_list *l, const struct access_facts *f, access_seen *seen,
                                     void *ctx);
/* NULL lists allow everything; constant ones don't look at the facts. */
bool access_always_allows(const struct access_list *l);
struct strbuf;
/* One "NAME allow|deny words" line each; lines after the first start with a blank, as Squid's mgr:config does. */
void access_list_print(const struct access_list *l, const char *directive, struct strbuf *out);
/* The ACLs of a list that has one line, " [!]name" each: for directives whose lines have conditions. */
void access_list_print_acls(const struct access_list *l, struct strbuf *out);
