/* test/fuzz/fuzz_chunked.c: a chunked body, whole, cut at the place the first byte names, and byte by byte: the same
 * verdict, length and data. A body that was taken is made again from its data and must decode to it. */
#include "base/strbuf.h"
#include "fuzz_heads.h"
#include "hdrs/chunked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define OVERHEAD_MAX 1024

static enum chunked_result decode(struct span in, size_t cut, size_t step, struct strbuf *out, size_t *total)
{
    struct chunked c;
    enum chunked_result r = CHUNKED_MORE;
    size_t at = 0, have = cut < in.len ? cut : in.len;

    chunked_init(&c, OVERHEAD_MAX);
    for (;;) {
        while (at < have && r == CHUNKED_MORE) {
            size_t used;
            struct span run;

            r = chunked_decode(&c, span_of(in.p + at, have - at), &used, &run);
            MUST(used <= have - at && (used > 0 || r != CHUNKED_MORE));
            MUST(run.len == 0 || (run.p >= in.p + at && run.p + run.len <= in.p + at + used));
            sb_span(out, run);
            at += used;
        }
        if (r != CHUNKED_MORE || have == in.len)
            break;
        have = in.len - have < step ? in.len : have + step;
    }
    *total = at;
    return r;
}

static void round_trip(struct span body)
{
    struct strbuf coded = { 0 }, again = { 0 };
    char head[CHUNK_HEAD_MAX];
    size_t used;

    if (body.len > 0) {
        sb_add(&coded, head, chunk_head(head, body.len));
        sb_span(&coded, body);
        sb_str(&coded, "\r\n");
    }
    sb_str(&coded, CHUNK_LAST);
    MUST(decode(sb_view(&coded), coded.len, 1, &again, &used) == CHUNKED_DONE);
    MUST(used == coded.len && span_eq(sb_view(&again), body));
    sb_free(&coded);
    sb_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf whole = { 0 }, parts = { 0 }, bytes = { 0 };
    size_t used, used_parts, used_bytes;
    enum chunked_result r;
    struct span in;

    if (size < 1)
        return 0;
    in = span_of((const char *)data + 1, size - 1);
    r = decode(in, in.len, 1, &whole, &used);
    MUST(decode(in, data[0], in.len, &parts, &used_parts) == r && used_parts == used);
    MUST(decode(in, 0, 1, &bytes, &used_bytes) == r && used_bytes == used);
    MUST(span_eq(sb_view(&whole), sb_view(&parts)) && span_eq(sb_view(&whole), sb_view(&bytes)));
    if (r == CHUNKED_DONE)
        round_trip(sb_view(&whole));
    sb_free(&whole);
    sb_free(&parts);
    sb_free(&bytes);
    return 0;
}
