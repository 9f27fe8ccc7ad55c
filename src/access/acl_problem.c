#include <stdarg.h>
#include <stdio.h>
#include "access/acl_type.h"

static void say(struct acl_problem *p, size_t word, bool is_warning, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));

static void say(struct acl_problem *p, size_t word, bool is_warning, const char *fmt, va_list ap)
{
    vsnprintf(p->text, sizeof p->text, fmt, ap);
    p->word = word;
    p->is_warning = is_warning;
    p->suggestion = SPAN_NONE;
}

bool acl_fail(struct acl_problem *p, size_t word, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    say(p, word, false, fmt, ap);
    va_end(ap);
    return false;
}

void acl_warn(struct acl_problem *p, size_t word, const char *fmt, ...)
{
    va_list ap;

    if (p->text[0] != '\0')
        return;
    va_start(ap, fmt);
    say(p, word, true, fmt, ap);
    va_end(ap);
}
