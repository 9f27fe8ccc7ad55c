/* tcp_outgoing_address. */
#include "base/mem.h"
#include "conf/directive.h"

static void parse_outgoing(struct reading *r, const struct directive *d, const struct line *l)
{
    struct span text = l->words[1].text;
    struct outgoing_setting *o;
    struct addr from = { 0 };

    (void)d;
    if (!addr_parse(text, &from)) {
        diag_error(r->report, l->words[1].at, NULL, "'%.*s' is no address", QUOTED_ARG(text));
        return;
    }
    o = ARRAY_PUSH(r->s->outgoing, r->s->n_outgoing);
    o->from = from;
    if (l->n > 2) {
        o->when = access_list_new(false);
        access_add_words(r, o->when, l, 2, "allow");
    }
}

static void print_outgoing(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_outgoing; i++) {
        char text[ADDR_TEXT_MAX];

        addr_print(&s->outgoing[i].from, text);
        sb_printf(out, "%s %s", d->name, text);
        if (s->outgoing[i].when != NULL)
            access_list_print_acls(s->outgoing[i].when, out);
        sb_char(out, '\n');
    }
}

const struct directive_kind kind_outgoing = { parse_outgoing, print_outgoing };
