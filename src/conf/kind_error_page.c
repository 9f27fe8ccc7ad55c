/* error_directory, err_page_stylesheet, deny_info: an operator's own pages. Files are read when the whole configuration is,
 * since deny_info may stand before error_directory. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include "base/mem.h"
#include "conf/directive.h"
#include "conf/page_template.h"
#include "conf/value.h"

#define PAGES_MAX 512 /* files of a directory */
#define PAGE_BYTES_MAX (256u << 10)

/* --- deny_info -------------------------------------------------------------------------------------------------- */

static bool is_redirect(struct span target)
{
    static const struct span schemes[] = { SPAN("http://"), SPAN("https://"), SPAN("ftp://"), SPAN("mailto:") };

    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if (target.len > schemes[i].len && span_eq_nocase(span_of(target.p, schemes[i].len), schemes[i]))
            return true;
    return false;
}

/* "303:" or "404:" in front. False: that is no status there may be, and was told. */
static bool read_status(struct reading *r, const struct word *w, struct span *target, int *status)
{
    int64_t n;

    *target = w->text;
    *status = 0;
    if (target->len < 4 || target->p[3] != ':' || value_count(span_of(target->p, 3), 0, 999, &n) != VALUE_OK)
        return true;
    *target = span_of(target->p + 4, target->len - 4);
    *status = (int)n;
    if (n >= 200 && n <= 599 && n != 204 && n != 304 && (is_redirect(*target) ? n / 100 == 3 : n / 100 != 3))
        return true;
    diag_error(r->report, w->at, NULL, "%d is no status for %s: %s", (int)n,
               is_redirect(*target) ? "a redirection" : "a page",
               is_redirect(*target) ? "300 to 399 are" : "200 and 400 to 599 are");
    return false;
}

/* A line end or another control would end the Location field and begin one of its own. */
static bool has_controls(struct span s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
            return true;
    return false;
}

static void add_deny_info(struct reading *r, const struct word *page, struct span target, int status,
                          const struct word *acl)
{
    const struct acl *a = acl_find(r->s->acls, acl->text);
    struct deny_info *d;

    if (a == NULL) {
        diag_error(r->report, acl->at, NULL, "deny_info: there is no ACL '%.*s'", QUOTED_ARG(acl->text));
        return;
    }
    d = ARRAY_PUSH(r->s->deny_infos, r->s->n_deny_infos);
    d->acl = a;
    d->status = status;
    d->written = xspandup(page->text);
    d->where = place_text(page->at);
    *ARRAY_PUSH(r->deny_info_at, r->n_deny_info_at) = page->at;
    if (span_eq(target, SPAN("TCP_RESET"))) {
        d->kind = DENY_RESET;
    } else if (is_redirect(target)) {
        d->kind = DENY_REDIRECT;
        d->status = status ? status : 302;
        d->page = page_template_new(target);
    } else {
        d->kind = DENY_PAGE;
        d->name = xspandup(target);
    }
}

static void parse_deny_info(struct reading *r, const struct directive *d, const struct line *l)
{
    struct span target;
    int status;

    (void)d;
    if (!words_between(r, l, 2, SIZE_MAX) || !read_status(r, &l->words[1], &target, &status))
        return;
    if (target.len == 0 || has_controls(target)) {
        diag_error(r->report, l->words[1].at, NULL, "deny_info needs the name of a page, an address or TCP_RESET");
        return;
    }
    for (size_t i = 2; i < l->n; i++)
        add_deny_info(r, &l->words[1], target, status, &l->words[i]);
}

static void print_deny_info(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (size_t i = 0; i < s->n_deny_infos; i++) {
        struct span name = acl_name(s->deny_infos[i].acl);

        sb_printf(out, "%s %s %.*s\n", d->name, s->deny_infos[i].written, SPAN_ARG(name));
    }
}

const struct deny_info *settings_deny_info(const struct settings *s, const struct acl *last)
{
    for (size_t i = 0; last != NULL && i < s->n_deny_infos; i++)
        if (s->deny_infos[i].acl == last)
            return &s->deny_infos[i];
    return NULL;
}

