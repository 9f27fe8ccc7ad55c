#include "access/access_list.h"

#include <stdlib.h>
#include "access/acl_type.h"
#include "base/mem.h"
#include "base/similar.h"

/* A line as it was written, for verdicts and printing. */
struct line {
    bool allows;
    char *where;
    struct acl_word *words;
    size_t n;
};

/* A line as it is checked: constant words are gone, and so are lines with a `!all`, which never match. */
struct rule {
    size_t from, n; /* in checks */
    size_t line;
    bool allows;
};

struct access_list {
    bool default_allow;
    struct line *lines;
    size_t n_lines;
    struct rule *rules;
    size_t n_rules;
    struct acl_word *checks; /* all rules' words in one piece */
    size_t n_checks;
    bool is_constant; /* rules ask nothing */
    struct access_verdict constant;
};

struct access_list *access_list_new(bool default_allow)
{
    struct access_list *l = xcalloc(1, sizeof *l);

    l->default_allow = default_allow;
    l->is_constant = true;
    l->constant.answer = default_allow ? ACCESS_ALLOWED : ACCESS_DENIED;
    l->constant.where = "default";
    return l;
}

void access_list_free(struct access_list **holder)
{
    struct access_list *l = *holder;

    *holder = NULL;
    if (l == NULL)
        return;
    for (size_t i = 0; i < l->n_lines; i++) {
        free(l->lines[i].where);
        free(l->lines[i].words);
    }
    free(l->lines);
    free(l->rules);
    free(l->checks);
    free(l);
}

static const char *const actions[] = { "allow", "deny", NULL };

static bool parse_action(const struct span *words, size_t n, bool *allows, struct acl_problem *p)
{
    bool denies = n > 0 && span_eq(words[0], SPAN("deny"));

    *allows = n > 0 && span_eq(words[0], SPAN("allow"));
    if (*allows || denies)
        return true;
    if (n == 0) {
        acl_fail(p, 0, "an access line starts with 'allow' or 'deny'");
        return false;
    }
    acl_fail(p, 0, "'%.*s' is neither 'allow' nor 'deny'", (int)(words[0].len < 64 ? words[0].len : 64), words[0].p);
    p->suggestion = span_str(similar_word(actions, words[0]));
    return false;
}

/* ACLs only ever gain values, so what is constant now stays so. */
static void add_rule(struct access_list *l, const struct line *line)
{
    struct rule rule = { .from = l->n_checks, .line = l->n_lines, .allows = line->allows };

    l->checks = xrealloc(l->checks, (l->n_checks + line->n) * sizeof *l->checks);
    for (size_t i = 0; i < line->n; i++) {
        if (!line->words[i].acl->is_constant)
            l->checks[rule.from + rule.n++] = line->words[i];
        else if (line->words[i].is_negated)
            return;
    }
    l->n_checks += rule.n;
    l->rules = xrealloc(l->rules, (l->n_rules + 1) * sizeof *l->rules);
    l->rules[l->n_rules++] = rule;
}

bool access_list_is_empty(const struct access_list *l)
{
    return l->n_lines == 0;
}

static enum access_answer answer_of(bool allows)
{
    return allows ? ACCESS_ALLOWED : ACCESS_DENIED;
}

/* What holds when no line matches. */
static bool allows_otherwise(const struct access_list *l)
{
    return l->n_lines > 0 ? !l->lines[l->n_lines - 1].allows : l->default_allow;
}

static enum access_answer need_of(enum acl_answer answer)
{
    switch (answer) {
    case ACL_NEED_DST: return ACCESS_NEED_DST;
    case ACL_NEED_USER: return ACCESS_NEED_USER;
    case ACL_NEED_EXTERNAL: return ACCESS_NEED_EXTERNAL;
    case ACL_NEED_CLIENT_NAME: return ACCESS_NEED_CLIENT_NAME;
    case ACL_NEED_HOST_NAME: return ACCESS_NEED_HOST_NAME;
    default: return ACCESS_NEED_LOGIN;
    }
}

static struct access_verdict verdict_of(const struct line *line, enum acl_answer answer)
{
    enum access_answer a = acl_needs_more(answer) ? need_of(answer) : answer_of(line->allows);

    return (struct access_verdict){ a, line->where, access_is_final(a) ? line->words[line->n - 1].acl : NULL };
}

static struct access_verdict verdict_otherwise(const struct access_list *l)
{
    return (struct access_verdict){ answer_of(allows_otherwise(l)), "default", NULL };
}

/* Called when a line was added. */
static void find_constant(struct access_list *l)
{
    l->is_constant = l->n_rules == 0 || l->rules[0].n == 0;
    if (l->is_constant)
        l->constant = l->n_rules == 0 ? verdict_otherwise(l) : verdict_of(&l->lines[l->rules[0].line], ACL_YES);
}

