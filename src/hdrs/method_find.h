/* hdrs/method_find.h: the method look-up itself, inline for the parser: one multiply, one compare. Private to the
 * room. */
#pragma once
#include "hdrs/token.h"
#include "hdrs/token_hash.h"
#include "hdrs/token_table.h"

extern const uint64_t method_words[METHOD_N];
extern const uint8_t method_slots[METHOD_SLOTS];

/* The method these len bytes name, to the letter; METHOD_OTHER when none. Eight bytes must be readable at p. */
static inline enum http_method method_find(const char *p, size_t len)
{
    uint64_t word = len - 1 < 8 ? token_word(p) & UINT64_MAX >> (64 - 8 * len) : 0;
    enum http_method m = (enum http_method)method_slots[word * METHOD_BY >> METHOD_SHIFT];

    /* No name holds a NUL, so equal words are names of equal length. */
    return word != 0 && method_words[m] == word ? m : METHOD_OTHER;
}
