#include "proxy/request_body.h"

#define HELPING 32768

void request_body_init(struct request_body *b, const struct framing *f, uint32_t chunk_extension_max, uint64_t max)
{
    *b = (struct request_body){ .kind = f->kind, .left = f->kind == FRAMING_LENGTH ? f->length : 0, .max = max };
    chunked_init(&b->chunked, chunk_extension_max);
    b->done = f->kind == FRAMING_NONE || (f->kind == FRAMING_LENGTH && f->length == 0);
}

static void add_chunk(struct strbuf *out, struct span data)
{
    char head[CHUNK_HEAD_MAX];

    sb_add(out, head, chunk_head(head, data.len));
    sb_span(out, data);
    sb_str(out, "\r\n");
}

static enum request_body_result chunks(struct request_body *b, struct client_conn *c, struct span in,
                                       struct strbuf *out)
{
    while (in.len > 0) {
        size_t used;
        struct span data;
        enum chunked_result r = chunked_decode(&b->chunked, in, &used, &data);

        if (r == CHUNKED_BAD)
            return REQUEST_BODY_BROKEN;
        in = span_of(in.p + used, in.len - used);
        if (data.len > 0) {
            b->taken += data.len;
            add_chunk(out, data);
        }
        if (r == CHUNKED_DONE) {
            sb_str(out, CHUNK_LAST);
            b->done = true;
            b->received -= in.len;
            if (in.len > 0)
                client_conn_unread(c, in.p, in.len);
            break;
        }
    }
    return REQUEST_BODY_DATA;
}

enum request_body_result request_body_read(struct request_body *b, struct client_conn *c, struct strbuf *out)
{
    char *scratch = c->pw->worker->scratch;
    size_t want = b->kind == FRAMING_LENGTH && b->left < HELPING ? (size_t)b->left : HELPING;
    enum request_body_result r = REQUEST_BODY_DATA;
    ssize_t n = client_conn_recv(c, scratch, want);

    if (n == STREAM_AGAIN)
        return REQUEST_BODY_WAIT;
    if (n <= 0)
        return REQUEST_BODY_CUT;
    b->received += (uint64_t)n;
    if (b->kind == FRAMING_LENGTH) {
        sb_add(out, scratch, (size_t)n);
        b->left -= (uint64_t)n;
        b->taken += (uint64_t)n;
        b->done = b->left == 0;
    } else {
        r = chunks(b, c, span_of(scratch, (size_t)n), out);
    }
    if (r == REQUEST_BODY_DATA && b->max > 0 && b->taken > b->max)
        return REQUEST_BODY_TOO_LARGE;
    return r;
}
