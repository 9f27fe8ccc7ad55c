#include "access/number_set.h"

#include "base/mem.h"

#define NUMBERS 65536u

struct number_set *number_set_new(void)
{
    return xcalloc(1, sizeof(struct number_set));
}

static bool parse_number(struct span text, unsigned *out)
{
    unsigned n = 0;

    if (text.len == 0 || text.len > 5)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        n = n * 10 + (unsigned)(text.p[i] - '0');
    }
    *out = n;
    return n < NUMBERS;
}

bool number_set_add_text(struct number_set *s, struct span text)
{
    const char *dash = text.len > 0 ? memchr(text.p, '-', text.len) : NULL;
    size_t before = dash ? (size_t)(dash - text.p) : text.len;
    unsigned first, last;

    if (!parse_number(span_of(text.p, before), &first))
        return false;
    last = first;
    if (dash != NULL && !parse_number(span_of(dash + 1, text.len - before - 1), &last))
        return false;
    for (unsigned n = first; n <= last; n++)
        s->bits[n / 64] |= UINT64_C(1) << (n % 64);
    return first <= last;
}

void number_set_print(const struct number_set *s, struct strbuf *out)
{
    for (unsigned first = 0, last; first < NUMBERS; first = last + 1) {
        last = first;
        if (!number_set_contains(s, (uint16_t)first))
            continue;
        while (last + 1 < NUMBERS && number_set_contains(s, (uint16_t)(last + 1)))
            last++;
        if (first == last)
            sb_printf(out, "%u ", first);
        else
            sb_printf(out, "%u-%u ", first, last);
    }
}
