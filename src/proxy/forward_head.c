#include "config.h"

#include "proxy/forward_head.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include "base/mem.h"
#include "cache/partial.h"
#include "hdrs/field_number.h"
#include "hdrs/named_fields.h"
#include "proxy/upgrade.h"

static bool is_condition(enum token t)
{
    switch (t) {
    case TOKEN_IF_NONE_MATCH:
    case TOKEN_IF_MODIFIED_SINCE:
    case TOKEN_IF_MATCH:
    case TOKEN_IF_UNMODIFIED_SINCE:
    case TOKEN_IF_RANGE:
    case TOKEN_RANGE: return true;
    default: return false;
    }
}

/* Fields that the proxy writes itself, or never passes on. */
static bool is_ours(const struct settings *s, enum token t)
{
    switch (t) {
    case TOKEN_HOST:
    case TOKEN_CONTENT_LENGTH:
    case TOKEN_TRANSFER_ENCODING:
    case TOKEN_EXPECT:
    case TOKEN_MAX_FORWARDS: return true;
    case TOKEN_X_FORWARDED_FOR: return s->forwarded_for != FORWARDED_FOR_TRANSPARENT;
    default: return false;
    }
}

static bool has_login(const struct forward_options *o)
{
    return o->login != NULL && strchr(o->login, ':') != NULL;
}

/* This accelerator has asked for it; the site behind gets it if the operator says so. */
static bool is_spent(const struct request *r, const struct forward_options *o)
{
    return r->accel && r->user_state == USER_KNOWN && !o->passes_login;
}

static bool passes(const struct request *r, const struct settings *s, const struct forward_options *o,
                   const struct head_field *f)
{
    enum token t = (enum token)f->token;

    if (is_ours(s, t))
        return false;
    if ((o->validate != NULL || o->unconditional) && is_condition(t))
        return false;
    if ((o->whole || o->begins != NULL) && (t == TOKEN_RANGE || t == TOKEN_IF_RANGE))
        return false;
    /* Not two of them. */
    return !(t == TOKEN_AUTHORIZATION && ((o->originserver && has_login(o)) || is_spent(r, o)));
}

/* keep[field number]: it goes on. */
static void select_fields(const struct request *r, const struct settings *s, const struct forward_options *o,
                          bool *keep)
{
    keep_end_to_end(r->head, keep);
    for (unsigned i = 0; i < r->head->n_fields; i++)
        keep[i] = keep[i] && passes(r, s, o, &r->head->fields[i]);
}

static void add_field(struct strbuf *out, struct span name, struct span value)
{
    sb_span(out, name);
    sb_str(out, ": ");
    sb_span(out, value);
    sb_str(out, "\r\n");
}

static void forwarded_for(struct strbuf *out, const struct request *r, const struct settings *s)
{
    char text[ADDR_TEXT_MAX];

    switch (s->forwarded_for) {
    case FORWARDED_FOR_ON:
        sb_str(out, "X-Forwarded-For: ");
        for (const struct head_field *f = head_find(r->head, TOKEN_X_FORWARDED_FOR); f != NULL;
             f = head_next(r->head, f)) {
            sb_span(out, field_value(r->head, f));
            sb_str(out, ", ");
        }
        addr_print(&r->client, text);
        sb_printf(out, "%s\r\n", text);
        break;
    case FORWARDED_FOR_OFF: sb_str(out, "X-Forwarded-For: unknown\r\n"); break;
    case FORWARDED_FOR_TRUNCATE:
        addr_print(&r->client, text);
        sb_printf(out, "X-Forwarded-For: %s\r\n", text);
        break;
    case FORWARDED_FOR_TRANSPARENT:
    case FORWARDED_FOR_DELETE: break;
    }
}

/* user:password, or the user's name and :password; false: there is no name. */
static bool login_text(struct strbuf *out, const struct request *r, const struct forward_options *o)
{
    const char *text = o->login;

    if (strncmp(text, "*:", 2) == 0) {
        if (r->user.len == 0)
            return false;
        sb_span(out, r->user);
        text++;
    }
    sb_str(out, text);
    return true;
}

static void login(struct strbuf *out, const struct request *r, const struct forward_options *o)
{
    const struct head_field *f = head_find(r->head, TOKEN_PROXY_AUTHORIZATION);
    struct strbuf text = { 0 };
    char *coded;

    if (o->passes_login && !o->originserver && f != NULL)
        add_field(out, field_name(r->head, f), field_value(r->head, f));
    if (!has_login(o) || !login_text(&text, r, o))
        return;
    coded = xmalloc(text.len / 3 * 4 + 8);
    EVP_EncodeBlock((unsigned char *)coded, (const unsigned char *)text.p, (int)text.len);
    sb_printf(out, "%s: Basic %s\r\n", o->originserver ? "Authorization" : "Proxy-Authorization", coded);
    sb_free(&text);
    free(coded);
}

