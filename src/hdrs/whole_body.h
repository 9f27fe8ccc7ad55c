/* hdrs/whole_body.h: the vector kernels' one body, compiled once per (little-endian) instruction set. The file that includes it has
 * said how sixty-four bytes become bit masks (bit i: byte i):
 *
 *   struct block { uint64_t run, lf, control; }   run: bytes a field name may go on over: token characters when
 *                                                 NAMES_CHECKED, else all but the colon
 *                                                 control: controls but HTAB, and DEL; LF and CR among them
 *   struct block block_of(const char *p)
 *   uint64_t blanks_of(const char *p)             blanks, controls, DEL: what can't stand in a target
 *   uint64_t controls_of(const char *p)           block_of(p).control alone
 *   uint32_t put_marks(uint32_t *to, uint32_t at, uint64_t bits)
 *                                                 appends at + i for each set bit i, returns how many; may write 64
 *   enum token known_name(const char *p, size_t len)
 *                                                 token_find(), len <= 255, without a branch on what is there
 *   bool is_token(const char *p, size_t len)      unless NAMES_CHECKED: token characters only?
 *
 * Stage 1 goes over the blocks without a branch per line. Line starts follow LF. One addition carries from each line
 * start through the run behind it to the byte where the name ends. Every LF must have a control before it and every
 * other control an LF behind it, so CR LF is all there is; the walk looks at the CR. A control where a line starts is
 * the blank line. Stage 2 walks the marks, name end and LF in turn, and looks up the name on the way.
 *
 * Bytes behind the blank line (a body, the next request, slack) lie in the last block too: marks and errors are cut at
 * the blank line before they are judged. */

#include "hdrs/method_find.h"
#include "hdrs/parse_line.h"
#include "hdrs/scan.h"
#include "hdrs/token_find.h"

#define LINE_MARKS_MAX (2 * HEAD_FIELDS_MAX + 1)
/* Blocks without a mark before the short loop for long values and targets takes over. */
#define LONG_AFTER 2

/* The first eight bytes of "HTTP/1.0" or "HTTP/1.1" as a little-endian word. */
#define WHOLE_HTTP_1(minor) (UINT64_C(0x302E312F50545448) + ((uint64_t)(minor) << 56))

#define WHOLE_INLINE static inline __attribute__((always_inline))

WHOLE_INLINE unsigned char add_carry(unsigned char carry, uint64_t a, uint64_t b, uint64_t *sum)
{
#if defined(__x86_64__)
    unsigned long long s;

    carry = _addcarry_u64(carry, a, b, &s);
    *sum = s;
    return carry;
#else
    bool over = __builtin_add_overflow(a, b, sum);

    return (unsigned char)(over | __builtin_add_overflow(*sum, carry, sum));
#endif
}

/* The marks of the lines up to the blank line: name end and LF of each field, before them the LF of the first line
 * unless the block starts with fields. Returns where the blank line starts, or 0. */
WHOLE_INLINE uint32_t mark_lines(const char *buf, uint32_t len, bool first_line, uint32_t *marks, uint32_t *n_marks)
{
    uint64_t line_carry = first_line ? 0 : 1, control_carry = 0, errors = 0;
    uint32_t n = 0, quiet = 0;
    unsigned char run_carry = 0;

    for (uint32_t at = 0; at < len; at += 64) {
        struct block b = block_of(buf + at);
        uint64_t starts = b.lf << 1 | line_carry, others = b.control & ~b.lf, sum, marked, wrong, ends;

        run_carry = add_carry(run_carry, b.run, starts, &sum);
        marked = (sum & ~b.run) | b.lf;
        wrong = (others << 1 | control_carry) ^ b.lf;
        ends = starts & b.control;
        if (__builtin_expect(ends != 0, 0)) {
            uint64_t before = (ends & -ends) - 1;

            if (((wrong & before) | errors) != 0)
                return 0;
            *n_marks = n + put_marks(marks + n, at, marked & before);
            return at + (uint32_t)__builtin_ctzll(ends);
        }
        errors |= wrong;
        line_carry = b.lf >> 63;
        control_carry = others >> 63;
        n += put_marks(marks + n, at, marked);
        if (n > LINE_MARKS_MAX)
            return 0;
        quiet = marked == 0 ? quiet + 1 : 0;
        if (__builtin_expect(quiet >= LONG_AFTER, 0) && !run_carry && !control_carry) {
            /* Inside a long value: no name can end and no line start before the next control. */
            while (at + 64 < len && controls_of(buf + at + 64) == 0)
                at += 64;
            quiet = 0;
        }
    }
    return 0;
}

