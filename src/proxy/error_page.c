#include "proxy/error_page.h"

#include <string.h>
#include "base/mem.h"
#include "hdrs/field_date.h"
#include "proxy/error_accept.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "0.1"
#endif

/* What is shown of a URL or a method; the rest says nothing to a reader. */
#define SHOWN_MAX 1024

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
    { ERR_TOO_BIG, 414, "The address is too long", "Use a shorter one, or send the data in the body of the request." },
    { ERR_TOO_BIG, 431, "The header fields are too large",
      "Often that is a pile of cookies: delete those of this site and try again." },
    { ERR_TOO_BIG, 502, "The site's answer is too large", "It is larger than this proxy lets pass." },
};

static const struct {
    int status;
    const char *phrase;
} phrases[] = {
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

static const char *phrase_of(int status)
{
    for (size_t i = 0; i < sizeof phrases / sizeof phrases[0]; i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return status < 500 ? "Client Error" : "Server Error"; /* the phrase is for people (RFC 9112 section 4) */
}

/* All that a page says, ready to be put into any of the forms. */
struct page {
    const char *name, *headline, *advice;
    int status;
    struct span method, detail, admin, host;
    struct span what;  /* what the system said; "" */
    struct strbuf url; /* printable ASCII; "" when there is none worth showing */
    char when[DATE_BYTES];
};

/* The URL as people may see it: no query and no userinfo (credentials: hostile-inputs M05), ASCII only. */
static void add_shown_url(struct strbuf *out, struct span url)
{
    const char *query = url.len ? memchr(url.p, '?', url.len) : NULL, *scheme_end;
    bool cut = false;

    if (query != NULL)
        url.len = (size_t)(query - url.p);
    scheme_end = url.len ? memmem(url.p, url.len, "://", 3) : NULL;
    if (scheme_end != NULL) {
        size_t at = (size_t)(scheme_end - url.p) + 3;
        const char *slash = memchr(url.p + at, '/', url.len - at);
        size_t authority_end = slash ? (size_t)(slash - url.p) : url.len;
        const char *userinfo = memrchr(url.p + at, '@', authority_end - at);

        if (userinfo != NULL) {
            sb_add(out, url.p, at);
            url.len -= (size_t)(userinfo + 1 - url.p);
            url.p = userinfo + 1;
        }
    }
    if (url.len > SHOWN_MAX) {
        url.len = SHOWN_MAX;
        cut = true;
    }
    for (size_t i = 0; i < url.len; i++) {
        unsigned char c = (unsigned char)url.p[i];

        if (c <= ' ' || c >= 0x7f)
            sb_printf(out, "%%%02X", c);
        else
            sb_char(out, (char)c);
    }
    if (cut)
        sb_str(out, "...");
}

static void page_fill(struct page *p, const struct error_context *c, char *what, size_t what_capacity)
{
    *p = (struct page){
        .name = pages[c->id].name,
        .headline = pages[c->id].headline,
        .advice = pages[c->id].advice,
        .status = c->status != 0 ? c->status : pages[c->id].status,
        .method = c->method.len > SHOWN_MAX ? span_of(c->method.p, SHOWN_MAX) : c->method,
        .detail = span_str(c->detail),
        .admin = c->cache_mgr,
        .host = c->host,
    };
    for (size_t i = 0; i < sizeof by_status / sizeof by_status[0]; i++)
        if (by_status[i].id == c->id && by_status[i].status == p->status) {
            p->headline = by_status[i].headline;
            p->advice = by_status[i].advice;
        }
    if (c->sys_errno != 0)
        p->what = span_str(strerror_r(c->sys_errno, what, what_capacity));
    add_shown_url(&p->url, c->url);
    date_print(p->when, c->now);
}

/* Text between tags or in a quoted attribute (hostile-inputs M03). Controls and bytes beyond ASCII become '?': nobody
 * vouches for their being UTF-8. */
static void add_html(struct strbuf *out, struct span s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];

        switch (c) {
        case '&': sb_str(out, "&amp;"); break;
        case '<': sb_str(out, "&lt;"); break;
        case '>': sb_str(out, "&gt;"); break;
        case '"': sb_str(out, "&quot;"); break;
        case '\'': sb_str(out, "&#39;"); break;
        default: sb_char(out, c < ' ' || c >= 0x7f ? '?' : (char)c);
        }
    }
}

/* Inside a JSON string. <, > and & too, so that the text stays harmless if somebody sniffs HTML in it. */
static void add_json(struct strbuf *out, struct span s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c == '"' || c == '\\') {
            sb_char(out, '\\');
            sb_char(out, (char)c);
        } else if (c < ' ' || c >= 0x7f || c == '<' || c == '>' || c == '&') {
            sb_printf(out, "\\u%04x", c >= 0x80 ? 0xfffdu : c);
        } else {
            sb_char(out, (char)c);
        }
    }
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
    add_html(b, value);
    sb_char(b, '\n');
}

static void html_body(const struct page *p, struct strbuf *b)
{
    sb_str(b, "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
              "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>");
    add_html(b, span_str(p->headline));
    sb_str(b, "</title>\n<style>\n"
              "body{font:16px/1.5 system-ui,sans-serif;max-width:42em;margin:10vh auto;padding:0 1em;"
              "color:#222;background:#fff}\n"
              "h1{font-size:1.5em}dt{color:#666}dd{margin:0 0 .6em;overflow-wrap:anywhere}"
              "footer{color:#666;font-size:.85em;border-top:1px solid #ccc;margin-top:2em}\n"
              "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}}\n"
              "</style>\n<h1>");
    add_html(b, span_str(p->headline));
    sb_str(b, "</h1>\n<p>");
    add_html(b, span_str(p->advice));
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
        add_html(b, p->host);
    }
    sb_str(b, "</footer>\n</html>\n");
}

static void add_json_member(struct strbuf *b, const char *name, struct span value)
{
    if (value.len == 0)
        return;
    sb_printf(b, ",\n  \"%s\": \"", name);
    add_json(b, value);
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

const char *error_page_make(const struct error_context *c, struct strbuf *head, struct strbuf *body, int *status)
{
    enum error_form form = error_form_wanted(c->request);
    char what[128];
    struct page p;
    size_t before = body->len;

    page_fill(&p, c, what, sizeof what);
    forms[form].body(&p, body);
    sb_printf(head, "HTTP/1.1 %d %s\r\nServer: loligo%s\r\nDate: %.*s\r\n", p.status, phrase_of(p.status),
              c->hide_version ? "" : "/" PACKAGE_VERSION, DATE_BYTES, p.when);
    sb_printf(head, "Content-Type: %s\r\nContent-Length: %zu\r\nX-Squid-Error: %s %d\r\n", forms[form].content_type,
              body->len - before, p.name, c->sys_errno);
    if (c->head_only)
        body->len = before; /* Content-Length stays what GET would get (RFC 9110 section 9.3.2) */
    sb_free(&p.url);
    *status = p.status;
    return forms[form].content_type;
}
