#include "access/notes.h"

#include <stdlib.h>
#include "base/mem.h"

struct notes {
    unsigned refs;
    struct pair {
        char *name, *value;
    } * pairs;
    size_t n;
};

struct notes *notes_new(void)
{
    struct notes *n = xcalloc(1, sizeof *n);

    n->refs = 1;
    return n;
}

struct notes *notes_ref(struct notes *n)
{
    if (n != NULL)
        n->refs++;
    return n;
}

static void drop(struct pair *p)
{
    free(p->name);
    free(p->value);
}

void notes_unref(struct notes **holder)
{
    struct notes *n = *holder;

    *holder = NULL;
    if (n == NULL || --n->refs > 0)
        return;
    for (size_t i = 0; i < n->n; i++)
        drop(&n->pairs[i]);
    free(n->pairs);
    free(n);
}

static bool is_name(const struct pair *p, struct span name)
{
    return span_eq(span_str(p->name), name);
}

static void remove_name(struct notes *n, struct span name)
{
    size_t kept = 0;

    for (size_t i = 0; i < n->n; i++) {
        if (is_name(&n->pairs[i], name))
            drop(&n->pairs[i]);
        else
            n->pairs[kept++] = n->pairs[i];
    }
    n->n = kept;
}

void notes_add(struct notes *n, struct span name, struct span value, bool keeps_others)
{
    if (!keeps_others)
        remove_name(n, name);
    for (size_t i = 0; i < n->n; i++)
        if (is_name(&n->pairs[i], name) && span_eq(span_str(n->pairs[i].value), value))
            return;
    n->pairs = xrealloc(n->pairs, (n->n + 1) * sizeof *n->pairs);
    n->pairs[n->n++] = (struct pair){ xspandup(name), xspandup(value) };
}

bool notes_at(const struct notes *n, size_t i, struct span *name, struct span *value)
{
    if (n == NULL || i >= n->n)
        return false;
    *name = span_str(n->pairs[i].name);
    *value = span_str(n->pairs[i].value);
    return true;
}