struct value {
    uint32_t at, len;
};

/* The value of a field in a form that is sound but not the usual one: no blank or several behind the colon, blanks
 * before the line end, nothing. { 0, 0 }: not sound. */
static __attribute__((noinline, cold)) struct value odd_value(const char *buf, uint32_t colon, uint32_t lf)
{
    uint32_t at = colon + 1, end = lf - 1;

    if (buf[colon] != ':' || colon >= end || buf[end] != '\r')
        return (struct value){ 0, 0 };
    while (at < end && scan_is_blank(buf[at]))
        at++;
    while (end > at && scan_is_blank(buf[end - 1]))
        end--;
    return (struct value){ at, end - at };
}

WHOLE_INLINE uint32_t load_u32(const char *p)
{
    uint32_t w;

    memcpy(&w, p, sizeof w);
    return w;
}

/* ": " and a byte above it that starts a value: of three bytes compared at once the last is the least. */
WHOLE_INLINE bool is_usual_start(const char *colon)
{
    return (__builtin_bswap32(load_u32(colon)) >> 8) - 0x3A2021u <= 0xFFu - 0x21u;
}

/* A byte that ends a value, CR, LF. */
WHOLE_INLINE bool is_usual_end(const char *lf)
{
    return (load_u32(lf - 2) & 0xFFFFFF) - 0x0A0D21u <= 0xFFu - 0x21u;
}

/* Field number i; no branch on whether the name is known. The struct head_field is put together in
 * two registers: built in memory piece by piece, it would be read back before the pieces have arrived there. */
WHOLE_INLINE void put_field(struct head *h, uint32_t i, uint32_t name_at, uint32_t name_len, struct value v,
                            enum token t)
{
    uint64_t words[2] = { name_at | (uint64_t)v.at << 32, v.len | (uint64_t)name_len << 32 | (uint64_t)t << 48 };
    uint32_t seen = h->first[t];

    _Static_assert(sizeof words == sizeof h->fields[0] && offsetof(struct head_field, value_at) == 4 &&
                       offsetof(struct head_field, value_len) == 8 && offsetof(struct head_field, name_len) == 12 &&
                       offsetof(struct head_field, token) == 14,
                   "as the words have it");
    memcpy(&h->fields[i], words, sizeof words);
    /* A branch on purpose: a store whose place hangs on `last` would hold up the loads of the next field. */
    if (__builtin_expect(seen != 0, 0))
        h->fields[h->last[t] - 1].next = (uint8_t)i;
    else
        seen = t != TOKEN_OTHER ? i + 1 : 0;
    h->first[t] = (uint16_t)seen;
    h->last[t] = (uint16_t)(i + 1);
}

WHOLE_INLINE bool walk_fields(struct head *h, const char *buf, const uint32_t *marks, uint32_t n_fields, uint32_t line)
{
    for (uint32_t i = 0; i < n_fields; i++) {
        uint32_t colon = marks[2 * i], lf = marks[2 * i + 1], name_len = colon - line;
        struct value value = { colon + 2, lf - colon - 3 };
        enum token t;

        if (__builtin_expect(!is_usual_start(buf + colon) || !is_usual_end(buf + lf) || name_len - 1 >= UINT8_MAX, 0)) {
            value = odd_value(buf, colon, lf);
            if (value.at == 0 || name_len - 1 >= UINT16_MAX)
                return false;
            t = token_lookup(span_of(buf + line, name_len));
        } else {
            t = known_name(buf + line, name_len);
        }
#if !NAMES_CHECKED
        if (t == TOKEN_OTHER && !is_token(buf + line, name_len))
            return false;
#endif
        put_field(h, i, line, name_len, value, t);
        line = lf + 1;
    }
    return true;
}

