#include "base/similar.h"

/* Longer words are no typing errors of anything we know; also bounds the rows below. */
#define WORD_MAX 63

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Insertions, deletions, substitutions and swaps of neighbours that turn a into b (optimal string alignment). Both at
 * most WORD_MAX long. */
static size_t edit_distance(struct span a, struct span b)
{
    size_t rows[3][WORD_MAX + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];

    for (size_t j = 0; j <= b.len; j++)
        above[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t *oldest = before;

        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            char ca = ascii_lower(a.p[i - 1]), cb = ascii_lower(b.p[j - 1]);
            size_t best = min_size(above[j] + 1, row[j - 1] + 1);

            best = min_size(best, above[j - 1] + (ca != cb));
            if (i > 1 && j > 1 && ca == ascii_lower(b.p[j - 2]) && cb == ascii_lower(a.p[i - 2]))
                best = min_size(best, before[j - 2] + 1);
            row[j] = best;
        }
        before = above;
        above = row;
        row = oldest;
    }
    return above[b.len];
}

const char *similar_word(const char *const *words, struct span to)
{
    const char *best = NULL;
    size_t best_distance = SIZE_MAX;

    if (to.len == 0 || to.len > WORD_MAX)
        return NULL;
    for (; *words != NULL; words++) {
        struct span word = span_str(*words);
        size_t distance;

        if (word.len == 0 || word.len > WORD_MAX)
            continue;
        distance = edit_distance(to, word);
        if (distance < best_distance && distance * 3 <= (to.len > word.len ? to.len : word.len)) {
            best_distance = distance;
            best = *words;
        }
    }
    return best;
}
