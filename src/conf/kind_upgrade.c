/* http_upgrade_request_protocols: which protocols a client may ask to change to. */
#include <stdlib.h>
#include "base/mem.h"
#include "conf/directive.h"

/* That of the protocol, made when this is its first line. */
static struct upgrade_setting *upgrade_of(struct settings *s, struct span protocol)
{
    struct upgrade_setting *u;

    for (size_t i = 0; i < s->n_upgrades; i++)
        if (span_eq_nocase(span_str(s->upgrades[i].protocol), protocol))
            return &s->upgrades[i];
    u = ARRAY_PUSH(s->upgrades, s->n_upgrades);
    u->protocol = xspandup(protocol);
    u->access = access_list_new(false);
    return u;
}

static void parse_upgrade(struct reading *r, const struct directive *d, const struct line *l)
{
    (void)d;
    if (words_between(r, l, 2, SIZE_MAX))
        access_add_words(r, upgrade_of(r->s, l->words[1].text)->access, l, 2, NULL);
}

static void print_upgrade(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_upgrades; i++) {
        char *name = xasprintf("%s %s", d->name, s->upgrades[i].protocol);

        access_list_print(s->upgrades[i].access, name, out);
        free(name);
    }
}

const struct directive_kind kind_upgrade = { parse_upgrade, print_upgrade };
