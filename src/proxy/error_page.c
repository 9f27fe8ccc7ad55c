#include "proxy/error_page.h"

#include <string.h>
#include "base/mem.h"
#include "hdrs/field_date.h"
#include "proxy/error_accept.h"
#include "proxy/error_expand.h"
#include "proxy/error_text.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0.1"
#endif

static const struct {
    const char *name;
    int status;
    const char *headline, *advice;
} pages[ERROR_PAGE_N] = {
#define ERROR_PAGE(id, status, headline, advice) [id] = { #id, status, headline, advice },
#include "proxy/error_page.def"
#undef ERROR_PAGE
};

/* One name, several statuses: what the page says then. */
static const struct {
    enum error_id id;
    int status;
    const char *headline, *advice;
} by_status[] = {
    { ERR_CACHE_ACCESS_DENIED, 401, "This site asks you to sign in",
      "Give the user name and password you have for it." },
    { ERR_CACHE_ACCESS_DENIED, 503, "Your password can't be checked now",
      "What checks it is busy, or out of order. Try again in a moment." },
    { ERR_TOO_BIG, 414, "The address is too long", "Use a shorter one, or send the data in the body of the request." },
    { ERR_TOO_BIG, 431, "The header fields are too large",
      "Often that is a pile of cookies: delete those of this site and try again." },
    { ERR_TOO_BIG, 502, "The site's answer is too large", "It is larger than this proxy lets pass." },
};

static const struct {
    int status;
    const char *phrase;
} phrases[] = {
    { 200, "OK" },
    { 300, "Multiple Choices" },
    { 301, "Moved Permanently" },
    { 302, "Found" },
    { 303, "See Other" },
    { 307, "Temporary Redirect" },
    { 308, "Permanent Redirect" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 407, "Proxy Authentication Required" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 411, "Length Required" },
    { 412, "Precondition Failed" },
    { 413, "Content Too Large" },
    { 414, "URI Too Long" },
    { 416, "Range Not Satisfiable" },
    { 417, "Expectation Failed" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 502, "Bad Gateway" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
    { 505, "HTTP Version Not Supported" },
};

const char *error_page_name(enum error_id id)
{
    return pages[id].name;
}

int error_page_status(enum error_id id)
{
    return pages[id].status;
}

static int find_page(struct span name)
{
    for (int i = 0; i < ERROR_PAGE_N; i++)
        if (span_eq(name, span_str(pages[i].name)))
            return i;
    return -1;
}

bool error_page_is_known(struct span name)
{
    return find_page(name) >= 0;
}

const char *status_phrase(int status)
{
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    /* the phrase is for people (RFC 9112 section 4) */
    return status < 300 ? "Success" : status < 400 ? "Redirection" : status < 500 ? "Client Error" : "Server Error";
}

/* All that a page says, ready to be put into any of the forms. */
struct page {
    const char *name, *headline, *advice;
    int status;
    const char *stylesheet; /* NULL: none */
    struct span method, detail, admin, host;
    struct span what;  /* what the system said; "" */
    struct strbuf url; /* printable ASCII; "" when there is none worth showing */
    char when[DATE_BYTES];
};

static void page_fill(struct page *p, const struct error_context *c, char *what, size_t what_capacity)
{
    const struct deny_info *deny = c->deny;
    int named = deny != NULL && deny->kind == DENY_PAGE ? find_page(span_str(deny->name)) : -1;

    *p = (struct page){
        .name = pages[c->id].name,
        .headline = pages[named >= 0 ? named : (int)c->id].headline,
        .advice = pages[named >= 0 ? named : (int)c->id].advice,
        .stylesheet = c->settings ? c->settings->stylesheet : NULL,
        .status = c->status != 0 ? c->status : pages[c->id].status,
        .method = c->method.len > ERROR_SHOWN_MAX ? span_of(c->method.p, ERROR_SHOWN_MAX) : c->method,
        .detail = span_str(c->detail),
        .admin = c->cache_mgr,
        .host = c->host,
    };
    for (size_t i = 0; i < sizeof by_status / sizeof by_status[0]; i++)
        if (by_status[i].id == c->id && by_status[i].status == p->status) {
            p->headline = by_status[i].headline;
            p->advice = by_status[i].advice;
        }
    if (deny != NULL && deny->kind == DENY_PAGE && (named >= 0 || settings_error_page(c->settings, deny->name) != NULL))
        p->name = deny->name;
    if (deny != NULL && deny->status != 0)
        p->status = deny->status;
    if (c->sys_errno != 0)
        p->what = span_str(strerror_r(c->sys_errno, what, what_capacity));
    error_add_shown_url(&p->url, c->url);
    date_print(p->when, c->now);
}

static void add_plain(struct strbuf *out, struct span s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];

        sb_char(out, c < ' ' || c >= 0x7f ? '?' : (char)c);
    }
}

static void add_html_row(struct strbuf *b, const char *label, struct span value)
{
    if (value.len == 0)
        return;
    sb_printf(b, "<dt>%s<dd>", label);
    error_add_html(b, value);
    sb_char(b, '\n');
}

