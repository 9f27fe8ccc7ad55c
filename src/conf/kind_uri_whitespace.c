/* uri_whitespace. */
#include "base/similar.h"
#include "conf/directive.h"

static const char *const words[] = { [URI_WHITESPACE_DENY] = "deny",
                                     [URI_WHITESPACE_STRIP] = "strip",
                                     [URI_WHITESPACE_ENCODE] = "encode",
                                     [URI_WHITESPACE_CHOP] = "chop",
                                     NULL };

static void parse_uri_whitespace(struct reading *r, const struct directive *d, const struct line *l)
{
    struct span word = l->words[1].text;

    if (!words_between(r, l, 1, 1))
        return;
    for (size_t i = 0; words[i] != NULL; i++)
        if (span_eq(word, span_str(words[i]))) {
            r->s->uri_whitespace = (enum uri_whitespace)i;
            return;
        }
    if (span_eq(word, SPAN("allow")))
        diag_error(r->report, l->words[1].at, NULL,
                   "%s allow: a request line can't be forwarded with blanks in it; "
                   "`encode` comes nearest",
                   d->name);
    else
        diag_error(r->report, l->words[1].at, similar_word(words, word), "%s: unknown word '%.*s'", d->name,
                   QUOTED_ARG(word));
}

static void print_uri_whitespace(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    sb_printf(out, "%s %s\n", d->name, words[s->uri_whitespace]);
}

const struct directive_kind kind_uri_whitespace = { parse_uri_whitespace, print_uri_whitespace };
