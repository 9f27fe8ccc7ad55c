#include "proxy/error_text.h"

void error_add_html(struct strbuf *out, struct span s)
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

static bool is_unreserved(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_' || c == '~';
}

void error_add_url(struct strbuf *out, struct span s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (is_unreserved(c))
            sb_char(out, (char)c);
        else
            sb_printf(out, "%%%02X", c);
    }
}

void error_add_shown_url(struct strbuf *out, struct span url)
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
    if (url.len > ERROR_SHOWN_MAX) {
        url.len = ERROR_SHOWN_MAX;
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

void error_add_json(struct strbuf *out, struct span s)
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
