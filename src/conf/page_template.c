#include "conf/page_template.h"

#include <stdlib.h>
#include "base/mem.h"

/* Squid's letters, and our r. Those for what isn't here (FTP, helpers' messages) print nothing, as there for want of a
 * value. */
static const char letters[] = "aABcdDeEfFghHiIlLmMoOpPrRsStTuUwWxXzZ";

static bool is_code(const char *p, const char *end)
{
    return p + 1 < end && *p == '%' && p[1] != '\0' && strchr(letters, p[1]) != NULL;
}

static size_t count_codes(const char *p, const char *end)
{
    size_t n = 0;

    for (; p < end; p++)
        if (is_code(p, end) || (*p == '%' && p + 1 < end && p[1] == '%')) {
            n++;
            p++;
        }
    return n;
}

struct page_template *page_template_new(struct span text)
{
    size_t most = count_codes(text.p, text.p + text.len) + 1;
    struct page_template *t = xcalloc(1, sizeof *t + most * sizeof t->pieces[0]);
    const char *p, *end, *from;

    t->text = xspandup(text);
    p = from = t->text;
    end = p + text.len;
    while (p < end) {
        if (is_code(p, end)) {
            t->pieces[t->n++] = (struct page_piece){ span_of(from, (size_t)(p - from)), p[1] };
            p += 2;
            from = p;
        } else if (*p == '%' && p + 1 < end && p[1] == '%') {
            t->pieces[t->n++] = (struct page_piece){ span_of(from, (size_t)(p + 1 - from)), 0 };
            p += 2;
            from = p;
        } else {
            p++;
        }
    }
    if (from < end)
        t->pieces[t->n++] = (struct page_piece){ span_of(from, (size_t)(end - from)), 0 };
    return t;
}

void page_template_free(struct page_template **holder)
{
    struct page_template *t = *holder;

    *holder = NULL;
    if (t == NULL)
        return;
    free(t->text);
    free(t);
}
