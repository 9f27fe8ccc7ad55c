/* test/fuzz/fuzz_kernels.c: every kernel of the header parser against the scalar one. The first byte picks what is parsed
 * and where the input is cut, the second what lies behind its end. */
#include "fuzz_heads.h"
#include "hdrs/kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum parse_result fields(struct head *h, const char *buf, size_t len, const struct parse_limits *limits,
                                struct parse_progress *p, struct parse_error *e)
{
    (void)p;
    return parse_fields(h, buf, len, limits, e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static fuzz_parser *const parsers[] = { parse_request, parse_response, fields };
    static const char behind[4][4] = { { '\r', '\n', '\r', '\n' }, "\n\n\n", "a: b", { '\xFF', '\0', ':', ' ' } };
    static struct head want, got;
    struct parse_limits limits = { .max_bytes = FUZZ_HEAD_MAX, .max_fields = 40, .slack = true };
    struct parse_error want_error, error;
    enum parse_result result;
    fuzz_parser *parse;
    char *text;

    if (size < 2 || size > FUZZ_HEAD_MAX)
        return 0;
    parse = parsers[data[0] % 3];
    size -= 2;
    /* Nothing behind the slack: a sanitizer sees who reads on. */
    text = malloc(size + PARSE_SLACK);
    MUST(text != NULL);
    memcpy(text, data + 2, size);
    for (size_t i = 0; i < PARSE_SLACK; i++)
        text[size + i] = behind[data[1] % 4][(i + data[1] / 4) % 4];

    hdrs_kernel_use(HDRS_SCALAR);
    result = parse(&want, text, size, &limits, &(struct parse_progress){ 0 }, &want_error);
    for (int k = HDRS_SCALAR + 1; k < HDRS_KERNEL_N; k++) {
        if (!hdrs_kernel_available((enum hdrs_kernel)k))
            continue;
        hdrs_kernel_use((enum hdrs_kernel)k);
        memset(&got, 0xA5, sizeof got);
        MUST(parse(&got, text, size, &limits, &(struct parse_progress){ 0 }, &error) == result);
        MUST(result != PARSE_DONE || fuzz_same(&want, &got));
        MUST(result != PARSE_BAD ||
             (error.status == want_error.status && error.what == want_error.what && error.at == want_error.at));
        if (parse == fields)
            continue;
        MUST(fuzz_split(parse, &got, text, size, &limits, data[0] / 3, size) == result);
        MUST(result != PARSE_DONE || fuzz_same(&want, &got));
    }
    free(text);
    return 0;
}
