#include "net/carp.h"

#include <math.h>
#include <stdlib.h>
#include "base/mem.h"

#define STIR UINT32_C(0x62531965)

static uint32_t rotated(uint32_t n, unsigned by)
{
    return n << by | n >> (32 - by);
}

static uint32_t text_hash(struct span text)
{
    uint32_t h = 0;

    for (size_t i = 0; i < text.len; i++)
        h += rotated(h, 19) + (unsigned char)text.p[i];
    return h;
}

static uint32_t stirred(uint32_t h)
{
    h += h * STIR;
    return rotated(h, 21);
}

uint32_t carp_member_hash(struct span name)
{
    return stirred(text_hash(name));
}

double carp_score(struct span text, uint32_t member_hash, double multiplier)
{
    return (double)stirred(text_hash(text) ^ member_hash) * multiplier;
}

struct load {
    double share;
    size_t i;
};

static int by_share(const void *a, const void *b)
{
    double x = ((const struct load *)a)->share, y = ((const struct load *)b)->share;

    return x < y ? -1 : x > y;
}

/* Section 3.4 of the draft: X(k) = ([K-k+1] * [P(k) - P(k-1)] / [X(1) * ... * X(k-1)] + X(k-1)^(K-k+1))^(1/(K-k+1)), from the smallest
 * share P on, with P(0) and X(0) nothing. */
void carp_multipliers(const double *loads, size_t n, double *multipliers)
{
    struct load *l = xcalloc(n, sizeof *l);
    double sum = 0, product = 1, share = 0, x = 0;

    for (size_t i = 0; i < n; i++)
        sum += loads[i];
    for (size_t i = 0; i < n; i++)
        l[i] = (struct load){ loads[i] / sum, i };
    qsort(l, n, sizeof *l, by_share);
    for (size_t k = 0; k < n; k++) {
        double left = (double)(n - k);

        x = pow(left * (l[k].share - share) / product + pow(x, left), 1 / left);
        product *= x;
        share = l[k].share;
        multipliers[l[k].i] = x;
    }
    free(l);
}
