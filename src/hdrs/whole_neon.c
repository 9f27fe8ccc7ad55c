/* The kernel of every aarch64. */
#include "hdrs/whole.h"

#if defined(__AARCH64EL__)
#include <arm_neon.h>
#include "hdrs/token_find.h"

#define NAMES_CHECKED 1

struct block {
    uint64_t run, lf, control;
};

/* One bit a byte out of four registers of 0x00 and 0xFF: keep bit i % 8 in byte i, then add neighbours three times. */
static inline uint64_t bits_of(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
    static const uint8_t place[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
    uint8x16_t keep = vld1q_u8(place);
    uint8x16_t ab = vpaddq_u8(vandq_u8(a, keep), vandq_u8(b, keep));
    uint8x16_t cd = vpaddq_u8(vandq_u8(c, keep), vandq_u8(d, keep));
    uint8x16_t all = vpaddq_u8(ab, cd);

    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

static inline uint8x16_t load(const char *p)
{
    return vld1q_u8((const uint8_t *)p);
}

/* Bit h of the row for a low nibble: is the byte with high nibble h a token character? */
static inline uint8x16_t token_bytes(uint8x16_t c)
{
    static const uint8_t by_low[16] = { 0xE8, 0xFC, 0xF8, 0xFC, 0xFC, 0xFC, 0xFC, 0xFC,
                                        0xF8, 0xF8, 0xF4, 0x54, 0xD0, 0x54, 0xF4, 0x70 };
    static const uint8_t by_high[16] = { 1, 2, 4, 8, 16, 32, 64, 128 };

    return vtstq_u8(vqtbl1q_u8(vld1q_u8(by_low), vandq_u8(c, vdupq_n_u8(0x0F))),
                    vqtbl1q_u8(vld1q_u8(by_high), vshrq_n_u8(c, 4)));
}

static inline uint8x16_t control_bytes(uint8x16_t c)
{
    return vorrq_u8(vbicq_u8(vcltq_u8(c, vdupq_n_u8(0x20)), vceqq_u8(c, vdupq_n_u8('\t'))),
                    vceqq_u8(c, vdupq_n_u8(0x7F)));
}

static inline uint8x16_t blank_bytes(uint8x16_t c)
{
    return vorrq_u8(vcleq_u8(c, vdupq_n_u8(0x20)), vceqq_u8(c, vdupq_n_u8(0x7F)));
}

static inline struct block block_of(const char *p)
{
    uint8x16_t a = load(p), b = load(p + 16), c = load(p + 32), d = load(p + 48), lf = vdupq_n_u8('\n');

    return (struct block){
        .run = bits_of(token_bytes(a), token_bytes(b), token_bytes(c), token_bytes(d)),
        .lf = bits_of(vceqq_u8(a, lf), vceqq_u8(b, lf), vceqq_u8(c, lf), vceqq_u8(d, lf)),
        .control = bits_of(control_bytes(a), control_bytes(b), control_bytes(c), control_bytes(d)),
    };
}

static inline uint64_t blanks_of(const char *p)
{
    return bits_of(blank_bytes(load(p)), blank_bytes(load(p + 16)), blank_bytes(load(p + 32)),
                   blank_bytes(load(p + 48)));
}

static inline uint64_t controls_of(const char *p)
{
    return bits_of(control_bytes(load(p)), control_bytes(load(p + 16)), control_bytes(load(p + 32)),
                   control_bytes(load(p + 48)));
}

#include "hdrs/whole_bits.h"

static inline enum token known_name(const char *p, size_t len)
{
    return token_find(p, len);
}

#include "hdrs/whole_body.h"

const struct whole whole_neon = { whole_request, whole_response, whole_fields };
#endif
