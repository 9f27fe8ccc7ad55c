/* note: an annotation for the log lines of the requests that its ACLs choose. */
#include "base/mem.h"
#include "conf/directive.h"

static void parse_note(struct reading *r, const struct directive *d, const struct line *l)
{
    struct note_setting *n;

    (void)d;
    if (!words_between(r, l, 2, SIZE_MAX))
        return;
    if (memchr(l->words[2].text.p, '%', l->words[2].text.len) != NULL) {
        diag_error(r->report, l->words[2].at, NULL, "format codes in annotations are not supported");
        return;
    }
    n = ARRAY_PUSH(r->s->notes, r->s->n_notes);
    n->name = xspandup(l->words[1].text);
    n->value = xspandup(l->words[2].text);
    if (l->n > 3) {
        n->when = access_list_new(false);
        access_add_words(r, n->when, l, 3, "allow");
    }
}

static void print_note(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_notes; i++) {
        sb_printf(out, "%s %s \"%s\"", d->name, s->notes[i].name, s->notes[i].value);
        if (s->notes[i].when != NULL)
            access_list_print_acls(s->notes[i].when, out);
        sb_char(out, '\n');
    }
}

const struct directive_kind kind_note = { parse_note, print_note };
