#include "proxy/own_reply.h"

#include "base/clock.h"
#include "hdrs/field_date.h"
#include "proxy/account.h"
#include "proxy/header_mangle.h"
#include "proxy/reply.h"

void own_reply(struct client_conn *c, const struct request *r, struct own_reply *a)
{
    struct proxy_worker *pw = c->pw;
    struct reply_tail tail = {
        .age = -1,
        .has_length = true,
        .length = a->body.len,
        .minor_version = r->minor_version,
        .outcome = { .code = log_tag_rows[a->tag].text,
                     .reason = a->reason,
                     .port = c->local.port,
                     .access_line = r->access_line },
        .close = !r->keep_alive || pw->draining || request_has_body(r),
    };
    struct strbuf out = { 0 };
    struct log_entry e;
    size_t head, n;
    char *at, *bytes, date[DATE_BYTES];

    if (tail.close)
        c->close_after = true;
    date_print(date, worker_wall(pw->worker) / US_PER_S);
    sb_printf(&out, "HTTP/1.1 %d %s\r\nDate: %.*s\r\n%s", a->status, a->phrase, DATE_BYTES, date, a->fields);
    at = sb_reserve(&out, REPLY_TAIL_MAX);
    out.len += reply_tail(pw, &tail, at);
    log_entry_from_request(&e, r);
    head = out.len;
    if (r->method != METHOD_HEAD)
        sb_span(&out, sb_view(&a->body));
    sb_free(&a->body);
    e.tag = a->tag;
    e.status = a->status;
    e.mime = a->mime;
    e.reason = a->reason;
    e.error_name = a->error_name;
    n = out.len;
    bytes = header_mangle_reply(pw->settings, r, &e, out.p, &n, &head);
    account(pw, &e, r);
    out_add_owned(&pw->out, bytes, n);
}
