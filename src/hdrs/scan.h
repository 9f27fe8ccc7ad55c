/* hdrs/scan.h: the scanners of the parser: how far a run of harmless bytes goes. Eight bytes a step in one register
 * (SWAR), the rest byte by byte; nothing at or behind `end` is read. Scalar: the specification that vector kernels
 * are held against. Private to the room. */
#pragma once
#include <stdbool.h>
#include "hdrs/token_hash.h"

#define SWAR_ONES UINT64_C(0x0101010101010101)
#define SWAR_HIGH UINT64_C(0x8080808080808080)

/* RFC 9110 section 5.6.2: what may stand in a token (method, field name). */
extern const bool scan_is_tchar[256];

static inline bool scan_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* 0x80 in each byte of w below n (n <= 0x80) and in each equal to c (c < 0x80). A borrow may set bits above a hit,
 * never below one: the lowest is exact. Bytes from 0x80 are never hits. */
static inline uint64_t swar_below_or_equal_to(uint64_t w, uint64_t n, uint64_t c)
{
    return ((w - SWAR_ONES * n) | ((w ^ SWAR_ONES * c) - SWAR_ONES)) & ~w & SWAR_HIGH;
}

static inline const char *swar_lowest(const char *p, uint64_t hits)
{
    return p + (__builtin_ctzll(hits) >> 3);
}

/* The first control byte other than HTAB, or end: field values, reason phrases. */
static inline const char *scan_text(const char *p, const char *end)
{
    for (;;) {
        uint64_t hits = 0;

        while (end - p >= 8 && (hits = swar_below_or_equal_to(token_word(p), 0x20, 0x7F)) == 0)
            p += 8;
        if (hits != 0)
            p = swar_lowest(p, hits);
        else
            while (p < end && (unsigned char)*p >= 0x20 && *p != 0x7F)
                p++;
        if (p == end || *p != '\t')
            return p;
        p++;
    }
}

/* The first byte that is a blank, a control or DEL, or end: request targets. */
static inline const char *scan_visible(const char *p, const char *end)
{
    uint64_t hits;

    for (; end - p >= 8; p += 8)
        if ((hits = swar_below_or_equal_to(token_word(p), 0x21, 0x7F)) != 0)
            return swar_lowest(p, hits);
    while (p < end && (unsigned char)*p > 0x20 && *p != 0x7F)
        p++;
    return p;
}

/* The first colon, blank or control but DEL, or end. What lies before need not be a token: ask token_find() or
 * scan_tchars(). */
static inline const char *scan_to_colon(const char *p, const char *end)
{
    uint64_t hits;

    for (; end - p >= 8; p += 8)
        if ((hits = swar_below_or_equal_to(token_word(p), 0x21, ':')) != 0)
            return swar_lowest(p, hits);
    while (p < end && (unsigned char)*p > 0x20 && *p != ':')
        p++;
    return p;
}

/* The first byte that isn't a token character, or end. */
static inline const char *scan_tchars(const char *p, const char *end)
{
    while (p < end && scan_is_tchar[(unsigned char)*p])
        p++;
    return p;
}
