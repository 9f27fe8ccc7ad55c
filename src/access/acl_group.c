/* any-of and all-of: ACLs made of ACLs. Every any-of word is an alternative; every all-of line is one, of words that
 * must all be true. */
#include <stdlib.h>
#include "access/acl_type.h"
#include "base/mem.h"

struct alternative {
    size_t from, n; /* in words */
};

struct acl_group {
    struct acl_word *words;
    size_t n_words;
    struct alternative *alternatives;
    size_t n_alternatives;
};

static void *group_make(const struct acl_type *type)
{
    (void)type;
    return xcalloc(1, sizeof(struct acl_group));
}

static void group_release(void *values)
{
    struct acl_group *g = values;

    free(g->words);
    free(g->alternatives);
    free(g);
}

static bool is_group(const struct acl *a)
{
    return a->type->kind == &acl_kind_any_of || a->type->kind == &acl_kind_all_of;
}

/* Is `to` among what a is made of, or a itself? Visits each ACL once: marks stay until forget_visits(). */
static bool reaches(struct acl *a, const struct acl *to)
{
    const struct acl_group *g = a->values;

    if (a == to)
        return true;
    if (!is_group(a) || a->is_visited)
        return false;
    a->is_visited = true;
    for (size_t i = 0; i < g->n_words; i++)
        if (reaches((struct acl *)g->words[i].acl, to))
            return true;
    return false;
}

static void forget_visits(struct acl *a)
{
    const struct acl_group *g = a->values;

    if (!a->is_visited)
        return;
    a->is_visited = false;
    for (size_t i = 0; i < g->n_words; i++)
        forget_visits((struct acl *)g->words[i].acl);
}

static bool add_word(const struct acl_line *l, struct acl_group *g, size_t at)
{
    struct acl_word word;
    struct acl *named;
    bool is_circle;

    if (!acl_word_parse(l->set, l->words, at, &word, l->problem))
        return false;
    named = (struct acl *)word.acl; /* to mark it: the set is ours while its lines are read */
    is_circle = reaches(named, l->self);
    forget_visits(named);
    if (is_circle)
        return acl_fail(l->problem, at, "acl '%.*s' would be made of itself", ACL_SHOWN(acl_name(l->self)));
    g->words = xrealloc(g->words, (g->n_words + 1) * sizeof *g->words);
    g->words[g->n_words++] = word;
    return true;
}

static void add_alternative(struct acl_group *g, size_t from)
{
    g->alternatives = xrealloc(g->alternatives, (g->n_alternatives + 1) * sizeof *g->alternatives);
    g->alternatives[g->n_alternatives++] = (struct alternative){ from, g->n_words - from };
}

static bool any_of_parse(const struct acl_line *l, void *values)
{
    struct acl_group *g = values;

    for (size_t i = l->at; i < l->n; i++) {
        if (!add_word(l, g, i))
            return false;
        add_alternative(g, g->n_words - 1);
    }
    return true;
}

static bool all_of_parse(const struct acl_line *l, void *values)
{
    struct acl_group *g = values;
    size_t from = g->n_words;

    for (size_t i = l->at; i < l->n; i++)
        if (!add_word(l, g, i)) {
            g->n_words = from;
            return false;
        }
    if (l->n > l->at)
        add_alternative(g, from);
    return true;
}

static void print_alternative(const struct acl_group *g, const struct alternative *one, struct strbuf *out)
{
    for (size_t w = one->from; w < one->from + one->n; w++)
        sb_printf(out, "%s%s ", g->words[w].is_negated ? "!" : "", g->words[w].acl->name);
}

static void any_of_print(const struct acl *a, struct strbuf *out)
{
    const struct acl_group *g = a->values;

    for (size_t i = 0; i < g->n_alternatives; i++)
        print_alternative(g, &g->alternatives[i], out);
}

/* A line each: on one they would all have to be true. */
static void all_of_print(const struct acl *a, struct strbuf *out)
{
    const struct acl_group *g = a->values;

    for (size_t i = 0; i < g->n_alternatives; i++) {
        if (i > 0)
            sb_printf(out, "\nacl %s all-of ", a->name);
        print_alternative(g, &g->alternatives[i], out);
    }
}

enum acl_answer acl_group_match(const struct acl_group *g, const struct access_facts *f)
{
    enum acl_answer any = ACL_NO;

    for (size_t i = 0; i < g->n_alternatives; i++) {
        const struct alternative *one = &g->alternatives[i];
        enum acl_answer answer = acl_words_match(g->words + one->from, one->n, f);

        if (answer == ACL_YES || acl_needs_more(answer))
            return answer;
        if (answer == ACL_UNDECIDED)
            any = ACL_UNDECIDED;
    }
    return any;
}

const struct acl_kind acl_kind_any_of = { group_make, any_of_parse, any_of_print, group_release };
const struct acl_kind acl_kind_all_of = { group_make, all_of_parse, all_of_print, group_release };
