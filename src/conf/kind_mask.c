/* Masks: client_netmask, umask. */
#include "conf/directive.h"

static unsigned width_of(const struct addr *a)
{
    return a->family == AF_INET ? 32 : 128;
}

/* How many bits from the left are set; -1: there are more behind a gap. */
static int leading_bits(const struct addr *mask)
{
    unsigned n = 0;

    while (n < width_of(mask) && (mask->bytes[n / 8] & (0x80 >> n % 8)))
        n++;
    for (unsigned i = n; i < width_of(mask); i++)
        if (mask->bytes[i / 8] & (0x80 >> i % 8))
            return -1;
    return (int)n;
}

static void parse_netmask(struct reading *r, const struct directive *d, const struct line *l)
{
    struct addr_cut *cut = &r->s->client_netmask;
    bool v6_given = false;

    if (!words_between(r, l, 1, 2))
        return;
    *cut = (struct addr_cut){ 0 };
    for (size_t i = 1; i < l->n; i++) {
        struct span text = l->words[i].text;
        struct addr mask = { 0 };
        int bits = addr_parse(text, &mask) ? leading_bits(&mask) : -1;

        if (mask.family == AF_INET && memchr(text.p, ':', text.len) != NULL)
            bits = -1; /* ::ffff:... is an IPv4 address to addr_parse() */

        if (bits < 0) {
            diag_error(r->report, l->words[i].at, NULL, "%s: '%.*s' is no netmask (such as 255.255.255.0)", d->name,
                       QUOTED_ARG(text));
            return;
        }
        if (mask.family == AF_INET) {
            cut->v4 = (uint8_t)(32 - bits);
        } else {
            cut->v6 = (uint8_t)(128 - bits);
            v6_given = true;
        }
    }
    if (!v6_given && cut->v4 > 0) /* twice the bits */
        cut->v6 = (uint8_t)(64 + 2 * cut->v4);
}

static void print_mask(struct strbuf *out, uint8_t family, unsigned cut)
{
    struct addr mask = { .family = family };
    char text[ADDR_TEXT_MAX];

    for (unsigned i = 0; i < width_of(&mask) - cut; i++)
        mask.bytes[i / 8] |= (uint8_t)(0x80 >> i % 8);
    addr_print(&mask, text);
    sb_printf(out, " %s", text);
}

static void print_netmask(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    sb_str(out, d->name);
    print_mask(out, AF_INET, s->client_netmask.v4);
    print_mask(out, AF_INET6, s->client_netmask.v6);
    sb_char(out, '\n');
}

/* Octal, with or without a 0 in front. */
static void parse_umask(struct reading *r, const struct directive *d, const struct line *l)
{
    struct span text = l->words[1].text;
    unsigned n = 0;

    if (!words_between(r, l, 1, 1))
        return;
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] < '0' || text.p[i] > '7' || n > 0777) {
            n = 01000;
            break;
        }
        n = n * 8 + (unsigned)(text.p[i] - '0');
    }
    if (text.len == 0 || n > 0777) {
        diag_error(r->report, l->words[1].at, NULL, "%s: '%.*s' is no octal number up to 777", d->name,
                   QUOTED_ARG(text));
        return;
    }
    r->s->umask = n;
}

static void print_umask(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    sb_printf(out, "%s %03o\n", d->name, s->umask);
}

const struct directive_kind kind_netmask = { parse_netmask, print_netmask };
const struct directive_kind kind_umask = { parse_umask, print_umask };
