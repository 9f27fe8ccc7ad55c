/* note, annotate_transaction, annotate_client: annotations asked about and made. */
#include <stdlib.h>
#include "access/acl_type.h"
#include "access/notes.h"
#include "access/word_set.h"
#include "base/mem.h"

/* ---- note: is there one? ---- */

struct note_test {
    char *name;
    char *delimiters;       /* -m: a value is a list between any of these; NULL: it is one */
    struct word_set values; /* none: any value */
};

static void *note_make(const struct acl_type *type)
{
    (void)type;
    return xcalloc(1, sizeof(struct note_test));
}

static void note_release(void *values)
{
    struct note_test *t = values;

    free(t->name);
    free(t->delimiters);
    word_set_clear(&t->values);
    free(t);
}

static bool parse_flags(const struct acl_line *l, struct note_test *t, size_t *at)
{
    for (*at = l->at; *at < l->n && !l->flags_ended; ++*at) {
        struct span word = l->words[*at];
        bool is_list = word.len >= 2 && word.p[0] == '-' && word.p[1] == 'm';

        if (span_eq(word, SPAN("--"))) {
            ++*at;
            return true;
        }
        if (word.len < 2 || word.p[0] != '-')
            return true;
        if (!is_list || (word.len > 2 && word.p[2] != '=') || word.len == 3)
            return acl_fail(l->problem, *at, "acl type note has no flag '%.*s' but -m and -m=DELIMITERS",
                            ACL_SHOWN(word));
        free(t->delimiters);
        t->delimiters = word.len > 3 ? xspandup(span_of(word.p + 3, word.len - 3)) : xstrdup(",");
    }
    return true;
}

static bool note_parse(const struct acl_line *l, void *values)
{
    struct note_test *t = values;
    size_t at;

    if (!parse_flags(l, t, &at))
        return false;
    if (at == l->n)
        return acl_fail(l->problem, l->n - 1, "acl type note needs the name of an annotation, then values");
    if (t->name != NULL && !span_eq(l->words[at], span_str(t->name)))
        return acl_fail(l->problem, at, "acl '%s' is about '%s' already: give another name an acl of its own",
                        l->self->name, t->name);
    if (t->name == NULL)
        t->name = xspandup(l->words[at]);
    for (at++; at < l->n; at++)
        word_set_add(&t->values, l->words[at]);
    return true;
}

static void note_print(const struct acl *a, struct strbuf *out)
{
    const struct note_test *t = a->values;

    if (t->delimiters != NULL)
        sb_printf(out, "-m=%s ", t->delimiters);
    if (t->name != NULL)
        sb_printf(out, "%s ", t->name);
    word_set_print(&t->values, out);
}

static bool value_matches(const struct note_test *t, struct span value)
{
    if (t->values.n == 0)
        return true;
    if (t->delimiters == NULL)
        return word_set_contains(&t->values, value);
    for (size_t from = 0, at = 0; at <= value.len; at++)
        if (at == value.len || strchr(t->delimiters, value.p[at]) != NULL) {
            if (word_set_contains(&t->values, span_of(value.p + from, at - from)))
                return true;
            from = at + 1;
        }
    return false;
}

bool note_test_finds(const struct note_test *t, const struct notes *n)
{
    struct span name, value;

    for (size_t i = 0; t->name != NULL && notes_at(n, i, &name, &value); i++)
        if (span_eq(name, span_str(t->name)) && value_matches(t, value))
            return true;
    return false;
}

const struct acl_kind acl_kind_note = { note_make, note_parse, note_print, note_release };

/* ---- annotate_transaction, annotate_client ---- */

struct annotations {
    struct annotation {
        char *name, *value;
        bool keeps_others;
    } * all;
    size_t n;
};

static void *annotations_make(const struct acl_type *type)
{
    (void)type;
    return xcalloc(1, sizeof(struct annotations));
}

static void annotations_release(void *values)
{
    struct annotations *a = values;

    for (size_t i = 0; i < a->n; i++) {
        free(a->all[i].name);
        free(a->all[i].value);
    }
    free(a->all);
    free(a);
}

static bool annotations_parse(const struct acl_line *l, void *values)
{
    struct annotations *a = values;

    for (size_t i = l->at; i < l->n; i++) {
        struct span word = l->words[i];
        const char *equals = word.len > 0 ? memchr(word.p, '=', word.len) : NULL;
        size_t name_len = equals ? (size_t)(equals - word.p) : 0;
        bool keeps = name_len > 0 && equals[-1] == '+';

        if (name_len - keeps == 0)
            return acl_fail(l->problem, i, "neither name=value nor name+=value: '%.*s'", ACL_SHOWN(word));
        if (memchr(word.p, '%', word.len) != NULL)
            return acl_fail(l->problem, i, "format codes in annotations are not supported: '%.*s'", ACL_SHOWN(word));
        a->all = xrealloc(a->all, (a->n + 1) * sizeof *a->all);
        a->all[a->n++] = (struct annotation){ xspandup(span_of(word.p, name_len - keeps)),
                                              xspandup(span_of(equals + 1, word.len - name_len - 1)), keeps };
    }
    return true;
}

static void annotations_print(const struct acl *acl, struct strbuf *out)
{
    const struct annotations *a = acl->values;

    for (size_t i = 0; i < a->n; i++)
        sb_printf(out, "%s%s=%s ", a->all[i].name, a->all[i].keeps_others ? "+" : "", a->all[i].value);
}

void annotations_make_notes(const struct annotations *a, struct notes *to)
{
    for (size_t i = 0; to != NULL && i < a->n; i++)
        notes_add(to, span_str(a->all[i].name), span_str(a->all[i].value), a->all[i].keeps_others);
}

const struct acl_kind acl_kind_annotations = { annotations_make, annotations_parse, annotations_print,
                                               annotations_release };
