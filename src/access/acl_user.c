/* proxy_auth, proxy_auth_regex, max_user_ip: about the user, who may have to be asked for first. */
#include <stdlib.h>
#include "access/acl_type.h"
#include "access/user_addresses.h"
#include "base/mem.h"

enum acl_answer acl_user_needed(const struct access_facts *f)
{
    switch (f->user_state) {
    case USER_KNOWN: return ACL_YES;
    case USER_UNKNOWN: return ACL_NEED_USER;
    case USER_ABSENT: return ACL_NEED_LOGIN;
    case USER_NOBODY: break;
    }
    return ACL_NO;
}

/* ---- names ---- */

struct user_names {
    bool required;    /* REQUIRED: anybody */
    bool ignore_case; /* -i */
    char **names;     /* sorted in any letter case */
    size_t n;
};

static void *names_make(const struct acl_type *type)
{
    (void)type;
    return xcalloc(1, sizeof(struct user_names));
}

static void names_release(void *values)
{
    struct user_names *u = values;

    for (size_t i = 0; i < u->n; i++)
        free(u->names[i]);
    free(u->names);
    free(u);
}

/* ASCII, whatever the locale. */
static int compare(struct span a, struct span b)
{
    size_t n = a.len < b.len ? a.len : b.len;

    for (size_t i = 0; i < n; i++) {
        unsigned char x = (unsigned char)ascii_lower(a.p[i]), y = (unsigned char)ascii_lower(b.p[i]);

        if (x != y)
            return x < y ? -1 : 1;
    }
    return a.len < b.len ? -1 : a.len > b.len;
}

static int by_name(const void *a, const void *b)
{
    return compare(span_str(*(char *const *)a), span_str(*(char *const *)b));
}

static bool names_parse(const struct acl_line *l, void *values)
{
    struct user_names *u = values;
    bool flags_ended = l->flags_ended;

    for (size_t i = l->at; i < l->n; i++) {
        struct span word = l->words[i];

        if (!flags_ended && span_eq(word, SPAN("-i"))) {
            u->ignore_case = true;
        } else if (!flags_ended && span_eq(word, SPAN("--"))) {
            flags_ended = true;
        } else if (!flags_ended && word.len == 2 && word.p[0] == '-') {
            return acl_fail(l->problem, i, "acl type %s has no flag '%.*s' but -i", l->self->type->name,
                            ACL_SHOWN(word));
        } else if (span_eq(word, SPAN("REQUIRED"))) {
            u->required = true;
        } else {
            u->names = xrealloc(u->names, (u->n + 1) * sizeof *u->names);
            u->names[u->n++] = xspandup(word);
        }
    }
    if (u->n > 1)
        qsort(u->names, u->n, sizeof *u->names, by_name);
    if (u->required && u->n > 0)
        acl_warn(l->problem, l->at, "REQUIRED is every user: the names beside it mean nothing");
    return true;
}

static void names_print(const struct acl *a, struct strbuf *out)
{
    const struct user_names *u = a->values;

    if (u->ignore_case)
        sb_str(out, "-i ");
    if (u->required)
        sb_str(out, "REQUIRED ");
    for (size_t i = 0; i < u->n; i++)
        sb_printf(out, "%s ", u->names[i]);
}

bool user_names_contain(const struct user_names *u, struct span name, bool any_case)
{
    size_t low = 0, high = u->n;

    if (u->required)
        return true;
    while (low < high) { /* the first that isn't less */
        size_t middle = low + (high - low) / 2;

        if (compare(span_str(u->names[middle]), name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < u->n && compare(span_str(u->names[low]), name) == 0; low++)
        if (any_case || u->ignore_case || span_eq(span_str(u->names[low]), name))
            return true;
    return false;
}

const struct acl_kind acl_kind_users = { names_make, names_parse, names_print, names_release };

/* ---- addresses ---- */

struct user_limit {
    bool is_set, strict;
    unsigned most;
};

static void *limit_make(const struct acl_type *type)
{
    (void)type;
    return xcalloc(1, sizeof(struct user_limit));
}

static bool limit_parse(const struct acl_line *l, void *values)
{
    struct user_limit *limit = values;
    size_t at = l->at;

    if (at < l->n && !l->flags_ended && span_eq(l->words[at], SPAN("-s"))) {
        limit->strict = true;
        at++;
    }
    if (l->n - at != 1 || limit->is_set)
        return acl_fail(l->problem, at < l->n ? at : 1, "acl type max_user_ip has one value, a number");
    limit->is_set = acl_number_parse(l, at, &limit->most);
    return limit->is_set;
}

static void limit_print(const struct acl *a, struct strbuf *out)
{
    const struct user_limit *limit = a->values;

    if (limit->is_set)
        sb_printf(out, "%s%u ", limit->strict ? "-s " : "", limit->most);
}

/* Past the limit: with -s this address is the one too many; else counting begins anew, so that who has moved is kept out
 * for a request only. */
bool user_limit_is_exceeded(const struct user_limit *limit, const struct access_facts *f)
{
    if (!limit->is_set || f->user_table == NULL || f->user_addresses <= limit->most)
        return false;
    user_addresses_forget(f->user_table, f->user, limit->strict ? &f->client : NULL);
    return true;
}

const struct acl_kind acl_kind_user_limit = { limit_make, limit_parse, limit_print, free };
