/* access_log and logformat (access-log.md section 6). */
#include <stdlib.h>
#include "base/mem.h"
#include "base/similar.h"
#include "conf/directive.h"
#include "conf/value.h"

static const char *const module_words[] = { "stdio", "daemon", "none", "syslog", "udp", "tcp", NULL };
static const char *const option_words[] = { "logformat=", "format=", "buffer-size=", "on-error=die", "on-error=drop",
                                            "rotate=",    NULL };
static const char *const builtin_words[] = { "squid", "common", "combined", "referrer", "useragent", NULL };

static struct logformat_setting *format_find(const struct settings *s, struct span name)
{
    for (size_t i = 0; i < s->n_logformats; i++)
        if (span_eq(name, span_str(s->logformats[i].name)))
            return &s->logformats[i];
    return NULL;
}

static const char *builtin_spec(const struct reading *r, struct span name)
{
    return r->hooks != NULL && r->hooks->logformat_builtin != NULL ? r->hooks->logformat_builtin(name) : NULL;
}

/* Compiles; *error (capacity 160) and *at as conf_hooks has it. True without hooks. */
static bool compile(const struct reading *r, struct logformat_setting *f, char error[160], size_t *at)
{
    if (r->hooks == NULL || r->hooks->logformat_compile == NULL)
        return true;
    f->format = r->hooks->logformat_compile(f->spec, error, at);
    return f->format != NULL;
}

static void parse_logformat(struct reading *r, const struct directive *d, const struct line *l)
{
    struct settings *s = r->s;
    struct logformat_setting *f;
    struct span spec;
    char error[160] = "";
    size_t from, at = 0;

    (void)d;
    if (!words_between(r, l, 2, SIZE_MAX))
        return;
    spec = line_rest(l, 2);
    from = l->words[2].raw_from;
    if (r->quoted_values && l->n == 3 && l->words[2].quoted) {
        spec = l->words[2].text;
        from++;
    }
    if (builtin_spec(r, l->words[1].text) != NULL) {
        diag_error(r->report, l->words[1].at, NULL, "logformat '%.*s' is built in and can't be redefined",
                   QUOTED_ARG(l->words[1].text));
        return;
    }
    if (format_find(s, l->words[1].text) != NULL) {
        diag_error(r->report, l->words[1].at, NULL, "logformat '%.*s' is defined already",
                   QUOTED_ARG(l->words[1].text));
        return;
    }
    f = ARRAY_PUSH(s->logformats, s->n_logformats);
    f->name = xspandup(l->words[1].text);
    f->spec = xspandup(spec);
    if (!compile(r, f, error, &at))
        diag_error(r->report, lexer_place(r->lexer, from + (at < spec.len ? at : spec.len)), NULL, "logformat %s: %s",
                   f->name, error);
}

static void print_logformat(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_logformats; i++)
        if (!s->logformats[i].builtin)
            sb_printf(out, "%s %s %s\n", d->name, s->logformats[i].name, s->logformats[i].spec);
}

/* Defined by the file, or built in. Without hooks nothing is compiled, but the names hold. */
static bool format_exists(struct reading *r, struct span name)
{
    if (r->hooks == NULL || r->hooks->logformat_builtin == NULL)
        for (size_t i = 0; builtin_words[i] != NULL; i++)
            if (span_eq(name, span_str(builtin_words[i])))
                return true;
    return format_find(r->s, name) != NULL || builtin_spec(r, name) != NULL;
}

static void *format_compiled(struct reading *r, struct span name)
{
    struct settings *s = r->s;
    struct logformat_setting *f = format_find(s, name);
    char error[160] = "";
    size_t at;

    if (f == NULL && builtin_spec(r, name) != NULL) {
        f = ARRAY_PUSH(s->logformats, s->n_logformats);
        f->name = xspandup(name);
        f->spec = xstrdup(builtin_spec(r, name));
        f->builtin = true;
        if (!compile(r, f, error, &at))
            diag_error(r->report, (struct place){ f->name, 0, 0 }, NULL, "built-in logformat: %s", error);
    }
    return f != NULL ? f->format : NULL;
}

