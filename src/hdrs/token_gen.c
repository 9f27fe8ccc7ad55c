/* hdrs/token_gen.c: a build-time program: token.def and its like in, token_table.h out (on stdout). It tries multipliers until no
 * two names share a slot; the sequence it tries is fixed, so the same rows always give the same table. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "hdrs/token.h"
#include "hdrs/token_hash.h"

#define SLOT_BITS_MIN 10
#define SLOT_BITS_MAX 13
#define TRIES_PER_SIZE 4000000

static const char *const names[TOKEN_N] = {
#define TOKEN(id, name, policy) [TOKEN_##id] = name,
#include "hdrs/token.def"
#undef TOKEN
};

struct row {
    char lower[TOKEN_NAME_MAX + 1];
    size_t len;
    struct token_key key;
};

static struct row rows[TOKEN_N];
static uint8_t slots[1 << SLOT_BITS_MAX];

_Static_assert(TOKEN_N <= UINT8_MAX + 1, "a token is kept in a byte");

static void fail(const char *what, const char *name)
{
    fprintf(stderr, "token_gen: %s: %s\n", what, name);
    exit(1);
}

static void read_row(struct row *r, const char *name)
{
    r->len = strlen(name);
    if (r->len == 0 || r->len > TOKEN_NAME_MAX)
        fail("bad length", name);
    for (size_t i = 0; i < r->len; i++) {
        r->lower[i] = (char)tolower((unsigned char)name[i]);
        /* The look-up folds case with | 0x20: exact for these characters only. */
        if (!islower((unsigned char)r->lower[i]) && !isdigit((unsigned char)r->lower[i]) && r->lower[i] != '-')
            fail("letters, digits and '-' only", name);
    }
    r->key = token_key_of(r->lower, r->len);
}

static void read_rows(void)
{
    for (size_t t = 1; t < TOKEN_N; t++) {
        const struct row *r = &rows[t];

        read_row(&rows[t], names[t]);
        for (size_t u = 1; u < t; u++)
            if (rows[u].len == r->len && rows[u].key.first == r->key.first && rows[u].key.last == r->key.last)
                fail("can't be told from another row by its ends and length", names[t]);
    }
}

/* xorshift64: any decent fixed sequence does. */
static uint64_t next_odd(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state | 1;
}

static int fits(const struct row *row, size_t n, uint64_t by_first, uint64_t by_last, unsigned bits)
{
    memset(slots, 0, (size_t)1 << bits);
    for (size_t t = 1; t < n; t++) {
        uint64_t slot = token_hash(row[t].key, row[t].len, by_first, by_last, 64 - bits);

        if (slots[slot] != 0)
            return 0;
        slots[slot] = (uint8_t)t;
    }
    return 1;
}

static const char *const method_names[METHOD_N] = {
#define METHOD(id, safe, idempotent) [METHOD_##id] = #id,
#include "hdrs/method.def"
#undef METHOD
};

static uint64_t method_words[METHOD_N];

static void read_methods(void)
{
    for (size_t m = 1; m < METHOD_N; m++) {
        char padded[8] = { 0 };
        size_t len = strlen(method_names[m]);

        if (len == 0 || len > sizeof padded)
            fail("bad length", method_names[m]);
        memcpy(padded, method_names[m], len);
        method_words[m] = token_word(padded);
    }
}

static int methods_fit(uint64_t by, unsigned bits)
{
    memset(slots, 0, (size_t)1 << bits);
    for (size_t m = 1; m < METHOD_N; m++) {
        uint64_t slot = method_words[m] * by >> (64 - bits);

        if (slots[slot] != 0)
            return 0;
        slots[slot] = (uint8_t)m;
    }
    return 1;
}

static void print_slots(const char *name, const char *size, unsigned bits)
{
    printf("};\n\nconst uint8_t %s[%s] = {\n", name, size);
    for (size_t i = 0; i < (size_t)1 << bits; i++)
        if (slots[i] != 0)
            printf("    [%zu] = %u,\n", i, slots[i]);
    printf("};\n");
}

static void print_methods(uint64_t by, unsigned bits)
{
    printf("\n#ifndef METHOD_SLOTS\n#define METHOD_BY UINT64_C(0x%016" PRIx64 ")\n#define METHOD_SHIFT %u\n"
           "#define METHOD_SLOTS %u\n#endif\n\n#ifdef TOKEN_TABLE_DATA\n"
           "const uint64_t method_words[METHOD_N] = {\n",
           by, 64 - bits, 1U << bits);
    for (size_t m = 1; m < METHOD_N; m++)
        printf("    [%zu] = UINT64_C(0x%016" PRIx64 "),\n", m, method_words[m]);
    print_slots("method_slots", "METHOD_SLOTS", bits);
    printf("#endif\n");
}

