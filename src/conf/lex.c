#include "conf/lex.h"

#include <stdlib.h>
#include "base/mem.h"
#include "conf/paths.h"

#define END (-1)

/* Windows editors put a byte order mark there. In a list file it would hide the first value: a deny that never matches. */
static size_t text_begins_at(struct span text)
{
    return text.len >= 3 && memcmp(text.p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

void lexer_init(struct lexer *x, const char *file, struct span text)
{
    *x = (struct lexer){ .file = file, .text = text, .at = text_begins_at(text), .line = 1, .column = 1 };
}

static void drop_owned(struct lexer *x)
{
    while (x->n_owned > 0)
        free(x->owned[--x->n_owned]);
}

void lexer_free(struct lexer *x)
{
    drop_owned(x);
    free(x->owned);
    free(x->out.words);
    free(x->runs);
    sb_free(&x->raw);
    *x = (struct lexer){ 0 };
}

static bool is_blank(int c)
{
    return c == ' ' || c == '\t';
}

/* How many bytes end the line here: 0, 1 (LF), 2 (CR LF; also a CR the file ends in). */
static size_t line_end(const struct lexer *x, size_t at)
{
    const char *p = x->text.p + at;
    size_t left = x->text.len - at;

    if (left >= 1 && p[0] == '\n')
        return 1;
    if (left >= 2 && p[0] == '\r' && p[1] == '\n')
        return 2;
    return left == 1 && p[0] == '\r' ? 1 : 0;
}

static void new_run(struct lexer *x)
{
    if (x->n_runs == x->runs_capacity) {
        x->runs_capacity = x->runs_capacity ? 2 * x->runs_capacity : 8;
        x->runs = xrealloc(x->runs, x->runs_capacity * sizeof *x->runs);
    }
    x->runs[x->n_runs++] = (struct raw_run){ x->raw.len, x->line, x->column };
}

static void end_physical_line(struct lexer *x, size_t end_bytes)
{
    x->at += end_bytes;
    x->line++;
    x->column = 1;
}

/* The byte here, after joining; END at the end of the line or the file. */
static int peek(struct lexer *x)
{
    while (x->at < x->text.len) {
        size_t end;

        if (line_end(x, x->at) > 0)
            return END;
        if (x->text.p[x->at] != '\\' || x->at + 1 == x->text.len || (end = line_end(x, x->at + 1)) == 0)
            return (unsigned char)x->text.p[x->at];
        x->at++;
        end_physical_line(x, end);
        new_run(x);
    }
    return END;
}

/* Takes what peek() showed. */
static void take(struct lexer *x)
{
    sb_char(&x->raw, x->text.p[x->at]);
    x->at++;
    x->column++;
}

static void skip_blanks(struct lexer *x)
{
    while (is_blank(peek(x)))
        take(x);
}

static void skip_comment(struct lexer *x)
{
    while (x->at < x->text.len && line_end(x, x->at) == 0)
        x->at++;
}

static struct word *new_word(struct lexer *x)
{
    struct word *w;

    if (x->out.n == x->words_capacity) {
        x->words_capacity = x->words_capacity ? 2 * x->words_capacity : 16;
        x->out.words = xrealloc(x->out.words, x->words_capacity * sizeof *x->out.words);
    }
    w = &x->out.words[x->out.n++];
    *w = (struct word){ .at = { x->file, x->line, x->column }, .raw_from = x->raw.len };
    return w;
}

/* To the closing quote, that included. */
static bool take_quoted(struct lexer *x)
{
    int c;

    take(x);
    while ((c = peek(x)) != END) {
        take(x);
        if (c == '"')
            return true;
        if (c == '\\' && (peek(x) == '"' || peek(x) == '\\'))
            take(x);
    }
    return false;
}

static void take_word(struct lexer *x)
{
    struct word *w = new_word(x);

    if (peek(x) == '"') {
        w->quoted = take_quoted(x);
        w->open_quote = !w->quoted;
    }
    while (peek(x) != END && !is_blank(peek(x))) {
        w->quoted = false; /* "a"b: quotes are special around a whole word only */
        take(x);
    }
    w->raw_to = x->raw.len;
}

static struct span own(struct lexer *x, struct strbuf *bytes)
{
    if (x->n_owned == x->owned_capacity) {
        x->owned_capacity = x->owned_capacity ? 2 * x->owned_capacity : 8;
        x->owned = xrealloc(x->owned, x->owned_capacity * sizeof *x->owned);
    }
    sb_reserve(bytes, 0);
    x->owned[x->n_owned++] = bytes->p;
    return sb_view(bytes);
}

static struct span unescape(struct lexer *x, struct span s)
{
    struct strbuf out = { 0 };

    if (memchr(s.p, '\\', s.len) == NULL)
        return s;
    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '\\' && i + 1 < s.len && (s.p[i + 1] == '"' || s.p[i + 1] == '\\'))
            i++;
        sb_char(&out, s.p[i]);
    }
    return own(x, &out);
}

