#include "proxy/interim.h"

#include "hdrs/named_fields.h"

void interim_head(struct strbuf *out, const struct head *h, struct span via)
{
    bool keep[HEAD_FIELDS_MAX], switching = h->status == 101;
    struct named_fields index;

    for (unsigned i = 0; i < h->n_fields; i++)
        keep[i] = !(token_policy((enum token)h->fields[i].token) & TOKEN_HOP_BY_HOP) &&
                  h->fields[i].token != TOKEN_CONTENT_LENGTH;
    if (head_find(h, TOKEN_CONNECTION) != NULL) {
        named_fields_index(&index, h);
        named_fields_drop_connection(&index, keep);
    }
    sb_printf(out, "HTTP/1.1 %d ", h->status);
    sb_span(out, head_piece(h, h->reason));
    sb_str(out, "\r\n");
    for (unsigned i = 0; i < h->n_fields; i++)
        if (keep[i] || (switching && h->fields[i].token == TOKEN_UPGRADE)) {
            sb_span(out, field_name(h, &h->fields[i]));
            sb_str(out, ": ");
            sb_span(out, field_value(h, &h->fields[i]));
            sb_str(out, "\r\n");
        }
    sb_span(out, via);
    sb_str(out, switching ? "Connection: upgrade\r\n\r\n" : "\r\n");
}
