#include "hdrs/chunked.h"

#include "hdrs/scan.h"

/*    .---------------------------------------------------------------.
 *    v                                                               |
 *  SIZE --;--> EXTENSION --CR--> SIZE_LF --> DATA --> DATA_CR --> DATA_LF
 *                                   `--size 0--> TRAILER <------------------------.
 *                                                 |  `--> TRAILER_NAME --> TRAILER_VALUE --> TRAILER_LF
 *                                                 `--CR--> LAST_LF --> DONE
 * Any state goes to BAD and stays there. CR LF only, everywhere: two readers who disagree on where a line ends disagree
 * on where the message ends. */
enum state {
    SIZE,
    EXTENSION,
    SIZE_LF,
    DATA,
    DATA_CR,
    DATA_LF,
    TRAILER,
    TRAILER_NAME,
    TRAILER_VALUE,
    TRAILER_LF,
    LAST_LF,
    DONE,
    BAD,
};

#define SIZE_DIGITS_MAX 16

enum quoting { UNQUOTED, QUOTED, ESCAPED };

/* A trailer by this name is an attempt at the framing (hostile-inputs B16). */
static const char forbidden_trailer[] = "transfer-encoding";
#define NAME_DIFFERS UINT8_MAX

void chunked_init(struct chunked *c, uint32_t overhead_max)
{
    *c = (struct chunked){ .overhead_max = overhead_max };
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = ascii_lower(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum state size_byte(struct chunked *c, char byte)
{
    int digit = hex_digit(byte);

    if (digit >= 0) {
        if (c->digits == SIZE_DIGITS_MAX)
            return BAD;
        c->digits++;
        c->left = c->left << 4 | (unsigned)digit;
        return c->left <= INT64_MAX ? SIZE : BAD;
    }
    if (c->digits == 0)
        return BAD;
    if (byte == '\r')
        return SIZE_LF;
    c->quoted = UNQUOTED;
    return byte == ';' ? EXTENSION : BAD;
}

/* Extension and trailer bytes cost their sender nothing and mean nothing to us: they have an allowance per message. */
static bool overhead_exceeded(struct chunked *c)
{
    return c->overhead++ >= c->overhead_max;
}

static bool is_text(char byte)
{
    return ((unsigned char)byte >= 0x20 && byte != 0x7F) || byte == '\t';
}

static enum state extension_byte(struct chunked *c, char byte)
{
    if (byte == '\r')
        return c->quoted == UNQUOTED ? SIZE_LF : BAD;
    if (!is_text(byte) || overhead_exceeded(c))
        return BAD;
    if (c->quoted == ESCAPED)
        c->quoted = QUOTED;
    else if (byte == '"')
        c->quoted = c->quoted == QUOTED ? UNQUOTED : QUOTED;
    else if (byte == '\\' && c->quoted == QUOTED)
        c->quoted = ESCAPED;
    return EXTENSION;
}

static enum state name_byte(struct chunked *c, char byte)
{
    const size_t forbidden_len = sizeof forbidden_trailer - 1;

    if (overhead_exceeded(c))
        return BAD;
    if (byte == ':')
        return c->name_matches == forbidden_len ? BAD : TRAILER_VALUE;
    if (!scan_is_tchar[(unsigned char)byte])
        return BAD;
    if (c->name_matches < forbidden_len && ascii_lower(byte) == forbidden_trailer[c->name_matches])
        c->name_matches++;
    else
        c->name_matches = NAME_DIFFERS;
    return TRAILER_NAME;
}

static enum state trailer_byte(struct chunked *c, char byte)
{
    if (byte == '\r')
        return LAST_LF;
    if (byte == ':')
        return BAD;
    c->name_matches = 0;
    return name_byte(c, byte);
}

static enum state value_byte(struct chunked *c, char byte)
{
    if (byte == '\r')
        return TRAILER_LF;
    return is_text(byte) && !overhead_exceeded(c) ? TRAILER_VALUE : BAD;
}

/* One byte of anything but chunk data. */
static enum state step(struct chunked *c, char byte)
{
    switch ((enum state)c->state) {
    case SIZE: return size_byte(c, byte);
    case EXTENSION: return extension_byte(c, byte);
    case SIZE_LF: c->digits = 0; return byte != '\n' ? BAD : c->left > 0 ? DATA : TRAILER;
    case DATA_CR: return byte == '\r' ? DATA_LF : BAD;
    case DATA_LF: return byte == '\n' ? SIZE : BAD;
    case TRAILER: return trailer_byte(c, byte);
    case TRAILER_NAME: return name_byte(c, byte);
    case TRAILER_VALUE: return value_byte(c, byte);
    case TRAILER_LF: return byte == '\n' ? TRAILER : BAD;
    case LAST_LF: return byte == '\n' ? DONE : BAD;
    case DATA:
    case DONE:
    case BAD: break;
    }
    return BAD;
}

enum chunked_result chunked_decode(struct chunked *c, struct span in, size_t *used, struct span *data)
{
    size_t i = 0;

    *data = SPAN_NONE;
    while (i < in.len && c->state != DATA && c->state != DONE && c->state != BAD)
        c->state = (uint8_t)step(c, in.p[i++]);
    if (c->state == DATA && i < in.len) {
        size_t n = in.len - i < c->left ? in.len - i : (size_t)c->left;

        *data = span_of(in.p + i, n);
        i += n;
        c->left -= n;
        if (c->left == 0)
            c->state = DATA_CR;
    }
    *used = i;
    return c->state == DONE ? CHUNKED_DONE : c->state == BAD ? CHUNKED_BAD : CHUNKED_MORE;
}

size_t chunk_head(char out[CHUNK_HEAD_MAX], uint64_t n)
{
    static const char hex[] = "0123456789abcdef";
    size_t digits = 1;

    while (digits < SIZE_DIGITS_MAX && n >> (4 * digits) != 0)
        digits++;
    for (size_t i = 0; i < digits; i++)
        out[i] = hex[n >> (4 * (digits - 1 - i)) & 15];
    memcpy(out + digits, "\r\n", 2);
    return digits + 2;
}
