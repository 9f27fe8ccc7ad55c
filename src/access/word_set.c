#include "access/word_set.h"

#include <stdlib.h>
#include "base/mem.h"

void word_set_clear(struct word_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->words[i]);
    free(s->words);
    *s = (struct word_set){ 0 };
}

bool word_set_contains(const struct word_set *s, struct span word)
{
    for (size_t i = 0; i < s->n; i++)
        if (span_eq(span_str(s->words[i]), word))
            return true;
    return false;
}

void word_set_add(struct word_set *s, struct span word)
{
    if (word_set_contains(s, word))
        return;
    s->words = xrealloc(s->words, (s->n + 1) * sizeof *s->words);
    s->words[s->n++] = xspandup(word);
}

void word_set_print(const struct word_set *s, struct strbuf *out)
{
    for (size_t i = 0; i < s->n; i++)
        sb_printf(out, "%s ", s->words[i]);
}