static const struct {
    struct span name;
    const char *value;
} macros[] = {
    /* One process, whatever the number of workers. */
    { SPAN("${process_number}"), "1" },
    { SPAN("${process_name}"), "loligo" },
    { SPAN("${service_name}"), "loligo" },
    /* Where this build puts things: so that squid.conf.default reads the same under any prefix. */
    { SPAN("${logdir}"), LOLIGO_LOGDIR },
    { SPAN("${rundir}"), LOLIGO_RUNDIR },
    { SPAN("${sysconfdir}"), LOLIGO_SYSCONFDIR },
    { SPAN("${statedir}"), LOLIGO_STATEDIR },
};

static struct span expand_macros(struct lexer *x, struct span s)
{
    struct strbuf out = { 0 };

    if (memmem(s.p, s.len, "${", 2) == NULL)
        return s;
    for (size_t i = 0; i < s.len;) {
        size_t m = 0, n_macros = sizeof macros / sizeof macros[0];

        while (m < n_macros &&
               !(s.len - i >= macros[m].name.len && memcmp(s.p + i, macros[m].name.p, macros[m].name.len) == 0))
            m++;
        if (m < n_macros) {
            sb_str(&out, macros[m].value);
            i += macros[m].name.len;
        } else {
            sb_char(&out, s.p[i++]);
        }
    }
    return own(x, &out);
}

/* raw doesn't move any more: words can point into it. */
static void give_words_their_text(struct lexer *x)
{
    for (size_t i = 0; i < x->out.n; i++) {
        struct word *w = &x->out.words[i];

        w->text = span_of(x->raw.p + w->raw_from, w->raw_to - w->raw_from);
        if (w->quoted)
            w->text = unescape(x, span_of(w->text.p + 1, w->text.len - 2));
        w->text = expand_macros(x, w->text);
    }
}

static void take_line(struct lexer *x)
{
    drop_owned(x);
    x->out.n = 0;
    x->raw.len = 0;
    x->n_runs = 0;
    new_run(x);
    for (;;) {
        size_t end;

        skip_blanks(x);
        if (peek(x) == '#')
            skip_comment(x);
        if (peek(x) != END) {
            take_word(x);
            continue;
        }
        if ((end = x->at < x->text.len ? line_end(x, x->at) : 0) > 0)
            end_physical_line(x, end);
        break;
    }
    x->out.raw = sb_view(&x->raw);
    give_words_their_text(x);
}

const struct line *lexer_next(struct lexer *x)
{
    while (x->at < x->text.len) {
        take_line(x);
        if (x->out.n > 0)
            return &x->out;
    }
    return NULL;
}

struct place lexer_place(const struct lexer *x, size_t raw_offset)
{
    size_t i = x->n_runs - 1;

    while (i > 0 && x->runs[i].raw_from > raw_offset)
        i--;
    return (struct place){ x->file, x->runs[i].line, x->runs[i].column + (unsigned)(raw_offset - x->runs[i].raw_from) };
}

struct span line_rest(const struct line *l, size_t first)
{
    if (first >= l->n)
        return SPAN_NONE;
    return span_of(l->raw.p + l->words[first].raw_from, l->words[l->n - 1].raw_to - l->words[first].raw_from);
}

static struct span without_comment(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.p[i] == '#' && (i == 0 || is_blank(s.p[i - 1])))
            return span_of(s.p, i);
    return s;
}

bool list_file_next(struct list_file *f, struct span *value)
{
    if (f->at == 0)
        f->at = text_begins_at(f->text);
    while (f->at < f->text.len) {
        const char *from = f->text.p + f->at;
        const char *end = memchr(from, '\n', f->text.len - f->at);
        size_t len = end ? (size_t)(end - from) : f->text.len - f->at;
        struct span s = span_of(from, len);

        f->at += len + (end != NULL);
        f->line++;
        if (s.len > 0 && s.p[s.len - 1] == '\r')
            s.len--;
        s = span_trim(without_comment(s));
        if (s.len > 0) {
            f->column = (unsigned)(s.p - from) + 1;
            *value = s;
            return true;
        }
    }
    return false;
}