/* The client waits for a 100, which is the origin's to give. HTTP/1.0 has none (RFC 9110 section 10.1.1). */
static void expect(struct strbuf *out, const struct request *r)
{
    const struct head_field *f = head_find(r->head, TOKEN_EXPECT);

    if (f != NULL && request_expects_continue(r))
        add_field(out, field_name(r->head, f), field_value(r->head, f));
}

/* One less, where it counts (RFC 9110 section 7.6.2); request_from_head() has seen that it is a number above 0. */
static void max_forwards(struct strbuf *out, const struct request *r)
{
    const struct head_field *f = head_find(r->head, TOKEN_MAX_FORWARDS);
    uint64_t n;

    if (f == NULL)
        return;
    if ((r->method == METHOD_TRACE || r->method == METHOD_OPTIONS) && number_parse(field_value(r->head, f), &n) &&
        n > 0)
        sb_printf(out, "Max-Forwards: %llu\r\n", (unsigned long long)(n - 1));
    else
        add_field(out, field_name(r->head, f), field_value(r->head, f));
}

static void upgrade(struct strbuf *out, const struct request *r, const struct settings *s)
{
    struct strbuf offered = { 0 };

    upgrade_protocols(r, s, &offered);
    add_field(out, SPAN("Upgrade"), sb_view(&offered));
    sb_str(out, "Connection: upgrade\r\n\r\n");
    sb_free(&offered);
}

/* RFC 9112 sections 3.2.1, 3.2.2, 3.2.4. */
static struct span request_target(const struct request *r, const struct forward_options *o)
{
    if (r->asterisk)
        return o->absolute_form ? span_of(r->uri.text.p, r->uri.text.len - 1) : SPAN("*");
    return o->absolute_form ? r->uri.text : r->uri.path;
}

/* RFC 9111 section 4.3.1: which of these would be the answer? */
static void ask_with_tags(struct strbuf *out, const struct forward_options *o)
{
    for (size_t i = 0; i < o->n_variants; i++) {
        sb_str(out, i == 0 ? "If-None-Match: " : ", ");
        sb_span(out, object_piece(o->variants[i], o->variants[i]->etag));
    }
    if (o->n_variants > 0)
        sb_str(out, "\r\n");
}

/* RFC 9110 sections 13.1.5 and 14.2: the rest, if it is still of the same representation. */
static void ask_for_rest(struct strbuf *out, const struct forward_options *o)
{
    const struct object *p = o->begins;
    struct object_part part;

    if (p == NULL)
        return;
    part = object_part(p);
    sb_printf(out, "Range: bytes=%llu-", (unsigned long long)(part.first + object_length(p)));
    if (o->last < part.whole - 1)
        sb_printf(out, "%llu", (unsigned long long)o->last);
    sb_str(out, "\r\n");
    add_field(out, SPAN("If-Range"), part_validator(p));
}

void forward_head(struct strbuf *out, const struct request *r, const struct settings *s,
                  const struct forward_options *o)
{
    bool keep[HEAD_FIELDS_MAX];

    select_fields(r, s, o, keep);
    sb_span(out, head_piece(r->head, r->head->method_name));
    sb_char(out, ' ');
    sb_span(out, request_target(r, o));
    sb_str(out, " HTTP/1.1\r\n");
    add_field(out, SPAN("Host"),
              r->host_as_sent && head_find(r->head, TOKEN_HOST) != NULL ? head_value(r->head, TOKEN_HOST)
                                                                        : r->uri.authority);
    for (unsigned i = 0; i < r->head->n_fields; i++) {
        const struct head_field *f = &r->head->fields[i];

        if (keep[i])
            add_field(out, field_name(r->head, f), field_value(r->head, f));
    }
    if (o->validate != NULL) {
        if (o->validate->etag.len > 0)
            add_field(out, SPAN("If-None-Match"), object_piece(o->validate, o->validate->etag));
        if (o->validate->last_modified_text.len > 0)
            add_field(out, SPAN("If-Modified-Since"), object_piece(o->validate, o->validate->last_modified_text));
    }
    ask_with_tags(out, o);
    ask_for_rest(out, o);
    expect(out, r);
    max_forwards(out, r);
    if (s->via)
        sb_printf(out, "Via: 1.%d %s (loligo%s)\r\n", r->head->minor_version, settings_unique_name(s),
                  s->httpd_suppress_version_string ? "" : "/" PACKAGE_VERSION);
    forwarded_for(out, r, s);
    login(out, r, o);
    if (r->framing.kind == FRAMING_CHUNKED)
        sb_str(out, "Transfer-Encoding: chunked\r\n");
    else if (r->framing.kind == FRAMING_LENGTH)
        sb_printf(out, "Content-Length: %llu\r\n", (unsigned long long)r->framing.length);
    if (o->upgrade)
        upgrade(out, r, s);
    else
        sb_str(out, o->close ? "Connection: close\r\n\r\n" : "\r\n");
}
