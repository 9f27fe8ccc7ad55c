#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void *or_abort(void *p)
{
    if (p == NULL) {
        fputs("loligo: out of memory\n", stderr);
        abort();
    }
    return p;
}

void *xmalloc(size_t n)
{
    return or_abort(malloc(n ? n : 1));
}

void *xcalloc(size_t n, size_t size)
{
    return or_abort(calloc(n ? n : 1, size ? size : 1));
}

void *xrealloc(void *p, size_t n)
{
    return or_abort(realloc(p, n ? n : 1));
}

char *xstrdup(const char *s)
{
    return or_abort(strdup(s));
}

char *xspandup(struct span s)
{
    char *p = xmalloc(s.len + 1);

    if (s.len > 0)
        memcpy(p, s.p, s.len);
    p[s.len] = '\0';
    return p;
}

char *xasprintf(const char *fmt, ...)
{
    char *out = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&out, fmt, ap) < 0)
        out = NULL;
    va_end(ap);
    return or_abort(out);
}
