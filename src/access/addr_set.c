#include "access/addr_set.h"

#include <assert.h>
#include <stdlib.h>
#include "base/mem.h"

struct range {
    addr_number first, last;
};

struct ranges {
    struct range *r;
    size_t n, settled, capacity; /* r[settled..n) still waits for addr_set_settle() */
};

struct addr_set {
    struct ranges v4, v6;
    bool everything;
};

addr_number addr_to_number(const struct addr *a)
{
    size_t n_bytes = a->family == AF_INET ? 4 : 16;
    addr_number n = 0;

    for (size_t i = 0; i < n_bytes; i++)
        n = n << 8 | a->bytes[i];
    return n;
}

struct addr addr_from_number(addr_number n, int family)
{
    struct addr a = { .family = (uint8_t)family };

    for (size_t i = family == AF_INET ? 4 : 16; i-- > 0; n >>= 8)
        a.bytes[i] = (uint8_t)n;
    return a;
}

addr_number addr_number_max(int family)
{
    return family == AF_INET ? (addr_number)UINT32_MAX : ~(addr_number)0;
}

struct addr_set *addr_set_new(void)
{
    return xcalloc(1, sizeof(struct addr_set));
}

void addr_set_free(struct addr_set **holder)
{
    struct addr_set *s = *holder;

    *holder = NULL;
    if (s == NULL)
        return;
    free(s->v4.r);
    free(s->v6.r);
    free(s);
}

void addr_set_add(struct addr_set *s, int family, addr_number first, addr_number last)
{
    struct ranges *of = family == AF_INET ? &s->v4 : &s->v6;

    assert(first <= last && last <= addr_number_max(family));
    if (of->n == of->capacity) {
        of->capacity = of->capacity ? of->capacity * 2 : 4;
        of->r = xrealloc(of->r, of->capacity * sizeof *of->r);
    }
    of->r[of->n++] = (struct range){ first, last };
}

static int by_first(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Merges the waiting ranges into the sorted ones, from the back, so that those in front of the first new one stay where
 * they are: lists written one value a line, in order, cost O(1) a line. Returns the first position that changed. */
static size_t merge_waiting(struct ranges *of)
{
    size_t old = of->settled, fresh = of->n - of->settled, to = of->n;
    struct range *waiting = xmalloc(fresh * sizeof *waiting);

    memcpy(waiting, of->r + old, fresh * sizeof *waiting);
    qsort(waiting, fresh, sizeof *waiting, by_first);
    while (fresh > 0) {
        if (old > 0 && of->r[old - 1].first > waiting[fresh - 1].first)
            of->r[--to] = of->r[--old];
        else
            of->r[--to] = waiting[--fresh];
    }
    free(waiting);
    return to;
}

/* Joins ranges that overlap or touch, from position `from` on. */
static void join_touching(struct ranges *of, size_t from)
{
    size_t to = from > 0 ? from - 1 : 0;

    for (size_t i = to + 1; i < of->n; i++) {
        struct range *kept = &of->r[to];
        struct range next = of->r[i];

        if (next.first <= kept->last || next.first - 1 == kept->last) {
            if (next.last > kept->last)
                kept->last = next.last;
        } else {
            of->r[++to] = next;
        }
    }
    of->n = to + 1;
}

static void settle(struct ranges *of)
{
    if (of->n == of->settled)
        return;
    join_touching(of, merge_waiting(of));
    of->settled = of->n;
}

static bool is_whole(const struct ranges *of, int family)
{
    return of->n == 1 && of->r[0].first == 0 && of->r[0].last == addr_number_max(family);
}

void addr_set_settle(struct addr_set *s)
{
    settle(&s->v4);
    settle(&s->v6);
    s->everything = is_whole(&s->v4, AF_INET) && is_whole(&s->v6, AF_INET6);
}

bool addr_set_contains(const struct addr_set *s, const struct addr *a)
{
    const struct ranges *of = a->family == AF_INET ? &s->v4 : &s->v6;
    size_t below = 0, above = of->n; /* r[below - 1].first <= n < r[above].first */
    addr_number n;

    assert(of->settled == of->n);
    if (s->everything)
        return true;
    if (a->family == 0 || of->n == 0)
        return false;
    n = addr_to_number(a);
    while (below < above) {
        size_t middle = below + (above - below) / 2;

        if (of->r[middle].first <= n)
            below = middle + 1;
        else
            above = middle;
    }
    return below > 0 && n <= of->r[below - 1].last;
}

bool addr_set_is_everything(const struct addr_set *s)
{
    return s->everything;
}

/* The prefix length when the range is exactly one network; -1 when it isn't. */
static int prefix_of(const struct range *r, int family)
{
    addr_number host_bits = r->first ^ r->last;
    int prefix = family == AF_INET ? 32 : 128;

    if ((host_bits & (host_bits + 1)) != 0 || (r->first & host_bits) != 0)
        return -1;
    for (; host_bits != 0; host_bits >>= 1)
        prefix--;
    return prefix;
}

static void print_ranges(const struct ranges *of, int family, struct strbuf *out)
{
    for (size_t i = 0; i < of->n; i++) {
        struct addr first = addr_from_number(of->r[i].first, family), last = addr_from_number(of->r[i].last, family);
        int prefix = prefix_of(&of->r[i], family);
        char text[ADDR_TEXT_MAX];

        sb_add(out, text, addr_print(&first, text));
        if (prefix < 0) {
            sb_char(out, '-');
            sb_add(out, text, addr_print(&last, text));
        } else if (of->r[i].first != of->r[i].last) {
            sb_printf(out, "/%d", prefix);
        }
        sb_char(out, ' ');
    }
}

void addr_set_print(const struct addr_set *s, struct strbuf *out)
{
    if (s->everything) {
        sb_str(out, "all ");
        return;
    }
    print_ranges(&s->v4, AF_INET, out);
    print_ranges(&s->v6, AF_INET6, out);
}
