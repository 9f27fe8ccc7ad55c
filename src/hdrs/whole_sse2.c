/* The kernel of every x86-64. SSE2 has no byte shuffle to classify token characters with, so a name is taken to end at
 * the first colon of its line; a known name is compared in full anyway, and an unknown one is checked on the walk. */
#include "hdrs/whole.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include "hdrs/scan.h"
#include "hdrs/token_find.h"

#define NAMES_CHECKED 0

struct block {
    uint64_t run, lf, control;
};

/* 0xFF in controls but HTAB, and DEL. */
static inline __m128i control_bytes(__m128i c)
{
    __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(c, _mm_set1_epi8(0x1F)), c);

    return _mm_or_si128(_mm_andnot_si128(_mm_cmpeq_epi8(c, _mm_set1_epi8('\t')), low),
                        _mm_cmpeq_epi8(c, _mm_set1_epi8(0x7F)));
}

static inline uint64_t bits_at(__m128i bytes, unsigned at)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(bytes) << at;
}

static inline struct block block_of(const char *p)
{
    struct block b = { 0, 0, 0 };
    uint64_t colon = 0;

    for (unsigned at = 0; at < 64; at += 16) {
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(p + at));

        colon |= bits_at(_mm_cmpeq_epi8(c, _mm_set1_epi8(':')), at);
        b.lf |= bits_at(_mm_cmpeq_epi8(c, _mm_set1_epi8('\n')), at);
        b.control |= bits_at(control_bytes(c), at);
    }
    b.run = ~colon;
    return b;
}

static inline uint64_t blanks_of(const char *p)
{
    uint64_t bits = 0;

    for (unsigned at = 0; at < 64; at += 16) {
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(p + at));

        bits |= bits_at(_mm_or_si128(_mm_cmpeq_epi8(_mm_min_epu8(c, _mm_set1_epi8(0x20)), c),
                                     _mm_cmpeq_epi8(c, _mm_set1_epi8(0x7F))),
                        at);
    }
    return bits;
}

static inline uint64_t controls_of(const char *p)
{
    uint64_t bits = 0;

    for (unsigned at = 0; at < 64; at += 16)
        bits |= bits_at(control_bytes(_mm_loadu_si128((const __m128i *)(const void *)(p + at))), at);
    return bits;
}

#include "hdrs/whole_bits.h"

static inline uint64_t same_bytes(const char *p, const char *row)
{
    __m128i name = _mm_or_si128(_mm_loadu_si128((const __m128i *)(const void *)p), _mm_set1_epi8(0x20));

    return (uint64_t)(unsigned)_mm_movemask_epi8(
        _mm_cmpeq_epi8(name, _mm_load_si128((const __m128i *)(const void *)row)));
}

/* Two compares cover the bytes of most names; a third one of all. */
static inline enum token known_name(const char *p, size_t len)
{
    unsigned t = token_candidate(token_key_of(p, len), len), at = len & (TOKEN_ROW - 1);
    const char *row = token_rows[t].lower;
    uint64_t same = same_bytes(p, row) | same_bytes(p + 16, row + 16) << 16;

    if (__builtin_expect(len > 32, 0))
        same |= same_bytes(p + 32, row + 32) << 32;
    bool is = ((~same & ((UINT64_C(1) << at) - 1)) == 0) & (row[at] == ' ') & (len == at);

    return (enum token)(is ? t : TOKEN_OTHER);
}

/* 0xFF in letters, digits and '-': all that most names have. */
static inline __m128i name_bytes(__m128i c)
{
    __m128i letter = _mm_sub_epi8(_mm_or_si128(c, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
    __m128i digit = _mm_sub_epi8(c, _mm_set1_epi8('0'));

    letter = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(25)), letter);
    digit = _mm_cmpeq_epi8(_mm_min_epu8(digit, _mm_set1_epi8(9)), digit);
    return _mm_or_si128(_mm_or_si128(letter, digit), _mm_cmpeq_epi8(c, _mm_set1_epi8('-')));
}

static inline bool is_token(const char *p, size_t len)
{
    for (size_t at = 0; at < len; at += 16) {
        __m128i c = _mm_loadu_si128((const __m128i *)(const void *)(p + at));
        unsigned others = (unsigned)_mm_movemask_epi8(name_bytes(c)) ^ 0xFFFF;
        unsigned here = len - at < 16 ? (1U << (len - at)) - 1 : 0xFFFF;

        if (__builtin_expect((others & here) != 0, 0))
            return scan_tchars(p + at, p + len) == p + len;
    }
    return true;
}

#include "hdrs/whole_body.h"

const struct whole whole_sse2 = { whole_request, whole_response, whole_fields };
#endif