/* --- files ------------------------------------------------------------------------------------------------------ */

static struct place said_at(const struct reading *r, const char *directive)
{
    return r->said[directive_find(span_str(directive))];
}

/* NULL after a warning. */
static char *load_text(struct reading *r, const char *path, struct place at, size_t *len)
{
    const char *why;
    char *text = reading_load(r, path, len, &why);

    if (text == NULL)
        diag_warning(r->report, at, NULL, "can't read '%s': %s; built-in pages stand in", path, why);
    else if (*len > PAGE_BYTES_MAX)
        diag_warning(r->report, at, NULL, "'%s' has more than %u bytes; built-in pages stand in", path, PAGE_BYTES_MAX);
    return text != NULL && *len <= PAGE_BYTES_MAX ? text : NULL;
}

static bool load_page(struct reading *r, const char *name, const char *path, struct place at)
{
    struct error_page_setting *p;
    size_t len;
    const char *text = load_text(r, path, at, &len);

    if (text == NULL)
        return false;
    p = ARRAY_PUSH(r->s->error_pages, r->s->n_error_pages);
    p->name = xstrdup(name);
    p->page = page_template_new(span_of(text, len));
    return true;
}

static void load_directory(struct reading *r)
{
    struct place at = said_at(r, "error_directory");
    DIR *d = opendir(r->s->error_directory);
    const struct dirent *e;

    if (d == NULL) {
        diag_warning(r->report, at, NULL, "can't open error_directory '%s': %s; built-in pages stand in",
                     r->s->error_directory, strerror(errno));
        return;
    }
    while ((e = readdir(d)) != NULL && r->s->n_error_pages < PAGES_MAX)
        if (strncmp(e->d_name, "ERR_", 4) == 0) {
            char *path = reading_keep(r, xasprintf("%s/%s", r->s->error_directory, e->d_name));

            (void)load_page(r, e->d_name, path, at);
        }
    closedir(d);
}

const struct page_template *settings_error_page(const struct settings *s, const char *name)
{
    for (size_t i = 0; i < s->n_error_pages; i++)
        if (strcmp(s->error_pages[i].name, name) == 0)
            return s->error_pages[i].page;
    return NULL;
}

/* The page a deny_info names: built in, loaded already, or a file of its own. */
static void find_denied_page(struct reading *r, const struct deny_info *d, struct place at)
{
    bool is_known = r->hooks != NULL && r->hooks->error_page_is_known != NULL
                        ? r->hooks->error_page_is_known(span_str(d->name))
                        : true;

    if (d->kind != DENY_PAGE || is_known || settings_error_page(r->s, d->name) != NULL)
        return;
    if (d->name[0] == '/' || (r->s->error_directory != NULL && strchr(d->name, '/') == NULL)) {
        char *path = d->name[0] == '/' ? xstrdup(d->name) : xasprintf("%s/%s", r->s->error_directory, d->name);

        (void)load_page(r, d->name, reading_keep(r, path), at);
        return;
    }
    diag_warning(r->report, at, NULL,
                 "deny_info: there is no page '%s' without error_directory; ERR_ACCESS_DENIED stands in", d->name);
}

void error_pages_load(struct reading *r)
{
    struct settings *s = r->s;
    size_t len;
    const char *text;

    if (r->closed)
        return;
    if (s->error_directory != NULL)
        load_directory(r);
    for (size_t i = 0; i < s->n_deny_infos; i++)
        find_denied_page(r, &s->deny_infos[i], r->deny_info_at[i]);
    if (s->err_page_stylesheet != NULL &&
        (text = load_text(r, s->err_page_stylesheet, said_at(r, "err_page_stylesheet"), &len)) != NULL)
        s->stylesheet = xspandup(span_of(text, len));
}

const struct directive_kind kind_deny_info = { parse_deny_info, print_deny_info };
