/* settings_read(): files to lines to rows of the directive table, then the defaults of what wasn't said. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "base/similar.h"
#include "conf/directive.h"
#include "conf/value.h"

#define INCLUDES_MAX 16
#define IFS_MAX 32
#define SUGGESTIONS_MAX 10 /* beyond as many errors a file isn't mistyped but of another kind: don't search for each */
#define FILE_MOST ((size_t)256 << 20) /* lists of some million names fit; /dev/zero doesn't take all memory */

static void read_file(struct reading *r, const char *path, struct place from);

char *reading_keep(struct reading *r, char *p)
{
    if (r->n_kept == r->kept_capacity) {
        r->kept_capacity = r->kept_capacity ? 2 * r->kept_capacity : 16;
        r->kept = xrealloc(r->kept, r->kept_capacity * sizeof *r->kept);
    }
    return r->kept[r->n_kept++] = p;
}

char *place_text(struct place at)
{
    return xasprintf("%s:%u", at.file, at.line);
}

/* All that fd gives. NULL with *why. */
static char *read_all(int fd, size_t *len, const char **why)
{
    struct strbuf text = { 0 };
    ssize_t n;

    for (;;) {
        char *at = sb_reserve(&text, 65536);

        n = read(fd, at, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        text.len += (size_t)n;
        if (text.len > FILE_MOST) {
            errno = EFBIG;
            n = -1;
            break;
        }
    }
    if (n < 0) {
        *why = strerror(errno);
        sb_free(&text);
        return NULL;
    }
    *len = text.len;
    /* Read byte by byte, nothing in it would be what it looks like: a list of names to deny would deny nothing. */
    if (text.len >= 2 && (memcmp(text.p, "\xff\xfe", 2) == 0 || memcmp(text.p, "\xfe\xff", 2) == 0)) {
        *why = "this is UTF-16: save it as UTF-8";
        sb_free(&text);
        return NULL;
    }
    return text.p;
}

char *reading_load(struct reading *r, const char *path, size_t *len, const char **why)
{
    char *text;
    int fd;

    if (r->closed) {
        *why = "other files can't be read from here";
        return NULL;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        *why = strerror(errno);
        return NULL;
    }
    text = read_all(fd, len, why);
    close(fd);
    return text != NULL ? reading_keep(r, text) : NULL;
}

/* `if` and its kin, one stack per file: a condition can't begin in one file and end in another. */
struct conditions {
    struct {
        struct place at;
        bool outer; /* are we reading at all? */
        bool holds, in_else;
    } nested[IFS_MAX];
    size_t n;
};

static bool reading_now(const struct conditions *c)
{
    if (c->n == 0)
        return true;
    return c->nested[c->n - 1].outer && c->nested[c->n - 1].holds != c->nested[c->n - 1].in_else;
}

/* true, false, N, or N = M. */
static bool condition(struct reading *r, const struct line *l)
{
    int64_t a, b;

    if (l->n == 2 && (span_eq(l->words[1].text, SPAN("true")) || span_eq(l->words[1].text, SPAN("false"))))
        return span_eq(l->words[1].text, SPAN("true"));
    if (l->n == 2 && value_count(l->words[1].text, INT64_MIN, INT64_MAX, &a) == VALUE_OK)
        return a != 0;
    if (l->n == 4 && span_eq(l->words[2].text, SPAN("=")) &&
        value_count(l->words[1].text, INT64_MIN, INT64_MAX, &a) == VALUE_OK &&
        value_count(l->words[3].text, INT64_MIN, INT64_MAX, &b) == VALUE_OK)
        return a == b;
    diag_error(r->report, l->words[l->n > 1].at, NULL, "a condition is true, false, a number, or NUMBER = NUMBER");
    return false;
}

static void begin_if(struct reading *r, struct conditions *c, const struct line *l)
{
    bool outer = reading_now(c);

    if (c->n == IFS_MAX) {
        diag_error(r->report, l->words[0].at, NULL, "if is nested more than %d deep", IFS_MAX);
        return;
    }
    c->nested[c->n].at = l->words[0].at;
    c->nested[c->n].outer = outer;
    c->nested[c->n].holds = outer && condition(r, l);
    c->nested[c->n++].in_else = false;
}

/* True: the line was one of these. */
static bool read_condition(struct reading *r, struct conditions *c, const struct line *l)
{
    const struct word *w = &l->words[0];

    if (span_eq(w->text, SPAN("if"))) {
        begin_if(r, c, l);
        return true;
    }
    if (span_eq(w->text, SPAN("else"))) {
        if (c->n == 0 || c->nested[c->n - 1].in_else)
            diag_error(r->report, w->at, NULL, "else without if");
        else
            c->nested[c->n - 1].in_else = true;
        return true;
    }
    if (span_eq(w->text, SPAN("endif"))) {
        if (c->n == 0)
            diag_error(r->report, w->at, NULL, "endif without if");
        else
            c->n--;
        return true;
    }
    return false;
}

static void include_pattern(struct reading *r, const struct word *w)
{
    char *pattern = xspandup(w->text);
    glob_t found;
    int result = glob(pattern, 0, NULL, &found);

    if (result == GLOB_NOMATCH && strpbrk(pattern, "*?[") != NULL) {
        diag_warning(r->report, w->at, NULL, "nothing matches '%s'", pattern);
    } else if (result == GLOB_NOMATCH) {
        diag_error(r->report, w->at, NULL, "can't include '%s': %s", pattern, strerror(ENOENT));
    } else if (result != 0) {
        diag_error(r->report, w->at, NULL, "can't search for '%s'", pattern);
    } else {
        for (size_t i = 0; i < found.gl_pathc; i++) /* sorted: that is glob()'s default */
            read_file(r, found.gl_pathv[i], w->at);
        globfree(&found);
    }
    free(pattern);
}

static void read_include(struct reading *r, const struct line *l)
{
    const struct lexer *outer = r->lexer;

    if (l->n == 1)
        diag_error(r->report, l->words[0].at, NULL, "include needs a file");
    else if (r->closed)
        diag_error(r->report, l->words[0].at, NULL, "other files can't be read from here");
    else if (r->depth > INCLUDES_MAX)
        diag_error(r->report, l->words[0].at, NULL, "include is nested more than %d deep", INCLUDES_MAX);
    else
        for (size_t i = 1; i < l->n && !diag_is_full(r->report); i++)
            include_pattern(r, &l->words[i]);
    r->lexer = outer;
}

/* "0|off|deny *|* allow all": is what the line says one of these? */
static bool is_harmless(const struct directive *d, const struct line *l)
{
    const char *p = d->harmless;

    while (p != NULL) {
        size_t word = 1;
        bool same = true, rest = false;

        while (*p != '\0' && *p != '|') {
            size_t len = strcspn(p, " |");

            rest = len == 1 && *p == '*'; /* as the last one it stands for all that follow */
            if (!rest)
                same &= word < l->n && span_eq_nocase(l->words[word].text, span_of(p, len));
            word++;
            p += len + (p[len] == ' ');
        }
        if (same && (rest || word == l->n))
            return true;
        p = *p == '|' ? p + 1 : NULL;
    }
    return false;
}

/* A row that does nothing: says so where that matters. */
static void read_ignored(struct reading *r, const struct directive *d, const struct line *l)
{
    const struct word *w = &l->words[0];
    const char *colon = d->instead != NULL ? ": " : "", *rest = d->instead != NULL ? d->instead : "";
    const char *why = d->instead != NULL ? d->instead : d->meaning;

    if (is_harmless(d, l))
        return;
    if (d->kind != NULL)
        d->kind->parse(r, d, l);
    switch (d->class) {
    case WORKS:
    case ACCEPTED: break;
    case LATER:
        diag_warning(r->report, w->at, NULL, "%.*s is not implemented, ignored: %s", SPAN_ARG(w->text), why);
        break;
    case OBSOLETE:
        diag_warning(r->report, w->at, NULL, "%.*s is obsolete, ignored%s%s", SPAN_ARG(w->text), colon, rest);
        break;
    case REFUSED:
        diag_error(r->report, w->at, NULL, "%.*s is not supported yet%s%s", SPAN_ARG(w->text), colon, rest);
        break;
    }
}

static bool quotes_match(struct reading *r, const struct line *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->words[i].open_quote) {
            diag_error(r->report, l->words[i].at, NULL, "this quote is never closed");
            return false;
        }
    return true;
}

