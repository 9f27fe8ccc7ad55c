/* test/fuzz/fuzz_response.c: a response head from an origin, whole and cut, and what the cache reads in it. The first
 * byte cuts the input and picks the method that was asked. */
#include "fuzz_heads.h"
#include "hdrs/field_cache_control.h"
#include "hdrs/field_date.h"
#include "hdrs/field_etag.h"
#include "hdrs/field_range.h"
#include "hdrs/framing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fields(const struct head *h)
{
    struct cache_control cc = cache_control_parse(h, false);
    struct span names[] = { cc.private_fields, cc.no_cache_fields };
    char printed[DATE_BYTES];
    struct byte_range ranges[16];
    size_t n;
    int64_t t, again;

    for (size_t i = 0; i < 2; i++)
        MUST(names[i].len == 0 || (names[i].p >= h->base && names[i].p + names[i].len <= h->base + h->len));
    for (size_t i = 0; i < h->n_fields; i++) {
        struct span value = field_value(h, &h->fields[i]);

        if (date_parse(value, 1700000000, &t)) {
            date_print(printed, t);
            MUST(date_parse(span_of(printed, DATE_BYTES), 0, &again) && (again == t || t > 253402300799));
        }
        if (range_parse(value, 1000, ranges, 16, &n) != RANGE_IGNORE)
            for (size_t k = 0; k < n; k++)
                MUST(ranges[k].first <= ranges[k].last && ranges[k].last < 1000);
        MUST(value.len == 0 || etag_list_matches(value, value));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum http_method methods[] = { METHOD_GET, METHOD_HEAD, METHOD_CONNECT, METHOD_POST };
    static struct head whole, other;
    struct parse_limits limits = { .max_bytes = FUZZ_HEAD_MAX, .max_fields = HEAD_FIELDS_MAX };
    struct parse_error e;
    enum parse_result r;
    const char *text = (const char *)data + 1;

    if (size < 1 || size > FUZZ_HEAD_MAX)
        return 0;
    size--;
    r = parse_response(&whole, text, size, &limits, &(struct parse_progress){ 0 }, &e);
    MUST(r != PARSE_BAD || e.status == 502);
    MUST(fuzz_split(parse_response, &other, text, size, &limits, 1, 1) == r);
    MUST(r != PARSE_DONE || fuzz_same(&whole, &other));
    MUST(fuzz_split(parse_response, &other, text, size, &limits, data[0], size) == r);
    MUST(r != PARSE_DONE || fuzz_same(&whole, &other));
    if (r != PARSE_DONE)
        return 0;
    MUST(whole.status >= 100 && whole.status <= 999);
    fuzz_judge(&whole, text, size);
    fields(&whole);

    struct framing f = response_framing(&whole, methods[data[0] % 4]);
    MUST(f.kind != FRAMING_BAD || (f.status == 502 && f.what != NULL));
    MUST(!f.keep_alive || (f.kind != FRAMING_CLOSE && f.kind != FRAMING_BAD));
    return 0;
}
