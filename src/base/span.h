/* base/span.h: a run of bytes somebody else owns. Never NUL-terminated by promise; p may be NULL
 * only when len is 0. Any thread; valid as long as the owner says. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
    const char *p;
    size_t len; /* bytes */
};

#define SPAN(literal) ((struct span){ (literal), sizeof(literal) - 1 })
#define SPAN_NONE ((struct span){ NULL, 0 })
/* printf("%.*s", SPAN_ARG(s)) */
#define SPAN_ARG(s) (int)(s).len, ((s).p ? (s).p : "")

static inline struct span span_of(const char *p, size_t len)
{
    return (struct span){ p, len };
}

/* A C string's bytes; NULL gives the empty span. */
static inline struct span span_str(const char *s)
{
    return (struct span){ s, s ? strlen(s) : 0 };
}

static inline bool span_eq(struct span a, struct span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.p, b.p, a.len) == 0);
}

/* ASCII only: what HTTP calls case-insensitive (RFC 9110 section 5.1), whatever the locale. */
static inline char ascii_lower(char c)
{
    return (c >= 'A' && c <= 'Z') ? (char)(c | 0x20) : c;
}

static inline bool span_eq_nocase(struct span a, struct span b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
            return false;
    return true;
}

static inline bool span_starts_nocase(struct span s, struct span prefix)
{
    return s.len >= prefix.len && span_eq_nocase(span_of(s.p, prefix.len), prefix);
}

/* Without blanks and tabs at both ends (OWS, RFC 9110 section 5.6.3). */
static inline struct span span_trim(struct span s)
{
    while (s.len > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s.p++, s.len--;
    while (s.len > 0 && (s.p[s.len - 1] == ' ' || s.p[s.len - 1] == '\t'))
        s.len--;
    return s;
}
