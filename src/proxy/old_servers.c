#include "proxy/old_servers.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

static int find(const struct old_servers *o, const char *name)
{
    for (int i = 0; o->n > 0 && i < OLD_SERVERS_MAX; i++)
        if (o->names[i] != NULL && strcmp(o->names[i], name) == 0)
            return i;
    return -1;
}

bool old_servers_have(const struct old_servers *o, const char *name)
{
    return find(o, name) >= 0;
}

void old_servers_note(struct old_servers *o, const char *name, bool is_old)
{
    int at = find(o, name);

    if (is_old == (at >= 0))
        return;
    if (!is_old) {
        free(o->names[at]);
        o->names[at] = NULL;
        o->n--;
        return;
    }
    if (o->names[o->next] != NULL) {
        free(o->names[o->next]);
        o->n--;
    }
    o->names[o->next] = xstrdup(name);
    o->next = (o->next + 1) % OLD_SERVERS_MAX;
    o->n++;
}

void old_servers_free(struct old_servers *o)
{
    for (int i = 0; i < OLD_SERVERS_MAX; i++)
        free(o->names[i]);
    *o = (struct old_servers){ 0 };
}
