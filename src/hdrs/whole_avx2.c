/* The kernel for processors with AVX2 and BMI2: token characters by two nibble look-ups. */
#include "hdrs/whole.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include "hdrs/method_find.h"
#include "hdrs/parse_line.h"
#include "hdrs/scan.h"
#include "hdrs/token_find.h"
#include "hdrs/whole_target.h"

WHOLE_TARGET_BEGIN("avx2,bmi,bmi2,lzcnt,popcnt")

#define NAMES_CHECKED 1

struct block {
    uint64_t run, lf, control;
};

static inline __m256i load(const char *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline uint64_t bits_of(__m256i low, __m256i high)
{
    return (uint64_t)(uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

/* 0 in token characters. Bit h of the row for a low nibble says whether the byte with high nibble h is one; bytes from
 * 0x80 look up 0 by themselves. */
static inline __m256i outside_token(__m256i c)
{
    const __m256i by_low = _mm256_broadcastsi128_si256(
        _mm_setr_epi8((char)0xE8, (char)0xFC, (char)0xF8, (char)0xFC, (char)0xFC, (char)0xFC, (char)0xFC, (char)0xFC,
                      (char)0xF8, (char)0xF8, (char)0xF4, (char)0x54, (char)0xD0, (char)0x54, (char)0xF4, (char)0x70));
    const __m256i by_high =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, (char)128, 0, 0, 0, 0, 0, 0, 0, 0));
    __m256i high = _mm256_and_si256(_mm256_srli_epi16(c, 4), _mm256_set1_epi8(0x0F));

    return _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(by_low, c), _mm256_shuffle_epi8(by_high, high)),
                             _mm256_setzero_si256());
}

/* 0xFF in controls but HTAB, and DEL. */
static inline __m256i control_bytes(__m256i c)
{
    __m256i low = _mm256_cmpeq_epi8(_mm256_min_epu8(c, _mm256_set1_epi8(0x1F)), c);

    return _mm256_or_si256(_mm256_andnot_si256(_mm256_cmpeq_epi8(c, _mm256_set1_epi8('\t')), low),
                           _mm256_cmpeq_epi8(c, _mm256_set1_epi8(0x7F)));
}

static inline __m256i blank_bytes(__m256i c)
{
    return _mm256_or_si256(_mm256_cmpeq_epi8(_mm256_min_epu8(c, _mm256_set1_epi8(0x20)), c),
                           _mm256_cmpeq_epi8(c, _mm256_set1_epi8(0x7F)));
}

static inline struct block block_of(const char *p)
{
    __m256i a = load(p), b = load(p + 32), lf = _mm256_set1_epi8('\n');

    return (struct block){
        .run = ~bits_of(outside_token(a), outside_token(b)),
        .lf = bits_of(_mm256_cmpeq_epi8(a, lf), _mm256_cmpeq_epi8(b, lf)),
        .control = bits_of(control_bytes(a), control_bytes(b)),
    };
}

static inline uint64_t blanks_of(const char *p)
{
    return bits_of(blank_bytes(load(p)), blank_bytes(load(p + 32)));
}

static inline uint64_t controls_of(const char *p)
{
    return bits_of(control_bytes(load(p)), control_bytes(load(p + 32)));
}

#define WHOLE_HAS_POPCNT
#include "hdrs/whole_bits.h"

/* Two compares that overlap cover the bytes a known name may have. */
static inline enum token known_name(const char *p, size_t len)
{
    const __m256i fold = _mm256_set1_epi8(0x20);
    struct token_key key = token_key_of(p, len);
    unsigned t = token_candidate(key, len);
    const char *row = token_rows[t].lower;
    __m256i start = _mm256_cmpeq_epi8(_mm256_or_si256(load(p), fold), load(row));
    __m256i rest = _mm256_cmpeq_epi8(_mm256_or_si256(load(p + 16), fold), load(row + 16));
    uint64_t same = (uint64_t)(uint32_t)_mm256_movemask_epi8(start) | (uint64_t)(uint32_t)_mm256_movemask_epi8(rest)
                                                                          << 16;
    bool is = (_bzhi_u64(~same, (unsigned)len) == 0) & (row[len & (TOKEN_ROW - 1)] == ' ');

    return (enum token)(is ? t : TOKEN_OTHER);
}

#include "hdrs/whole_body.h"

const struct whole whole_avx2 = { whole_request, whole_response, whole_fields };

WHOLE_TARGET_END
#endif
