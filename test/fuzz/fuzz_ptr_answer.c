/* test/fuzz/fuzz_ptr_answer.c: what a DNS server says an address is called. A name that comes out is the name of a host. */
#include "fuzz_heads.h"
#include "net/ptr_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *message =
        malloc(size > 0 ? size : 1); /* of its own size: reading beyond it is seen by the sanitizer */
    struct ptr_answer a;
    enum ptr_result r;

    if (size > 0)
        memcpy(message, data, size);
    r = ptr_answer_read(message, size, "4.2.0.192.in-addr.arpa", &a);
    MUST(r == PTR_NAME || r == PTR_NO_NAME || r == PTR_BROKEN);
    if (r == PTR_NAME) {
        MUST(host_name_is_valid(span_str(a.name)) && a.ttl <= INT32_MAX);
        for (const char *c = a.name; *c != '\0'; c++)
            MUST(*c < 'A' || *c > 'Z');
    }
    free(message);
    return 0;
}
