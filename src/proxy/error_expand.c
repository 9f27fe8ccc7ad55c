#include "proxy/error_expand.h"

#include "config.h"

#include <string.h>
#include <time.h>
#include "hdrs/field_date.h"
#include "proxy/error_text.h"

/* The plain value of a code, into *out as it is; false: none, or one that has a form of its own (page_code). */
static bool value_of(char code, const struct error_context *c, const char *name, struct strbuf *out)
{
    char text[ADDR_TEXT_MAX], what[128];

    switch (code) {
    case 'a': sb_span(out, c->user.len > 0 ? c->user : SPAN("-")); break;
    case 'A':
        addr_print(&c->local, text);
        sb_str(out, text);
        break;
    case 'c':
    case 'x': sb_str(out, name); break;
    case 'D': sb_span(out, span_str(c->detail)); break;
    case 'e': sb_printf(out, "%d", c->sys_errno); break;
    case 'E':
        if (c->sys_errno != 0)
            sb_printf(out, "(%d) %s", c->sys_errno, strerror_r(c->sys_errno, what, sizeof what));
        else
            sb_str(out, "[No Error]");
        break;
    case 'h': sb_span(out, c->host); break;
    case 'H': sb_span(out, c->url_host); break;
    case 'i':
        addr_print(&c->client, text);
        sb_str(out, text);
        break;
    case 'I':
        if (c->server.family != 0) {
            addr_print(&c->server, text);
            sb_str(out, text);
        }
        break;
    case 'M': sb_add(out, c->method.p, c->method.len < ERROR_SHOWN_MAX ? c->method.len : ERROR_SHOWN_MAX); break;
    case 'p': sb_printf(out, "%u", c->url_port); break;
    case 'P': sb_span(out, c->url_scheme); break;
    case 'r': sb_str(out, c->access_line != NULL ? c->access_line : "-"); break;
    case 's': sb_str(out, c->hide_version ? "loligo" : "loligo/" PACKAGE_VERSION); break;
    case 'T': {
        char date[DATE_BYTES];

        date_print(date, c->now);
        sb_add(out, date, sizeof date);
        break;
    }
    case 't': {
        time_t now = (time_t)c->now;
        struct tm tm;
        char date[64];

        localtime_r(&now, &tm);
        strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S %Z", &tm);
        sb_str(out, date);
        break;
    }
    case 'w': sb_span(out, c->cache_mgr); break;
    default: return false;
    }
    return true;
}

/* --- pages ------------------------------------------------------------------------------------------------------ */

static void add_mail_line(struct strbuf *out, const char *label, struct span value)
{
    error_add_url(out, span_str(label));
    error_add_url(out, value);
    error_add_url(out, SPAN("\r\n"));
}

/* Behind mailto:address: what the administrator wants to know. */
static void mail_data(const struct error_context *c, const char *name, struct strbuf *out)
{
    static const struct {
        const char *label;
        char code;
    } lines[] = {
        { "CacheHost: ", 'h' }, { "ErrPage: ", 'c' }, { "Err: ", 'E' }, { "TimeStamp: ", 'T' }, { "ClientIP: ", 'i' }
    };
    struct strbuf url = { 0 };

    if (c->settings == NULL || !c->settings->email_err_data)
        return;
    sb_str(out, "?subject=CacheErrorInfo%20-%20");
    error_add_url(out, span_str(name));
    sb_str(out, "&amp;body=");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        struct strbuf value = { 0 };

        (void)value_of(lines[i].code, c, name, &value);
        add_mail_line(out, lines[i].label, sb_view(&value));
        sb_free(&value);
    }
    error_add_shown_url(&url, c->url);
    add_mail_line(out, "URL: ", sb_view(&url));
    sb_free(&url);
}

static void add_shown(const struct error_context *c, struct strbuf *out)
{
    struct strbuf url = { 0 };

    error_add_shown_url(&url, c->url);
    error_add_html(out, sb_view(&url));
    sb_free(&url);
}

/* The request without what must not be read over a shoulder (Authorization, Cookie). */
static void add_request(const struct error_context *c, struct strbuf *out)
{
    const struct head *h = c->request;

    if (h == NULL)
        return;
    error_add_html(out, c->method);
    sb_char(out, ' ');
    add_shown(c, out);
    sb_printf(out, " HTTP/1.%d\n", h->minor_version);
    for (unsigned i = 0; i < h->n_fields; i++) {
        if (token_is_secret((enum token)h->fields[i].token))
            continue;
        error_add_html(out, field_name(h, &h->fields[i]));
        sb_str(out, ": ");
        error_add_html(out, field_value(h, &h->fields[i]));
        sb_char(out, '\n');
    }
}

/* Codes that are HTML already, or whose values are made for reading. */
static void page_code(char code, const struct error_context *c, const char *name, struct strbuf *out)
{
    struct strbuf value = { 0 };

    switch (code) {
    case 'B':
    case 'u':
    case 'U': add_shown(c, out); break;
    case 'l':
        if (c->settings != NULL && c->settings->stylesheet != NULL)
            sb_str(out, c->settings->stylesheet);
        break;
    case 'L':
        if (c->settings != NULL && c->settings->err_html_text != NULL)
            sb_str(out, c->settings->err_html_text);
        break;
    case 'R': add_request(c, out); break;
    case 'S':
        sb_str(out, "<p>Generated ");
        page_code('T', c, name, out);
        sb_str(out, " by ");
        page_code('h', c, name, out);
        sb_str(out, " (");
        page_code('s', c, name, out);
        sb_str(out, ")</p>\n");
        break;
    case 'W': mail_data(c, name, out); break;
    default:
        if (value_of(code, c, name, &value))
            error_add_html(out, sb_view(&value));
        sb_free(&value);
    }
}

void error_expand_page(const struct page_template *t, const struct error_context *c, const char *name,
                       struct strbuf *out)
{
    for (size_t i = 0; i < t->n; i++) {
        sb_span(out, t->pieces[i].text);
        if (t->pieces[i].code != 0)
            page_code(t->pieces[i].code, c, name, out);
    }
}

/* --- addresses -------------------------------------------------------------------------------------------------- */

static void url_code(char code, const struct error_context *c, const char *name, struct strbuf *out)
{
    struct strbuf value = { 0 };

    switch (code) {
    case 'B':
    case 'u':
    case 'U': error_add_url(out, c->url); return;
    case 'R': error_add_url(out, c->url_path); return;
    default:
        if (value_of(code, c, name, &value))
            error_add_url(out, sb_view(&value));
        sb_free(&value);
    }
}

void error_expand_url(const struct page_template *t, const struct error_context *c, const char *name,
                      struct strbuf *out)
{
    for (size_t i = 0; i < t->n; i++) {
        sb_span(out, t->pieces[i].text);
        if (t->pieces[i].code != 0)
            url_code(t->pieces[i].code, c, name, out);
    }
}
