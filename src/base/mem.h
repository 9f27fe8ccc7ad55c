/* base/mem.h: small allocations abort (DESIGN.md, failure policy): Linux overcommits, and an error
 * path nobody can test is a lie. What a peer controls asks a limit first. Any thread. */
#pragma once
#include <stddef.h>
#include "base/span.h"

/* Each returns memory the caller owns and free()s; never NULL (aborts with a line on stderr). */
void *xmalloc(size_t n);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t n);
char *xstrdup(const char *s);
/* A NUL-terminated copy of s. */
char *xspandup(struct span s);
/* A formatted NUL-terminated string. */
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
