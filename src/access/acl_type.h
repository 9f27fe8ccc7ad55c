/* access/acl_type.h: what stands behind an ACL. For this room only. */
#pragma once
#include "access/acl.h"
#include "base/strbuf.h"

struct acl_type;

/* The words of one acl line while its values are read. */
struct acl_line {
    const struct acl_set *set;
    const struct acl *self;   /* the ACL that gets the values */
    const struct span *words; /* words[at..n) are the values */
    size_t n, at;
    bool flags_ended; /* a -- stood before words[at]: what looks like a flag is a value */
    struct acl_problem *problem;
};

/* How values are kept: shared by all types with values of that kind. */
struct acl_kind {
    void *(*make)(const struct acl_type *type);
    /* False: l->problem says why. */
    bool (*parse)(const struct acl_line *l, void *values);
    void (*print)(const struct acl *a, struct strbuf *out); /* each value and a blank */
    void (*release)(void *values);
};

typedef enum acl_answer acl_matcher(const void *values, const struct access_facts *f);

struct acl_type {
    const char *name;
    const struct acl_kind *kind;
    acl_matcher *match;
    const char *field;
};

struct acl {
    const struct acl_type *type;
    char *name;
    void *values;
    bool is_built_in;
    bool is_constant; /* true of everything, for good: values are only ever added */
    bool is_visited;  /* acl_group.c's, while it looks for circles */
};

/* The row of that name, with old spellings; NULL: unknown. */
const struct acl_type *acl_type_find(struct span name);
/* What to do instead of a type that Squid knows, though we don't yet; static text. NULL: it is none. */
const char *acl_type_instead(struct span name);
/* For ACLs whose definition failed: ACL_UNDECIDED. */
extern const struct acl_type acl_type_broken;

extern const struct acl_kind acl_kind_addresses; /* struct addr_set */
extern const struct acl_kind acl_kind_numbers;   /* struct number_set */
extern const struct acl_kind acl_kind_statuses;  /* the same, 100-999 */
extern const struct acl_kind acl_kind_domains;   /* struct acl_domains */
extern const struct acl_kind acl_kind_words;     /* struct word_set */
/* Theirs, for kinds that only read their words in another way. */
void *acl_words_make(const struct acl_type *type);
void acl_words_print(const struct acl *a, struct strbuf *out);
void acl_words_release(void *values);
extern const struct acl_kind acl_kind_schemes; /* the same, lower case */
extern const struct acl_kind acl_kind_methods; /* struct method_set */
extern const struct acl_kind acl_kind_times;   /* struct time_set */

/* acl_name.c: about the names of hosts, and what addresses are called */
struct acl_domains {
    struct domain_set *set;
    bool no_lookup; /* -n: an address has no name */
};
/* words[i], a -n: notes it. False: the problem says that the type can't do without look-ups. */
bool acl_no_lookup_parse(const struct acl_line *l, size_t i, bool *no_lookup);
typedef enum acl_answer acl_name_test(const void *values, struct span name);
enum acl_answer acl_domains_test(const void *values, struct span name);
enum acl_answer acl_client_name_match(const struct access_facts *f, acl_name_test *test, const void *values);
/* host is an address, which wasn't matched as text. */
enum acl_answer acl_host_name_match(const struct access_facts *f, acl_name_test *test, const void *values);

/* acl_outcome.c: about how a transaction goes, and chance */
extern const struct acl_kind acl_kind_has;        /* struct word_set of fixed words */
extern const struct acl_kind acl_kind_hier;       /* the same */
extern const struct acl_kind acl_kind_initiators; /* the same */
extern const struct acl_kind acl_kind_errors;     /* struct word_set of ERR_ names */
extern const struct acl_kind acl_kind_chance;     /* struct chance */
extern const struct acl_kind acl_kind_limit;      /* struct limit */
struct chance;
/* True of the share of draws that the ACL says; the same draw is answered the same. */
bool chance_hits(const struct chance *c, uint64_t draw);
struct limit;
bool limit_is_exceeded(const struct limit *l, unsigned n);

/* words[at] is a number up to 999999999. False: the problem says why not. */
bool acl_number_parse(const struct acl_line *l, size_t at, unsigned *n);

