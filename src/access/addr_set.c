#include "access/addr_set.h"

#include <assert.h>
#include <stdlib.h>
#include "base/mem.h"

struct range {
    addr_number first, last;
};

/* A family's addresses as a row of bounds, ascending: where ranges begin, and in turn the first address behind them,
 * which for a range up to the family's last address is missing. So an address is in the set when an odd number of
 * bounds are not above it. Bounds are as wide as the family's addresses: 8 bytes a network of IPv4. */
struct ranges {
    int family;
    union {
        uint32_t *v4;
        addr_number *v6;
    } bounds;
    size_t n, capacity;
    struct range *waiting; /* for addr_set_settle() */
    size_t n_waiting, waiting_capacity;
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
    struct addr_set *s = xcalloc(1, sizeof *s);

    s->v4.family = AF_INET;
    s->v6.family = AF_INET6;
    return s;
}

void addr_set_free(struct addr_set **holder)
{
    struct addr_set *s = *holder;

    *holder = NULL;
    if (s == NULL)
        return;
    free(s->v4.bounds.v4);
    free(s->v4.waiting);
    free(s->v6.bounds.v6);
    free(s->v6.waiting);
    free(s);
}

void addr_set_add(struct addr_set *s, int family, addr_number first, addr_number last)
{
    struct ranges *of = family == AF_INET ? &s->v4 : &s->v6;

    assert(first <= last && last <= addr_number_max(family));
    if (of->n_waiting == of->waiting_capacity) {
        of->waiting_capacity = of->waiting_capacity ? of->waiting_capacity * 2 : 4;
        of->waiting = xrealloc(of->waiting, of->waiting_capacity * sizeof *of->waiting);
    }
    of->waiting[of->n_waiting++] = (struct range){ first, last };
}

/* How many of the n bounds are not above a. Each step halves what is left by a conditional move, of gcc's making: a
 * jump that depends on what is found is guessed wrong every other time. What the next step reads is on its way whichever
 * half it is in. 100,000 networks of IPv4 in near caches: 186 ns with jumps (and 32 bytes a range), 34 so. When nothing
 * of them is in a near cache: 4800 cycles without the prefetches, 2700 with them. */
static size_t rank_v4(const uint32_t *bounds, size_t n, uint32_t a)
{
    size_t at = 0;

    for (; n > 1; n -= n / 2) {
        __builtin_prefetch(&bounds[at + n / 4]);
        __builtin_prefetch(&bounds[at + n / 2 + n / 4]);
        at = bounds[at + n / 2 - 1] <= a ? at + n / 2 : at;
    }
    return at + (n == 1 && bounds[at] <= a);
}

static size_t rank_v6(const addr_number *bounds, size_t n, addr_number a)
{
    size_t at = 0;

    for (; n > 1; n -= n / 2) {
        __builtin_prefetch(&bounds[at + n / 4]);
        __builtin_prefetch(&bounds[at + n / 2 + n / 4]);
        at = bounds[at + n / 2 - 1] <= a ? at + n / 2 : at;
    }
    return at + (n == 1 && bounds[at] <= a);
}

static size_t rank(const struct ranges *of, addr_number a)
{
    return of->family == AF_INET ? rank_v4(of->bounds.v4, of->n, (uint32_t)a) : rank_v6(of->bounds.v6, of->n, a);
}

static addr_number bound(const struct ranges *of, size_t i)
{
    return of->family == AF_INET ? of->bounds.v4[i] : of->bounds.v6[i];
}

/* An eighth of room to grow, as there may be many networks; the last address's bound is where the row ends. */
static void append_bound(struct ranges *of, addr_number a)
{
    if (of->n == of->capacity) {
        of->capacity += of->capacity / 8 + 2;
        if (of->family == AF_INET)
            of->bounds.v4 = xrealloc(of->bounds.v4, of->capacity * sizeof *of->bounds.v4);
        else
            of->bounds.v6 = xrealloc(of->bounds.v6, of->capacity * sizeof *of->bounds.v6);
    }
    if (of->family == AF_INET)
        of->bounds.v4[of->n++] = (uint32_t)a;
    else
        of->bounds.v6[of->n++] = a;
}

