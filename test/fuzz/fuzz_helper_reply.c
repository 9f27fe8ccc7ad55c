/* test/fuzz/fuzz_helper_reply.c: lines of helper programs. What the reply points to lies in the line. */
#include "fuzz_heads.h"
#include "access/helper_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool lies_in(struct span s, const char *text, size_t size)
{
    return s.len == 0 || (s.p >= text && s.p + s.len <= text + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* of its own size: reading beyond it is seen by the sanitizer */
    struct helper_reply r;
    unsigned channel;
    size_t at = 0;

    memcpy(text, data, size);
    if (!helper_channel_parse(span_of(text, size), &channel, &at))
        at = 0;
    MUST(at <= size);
    helper_reply_parse(text + at, size - at, &r);
    MUST(r.n_pairs <= HELPER_PAIRS_MAX && lies_in(r.rest, text, size));
    for (size_t i = 0; i < r.n_pairs; i++)
        MUST(r.pairs[i].name.len > 0 && lies_in(r.pairs[i].name, text, size) && lies_in(r.pairs[i].value, text, size));
    free(text);
    return 0;
}