/* acl_user.c */
extern const struct acl_kind acl_kind_users;      /* struct user_names */
extern const struct acl_kind acl_kind_user_limit; /* struct user_limit */
/* ACL_YES: the user is known. Else the answer of every ACL that asks for one. */
enum acl_answer acl_user_needed(const struct access_facts *f);
struct user_names;
bool user_names_contain(const struct user_names *u, struct span name, bool any_case);
struct user_limit;
bool user_limit_is_exceeded(const struct user_limit *limit, const struct access_facts *f);

/* acl_note.c */
extern const struct acl_kind acl_kind_note;        /* struct note_test */
extern const struct acl_kind acl_kind_annotations; /* struct annotations */
struct note_test;
/* NULL notes: false. */
bool note_test_finds(const struct note_test *t, const struct notes *n);
struct annotations;
/* Adds them to `to`; NULL: nothing happens. */
void annotations_make_notes(const struct annotations *a, struct notes *to);

/* Known methods as bits, so that most questions touch no text. */
struct method_set;
bool method_set_contains(const struct method_set *s, enum http_method method, struct span name);

/* acl_pattern.c */
extern const struct acl_kind acl_kind_patterns; /* struct acl_patterns */
extern const struct acl_kind acl_kind_field;    /* the same, with a field name: first value, or the type's */
struct acl_patterns;
enum acl_answer acl_patterns_match(const struct acl_patterns *p, struct span text);
enum acl_answer acl_patterns_test(const void *values, struct span name); /* the same */
/* -n: an address has no name. */
bool acl_patterns_forbid_lookup(const struct acl_patterns *p);
/* On the text with its %xx decoded once, as Squid does: `%70orn` must not pass where `porn` is denied. */
enum acl_answer acl_patterns_match_unescaped(const struct acl_patterns *p, struct span text);
/* On the field's value; several lines are joined with commas. No such field: ACL_NO. */
enum acl_answer acl_patterns_match_field(const struct acl_patterns *p, const struct head *h);
/* The same in a head printed by us: a status line, then `Name: value` lines. */
enum acl_answer acl_patterns_match_block(const struct acl_patterns *p, struct span block);

/* acl_word.c: [!]NAME, in access lists and in any-of and all-of. */
struct acl_word {
    acl_matcher *match; /* acl->type's, and acl->values: one load less on the hit path */
    const void *values;
    const struct acl *acl;
    bool is_negated;
};
bool acl_word_parse(const struct acl_set *s, const struct span *words, size_t at, struct acl_word *out,
                    struct acl_problem *p);
/* Are all of them true? The first that isn't ends it. */
static inline enum acl_answer acl_words_match(const struct acl_word *words, size_t n, const struct access_facts *f)
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

/* acl_external.c */
extern const struct acl_kind acl_kind_external; /* struct external_use */
struct external_use;
enum acl_answer external_use_match(const struct external_use *u, const struct access_facts *f);

/* acl_group.c */
extern const struct acl_kind acl_kind_any_of, acl_kind_all_of; /* struct acl_group */
struct acl_group;
enum acl_answer acl_group_match(const struct acl_group *g, const struct access_facts *f);

/* acl_problem.c. Always false, so that `return acl_fail(...)` reads well. */
bool acl_fail(struct acl_problem *p, size_t word, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Later warnings of a line are dropped. */
void acl_warn(struct acl_problem *p, size_t word, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* printf("%.*s") for words that may be long. */
#define ACL_SHOWN(s) (int)((s).len < 80 ? (s).len : 80), ((s).p ? (s).p : "")

/* The name most like it, or SPAN_NONE. */
struct span acl_similar_name(const struct acl_set *s, struct span name);

/* acl.c, for acl_built_in.c. */
struct acl *acl_set_insert(struct acl_set *s, struct span name, const struct acl_type *type);
bool acl_add_values(struct acl_set *s, struct acl *a, const struct span *words, size_t n, struct acl_problem *p);

/* acl_built_in.c */
void acl_built_in_define(struct acl_set *s);
/* An acl line that names built-in a. type: what the line says, NULL when unknown. */
bool acl_built_in_redefine(struct acl_set *s, struct acl *a, const struct acl_type *type, const struct span *words,
                           size_t n, struct acl_problem *p);