/* module:path, or a bare path. */
static bool read_place(struct reading *r, struct log_setting *log, const struct word *w)
{
    const char *colon = memchr(w->text.p ? w->text.p : "", ':', w->text.len);
    struct span module = colon ? span_of(w->text.p, (size_t)(colon - w->text.p)) : w->text, place = w->text;

    if (span_eq(module, SPAN("none"))) {
        log->module = xstrdup("none");
        log->place = xstrdup("");
        return true;
    }
    if (w->text.len > 0 && w->text.p[0] == '/') {
        module = SPAN("stdio");
    } else if (colon == NULL) {
        diag_error(r->report, w->at, similar_word(module_words, w->text),
                   "'%.*s' is neither MODULE:PATH nor an absolute path", QUOTED_ARG(w->text));
        return false;
    } else {
        place = span_of(colon + 1, (size_t)(w->text.p + w->text.len - colon) - 1);
    }
    if (span_eq(module, SPAN("syslog")) || span_eq(module, SPAN("udp")) || span_eq(module, SPAN("tcp"))) {
        diag_error(r->report, w->at, NULL, "access_log module %.*s is not supported yet: use stdio:/path",
                   SPAN_ARG(module));
        return false;
    }
    if (!span_eq(module, SPAN("stdio")) && !span_eq(module, SPAN("daemon"))) {
        diag_error(r->report, w->at, similar_word(module_words, module), "unknown access_log module '%.*s'",
                   QUOTED_ARG(module));
        return false;
    }
    if (place.len == 0 || place.p[0] != '/') {
        diag_error(r->report, w->at, NULL, "access_log needs an absolute path, not '%.*s'", QUOTED_ARG(place));
        return false;
    }
    log->module = xspandup(module);
    log->place = xspandup(place);
    return true;
}

static void use_format(struct reading *r, struct log_setting *log, const struct word *w, struct span name)
{
    if (!format_exists(r, name)) {
        diag_error(r->report, w->at, similar_word(builtin_words, name), "no logformat '%.*s' is defined above",
                   QUOTED_ARG(name));
        return;
    }
    free(log->format_name);
    log->format_name = xspandup(name);
}

static void read_option(struct reading *r, struct log_setting *log, const struct word *w)
{
    struct span value;
    int64_t n;

    if (option_is(w->text, "logformat", &value) || option_is(w->text, "format", &value))
        use_format(r, log, w, value);
    else if (option_is(w->text, "on-error", &value) && (span_eq(value, SPAN("die")) || span_eq(value, SPAN("drop"))))
        log->on_error_die = span_eq(value, SPAN("die"));
    else if (option_is(w->text, "buffer-size", &value) && value_size(value, SPAN_NONE, 1, &n) <= VALUE_NO_UNIT)
        ; /* lines go through rings of a size of their own */
    else if (option_is(w->text, "rotate", &value) && value_count(value, 0, INT32_MAX, &n) == VALUE_OK)
        diag_warning(r->report, w->at, NULL, "access_log rotate= is not implemented, ignored: logfile_rotate counts");
    else
        diag_error(r->report, w->at, similar_word(option_words, w->text), "unknown access_log option '%.*s'",
                   QUOTED_ARG(w->text));
}

/* A word where a format or the first ACL may stand, which is neither, and looks like a format. */
static bool is_mistyped_format(struct reading *r, struct span word)
{
    return word.len > 0 && !format_exists(r, word) && word.p[0] != '!' && acl_find(r->s->acls, word) == NULL &&
           similar_word(builtin_words, word) != NULL;
}

static void parse_access_log(struct reading *r, const struct directive *d, const struct line *l)
{
    struct settings *s = r->s;
    struct log_setting *log;
    size_t i = 2;

    (void)d;
    log = ARRAY_PUSH(s->logs, s->n_logs);
    if (!read_place(r, log, &l->words[1]))
        return;
    /* The old form: PLACE FORMAT [acl...]. A word that names no format is an ACL, as in Squid. */
    if (i < l->n && memchr(l->words[i].text.p, '=', l->words[i].text.len) == NULL &&
        (format_exists(r, l->words[i].text) || is_mistyped_format(r, l->words[i].text))) {
        use_format(r, log, &l->words[i], l->words[i].text);
        i++;
    }
    for (; i < l->n && memchr(l->words[i].text.p, '=', l->words[i].text.len) != NULL; i++)
        read_option(r, log, &l->words[i]);
    if (log->format_name == NULL && strcmp(log->module, "none") != 0)
        log->format_name = xstrdup("squid");
    if (log->format_name != NULL)
        log->format = format_compiled(r, span_str(log->format_name));
    if (i < l->n) {
        log->acl = access_list_new(false);
        access_add_words(r, log->acl, l, i, "allow");
    }
}

static void print_access_log(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_logs; i++) {
        const struct log_setting *log = &s->logs[i];

        sb_printf(out, "%s %s", d->name, log->module);
        if (log->place[0] != '\0')
            sb_printf(out, ":%s", log->place);
        if (log->format_name != NULL)
            sb_printf(out, " logformat=%s", log->format_name);
        if (log->on_error_die)
            sb_str(out, " on-error=die");
        if (log->acl != NULL)
            access_list_print_acls(log->acl, out);
        sb_char(out, '\n');
    }
}

const struct directive_kind kind_access_log = { parse_access_log, print_access_log };
const struct directive_kind kind_logformat = { parse_logformat, print_logformat };
