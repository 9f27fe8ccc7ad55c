#include "proxy/interim.h"

#include "hdrs/named_fields.h"

void interim_head(struct strbuf *out, const struct head *h, struct span via)
{
    bool keep[HEAD_FIELDS_MAX], switching = h->status == 101;

    keep_end_to_end(h, keep);
    sb_printf(out, "HTTP/1.1 %d ", h->status);
    sb_span(out, head_piece(h, h->reason));
    sb_str(out, "\r\n");
    for (unsigned i = 0; i < h->n_fields; i++)
        if ((keep[i] && h->fields[i].token != TOKEN_CONTENT_LENGTH) ||
            (switching && h->fields[i].token == TOKEN_UPGRADE)) {
            sb_span(out, field_name(h, &h->fields[i]));
            sb_str(out, ": ");
            sb_span(out, field_value(h, &h->fields[i]));
            sb_str(out, "\r\n");
        }
    sb_span(out, via);
    sb_str(out, switching ? "Connection: upgrade\r\n\r\n" : "\r\n");
}
