#include "base/strbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"

void sb_free(struct strbuf *b)
{
    free(b->p);
    *b = (struct strbuf){ 0 };
}

char *sb_reserve(struct strbuf *b, size_t n)
{
    if (b->capacity - b->len < n + 1) {
        size_t want = b->capacity ? b->capacity * 2 : 256;

        while (want - b->len < n + 1)
            want *= 2;
        b->p = xrealloc(b->p, want);
        b->capacity = want;
    }
    return b->p + b->len;
}

void sb_add(struct strbuf *b, const void *bytes, size_t n)
{
    char *at = sb_reserve(b, n);

    if (n > 0)
        memcpy(at, bytes, n);
    b->len += n;
    b->p[b->len] = '\0';
}

void sb_char(struct strbuf *b, char c)
{
    sb_add(b, &c, 1);
}

void sb_str(struct strbuf *b, const char *s)
{
    sb_add(b, s, strlen(s));
}

void sb_span(struct strbuf *b, struct span s)
{
    sb_add(b, s.p, s.len);
}

void sb_vprintf(struct strbuf *b, const char *fmt, va_list ap)
{
    va_list again;
    char *at = sb_reserve(b, 128);
    size_t room = b->capacity - b->len;
    int n;

    va_copy(again, ap);
    n = vsnprintf(at, room, fmt, ap);
    if (n > 0 && (size_t)n >= room) {
        at = sb_reserve(b, (size_t)n);
        n = vsnprintf(at, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    if (n > 0)
        b->len += (size_t)n;
}

void sb_printf(struct strbuf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    sb_vprintf(b, fmt, ap);
    va_end(ap);
}
