#include "heads.h"
#include "base/strbuf.h"
#include "hdrs/chunked.h"

#define OVERHEAD_MAX 64

static const struct {
    const char *why;
    struct span in;
    enum chunked_result want;
    const char *data;
    size_t used; /* when done */
} cases[] = {
    { "one chunk", BYTES("5\r\nhello\r\n0\r\n\r\nGET"), CHUNKED_DONE, "hello", 15 },
    { "B19 the whole grammar", BYTES("1\r\nh\r\n4;a=b\r\nello\r\n0\r\nX-T: 1\r\n\r\n"), CHUNKED_DONE, "hello", 32 },
    { "empty body", BYTES("0\r\n\r\n"), CHUNKED_DONE, "", 5 },
    { "upper-case hex", BYTES("A\r\n0123456789\r\n0\r\n\r\n"), CHUNKED_DONE, "0123456789", 20 },
    { "lower-case hex", BYTES("b\r\n0123456789a\r\n00\r\n\r\n"), CHUNKED_DONE, "0123456789a", 22 },
    { "16 digits", BYTES("0000000000000005\r\nhello\r\n0000000000000000\r\n\r\n"), CHUNKED_DONE, "hello", 45 },
    { "data that looks like chunks", BYTES("5\r\n0\r\n\r\n\r\n0\r\n\r\n"), CHUNKED_DONE, "0\r\n\r\n", 15 },
    { "B01 17 digits", BYTES("FFFFFFFFFFFFFFFF1\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "above INT64_MAX", BYTES("8000000000000000\r\nhello"), CHUNKED_BAD, "", 0 },
    { "INT64_MAX", BYTES("7fffffffffffffff\r\nhello"), CHUNKED_MORE, "hello", 0 },
    { "B02 0x", BYTES("0x5\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "B03 minus", BYTES("-5\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "B04 plus", BYTES("+5\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "B05 blanks behind the size", BYTES("5 \t\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "blank before the size", BYTES(" 5\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "B06 extensions", BYTES("5;name=value\r\nhello\r\n0;x\r\n\r\n"), CHUNKED_DONE, "hello", 28 },
    { "B07 bare LF in an extension", BYTES("5;a\nb\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "B08 CRLF in a quoted string", BYTES("5;a=\"x\r\ny\"\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "quoted string", BYTES("5;a=\"x;\\\"y\"\r\nhello\r\n0\r\n\r\n"), CHUNKED_DONE, "hello", 25 },
    { "escaped quote leaves it open", BYTES("5;a=\"x\\\"\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "NUL in an extension", BYTES("5;a\0\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "B09 bare LF behind the size", BYTES("5\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "B10 data longer than its size", BYTES("5\r\nhelloXY0\r\n\r\n"), CHUNKED_BAD, "hello", 0 },
    { "bare LF behind data", BYTES("5\r\nhello\n0\r\n\r\n"), CHUNKED_BAD, "hello", 0 },
    { "CR and something behind data", BYTES("5\r\nhello\rX"), CHUNKED_BAD, "hello", 0 },
    { "B11 CR CR LF", BYTES("5\r\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "B12 no size", BYTES("\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "B13 extension without a size", BYTES(";x\r\nhello\r\n0\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "B14 bare LFs at the end", BYTES("5\r\nhello\r\n0\n\n"), CHUNKED_BAD, "hello", 0 },
    { "bare LF as the last line", BYTES("5\r\nhello\r\n0\r\n\n"), CHUNKED_BAD, "hello", 0 },
    { "bare CR as the last line", BYTES("0\r\n\rX"), CHUNKED_BAD, "", 0 },
    { "B15 bare LF behind a trailer", BYTES("5\r\nhello\r\n0\r\nX-T: 1\n\r\n"), CHUNKED_BAD, "hello", 0 },
    { "B16 framing in the trailer", BYTES("0\r\nTransfer-Encoding: chunked\r\nX: 1\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "B16 in the second one, other case", BYTES("0\r\nX: 1\r\ntransfer-ENCODING:\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "its beginning is another name", BYTES("0\r\nTransfer-Encodin: 1\r\n\r\n"), CHUNKED_DONE, "", 26 },
    { "and so is more of it", BYTES("0\r\nTransfer-Encodings: 1\r\n\r\n"), CHUNKED_DONE, "", 28 },
    { "O20 trailers to be dropped", BYTES("0\r\nSet-Cookie: a\r\nContent-Length: 5\r\n\r\n"), CHUNKED_DONE, "", 39 },
    { "folded trailer", BYTES("0\r\nX: 1\r\n 2\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "trailer without a name", BYTES("0\r\n: 1\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "trailer without a colon", BYTES("0\r\nX\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "blank before the colon", BYTES("0\r\nX : 1\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "control in a trailer", BYTES("0\r\nX: \x01\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "bare CR in a trailer", BYTES("0\r\nX: a\rb\r\n\r\n"), CHUNKED_BAD, "", 0 },
    { "O06 cut before the last line", BYTES("5\r\nhello\r\n0\r\n"), CHUNKED_MORE, "hello", 0 },
    { "O03 letters", BYTES("zz\r\n"), CHUNKED_BAD, "", 0 },
};

/* Decodes in pieces of `step` bytes, each in a block of its own length. */
static enum chunked_result decode(struct span in, size_t step, struct strbuf *data, size_t *total)
{
    struct chunked c;
    enum chunked_result r = CHUNKED_MORE;
    size_t at = 0;

    chunked_init(&c, OVERHEAD_MAX);
    while (at < in.len && r == CHUNKED_MORE) {
        size_t n = in.len - at < step ? in.len - at : step, done = 0;
        char *piece = xmalloc(n);

        memcpy(piece, in.p + at, n);
        while (done < n && r == CHUNKED_MORE) {
            struct span run;
            size_t used;

            r = chunked_decode(&c, span_of(piece + done, n - done), &used, &run);
            assert_true(used <= n - done);
            assert_true(used > 0 || r != CHUNKED_MORE);
            if (run.len > 0) {
                assert_true(run.p >= piece + done && run.p + run.len <= piece + done + used);
                sb_span(data, run);
            }
            done += used;
        }
        free(piece);
        at += done;
    }
    *total = at;
    return r;
}

static void bodies_are_decoded_alike_however_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t step = 1; step <= cases[i].in.len; step++) {
            struct strbuf data = { 0 };
            size_t used;
            enum chunked_result r = decode(cases[i].in, step, &data, &used);

            if (r != cases[i].want)
                fail_msg("%s, %zu at a time: %d", cases[i].why, step, (int)r);
            assert_span(cases[i].why, sb_view(&data), span_str(cases[i].data));
            if (r == CHUNKED_DONE)
                assert_int_equal(used, cases[i].used);
            sb_free(&data);
        }
}

static void no_prefix_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t n = 0; cases[i].want == CHUNKED_DONE && n < cases[i].used; n++) {
            struct strbuf data = { 0 };
            size_t used;

            if (decode(span_of(cases[i].in.p, n), n ? n : 1, &data, &used) != CHUNKED_MORE)
                fail_msg("%s: %zu bytes of it", cases[i].why, n);
            sb_free(&data);
        }
}

/* What follows `head` repeated as often as it takes must be refused within the allowance, and not before. */
static void overhead_is_limited(void **state)
{
    static const struct { const char *why, *once; size_t counted; const char *again; } floods[] = {
        { "B18 one long extension", "1;", 1, "x" },
        { "B22 an extension a chunk", "", 3, "1;abc\r\nZ\r\n" },
        { "endless trailer value", "0\r\nX:", 1, "x" },
        { "endless trailers", "0\r\n", 4, "A: 1\r\n" },
        { "B17 leading zeros", "", SIZE_MAX, "0" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(floods); i++) {
        struct strbuf in = { 0 }, data = { 0 };
        size_t used, rounds;

        sb_str(&in, floods[i].once);
        for (rounds = 0; rounds < 200; rounds++)
            sb_str(&in, floods[i].again);
        if (decode(sb_view(&in), in.len, &data, &used) != CHUNKED_BAD)
            fail_msg("%s", floods[i].why);
        if (floods[i].counted != SIZE_MAX) {
            size_t round = (used - strlen(floods[i].once)) / strlen(floods[i].again);

            if (round < OVERHEAD_MAX / floods[i].counted - 4 || round > OVERHEAD_MAX / floods[i].counted + 1)
                fail_msg("%s: refused in round %zu", floods[i].why, round);
        } else {
            assert_int_equal(used, 17);
        }
        sb_free(&in);
        sb_free(&data);
    }
}

static void done_and_bad_are_final(void **state)
{
    struct chunked c;
    struct span data;
    size_t used;

    (void)state;
    chunked_init(&c, 0);
    assert_int_equal(chunked_decode(&c, SPAN("0\r\n\r\n5\r\n"), &used, &data), CHUNKED_DONE);
    assert_int_equal(used, 5);
    assert_int_equal(chunked_decode(&c, SPAN("5\r\nhello"), &used, &data), CHUNKED_DONE);
    assert_int_equal(used, 0);
    chunked_init(&c, 0);
    assert_int_equal(chunked_decode(&c, SPAN("x"), &used, &data), CHUNKED_BAD);
    assert_int_equal(chunked_decode(&c, SPAN("5\r\nhello"), &used, &data), CHUNKED_BAD);
    assert_int_equal(data.len, 0);
}

static void chunk_heads_decode_again(void **state)
{
    static const struct { uint64_t n; const char *want; } heads[] = {
        { 1, "1\r\n" }, { 15, "f\r\n" }, { 16, "10\r\n" }, { 65536, "10000\r\n" },
        { UINT64_MAX, "ffffffffffffffff\r\n" }, { UINT64_C(0x123456789abcdef0), "123456789abcdef0\r\n" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(heads); i++) {
        char out[CHUNK_HEAD_MAX];

        assert_span("chunk head", span_of(out, chunk_head(out, heads[i].n)), span_str(heads[i].want));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_are_decoded_alike_however_cut),
        cmocka_unit_test(no_prefix_is_complete),
        cmocka_unit_test(overhead_is_limited),
        cmocka_unit_test(done_and_bad_are_final),
        cmocka_unit_test(chunk_heads_decode_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