static void html_body(const struct page *p, struct strbuf *b)
{
    sb_str(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    error_add_html(b, span_str(p->headline));
    sb_str(b, "</title>\n<style>\n"
              "body{font:16px/1.5 system-ui,sans-serif;max-width:42em;margin:10vh auto;padding:0 1em;"
              "color:#222;background:#fff}\n"
              "h1{font-size:1.5em}dt{color:#666}dd{margin:0 0 .6em;overflow-wrap:anywhere}"
              "footer{color:#666;font-size:.85em;border-top:1px solid #ccc;margin-top:2em}\n"
              "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}}\n");
    if (p->stylesheet != NULL)
        sb_str(b, p->stylesheet);
    sb_str(b, "</style>\n<h1>");
    error_add_html(b, span_str(p->headline));
    sb_str(b, "</h1>\n<p>");
    error_add_html(b, span_str(p->advice));
    sb_str(b, "\n<dl>\n");
    add_html_row(b, "Address", sb_view(&p->url));
    add_html_row(b, "Method", p->method);
    add_html_row(b, "What happened", p->what);
    add_html_row(b, "Detail", p->detail);
    add_html_row(b, "Who to ask", p->admin);
    sb_str(b, "</dl>\n<footer>");
    sb_printf(b, "%s (%d), ", p->name, p->status);
    sb_add(b, p->when, sizeof p->when);
    if (p->host.len > 0) {
        sb_str(b, ", proxy ");
        error_add_html(b, p->host);
    }
    sb_str(b, "</footer>\n</html>\n");
}

static void add_json_member(struct strbuf *b, const char *name, struct span value)
{
    if (value.len == 0)
        return;
    sb_printf(b, ",\n  \"%s\": \"", name);
    error_add_json(b, value);
    sb_char(b, '"');
}

/* The members RFC 9457 names come first; the rest are extensions it allows. */
static void json_body(const struct page *p, struct strbuf *b)
{
    sb_printf(b, "{\n  \"type\": \"about:blank\",\n  \"status\": %d", p->status);
    add_json_member(b, "title", span_str(p->headline));
    add_json_member(b, "detail", p->detail.len > 0 ? p->detail : p->what);
    add_json_member(b, "error", span_str(p->name));
    add_json_member(b, "advice", span_str(p->advice));
    add_json_member(b, "url", sb_view(&p->url));
    add_json_member(b, "method", p->method);
    add_json_member(b, "what", p->what);
    add_json_member(b, "ask", p->admin);
    add_json_member(b, "proxy", p->host);
    add_json_member(b, "time", span_of(p->when, sizeof p->when));
    sb_str(b, "\n}\n");
}

static void add_plain_row(struct strbuf *b, const char *label, struct span value)
{
    if (value.len == 0)
        return;
    sb_printf(b, "%s: ", label);
    add_plain(b, value);
    sb_char(b, '\n');
}

static void plain_body(const struct page *p, struct strbuf *b)
{
    sb_printf(b, "%s\n%s\n\n", p->headline, p->advice);
    add_plain_row(b, "Address", sb_view(&p->url));
    add_plain_row(b, "Method", p->method);
    add_plain_row(b, "What happened", p->what);
    add_plain_row(b, "Detail", p->detail);
    add_plain_row(b, "Who to ask", p->admin);
    add_plain_row(b, "Proxy", p->host);
    sb_printf(b, "%s (%d), %.*s\n", p->name, p->status, DATE_BYTES, p->when);
}

static const struct {
    const char *content_type;
    void (*body)(const struct page *p, struct strbuf *b);
} forms[] = {
    [ERROR_HTML] = { "text/html;charset=utf-8", html_body },
    [ERROR_JSON] = { "application/json", json_body },
    [ERROR_PROBLEM_JSON] = { "application/problem+json", json_body },
    [ERROR_PLAIN] = { "text/plain;charset=utf-8", plain_body },
};

/* Location and a body for those who don't follow it. */
static void redirect(const struct error_context *c, const struct page *p, struct strbuf *head, struct strbuf *body)
{
    struct strbuf url = { 0 };

    error_expand_url(c->deny->page, c, p->name, &url);
    sb_str(head, "Location: ");
    sb_span(head, sb_view(&url));
    sb_str(head, "\r\n");
    sb_str(body, "<!DOCTYPE html>\n<title>Redirected</title>\n<p><a href=\"");
    error_add_html(body, sb_view(&url));
    sb_str(body, "\">This way</a>\n");
    sb_free(&url);
}

const char *error_page_make(const struct error_context *c, struct strbuf *head, struct strbuf *body, int *status,
                            const char **name)
{
    enum error_form form = error_form_wanted(c->request);
    const struct page_template *own;
    char what[128];
    struct page p;
    size_t before = body->len;

    page_fill(&p, c, what, sizeof what);
    sb_printf(head, "HTTP/1.1 %d %s\r\nServer: loligo%s\r\nDate: %.*s\r\n", p.status, status_phrase(p.status),
              c->hide_version ? "" : "/" PACKAGE_VERSION, DATE_BYTES, p.when);
    own = c->settings != NULL && form == ERROR_HTML ? settings_error_page(c->settings, p.name) : NULL;
    if (c->deny != NULL && c->deny->kind == DENY_REDIRECT) {
        form = ERROR_HTML;
        redirect(c, &p, head, body);
    } else if (own != NULL) {
        error_expand_page(own, c, p.name, body);
    } else {
        forms[form].body(&p, body);
    }
    *name = p.name;
    if (strrchr(p.name, '/') != NULL) /* a page of its own path */
        *name = strrchr(p.name, '/') + 1;
    sb_printf(head, "Content-Type: %s\r\nContent-Length: %zu\r\nX-Squid-Error: %s %d\r\n", forms[form].content_type,
              body->len - before, *name, c->sys_errno);
    if (c->head_only)
        body->len = before; /* Content-Length stays what GET would get (RFC 9110 section 9.3.2) */
    sb_free(&p.url);
    *status = p.status;
    return forms[form].content_type;
}
