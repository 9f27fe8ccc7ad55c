#include "proxy/client_conn_private.h"

#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "proxy/account.h"
#include "proxy/header_mangle.h"
#include "proxy/reply.h"

/* deny_info TCP_RESET: no answer at all. */
static void reset_instead(struct client_conn *c, const struct error_answer *a)
{
    struct log_entry e;

    c->reset = c->close_after = true;
    log_entry_from_request(&e, a->r);
    e.tag = a->tag;
    e.reason = a->detail;
    if (a->access_line != NULL)
        e.access_line = a->access_line;
    e.error_name = "TCP_RESET";
    account(c->pw, &e, a->r);
}

/* A body that nobody will read ends the connection; so do the bytes behind a refused CONNECT, which are the tunnel's and
 * no requests (J21), but where the same CONNECT is to come again. */
static bool must_close(const struct error_answer *a)
{
    const struct request *r = a->r;

    return a->close || r == NULL || !r->keep_alive || (r->method == METHOD_CONNECT && !a->asks_again) ||
           (r->framing.kind != FRAMING_NONE && !(r->framing.kind == FRAMING_LENGTH && r->framing.length == 0));
}

/* Whoever sends a tunnel's bytes before it is open must not have them taken for requests in the client's name. */
static void expect_tunnel(struct client_conn *c, const struct error_answer *a)
{
    if (a->r == NULL || a->r->method != METHOD_CONNECT || c->close_after)
        return;
    free(c->tunnel_to);
    c->tunnel_to = xspandup(a->r->uri.text);
}

void client_conn_error(struct client_conn *c, const struct error_answer *a)
{
    struct proxy_worker *pw = c->pw;
    const struct settings *s = pw->settings;
    struct strbuf head = { 0 }, body = { 0 };
    struct span method = a->r ? head_piece(a->r->head, a->r->head->method_name) : a->method;
    bool head_only = span_eq(method, SPAN("HEAD")); /* also of a request that wasn't understood */
    struct error_context ctx = {
        .id = a->id,
        .status = a->status,
        .sys_errno = a->sys_errno,
        .detail = a->detail,
        .url = a->r ? request_log_url(a->r) : a->url,
        .method = method,
        .host = span_str(s->visible_hostname),
        .cache_mgr = span_str(s->cache_mgr),
        .hide_version = s->httpd_suppress_version_string,
        .client = c->peer,
        .local = c->local,
        .server = a->server,
        .settings = s,
        .deny = a->deny,
        .request = a->r ? a->r->head : NULL,
        .now = worker_wall(pw->worker) / US_PER_S,
        .head_only = head_only,
        .access_line = a->access_line != NULL ? a->access_line
                       : a->r != NULL         ? a->r->access_line
                                              : NULL,
    };
    struct log_entry e;
    const char *mime, *name;
    size_t head_len, n;
    char *bytes;
    int status;

    if (a->r != NULL) {
        ctx.client = *request_log_client(a->r);
        ctx.url_scheme = a->r->uri.scheme;
        ctx.url_host = a->r->uri.host;
        ctx.url_path = a->r->uri.path;
        ctx.url_port = a->r->uri.port;
        ctx.user = a->r->user;
    }
    if (a->deny != NULL && a->deny->kind == DENY_RESET) {
        reset_instead(c, a);
        return;
    }

    if (must_close(a))
        c->close_after = true;
    if (pw->draining)
        c->close_after = true;
    mime = error_page_make(&ctx, &head, &body, &status, &name);
    if (status >= 400 && !s->persistent_connection_after_error)
        c->close_after = true;
    expect_tunnel(c, a);
    sb_span(&head, a->fields);
    {
        struct reply_tail tail = {
            .age = -1,
            .close = c->close_after,
            .minor_version = a->r == NULL || a->r->minor_version,
            .outcome = { .code = log_tag_rows[a->tag].text, .port = c->local.port, .access_line = ctx.access_line },
        };
        char *at = sb_reserve(&head, REPLY_TAIL_MAX);

        head.len += reply_tail(pw, &tail, at);
    }
    log_entry_from_request(&e, a->r);
    head_len = head.len;
    if (!head_only)
        sb_add(&head, body.p, body.len);
    sb_free(&body);
    if (a->r == NULL) {
        e.client = c->peer;
        e.local = c->local;
    }
    e.method = ctx.method;
    e.url = ctx.url;
    e.tag = a->deny != NULL && a->deny->kind == DENY_REDIRECT ? TAG_TCP_REDIRECT : a->tag;
    e.status = status;
    e.hier = a->hier;
    e.server = a->server;
    e.mime = span_str(mime);
    e.error_name = name;
    e.error_detail = a->sys_errno;
    e.reason = a->detail;
    if (a->access_line != NULL)
        e.access_line = a->access_line;
    n = head.len;
    bytes = header_mangle_reply(s, a->r, &e, head.p, &n, &head_len);
    account(pw, &e, a->r);
    out_add_owned(&pw->out, bytes, n);
}