static void print_table(uint64_t by_first, uint64_t by_last, unsigned bits)
{
    printf("/* Made by token_gen from token.def: don't edit. */\n#ifndef TOKEN_SLOTS\n"
           "#define TOKEN_BY_FIRST UINT64_C(0x%016" PRIx64 ")\n"
           "#define TOKEN_BY_LAST UINT64_C(0x%016" PRIx64 ")\n"
           "#define TOKEN_SHIFT %u\n#define TOKEN_SLOTS %u\n#endif\n\n"
           "#ifdef TOKEN_TABLE_DATA\n"
           "const struct token_row token_rows[TOKEN_N] = {\n    [0] = { \"%*s\" },\n",
           by_first, by_last, 64 - bits, 1U << bits, TOKEN_ROW, "");
    for (size_t t = 1; t < TOKEN_N; t++)
        printf("    [%zu] = { \"%.*s%*s\" },\n", t, (int)rows[t].len, rows[t].lower, (int)(TOKEN_ROW - rows[t].len),
               "");
    print_slots("token_slots", "TOKEN_SLOTS", bits);
    printf("#endif\n");
}

/* Multipliers under which every name has a slot of its own, in the smallest table there is one for. */
static void find_tokens(uint64_t *state)
{
    for (unsigned bits = SLOT_BITS_MIN; bits <= SLOT_BITS_MAX; bits++)
        for (int i = 0; i < TRIES_PER_SIZE; i++) {
            uint64_t by_first = next_odd(state), by_last = next_odd(state);

            if (fits(rows, TOKEN_N, by_first, by_last, bits)) {
                print_table(by_first, by_last, bits);
                return;
            }
        }
    fail("no multipliers found", "too many field names?");
}

static void find_methods(uint64_t *state)
{
    for (unsigned bits = 4; bits <= SLOT_BITS_MAX; bits++)
        for (int i = 0; i < TRIES_PER_SIZE; i++) {
            uint64_t by = next_odd(state);

            if (methods_fit(by, bits)) {
                print_methods(by, bits);
                return;
            }
        }
    fail("no multiplier found", "too many methods?");
}

/* A small set: its multipliers, slots (row number + 1) and names. */
static void find_words(uint64_t *state, const char *set, const char *const *words, size_t n)
{
    struct row list[64] = { { "", 0, { 0, 0 } } };

    if (n >= sizeof list / sizeof list[0])
        fail("too many rows", set);
    for (size_t i = 0; i < n; i++)
        read_row(&list[i + 1], words[i]);
    for (unsigned bits = 4; bits <= SLOT_BITS_MAX; bits++)
        for (int i = 0; i < TRIES_PER_SIZE; i++) {
            uint64_t by_first = next_odd(state), by_last = next_odd(state);

            if (!fits(list, n + 1, by_first, by_last, bits))
                continue;
            printf("\n#ifdef WORD_TABLE_DATA\nstatic const struct span %s_names[] = {\n", set);
            for (size_t k = 1; k <= n; k++)
                printf("    { \"%s\", %zu },\n", list[k].lower, list[k].len);
            printf("};\nstatic const uint8_t %s_slots[%u] = {\n", set, 1U << bits);
            for (size_t k = 0; k < (size_t)1 << bits; k++)
                if (slots[k] != 0)
                    printf("    [%zu] = %u,\n", k, slots[k]);
            printf("};\nconst struct word_set words_%s = { UINT64_C(0x%016" PRIx64 "), UINT64_C(0x%016" PRIx64
                   "), %u, %s_slots, %s_names };\n#endif\n",
                   set, by_first, by_last, 64 - bits, set, set);
            return;
        }
    fail("no multipliers found", set);
}

#define FLAG(name, ...) name,
#define NAMES(name, ...) name,
#define SECONDS(name, ...) name,
static const char *const cache_directives[] = {
#include "hdrs/cache_directive.def"
};
#define SCHEME(name, port) name,
static const char *const schemes[] = {
#include "hdrs/scheme.def"
};

int main(void)
{
    uint64_t state = UINT64_C(0x9E3779B97F4A7C15);

    read_rows();
    find_tokens(&state);
    read_methods();
    find_methods(&state);
    find_words(&state, "cache_directive", cache_directives, sizeof cache_directives / sizeof cache_directives[0]);
    find_words(&state, "scheme", schemes, sizeof schemes / sizeof schemes[0]);
    return ferror(stdout) || fflush(stdout) != 0;
}