static void read_directive(struct reading *r, const struct line *l)
{
    struct span name = l->words[0].text;
    int found = directive_find(name);
    const struct directive *d;
    struct place *said;

    if (found < 0) {
        bool suggest = r->report->errors < SUGGESTIONS_MAX;

        diag_error(r->report, l->words[0].at, suggest ? similar_word(directive_names(), name) : NULL,
                   "unknown directive '%.*s'", QUOTED_ARG(name));
        return;
    }
    d = directive_at((size_t)found);
    said = &r->said[found];
    if (d->class != WORKS) {
        read_ignored(r, d, l);
        return;
    }
    if (!(d->flags & RAW) && !quotes_match(r, l))
        return;
    if (l->n == 1) {
        diag_error(r->report, lexer_place(r->lexer, l->words[0].raw_to), NULL, "%s needs a value", d->name);
        return;
    }
    if (said->file != NULL && !(d->flags & REPEATS))
        diag_warning(r->report, l->words[0].at, NULL, "%s is said again: this line counts, not %s:%u", d->name,
                     said->file, said->line);
    *said = l->words[0].at;
    d->kind->parse(r, d, l);
}

/* The eye sees a line that goes on; what follows would be read as a line of its own. */
static void look_for_broken_join(struct reading *r, const struct line *l)
{
    const struct word *last = &l->words[l->n - 1];

    if (!last->quoted && last->raw_to < l->raw.len && l->raw.p[last->raw_to - 1] == '\\')
        diag_warning(r->report, lexer_place(r->lexer, last->raw_to - 1), NULL,
                     "this backslash doesn't join the next line to this one: blanks follow it");
}

