#include "conf/diagnose.h"

#include <stdarg.h>
#include "base/strbuf.h"

static void add_printable(struct strbuf *out, struct span s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];

        /* A configuration can hold anything; an escape sequence must not reach the operator's terminal. */
        if (c < 0x20 || c == 0x7f)
            sb_printf(out, "\\x%02x", c);
        else
            sb_char(out, (char)c);
    }
}

__attribute__((format(printf, 5, 0))) static void say(struct conf_report *r, bool is_error, struct place at,
                                                      const char *suggestion, const char *fmt, va_list ap)
{
    struct strbuf text = { 0 }, out = { 0 };

    sb_vprintf(&text, fmt, ap);
    sb_str(&out, at.file);
    if (at.line > 0)
        sb_printf(&out, ":%u", at.line);
    if (at.line > 0 && at.column > 0)
        sb_printf(&out, ":%u", at.column);
    sb_str(&out, is_error ? ": error: " : ": warning: ");
    add_printable(&out, sb_view(&text));
    if (suggestion != NULL)
        sb_printf(&out, " (did you mean '%s'?)", suggestion);
    if (is_error)
        r->errors++;
    else
        r->warnings++;
    r->file = at.file;
    r->line = at.line;
    r->column = at.column;
    if (r->say != NULL)
        r->say(r, is_error, out.p);
    sb_free(&text);
    sb_free(&out);
}

void diag_error(struct conf_report *r, struct place at, const char *suggestion, const char *fmt, ...)
{
    va_list ap;

    if (diag_is_full(r))
        return;
    va_start(ap, fmt);
    if (r->errors == DIAG_ERRORS_MAX - 1) {
        suggestion = NULL;
        fmt = "too many errors; the rest isn't shown";
    }
    say(r, true, at, suggestion, fmt, ap);
    va_end(ap);
}

void diag_warning(struct conf_report *r, struct place at, const char *suggestion, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say(r, false, at, suggestion, fmt, ap);
    va_end(ap);
}

bool diag_is_full(const struct conf_report *r)
{
    return r->errors >= DIAG_ERRORS_MAX;
}
