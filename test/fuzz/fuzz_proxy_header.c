/* test/fuzz/fuzz_proxy_header.c: the PROXY header in front of a connection. The verdict on a prefix is MORE or that on the
 * whole, and what is taken can be taken again from its own bytes alone. */
#include "fuzz_heads.h"
#include "net/proxy_header.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *in = malloc(size + 1); /* of its own size: reading beyond a prefix is seen by the sanitizer */
    struct proxy_header whole, h;
    const char *why = NULL;
    enum proxy_header_result r;

    memcpy(in, data, size);
    r = proxy_header_parse(span_of(in, size), 4096, &whole, &why);
    MUST(r != PROXY_HEADER_BAD || why != NULL);
    MUST(r != PROXY_HEADER_DONE || (whole.len <= size && whole.len >= 15 && whole.len <= 4096));
    for (size_t n = 0; n < size && n < 200; n++) {
        char *part = malloc(n + 1);
        enum proxy_header_result p;

        memcpy(part, data, n);
        p = proxy_header_parse(span_of(part, n), 4096, &h, &why);
        MUST(p == PROXY_HEADER_MORE || p == r);
        MUST(p != PROXY_HEADER_DONE || (h.len == whole.len && addr_eq(&h.from, &whole.from) && addr_eq(&h.to, &whole.to)));
        free(part);
    }
    free(in);
    return 0;
}
