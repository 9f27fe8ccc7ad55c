/* base/strbuf.h: a growing run of bytes for text made piece by piece (error pages, manager pages,
 * heads). One thread. Start with {0}; sb_free() when done. The bytes are NUL-terminated whenever
 * len > 0, the NUL not counted. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include "base/span.h"

struct strbuf {
    char *p;
    size_t len, capacity; /* bytes */
};

void sb_free(struct strbuf *b);
/* Room for n more bytes at the returned place; sb->len is not moved: add what was written. */
char *sb_reserve(struct strbuf *b, size_t n);
void sb_add(struct strbuf *b, const void *bytes, size_t n);
void sb_char(struct strbuf *b, char c);
void sb_str(struct strbuf *b, const char *s);
void sb_span(struct strbuf *b, struct span s);
void sb_printf(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sb_vprintf(struct strbuf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));

/* The bytes from `at` (at most len) on. */
static inline struct span sb_from(const struct strbuf *b, size_t at)
{
    return at < b->len ? (struct span){ b->p + at, b->len - at } : (struct span){ NULL, 0 };
}

static inline struct span sb_view(const struct strbuf *b)
{
    return (struct span){ b->p, b->len };
}
