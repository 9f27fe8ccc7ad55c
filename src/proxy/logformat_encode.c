/* proxy/logformat_encode.c: the encodings of access-log.md section 5. */
#include "proxy/logformat_out.h"

#define B(encoding) (1 << LOG_ENC_##encoding)
#define ALL (B(FIELD) | B(QUOTED) | B(BLOB) | B(URL) | B(SHELL) | B(RAW))
/* Which encodings can't let a byte pass. Bytes beyond ASCII are no text until somebody proves it, and some are control
 * bytes to terminals (C1). For SHELL: what asks for quotes. */
static const uint8_t unsafe[256] = {
    [0 ... 0x1f] = ALL,
    [' '] = B(FIELD) | B(URL) | B(SHELL),
    ['"'] = B(QUOTED) | B(BLOB) | B(URL) | B(SHELL),
    ['%'] = B(BLOB) | B(URL),
    ['\\'] = B(QUOTED) | B(BLOB) | B(URL) | B(SHELL),
    ['['] = B(BLOB) | B(URL) | B(SHELL),
    [']'] = B(BLOB) | B(URL) | B(SHELL),
    ['#'] = B(URL) | B(SHELL),
    ['\''] = B(URL) | B(SHELL),
    ['<'] = B(URL) | B(SHELL),
    ['>'] = B(URL) | B(SHELL),
    ['^'] = B(URL) | B(SHELL),
    ['`'] = B(URL) | B(SHELL),
    ['{'] = B(URL) | B(SHELL),
    ['|'] = B(URL) | B(SHELL),
    ['}'] = B(URL) | B(SHELL),
    ['!'] = B(SHELL),
    ['$'] = B(SHELL),
    ['&'] = B(SHELL),
    ['('] = B(SHELL),
    [')'] = B(SHELL),
    ['*'] = B(SHELL),
    [';'] = B(SHELL),
    ['?'] = B(SHELL),
    ['~'] = B(SHELL),
    [0x7f] = ALL,
    [0x80 ... 0xff] = ALL & ~B(RAW),
};
#undef B
#undef ALL

static const char hex[] = "0123456789ABCDEF";

static void put_percent(struct log_out *o, unsigned char c)
{
    const char text[3] = { '%', hex[c >> 4], hex[c & 15] };

    put(o, text, sizeof text);
}

static void put_backslash(struct log_out *o, unsigned char c)
{
    put_char(o, '\\');
    switch (c) {
    case '\r': put_char(o, 'r'); break;
    case '\n': put_char(o, 'n'); break;
    case '\t': put_char(o, 't'); break;
    default:
        if (c < ' ' || c >= 0x7f) {
            const char text[3] = { 'x', hex[c >> 4], hex[c & 15] };

            put(o, text, sizeof text);
        } else {
            put_char(o, (char)c);
        }
    }
}

/* Eight bytes at once: is any a control, a blank, or beyond ASCII? URLs are clean nearly always. */
static inline bool any_unfit(uint64_t x)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    uint64_t del = x ^ (ones * 0x7f);

    return ((x | ((x - ones * 0x21) & ~x) | ((del - ones) & ~del)) & tops) != 0;
}

static size_t clean_run(struct span s)
{
    size_t i = 0;

    for (uint64_t x; i + 8 <= s.len; i += 8) {
        memcpy(&x, s.p + i, 8);
        if (any_unfit(x))
            break;
    }
    while (i < s.len && !(unsafe[(unsigned char)s.p[i]] & (1 << LOG_ENC_FIELD)))
        i++;
    return i;
}

static void put_field(struct log_out *o, struct span s)
{
    while (s.len > 0 && o->p < o->end) {
        size_t n = clean_run(s);

        put(o, s.p, n);
        s = span_of(s.p + n, s.len - n);
        if (s.len > 0) {
            put_percent(o, (unsigned char)s.p[0]);
            s = span_of(s.p + 1, s.len - 1);
        }
    }
}

/* Within double quotes $, ` and \ keep their meaning to a shell. */
static void put_shell(struct log_out *o, struct span s)
{
    bool plain = s.len > 0;

    for (size_t i = 0; i < s.len; i++)
        plain = plain && !(unsafe[(unsigned char)s.p[i]] & (1 << LOG_ENC_SHELL));
    if (plain) {
        put(o, s.p, s.len);
        return;
    }
    put_char(o, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '$' || c == '`')
            put_backslash(o, c);
        else
            put_char(o, (char)c);
    }
    put_char(o, '"');
}

void log_put_encoded(struct log_out *o, struct span s, enum log_encoding encoding, bool one_word)
{
    if (encoding == LOG_ENC_FIELD) {
        put_field(o, s);
        return;
    }
    if (encoding == LOG_ENC_SHELL) {
        put_shell(o, s);
        return;
    }
    for (size_t i = 0; i < s.len && o->p < o->end; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c == ' ' && one_word)
            put_percent(o, c);
        else if (!(unsafe[c] & (1 << encoding)))
            put_char(o, (char)c);
        else if (encoding == LOG_ENC_QUOTED)
            put_backslash(o, c);
        else
            put_percent(o, c);
    }
}
