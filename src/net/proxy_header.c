#include "net/proxy_header.h"

#define LINE_MAX 107 /* of version 1, its CRLF included */
#define FIXED 16     /* of version 2 */

static const char signature[12] = { '\r', '\n', '\r', '\n', '\0', '\r', '\n', 'Q', 'U', 'I', 'T', '\n' };

static enum proxy_header_result bad(const char **why, const char *what)
{
    *why = what;
    return PROXY_HEADER_BAD;
}

/* --- version 1 -------------------------------------------------------------------------------------------------- */

/* The word up to a blank or the end; false: there is none. */
static bool next_word(struct span *rest, struct span *word)
{
    const char *blank;

    if (rest->len == 0)
        return false;
    blank = memchr(rest->p, ' ', rest->len);
    *word = span_of(rest->p, blank ? (size_t)(blank - rest->p) : rest->len);
    rest->p += word->len + (blank != NULL);
    rest->len -= word->len + (blank != NULL);
    return word->len > 0 && !(blank != NULL && rest->len == 0);
}

/* 0 to 65535 without leading zeros. */
static bool port_of(struct span word, uint16_t *port)
{
    unsigned n = 0;

    if (word.len == 0 || word.len > 5 || (word.len > 1 && word.p[0] == '0'))
        return false;
    for (size_t i = 0; i < word.len; i++) {
        if (word.p[i] < '0' || word.p[i] > '9')
            return false;
        n = n * 10 + (unsigned)(word.p[i] - '0');
    }
    *port = (uint16_t)n;
    return n <= 65535;
}

static bool address_of(struct span word, bool six, struct addr *a)
{
    /* The form decides, before a mapped address becomes IPv4. */
    return (memchr(word.p, ':', word.len) != NULL) == six && word.p[0] != '[' && addr_parse(word, a);
}

static enum proxy_header_result parse_line(struct span line, struct proxy_header *h, const char **why)
{
    struct span rest = span_of(line.p + 6, line.len - 6), word;
    bool six;

    if (!next_word(&rest, &word))
        return bad(why, "PROXY line without a protocol");
    if (span_eq(word, SPAN("UNKNOWN")))
        return PROXY_HEADER_DONE;
    six = span_eq(word, SPAN("TCP6"));
    if (!six && !span_eq(word, SPAN("TCP4")))
        return bad(why, "PROXY line with a protocol other than TCP4, TCP6 and UNKNOWN");
    if (!next_word(&rest, &word) || !address_of(word, six, &h->from) || !next_word(&rest, &word) ||
        !address_of(word, six, &h->to))
        return bad(why, "PROXY line with a bad address");
    if (!next_word(&rest, &word) || !port_of(word, &h->from.port) || !next_word(&rest, &word) ||
        !port_of(word, &h->to.port) || rest.len > 0)
        return bad(why, "PROXY line with a bad port");
    h->has_addresses = true;
    return PROXY_HEADER_DONE;
}

static enum proxy_header_result parse_v1(struct span in, struct proxy_header *h, const char **why)
{
    size_t seen = in.len < LINE_MAX ? in.len : LINE_MAX;
    const char *end = memchr(in.p, '\n', seen);

    if (end == NULL)
        return seen < LINE_MAX ? PROXY_HEADER_MORE : bad(why, "PROXY line longer than 107 bytes");
    if (end == in.p || end[-1] != '\r')
        return bad(why, "PROXY line that doesn't end in CRLF");
    h->len = (uint32_t)(end + 1 - in.p);
    return parse_line(span_of(in.p, (size_t)(end - 1 - in.p)), h, why);
}

/* --- version 2 -------------------------------------------------------------------------------------------------- */

static uint16_t big16(const char *p)
{
    return (uint16_t)((unsigned char)p[0] << 8 | (unsigned char)p[1]);
}

/* Through the system's form, so that a mapped IPv6 address becomes IPv4 as everywhere. */
static struct addr address_at(const char *address, const char *port, bool six)
{
    struct addr a = { .family = six ? AF_INET6 : AF_INET, .port = big16(port) };
    struct sockaddr_storage sa;

    memcpy(a.bytes, address, six ? 16 : 4);
    addr_to_sockaddr(&a, &sa);
    return addr_from_sockaddr((const struct sockaddr *)&sa);
}

static enum proxy_header_result parse_v2(struct span in, uint32_t max, struct proxy_header *h, const char **why)
{
    unsigned char version, family;
    uint32_t body;

    if (in.len < 13)
        return PROXY_HEADER_MORE;
    version = (unsigned char)in.p[12];
    if (version != 0x20 && version != 0x21)
        return bad(why, "PROXY header of an unknown version or command");
    if (in.len < FIXED)
        return PROXY_HEADER_MORE;
    family = (unsigned char)in.p[13];
    body = big16(in.p + 14);
    if (FIXED + body > max)
        return bad(why, "PROXY header longer than request_header_max_size");
    if ((family & 0xF0) > 0x30 || (family & 0x0F) > 2)
        return bad(why, "PROXY header with an unknown family or transport");
    /* Told before all of it is here. */
    if (version == 0x21 && ((family == 0x11 && body < 12) || (family == 0x21 && body < 36)))
        return bad(why, "PROXY header too short for its addresses");
    if (in.len < FIXED + body)
        return PROXY_HEADER_MORE;
    h->len = FIXED + body;
    if (version == 0x20 || (family != 0x11 && family != 0x21)) /* LOCAL, or nothing we could have accepted */
        return PROXY_HEADER_DONE;
    h->has_addresses = true;
    if (family == 0x11) {
        h->from = address_at(in.p + 16, in.p + 24, false);
        h->to = address_at(in.p + 20, in.p + 26, false);
    } else {
        h->from = address_at(in.p + 16, in.p + 48, true);
        h->to = address_at(in.p + 32, in.p + 50, true);
    }
    return PROXY_HEADER_DONE;
}

enum proxy_header_result proxy_header_parse(struct span in, uint32_t max, struct proxy_header *h, const char **why)
{
    static const struct span line = SPAN("PROXY ");
    size_t n2 = in.len < sizeof signature ? in.len : sizeof signature, n1 = in.len < line.len ? in.len : line.len;

    *h = (struct proxy_header){ 0 };
    if (in.len == 0)
        return PROXY_HEADER_MORE;
    if (memcmp(in.p, signature, n2) == 0)
        return parse_v2(in, max, h, why);
    if (memcmp(in.p, line.p, n1) == 0)
        return n1 < line.len ? PROXY_HEADER_MORE : parse_v1(in, h, why);
    return bad(why, "no PROXY header in front of the first request");
}
