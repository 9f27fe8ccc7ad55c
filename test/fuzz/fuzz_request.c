/* test/fuzz/fuzz_request.c: a request head from the network, and all that is asked of it before a byte goes anywhere.
 * The first byte cuts the input in two and picks the mode; held are:
 *  - the verdict doesn't depend on the cut, nor on *h being somebody else's in between;
 *  - what the short cut of parse.c says, the grammar of parse_line.c says too, to the byte;
 *  - strict implies relaxed, with the same parts and the same framing decision. */
#include <stdlib.h>
#include "fuzz_heads.h"
#include "hdrs/field_cache_control.h"
#include "hdrs/framing.h"
#include "hdrs/parse_line.h"
#include "hdrs/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The grammar alone, line by line. */
static bool grammar_says(struct head *h, const char *buf, size_t len)
{
    struct parse_error e;
    struct line l;
    uint32_t at = 0, lines = 0;

    memset(h, 0, sizeof *h);
    h->base = buf;
    for (;;) {
        uint32_t scanned = at;

        if (line_find(buf, (uint32_t)len, at, &scanned, false, &l, &e) != PARSE_DONE)
            return false;
        if (l.at == l.end && at > 0 && lines > 0) {
            h->len = l.next;
            return true;
        }
        if (l.at != l.end || at > 0) {
            if (lines++ == 0 ? !request_line(h, l, &(struct parse_limits){ .relaxed = false }, &e)
                             : h->n_fields == HEAD_FIELDS_MAX || !field_line(h, l, &e))
                return false;
        }
        at = l.next;
    }
}

static void targets(const struct head *h)
{
    struct span target = head_piece(h, h->target), host = head_value(h, TOKEN_HOST);
    char out[FUZZ_HEAD_MAX * 3];
    struct canonical_uri c, again;
    struct uri u;
    const char *why;
    bool ipv6, has_port;
    uint16_t port;

    if (uri_parse(target, (enum http_method)h->method, &u, &why) && u.form == URI_ABSOLUTE &&
        uri_canonical(u.scheme, u.host, u.host_is_ipv6, u.port, u.path, out, sizeof out, &c)) {
        char twice[sizeof out];

        MUST(uri_parse(c.text, METHOD_GET, &u, &why));
        MUST(uri_canonical(u.scheme, u.host, u.host_is_ipv6, u.port, u.path, twice, sizeof twice, &again));
        MUST(span_eq(c.authority, again.authority));
    }
    if (host.p != NULL)
        authority_parse(host, &host, &ipv6, &port, &has_port, &why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct head whole, other;
    struct parse_limits limits = { .max_bytes = FUZZ_HEAD_MAX, .max_fields = HEAD_FIELDS_MAX };
    struct parse_error e;
    enum parse_result r;
    const char *text;
    size_t cut;

    if (size < 1 || size > FUZZ_HEAD_MAX)
        return 0;
    limits.relaxed = data[0] & 1;
    cut = data[0];
    text = (const char *)data + 1;
    size--;

    r = parse_request(&whole, text, size, &limits, &(struct parse_progress){ 0 }, &e);
    MUST(fuzz_split(parse_request, &other, text, size, &limits, 1, 1) == r);
    MUST(r != PARSE_DONE || fuzz_same(&whole, &other));
    MUST(fuzz_split(parse_request, &other, text, size, &limits, cut, size) == r);
    MUST(r != PARSE_DONE || fuzz_same(&whole, &other));
    if (!limits.relaxed) {
        MUST(grammar_says(&other, text, size) == (r == PARSE_DONE));
        MUST(r != PARSE_DONE || fuzz_same(&whole, &other));
    }
    if (r != PARSE_DONE)
        return 0;
    fuzz_judge(&whole, text, size);
    targets(&whole);
    cache_control_parse(&whole, true);

    struct framing f = request_framing(&whole);
    MUST(f.kind != FRAMING_CLOSE && (f.kind != FRAMING_BAD || (f.what != NULL && !f.keep_alive)));
    MUST(f.kind != FRAMING_LENGTH || f.length <= INT64_MAX);
    if (!limits.relaxed) {
        limits.relaxed = true;
        MUST(parse_request(&other, text, size, &limits, &(struct parse_progress){ 0 }, &e) == PARSE_DONE);
        MUST(fuzz_same(&whole, &other) && request_framing(&other).kind == f.kind);
    }
    return 0;
}
