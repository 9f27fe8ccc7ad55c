/* acl, the access lists, cachemgr_passwd: who may do what. */
#include <stdlib.h>
#include "base/mem.h"
#include "conf/directive.h"

/* The words handed to acl_define(), and where each came from. */
struct values {
    struct span *text;
    struct place *at;
    size_t n, capacity;
};

static void values_add(struct values *v, struct span text, struct place at)
{
    if (v->n == v->capacity) {
        v->capacity = v->capacity ? 2 * v->capacity : 16;
        v->text = xrealloc(v->text, v->capacity * sizeof *v->text);
        v->at = xrealloc(v->at, v->capacity * sizeof *v->at);
    }
    v->text[v->n] = text;
    v->at[v->n++] = at;
}

/* Is this word the name of a list file? "/path" as Squid has it by default; parameters("/path") with
 * configuration_includes_quoted_values on, where plain quotes just quote. */
static bool names_list_file(const struct reading *r, const struct word *w, struct span *path)
{
    static const struct span open = SPAN("parameters(\""), close = SPAN("\")");

    *path = w->text;
    if (!r->quoted_values)
        return w->quoted;
    if (w->quoted || w->text.len < open.len + close.len || memcmp(w->text.p, open.p, open.len) != 0 ||
        memcmp(w->text.p + w->text.len - close.len, close.p, close.len) != 0)
        return false;
    *path = span_of(w->text.p + open.len, w->text.len - open.len - close.len);
    return true;
}

/* A missing list is an error: an empty ACL would turn a `deny` into nothing. */
static bool add_list_file(struct reading *r, struct values *v, struct span path, struct place at)
{
    char *name = reading_keep(r, xspandup(path)); /* messages point into it later */
    struct list_file f = { .text = SPAN_NONE };
    struct span value;
    const char *why, *text;
    size_t len, before = v->n;

    if ((text = reading_load(r, name, &len, &why)) == NULL) {
        diag_error(r->report, at, NULL, "can't read the list file '%s': %s", name, why);
        return false;
    }
    f.text = span_of(text, len);
    while (list_file_next(&f, &value))
        values_add(v, value, (struct place){ name, f.line, f.column });
    if (v->n == before)
        diag_warning(r->report, at, NULL, "the list file '%s' has no values", name);
    return true;
}

/* complete: all its list files could be read. */
static void define_acl(struct reading *r, const struct values *v, bool complete)
{
    struct acl_problem p = { .text = "" };
    char suggestion[64] = "";
    struct place at;
    bool ok = acl_define(r->s->acls, v->text, v->n, &p);

    if (r->users_at.file == NULL && auth_is_asked_for(v->text[1]))
        r->users_at = v->at[1];
    if (ok && (p.text[0] == '\0' || !complete))
        return;
    at = v->at[p.word < v->n ? p.word : 0];
    if (p.suggestion.len > 0 && p.suggestion.len < sizeof suggestion)
        memcpy(suggestion, p.suggestion.p, p.suggestion.len);
    if (ok)
        diag_warning(r->report, at, suggestion[0] ? suggestion : NULL, "%s", p.text);
    else
        diag_error(r->report, at, suggestion[0] ? suggestion : NULL, "%s", p.text);
}

static void parse_acl(struct reading *r, const struct directive *d, const struct line *l)
{
    struct values v = { 0 };
    bool ok = true;

    (void)d;
    if (!words_between(r, l, 2, SIZE_MAX))
        return;
    for (size_t i = 1; i < l->n; i++) {
        struct span path;

        if (i > 2 && names_list_file(r, &l->words[i], &path))
            ok &= add_list_file(r, &v, path, l->words[i].at);
        else
            values_add(&v, l->words[i].text, l->words[i].at);
    }
    /* Also after a missing file: the name then exists, and its users don't add errors of their own. */
    define_acl(r, &v, ok);
    free(v.text);
    free(v.at);
}

static void print_acls(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    (void)d;
    acl_set_print(s->acls, out);
}

void access_add_words(struct reading *r, struct access_list *list, const struct line *l, size_t first,
                      const char *implied)
{
    struct acl_problem p = { .text = "" };
    size_t n = 0, shift = implied != NULL;
    struct span *words = xmalloc((l->n - first + shift) * sizeof *words);
    char *where = place_text(l->words[0].at), *suggestion = NULL;
    bool ok;

    if (implied != NULL)
        words[n++] = span_str(implied);
    for (size_t i = first; i < l->n; i++)
        words[n++] = l->words[i].text;
    ok = access_list_add(list, r->s->acls, words, n, where, &p);
    if (!ok || p.text[0] != '\0') {
        size_t word = p.word < shift ? first : first + p.word - shift;
        struct place at = word < l->n ? l->words[word].at : lexer_place(r->lexer, l->words[l->n - 1].raw_to);

        suggestion = p.suggestion.len > 0 ? xspandup(p.suggestion) : NULL;
        if (ok)
            diag_warning(r->report, at, suggestion, "%s", p.text);
        else
            diag_error(r->report, at, suggestion, "%s", p.text);
    }
    free(suggestion);
    free(where);
    free(words);
}

static void parse_access(struct reading *r, const struct directive *d, const struct line *l)
{
    struct access_list **at = (void *)((char *)r->s + d->at);

    access_add_words(r, *at, l, 1, NULL);
}

static void print_access(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const struct access_list *list = *(struct access_list *const *)(const void *)((const char *)s + d->at);

    access_list_print(list, d->name, out);
}

static void parse_cachemgr(struct reading *r, const struct directive *d, const struct line *l)
{
    struct settings *s = r->s;
    struct cachemgr_setting *c;

    (void)d;
    if (!words_between(r, l, 2, SIZE_MAX))
        return;
    c = ARRAY_PUSH(s->cachemgr, s->n_cachemgr);
    c->password = xspandup(l->words[1].text);
    for (size_t i = 2; i < l->n; i++)
        *ARRAY_PUSH(c->actions, c->n_actions) = xspandup(l->words[i].text);
}

static void print_cachemgr(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_cachemgr; i++) {
        const struct cachemgr_setting *c = &s->cachemgr[i];
        bool is_word = strcmp(c->password, "none") == 0 || strcmp(c->password, "disable") == 0;

        sb_printf(out, "%s %s", d->name, is_word ? c->password : "XXXXXXXXXX");
        for (size_t a = 0; a < c->n_actions; a++)
            sb_printf(out, " %s", c->actions[a]);
        sb_char(out, '\n');
    }
}

const struct directive_kind kind_acl = { parse_acl, print_acls };
const struct directive_kind kind_access = { parse_access, print_access };
const struct directive_kind kind_cachemgr = { parse_cachemgr, print_cachemgr };