/* "METHOD SP target SP HTTP/1.x CR LF", the LF known: two bytes before it can't stand in a target. */
WHOLE_INLINE bool walk_request_line(struct head *h, const char *buf, uint32_t lf)
{
    uint32_t target_end = lf - 10, method_len, at = 0;
    uint64_t version, blanks, rest;

    if (lf < 13)
        return false;
    memcpy(&version, buf + lf - 9, sizeof version);
    if ((version != WHOLE_HTTP_1(1) && version != WHOLE_HTTP_1(0)) || buf[target_end] != ' ' || buf[lf - 1] != '\r')
        return false;
    h->minor_version = version == WHOLE_HTTP_1(1);

    blanks = blanks_of(buf);
    if (blanks == 0)
        return false; /* methods are shorter */
    method_len = (uint32_t)__builtin_ctzll(blanks);
    rest = blanks & (blanks - 1);
    while (rest == 0)
        rest = blanks_of(buf + (at += 64));
    /* The version's space is a blank, so the loop ends there at the latest. */
    if (at + (uint32_t)__builtin_ctzll(rest) != target_end || buf[method_len] != ' ' || method_len + 1 == target_end)
        return false;
    h->method = (uint8_t)method_find(buf, method_len);
    if (h->method == METHOD_OTHER &&
        (method_len == 0 || method_len > METHOD_BYTES_MAX || scan_tchars(buf, buf + method_len) != buf + method_len))
        return false;
    h->method_name = (struct head_piece){ 0, method_len };
    h->target = (struct head_piece){ method_len + 1, target_end - method_len - 1 };
    return true;
}

/* "HTTP/1.x SP status [SP reason] CR LF". */
WHOLE_INLINE bool walk_status_line(struct head *h, const char *buf, uint32_t lf)
{
    uint64_t version;
    unsigned a, b, c;

    if (lf < 13 || buf[lf - 1] != '\r')
        return false;
    memcpy(&version, buf, sizeof version);
    a = (unsigned)buf[9] - '0', b = (unsigned)buf[10] - '0', c = (unsigned)buf[11] - '0';
    if ((version != WHOLE_HTTP_1(1) && version != WHOLE_HTTP_1(0)) || buf[8] != ' ' || a - 1 > 8 || b > 9 || c > 9)
        return false;
    if (lf > 13 && buf[12] != ' ')
        return false;
    h->minor_version = version == WHOLE_HTTP_1(1);
    h->status = (uint16_t)(a * 100 + b * 10 + c);
    h->reason = lf > 13 ? (struct head_piece){ 13, lf - 14 } : (struct head_piece){ 12, 0 };
    return true;
}

enum whole_kind { WHOLE_REQUEST, WHOLE_RESPONSE, WHOLE_FIELDS };

WHOLE_INLINE uint32_t whole_head(enum whole_kind kind, struct head *h, const char *buf, uint32_t len,
                                 uint32_t max_fields)
{
    /* put_marks() may write a whole block's worth behind the last block before the count is looked at. */
    uint32_t marks[LINE_MARKS_MAX + 128], n_marks = 0, first = kind == WHOLE_FIELDS ? 0 : 1, n_fields, end;

    end = mark_lines(buf, len, kind != WHOLE_FIELDS, marks, &n_marks);
    /* The slack may look like a blank line, too. */
    if ((end == 0 && kind != WHOLE_FIELDS) || end > len || len - end < 2 || buf[end] != '\r' || buf[end + 1] != '\n')
        return 0;
    if (n_marks < first || (n_marks - first) % 2 != 0 || (n_marks - first) / 2 > max_fields)
        return 0;
    n_fields = (n_marks - first) / 2;

    head_begin(h, buf);
    if (kind == WHOLE_REQUEST && !walk_request_line(h, buf, marks[0]))
        return 0;
    if (kind == WHOLE_RESPONSE && !walk_status_line(h, buf, marks[0]))
        return 0;
    if (!walk_fields(h, buf, marks + first, n_fields, first ? marks[0] + 1 : 0))
        return 0;
    h->n_fields = (uint16_t)n_fields;
    h->len = end + 2;
    return h->len;
}

static uint32_t whole_request(struct head *h, const char *buf, uint32_t len, uint32_t max_fields)
{
    return whole_head(WHOLE_REQUEST, h, buf, len, max_fields);
}

static uint32_t whole_response(struct head *h, const char *buf, uint32_t len, uint32_t max_fields)
{
    return whole_head(WHOLE_RESPONSE, h, buf, len, max_fields);
}

static uint32_t whole_fields(struct head *h, const char *buf, uint32_t len, uint32_t max_fields)
{
    return whole_head(WHOLE_FIELDS, h, buf, len, max_fields);
}