bool access_list_add(struct access_list *l, const struct acl_set *set, const struct span *words, size_t n,
                     const char *where, struct acl_problem *p)
{
    struct line line = { 0 };

    *p = (struct acl_problem){ 0 };
    if (!parse_action(words, n, &line.allows, p))
        return false;
    /* Squid skips such a line with a warning; a deny that isn't there is no warning matter. */
    if (n < 2)
        return acl_fail(p, 0, "no acl behind '%.*s': write 'all' for everybody", ACL_SHOWN(words[0]));
    line.words = xcalloc(n - 1, sizeof *line.words);
    for (; line.n < n - 1; line.n++)
        if (!acl_word_parse(set, words, line.n + 1, &line.words[line.n], p)) {
            free(line.words);
            return false;
        }
    line.where = xstrdup(where);
    add_rule(l, &line);
    l->lines = xrealloc(l->lines, (l->n_lines + 1) * sizeof *l->lines);
    l->lines[l->n_lines++] = line;
    find_constant(l);
    return true;
}

bool access_is_constant(const struct access_list *l, struct access_verdict *v)
{
    if (l == NULL)
        *v = (struct access_verdict){ ACCESS_ALLOWED, "default", NULL };
    else if (l->is_constant)
        *v = l->constant;
    return l == NULL || l->is_constant;
}

struct access_verdict access_check(const struct access_list *l, const struct access_facts *f)
{
    if (l == NULL)
        return (struct access_verdict){ ACCESS_ALLOWED, "default", NULL };
    for (const struct rule *r = l->rules, *end = r + l->n_rules; r < end; r++) {
        enum acl_answer answer = acl_words_match(l->checks + r->from, r->n, f);

        if (answer == ACL_NO || (answer == ACL_UNDECIDED && r->allows))
            continue;
        return verdict_of(&l->lines[r->line], answer);
    }
    return verdict_otherwise(l);
}

/* As acl_words_match(), and notes what each word said. */
static enum acl_answer match_seen(const struct line *line, const struct access_facts *f, struct access_word_seen *seen)
{
    enum acl_answer all = ACL_YES;

    for (size_t i = 0; i < line->n; i++) {
        const struct acl_word *w = &line->words[i];

        seen[i] = (struct access_word_seen){ .name = acl_name(w->acl),
                                             .type = acl_type_name(w->acl),
                                             .is_negated = w->is_negated };
        if (all == ACL_NO || acl_needs_more(all))
            continue;
        seen[i].is_asked = true;
        seen[i].answer = acl_matches(w->acl, f);
        if (acl_needs_more(seen[i].answer) || seen[i].answer == ACL_UNDECIDED)
            all = seen[i].answer;
        else if ((seen[i].answer == ACL_YES) == w->is_negated)
            all = ACL_NO;
    }
    return all;
}

struct access_verdict access_explain(const struct access_list *l, const struct access_facts *f, access_seen *seen,
                                     void *ctx)
{
    for (const struct line *line = l->lines, *end = line + l->n_lines; line < end; line++) {
        struct access_word_seen *words = xcalloc(line->n, sizeof *words);
        enum acl_answer answer = match_seen(line, f, words);
        struct access_line_seen s = { line->where, line->allows, answer != ACL_NO, words, line->n };

        if (answer == ACL_UNDECIDED && line->allows)
            s.decides = false;
        seen(ctx, &s);
        free(words);
        if (s.decides)
            return verdict_of(line, answer);
    }
    return verdict_otherwise(l);
}

bool access_always_allows(const struct access_list *l)
{
    struct access_verdict v;

    return access_is_constant(l, &v) && v.answer == ACCESS_ALLOWED;
}

void access_list_print(const struct access_list *l, const char *directive, struct strbuf *out)
{
    for (size_t i = 0; i < l->n_lines; i++) {
        const struct line *line = &l->lines[i];

        sb_printf(out, "%s%s %s ", i > 0 ? " " : "", directive, line->allows ? "allow" : "deny");
        for (size_t w = 0; w < line->n; w++)
            sb_printf(out, "%s%s ", line->words[w].is_negated ? "!" : "", line->words[w].acl->name);
        sb_char(out, '\n');
    }
}

void access_list_print_acls(const struct access_list *l, struct strbuf *out)
{
    for (size_t w = 0; l->n_lines > 0 && w < l->lines[0].n; w++)
        sb_printf(out, " %s%s", l->lines[0].words[w].is_negated ? "!" : "", l->lines[0].words[w].acl->name);
}
