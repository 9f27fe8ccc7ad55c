/* conf/header_rules.h: what request_header_access and its kin say of one direction's fields. Plain data; read-only once workers use
 * it. */
#pragma once
#include "access/access_list.h"
#include "hdrs/token.h"

struct header_rule {
    char *name;               /* of a field; "All"; "Other": those that hdrs/token.def doesn't know */
    struct access_list *list; /* *_header_access; NULL: allow */
    char *replace;            /* *_header_replace: a denied field gets this value; NULL: it goes */
};

struct header_add { /* *_header_add */
    char *name, *value;
    void *format;             /* value as a logformat, compiled; NULL: value as it is */
    struct access_list *when; /* NULL: always */
};

struct header_rules {
    struct header_rule *rules;
    size_t n_rules;
    struct header_add *adds;
    size_t n_adds;
};

static inline bool header_rules_none(const struct header_rules *r)
{
    return r->n_rules == 0 && r->n_adds == 0;
}

/* Where messages end and to whom they go is not for rules: two parties would see different messages. */
bool header_is_framing(enum token t);
/* format_free: conf_hooks.logformat_free; NULL when nothing was compiled. */
void header_rules_free(struct header_rules *r, void (*format_free)(void *format));
