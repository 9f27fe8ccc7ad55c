/* test/fuzz/fuzz_heads.h: what the fuzzers of heads share. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include "hdrs/parse.h"

#define FUZZ_HEAD_MAX 8192

#define MUST(condition)                                                            \
    do {                                                                           \
        if (!(condition)) {                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                               \
        }                                                                          \
    } while (0)

typedef enum parse_result fuzz_parser(struct head *, const char *, size_t, const struct parse_limits *,
                                      struct parse_progress *, struct parse_error *);

/* The verdict when the first `have` bytes come first and the rest `step` at a time. */
static inline enum parse_result fuzz_split(fuzz_parser *parse, struct head *h, const char *text, size_t size,
                                           const struct parse_limits *limits, size_t have, size_t step)
{
    struct parse_progress p = { 0 };
    struct parse_error e;

    for (;; have += step) {
        enum parse_result r = parse(h, text, have < size ? have : size, limits, &p, &e);

        if (r != PARSE_MORE || have >= size)
            return r;
        memset(h, 0xA5, sizeof *h);
        if (step == 0)
            step = 1;
    }
}

/* Do both say the same of the same bytes? */
static inline bool fuzz_same(const struct head *a, const struct head *b)
{
    if (a->len != b->len || a->minor_version != b->minor_version || a->method != b->method || a->status != b->status ||
        a->n_fields != b->n_fields || memcmp(&a->target, &b->target, sizeof a->target) != 0 ||
        memcmp(&a->method_name, &b->method_name, sizeof a->target) != 0 ||
        memcmp(&a->reason, &b->reason, sizeof a->reason) != 0 || memcmp(a->first, b->first, sizeof a->first) != 0)
        return false;
    return a->n_fields == 0 || memcmp(a->fields, b->fields, a->n_fields * sizeof a->fields[0]) == 0;
}

/* What must hold of any head that was taken. */
static inline void fuzz_judge(const struct head *h, const char *text, size_t size)
{
    MUST(h->len <= size && h->len >= 2 && text[h->len - 1] == '\n');
    for (size_t i = 0; i < h->len; i++) {
        unsigned char c = (unsigned char)text[i];

        MUST(c >= 0x20 ? c != 0x7F : c == '\t' || c == '\n' || (c == '\r' && text[i + 1] == '\n'));
    }
    for (size_t i = 0; i < h->n_fields; i++) {
        const struct head_field *f = &h->fields[i];
        struct span name = field_name(h, f), value = field_value(h, f);

        MUST(name.len > 0 && value.p + value.len <= text + h->len);
        MUST(memchr(name.p, ' ', name.len) == NULL && memchr(name.p, ':', name.len) == NULL);
        MUST(span_eq(value, span_trim(value)) && memchr(value.p, '\n', value.len) == NULL);
        MUST(f->token == token_lookup(name));
        MUST(head_find_name(h, name, NULL) != NULL);
    }
    free(head_copy(h));
}