static void read_lines(struct reading *r, const char *file, struct span text)
{
    struct conditions c = { .n = 0 };
    struct lexer x;
    const struct line *l;

    lexer_init(&x, file, text);
    r->lexer = &x;
    while (!diag_is_full(r->report) && (l = lexer_next(&x)) != NULL) {
        if (read_condition(r, &c, l) || !reading_now(&c))
            continue;
        look_for_broken_join(r, l);
        if (span_eq(l->words[0].text, SPAN("include")))
            read_include(r, l);
        else
            read_directive(r, l);
    }
    if (c.n > 0)
        diag_error(r->report, c.nested[c.n - 1].at, NULL, "if without endif");
    r->lexer = NULL;
    lexer_free(&x);
}

/* from: the word that asked for it; file NULL: the command line. */
static void read_file(struct reading *r, const char *path, struct place from)
{
    char *name = reading_keep(r, xstrdup(path));
    const char *why, *text;
    size_t len;

    if ((text = reading_load(r, name, &len, &why)) == NULL) {
        if (from.file == NULL)
            diag_error(r->report, (struct place){ name, 0, 0 }, NULL, "can't read it: %s", why);
        else
            diag_error(r->report, from, NULL, "can't include '%s': %s", name, why);
        return;
    }
    r->depth++;
    read_lines(r, name, span_of(text, len));
    r->depth--;
}

/* Access lists exist from the start, so that their lines only add. */
static struct settings *settings_new(const char *file, const struct conf_hooks *hooks)
{
    struct settings *s = xcalloc(1, sizeof *s);

    s->refs = 1;
    s->file = xstrdup(file);
    s->acls = acl_set_new();
    s->logformat_free = hooks != NULL ? hooks->logformat_free : NULL;
    for (const struct directive *d = directives_working; d->name != NULL; d++)
        if (d->kind == &kind_access)
            *(struct access_list **)(void *)((char *)s + d->at) = access_list_new(d->flags & ALLOWS);
    return s;
}

/* What the files didn't say is said by the table, in the same language. */
static void read_defaults(struct reading *r)
{
    for (size_t i = 0; i < directive_count(); i++) {
        const struct directive *d = directive_at(i);
        const struct line *l;
        struct lexer x;
        char *text;

        if (d->class != WORKS || d->preset == NULL || r->said[i].file != NULL)
            continue;
        text = xasprintf("%s %s", d->name, d->preset);
        lexer_init(&x, "built-in default", span_str(text));
        r->lexer = &x;
        if ((l = lexer_next(&x)) != NULL)
            d->kind->parse(r, d, l);
        r->lexer = NULL;
        lexer_free(&x);
        free(text);
    }
}

static void complete(struct reading *r)
{
    struct settings *s = r->s;

    if (s->visible_hostname == NULL) {
        char host[256] = "";

        gethostname(host, sizeof host - 1);
        s->visible_hostname = xstrdup(host[0] != '\0' ? host : "localhost");
    }
    error_pages_load(r);
    auth_complete(r);
    rewriters_complete(r);
    peers_complete(r);
    delays_complete(r);
    refresh_complete(r);
    externals_complete(r);
    if (s->n_ports == 0 && r->report->errors == 0)
        diag_error(r->report, (struct place){ s->file, 0, 0 }, NULL, "there is no http_port to listen on");
}

/* text NULL: the file of that name. */
static struct settings *read_settings(const char *name, const struct span *text, const struct conf_hooks *hooks,
                                      struct conf_report *report)
{
    struct reading r = { .s = settings_new(name, hooks), .hooks = hooks, .report = report, .closed = text != NULL };
    unsigned errors_before = report->errors;

    r.said = xcalloc(directive_count(), sizeof *r.said);
    if (text != NULL)
        read_lines(&r, r.s->file, *text);
    else
        read_file(&r, name, (struct place){ NULL, 0, 0 });
    read_defaults(&r);
    complete(&r);
    if (report->errors > errors_before)
        settings_unref(&r.s);
    while (r.n_kept > 0)
        free(r.kept[--r.n_kept]);
    free(r.kept);
    free(r.deny_info_at);
    free(r.said);
    return r.s;
}

struct settings *settings_read(const char *path, const struct conf_hooks *hooks, struct conf_report *report)
{
    return read_settings(path, NULL, hooks, report);
}

struct settings *settings_read_text(const char *name, struct span text, const struct conf_hooks *hooks,
                                    struct conf_report *report)
{
    return read_settings(name, &text, hooks, report);
}