static size_t count_ranges(const struct ranges *of)
{
    return (of->n + 1) / 2;
}

static struct range range_at(const struct ranges *of, size_t i)
{
    addr_number max = addr_number_max(of->family);

    return (struct range){ bound(of, 2 * i), 2 * i + 1 < of->n ? bound(of, 2 * i + 1) - 1 : max };
}

/* Not before the last one; joined with it where they overlap or touch. */
static void append_range(struct ranges *of, struct range r)
{
    if (of->n % 2 == 1)
        return; /* there is nothing behind the last one */
    if (of->n > 0 && r.first <= bound(of, of->n - 1)) {
        addr_number last = bound(of, --of->n) - 1;

        r.last = r.last > last ? r.last : last;
    } else {
        append_bound(of, r.first);
    }
    if (r.last < addr_number_max(of->family))
        append_bound(of, r.last + 1);
}

static int by_first(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return (x->first > y->first) - (x->first < y->first);
}

/* Takes out the ranges that end behind a, into a row of the caller's. */
static struct range *cut_from(struct ranges *of, addr_number a, size_t *n)
{
    size_t keep = rank(of, a) / 2; /* begin and end in front of it */
    struct range *cut;

    *n = count_ranges(of) - keep;
    cut = xmalloc(*n * sizeof *cut + 1);
    for (size_t i = 0; i < *n; i++)
        cut[i] = range_at(of, keep + i);
    of->n = keep * 2;
    return cut;
}

/* Ranges in front of the first new one stay where they are: lists written one value a line, in order, cost O(1) a
 * line. */
static void settle(struct ranges *of)
{
    struct range *old;
    size_t o = 0, n_old, w = 0;

    if (of->n_waiting == 0)
        return;
    qsort(of->waiting, of->n_waiting, sizeof *of->waiting, by_first);
    old = cut_from(of, of->waiting[0].first, &n_old);
    while (o < n_old || w < of->n_waiting) {
        bool older = w == of->n_waiting || (o < n_old && old[o].first <= of->waiting[w].first);

        append_range(of, older ? old[o++] : of->waiting[w++]);
    }
    free(old);
    free(of->waiting);
    of->waiting = NULL;
    of->n_waiting = of->waiting_capacity = 0;
}

static bool is_whole(const struct ranges *of)
{
    return of->n == 1 && bound(of, 0) == 0;
}

void addr_set_settle(struct addr_set *s)
{
    settle(&s->v4);
    settle(&s->v6);
    s->everything = is_whole(&s->v4) && is_whole(&s->v6);
}

bool addr_set_contains(const struct addr_set *s, const struct addr *a)
{
    assert(s->v4.n_waiting == 0 && s->v6.n_waiting == 0);
    if (s->everything)
        return true;
    if (a->family == AF_INET) {
        uint32_t n;

        memcpy(&n, a->bytes, sizeof n);
        return rank_v4(s->v4.bounds.v4, s->v4.n, ntohl(n)) % 2 == 1;
    }
    return a->family == AF_INET6 && s->v6.n > 0 && rank_v6(s->v6.bounds.v6, s->v6.n, addr_to_number(a)) % 2 == 1;
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

static void print_ranges(const struct ranges *of, struct strbuf *out)
{
    for (size_t i = 0; i < count_ranges(of); i++) {
        struct range r = range_at(of, i);
        struct addr first = addr_from_number(r.first, of->family), last = addr_from_number(r.last, of->family);
        int prefix = prefix_of(&r, of->family);
        char text[ADDR_TEXT_MAX];

        sb_add(out, text, addr_print(&first, text));
        if (prefix < 0) {
            sb_char(out, '-');
            sb_add(out, text, addr_print(&last, text));
        } else if (r.first != r.last) {
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
    print_ranges(&s->v4, out);
    print_ranges(&s->v6, out);
}
