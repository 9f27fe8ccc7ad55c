#include "proxy/refresh_counts.h"

#include <stdlib.h>
#include "base/mem.h"

void refresh_counts_use(struct refresh_counts *c, const struct settings *s)
{
    free(c->used);
    c->used = NULL;
    c->settings = s;
    c->n_used = s != NULL ? s->n_refresh + 1 : 0;
    if (s != NULL)
        c->used = xcalloc(c->n_used, sizeof *c->used);
}

void refresh_counts_rule(struct refresh_counts *c, const struct settings *s, const struct refresh_rule *rule)
{
    size_t i = 0;

    if (s != c->settings)
        return;
    while (i < s->n_refresh && rule != &s->refresh[i].rule)
        i++;
    c->used[i]++;
}
