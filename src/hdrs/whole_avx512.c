/* The kernel for processors with AVX-512 and its byte permutes (VBMI, VBMI2): Ice Lake, Zen 4 and later. */
#include "hdrs/whole.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include "hdrs/method_find.h"
#include "hdrs/parse_line.h"
#include "hdrs/scan.h"
#include "hdrs/token_find.h"
#include "hdrs/whole_target.h"

/* Bit 7 of each entry: a token character; a control but HTAB, or DEL. */
#define T ((char)0x80)
static const char token_class[128] __attribute__((aligned(64))) = {
    ['!'] = T, ['#'] = T, ['$'] = T, ['%'] = T, ['&'] = T, ['\''] = T, ['*'] = T, ['+'] = T, ['-'] = T, ['.'] = T,
    ['0'] = T, ['1'] = T, ['2'] = T, ['3'] = T, ['4'] = T, ['5'] = T,  ['6'] = T, ['7'] = T, ['8'] = T, ['9'] = T,
    ['A'] = T, ['B'] = T, ['C'] = T, ['D'] = T, ['E'] = T, ['F'] = T,  ['G'] = T, ['H'] = T, ['I'] = T, ['J'] = T,
    ['K'] = T, ['L'] = T, ['M'] = T, ['N'] = T, ['O'] = T, ['P'] = T,  ['Q'] = T, ['R'] = T, ['S'] = T, ['T'] = T,
    ['U'] = T, ['V'] = T, ['W'] = T, ['X'] = T, ['Y'] = T, ['Z'] = T,  ['^'] = T, ['_'] = T, ['`'] = T, ['a'] = T,
    ['b'] = T, ['c'] = T, ['d'] = T, ['e'] = T, ['f'] = T, ['g'] = T,  ['h'] = T, ['i'] = T, ['j'] = T, ['k'] = T,
    ['l'] = T, ['m'] = T, ['n'] = T, ['o'] = T, ['p'] = T, ['q'] = T,  ['r'] = T, ['s'] = T, ['t'] = T, ['u'] = T,
    ['v'] = T, ['w'] = T, ['x'] = T, ['y'] = T, ['z'] = T, ['|'] = T,  ['~'] = T,
};
static const char control_class[128] __attribute__((aligned(64))) = {
    [0 ... '\t' - 1] = T,
    ['\t' + 1 ... 0x1F] = T,
    [0x7F] = T,
};
#undef T

WHOLE_TARGET_BEGIN("avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")

#define NAMES_CHECKED 1

struct block {
    uint64_t run, lf, control;
};

static inline __m512i load(const char *p)
{
    return _mm512_loadu_si512(p);
}

/* The bytes of that class. The permute looks at seven bits of a byte; the eighth must be clear. */
static inline uint64_t in_class(__m512i c, const char *class)
{
    __m512i found = _mm512_permutex2var_epi8(load(class), c, load(class + 64));

    return _mm512_movepi8_mask(_mm512_andnot_si512(c, found));
}

static inline struct block block_of(const char *p)
{
    __m512i c = load(p);

    return (struct block){
        .run = in_class(c, token_class),
        .lf = _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8('\n')),
        .control = in_class(c, control_class),
    };
}

static inline uint64_t blanks_of(const char *p)
{
    __m512i c = load(p);

    return _mm512_cmple_epu8_mask(c, _mm512_set1_epi8(0x20)) | _mm512_cmpeq_epi8_mask(c, _mm512_set1_epi8(0x7F));
}

static inline uint64_t controls_of(const char *p)
{
    return in_class(load(p), control_class);
}

/* The numbers of the set bits move together in one register; sixteen are written whether there or not. */
static inline uint32_t put_marks(uint32_t *to, uint32_t at, uint64_t bits)
{
    const __m512i numbers =
        _mm512_set_epi8(63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40,
                        39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                        15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    __m512i packed = _mm512_maskz_compress_epi8(bits, numbers), base = _mm512_set1_epi32((int)at);
    uint32_t n = (uint32_t)__builtin_popcountll(bits);

    _mm512_storeu_si512(to, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(packed))));
    if (__builtin_expect(n > 16, 0)) {
        _mm512_storeu_si512(to + 16,
                            _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 1))));
        _mm512_storeu_si512(to + 32,
                            _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 2))));
        _mm512_storeu_si512(to + 48,
                            _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(packed, 3))));
    }
    return n;
}

/* One compare of all bytes with the row, the spaces behind included. */
static inline enum token known_name(const char *p, size_t len)
{
    __m512i name =
        _mm512_or_si512(_mm512_maskz_loadu_epi8(_bzhi_u64(UINT64_MAX, (unsigned)len), p), _mm512_set1_epi8(0x20));
    struct token_key key = { (uint64_t)_mm_cvtsi128_si64(_mm512_castsi512_si128(name)), token_last(p, len) };
    unsigned t = token_candidate(key, len);
    __mmask64 differ = _mm512_cmpneq_epi8_mask(name, _mm512_load_si512(&token_rows[t]));

    return (enum token)(differ == 0 ? t : TOKEN_OTHER);
}

#include "hdrs/whole_body.h"

const struct whole whole_avx512 = { whole_request, whole_response, whole_fields };

WHOLE_TARGET_END
#endif
