#include "heads.h"

typedef enum parse_result parser(struct head *, const char *, size_t, const struct parse_limits *,
                                 struct parse_progress *, struct parse_error *);

#define H "Host: h.test\r\n"
#define GET "GET /x HTTP/1.1\r\n" H

/* want: 0 a head, -1 more is needed, else the status to answer. Letters: hostile-inputs.md. */
static const struct request_case {
    const char *why;
    struct span text;
    int want;
    unsigned fields;
    int want_relaxed;
} requests[] = {
    { "C22 a plain GET", BYTES(GET "\r\n"), 0, 1, 0 },
    { "HTTP/1.0", BYTES("GET /x HTTP/1.0\r\n\r\n"), 0, 0, 0 },
    { "C01 no version", BYTES("GET /x\r\n\r\n"), 400, 0, 400 },
    { "no version but a blank", BYTES("GET /x \r\n\r\n"), 400, 0, 400 },
    { "C02 words behind the version", BYTES("GET /x HTTP/1.1 x\r\n" H "\r\n"), 400, 0, 400 },
    { "a blank behind the version", BYTES("GET /x HTTP/1.1 \r\n" H "\r\n"), 400, 0, 0 },
    { "C03 two spaces", BYTES("GET  /x HTTP/1.1\r\n" H "\r\n"), 400, 0, 0 },
    { "two spaces before the version", BYTES("GET /x  HTTP/1.1\r\n" H "\r\n"), 400, 0, 0 },
    { "C04 tabs for spaces", BYTES("GET\t/x\tHTTP/1.1\r\n" H "\r\n"), 400, 0, 0 },
    { "C05 a space in the target", BYTES("GET /x x HTTP/1.1\r\n" H "\r\n"), 400, 0, 400 },
    { "C06 methods are case-sensitive and free", BYTES("get /x HTTP/1.1\r\n" H "\r\n"), 0, 1, 0 },
    { "unknown method", BYTES("M-SEARCH * HTTP/1.1\r\n" H "\r\n"), 0, 1, 0 },
    { "C07 HTTP/2.0", BYTES("GET /x HTTP/2.0\r\n" H "\r\n"), 505, 0, 505 },
    { "HTTP/1.2", BYTES("GET /x HTTP/1.2\r\n" H "\r\n"), 505, 0, 505 },
    { "HTTP/0.9", BYTES("GET /x HTTP/0.9\r\n" H "\r\n"), 505, 0, 505 },
    { "C08 HTTP/1.10", BYTES("GET /x HTTP/1.10\r\n" H "\r\n"), 400, 0, 400 },
    { "HTTP/11", BYTES("GET /x HTTP/11\r\n" H "\r\n"), 400, 0, 400 },
    { "HTTP/1,1", BYTES("GET /x HTTP/1,1\r\n" H "\r\n"), 400, 0, 400 },
    { "C09 http/1.1", BYTES("GET /x http/1.1\r\n" H "\r\n"), 400, 0, 400 },
    { "C10 NUL in the target", BYTES("GET /x\0a HTTP/1.1\r\n" H "\r\n"), 400, 0, 400 },
    { "DEL in the target", BYTES("GET /x\x7f HTTP/1.1\r\n" H "\r\n"), 400, 0, 400 },
    { "C12 bytes above 0x7F in the target", BYTES("GET /x\xff\xfe HTTP/1.1\r\n" H "\r\n"), 0, 1, 0 },
    { "C15 one CRLF before", BYTES("\r\n" GET "\r\n"), 0, 1, 0 },
    { "two CRLF before", BYTES("\r\n\r\n" GET "\r\n"), 400, 0, 400 },
    { "a bare LF before", BYTES("\n" GET "\r\n"), 400, 0, 0 },
    { "a bare CR before", BYTES("\r" GET "\r\n"), 400, 0, 400 },
    { "C16 HTTP/2 preface", BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505, 0, 505 },
    { "C20 no method", BYTES(" /x HTTP/1.1\r\n" H "\r\n"), 400, 0, 400 },
    { "C21 colon in the method", BYTES("GE:T /x HTTP/1.1\r\n" H "\r\n"), 400, 0, 400 },
    { "C23 garbage", BYTES("\x80\x81\xfe\xff\r\n\r\n"), 400, 0, 400 },
    { "method alone", BYTES("GET\r\n\r\n"), 400, 0, 400 },
    { "no target", BYTES("GET  HTTP/1.1\r\n\r\n"), 400, 0, 400 },
    { "a method nobody has",
      BYTES("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\n\r\n"), 400, 0, 400 },
    { "A28 bare LF everywhere", BYTES("POST /x HTTP/1.1\nHost: h\nContent-Length: 5\n\n"), 400, 2, 0 },
    { "A29 a bare LF inside", BYTES(GET "X-A: 1\nContent-Length: 5\r\n\r\n"), 400, 3, 0 },
    { "A30 bare CR at the end", BYTES(GET "Content-Length: 5\r\n\rhello"), 400, 0, 400 },
    { "last line ends in a bare LF", BYTES(GET "\n"), 400, 1, 0 },
    { "CR CR LF", BYTES(GET "X: 1\r\r\n\r\n"), 400, 0, 400 },
    { "A09 VT in a value", BYTES(GET "Content-Length: 5\x0b\r\n\r\n"), 400, 0, 400 },
    { "A15 NUL behind a length", BYTES(GET "Content-Length: 5\0\r\n\r\n"), 400, 0, 400 },
    { "A20 folded value", BYTES(GET "Transfer-Encoding:\r\n chunked\r\n\r\n"), 400, 0, 400 },
    { "A21 blank before the colon", BYTES(GET "Transfer-Encoding : chunked\r\n\r\n"), 400, 0, 400 },
    { "A23 any letter case", BYTES(GET "tRANSFER-eNCODING: cHuNkEd\r\n\r\n"), 0, 2, 0 },
    { "E01 blank before the colon", BYTES(GET "X-A : 1\r\n\r\n"), 400, 0, 400 },
    { "tab before the colon", BYTES(GET "X-A\t: 1\r\n\r\n"), 400, 0, 400 },
    { "E02 folded with a tab", BYTES(GET "X-A: 1\r\n\tfolded\r\n\r\n"), 400, 0, 400 },
    { "E03 no colon", BYTES(GET "no colon here\r\n\r\n"), 400, 0, 400 },
    { "no colon, one word", BYTES(GET "nocolon\r\n\r\n"), 400, 0, 400 },
    { "E04 empty name", BYTES(GET ": v\r\n\r\n"), 400, 0, 400 },
    { "E05 NUL in a name", BYTES(GET "X\0A: 1\r\n\r\n"), 400, 0, 400 },
    { "E06 NUL in a value", BYTES(GET "X-A: a\0b\r\n\r\n"), 400, 0, 400 },
    { "E07 bare CR in a value", BYTES(GET "X-A: a\rb\r\n\r\n"), 400, 0, 400 },
    { "E08 0xFF in a name",
      BYTES(GET "X\xff"
                "A: 1\r\n\r\n"),
      400, 0, 400 },
    { "E09 quote in a name", BYTES(GET "X\"A: 1\r\n\r\n"), 400, 0, 400 },
    { "E10 controls in a value", BYTES(GET "X-A: \x01\x02\r\n\r\n"), 400, 0, 400 },
    { "E11 obs-text and HTAB in values", BYTES(GET "X-A: \xe4\xf6\xfc\r\nX-B: a\tb\r\n\r\n"), 0, 3, 0 },
    { "E12 a blank line of the wrong kind first", BYTES("GET /x HTTP/1.1\r\n\tX: 1\r\n" H "\r\n"), 400, 0, 400 },
    { "E13 empty members", BYTES(GET "Accept: ,,,text/html,,\r\nCache-Control: ,\r\n\r\n"), 0, 3, 0 },
    { "DEL in a value", BYTES(GET "X: a\x7f\r\n\r\n"), 400, 0, 400 },
    { "DEL in a long value",
      BYTES(GET "X: aaaaaaaaaaaaaaaaaaaaaaaa\x7f"
                "aaaaaaa\r\n\r\n"),
      400, 0, 400 },
    { "0x80 next to DEL-alikes",
      BYTES(GET "X: aaaaaaaa\xff\x80\x8d\x8a\xa0"
                "aaaaaaaaaaaaaaa\r\n\r\n"),
      0, 2, 0 },
    { "a control folds onto a digit: not HTTP2-Settings", BYTES(GET "HTTP\x12-Settings: x\r\n\r\n"), 400, 0, 400 },
    { "empty value", BYTES(GET "X:\r\nAccept:   \r\n\r\n"), 0, 3, 0 },
    { "all token characters", BYTES(GET "!#$%&'*+-.^_`|~09azAZ: 1\r\n\r\n"), 0, 2, 0 },
    { "bytes behind the head are left alone", BYTES(GET "\r\n\x01\x02\n\n"), 0, 1, 0 },
    { "name of one byte at the end", BYTES(GET "a:\r\n\r\n"), 0, 2, 0 },
    { "incomplete: nothing yet", BYTES(""), -1, 0, -1 },
    { "incomplete: half a CRLF before", BYTES("\r"), -1, 0, -1 },
    { "incomplete: no line end", BYTES("GET /x HTTP/1.1"), -1, 0, -1 },
    { "incomplete: last LF missing", BYTES(GET "\r"), -1, 0, -1 },
    { "incomplete but hopeless: NUL", BYTES("GET /\0"), 400, 0, 400 },
    { "incomplete but hopeless: TLS", BYTES("\x16\x03\x01\x02\x00\x01"), 400, 0, 400 },
    { "incomplete but hopeless: bare LF", BYTES("GET / HTTP/1.1\n"), 400, 0, -1 },
    { "incomplete but hopeless: a bad line before", BYTES(GET "X A: 1\r\nB"), 400, 0, 400 },
};

static const struct {
    const char *why;
    struct span text;
    int want; /* 0, -1 or 502 */
    int status, minor;
    const char *reason;
} responses[] = {
    { "plain", BYTES("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), 0, 200, 1, "OK" },
    { "HTTP/1.0", BYTES("HTTP/1.0 404 Not Found\r\n\r\n"), 0, 404, 0, "Not Found" },
    { "X9 unknown codes", BYTES("HTTP/1.1 999 So What\r\n\r\n"), 0, 999, 1, "So What" },
    { "empty reason", BYTES("HTTP/1.1 200 \r\n\r\n"), 0, 200, 1, "" },
    { "empty reason, no blank", BYTES("HTTP/1.1 200\r\n\r\n"), 0, 200, 1, "" },
    { "obs-text in the reason", BYTES("HTTP/1.1 200 \xe4\tx\r\n\r\n"), 0, 200, 1, "\xe4\tx" },
    { "O07 letters in the code", BYTES("HTTP/1.1 2OO OK\r\n\r\n"), 502, 0, 0, NULL },
    { "O08 a short code", BYTES("HTTP/1.1 99 Low\r\n\r\n"), 502, 0, 0, NULL },
    { "a code below 100", BYTES("HTTP/1.1 099 Low\r\n\r\n"), 502, 0, 0, NULL },
    { "a long code", BYTES("HTTP/1.1 2000 OK\r\n\r\n"), 502, 0, 0, NULL },
    { "O09 no status line", BYTES("<html>\r\n\r\n"), 502, 0, 0, NULL },
    { "a CRLF before is for requests", BYTES("\r\nHTTP/1.1 200 OK\r\n\r\n"), 502, 0, 0, NULL },
    { "HTTP/2.0", BYTES("HTTP/2.0 200 OK\r\n\r\n"), 502, 0, 0, NULL },
    { "ICY", BYTES("ICY 200 OK\r\n\r\n"), 502, 0, 0, NULL },
    { "two blanks", BYTES("HTTP/1.1  200 OK\r\n\r\n"), 502, 0, 0, NULL },
    { "O18 NUL in a value", BYTES("HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n"), 502, 0, 0, NULL },
    { "O18 bare LF", BYTES("HTTP/1.1 200 OK\r\nX: a\nB: c\r\n\r\n"), 502, 0, 0, NULL },
    { "O19 blank before the colon", BYTES("HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\n"), 502, 0, 0, NULL },
    { "O11 incomplete", BYTES("HTTP/1.1 200 OK\r\nContent-"), -1, 0, 0, NULL },
};

static struct head scratch;

/* What a parser says to text sent in pieces: up to `first` bytes at once, then `step` at a time. Each prefix lies in a
 * block of its own length, so that a sanitizer sees a read beyond it. The head's fields point into *last. */
static int verdict(parser *parse, struct span text, size_t first, size_t step, const struct parse_limits *limits,
                   char **last)
{
    struct parse_progress p = { 0 };
    struct parse_error e = { 0 };
    size_t have = first < text.len ? first : text.len;
    enum parse_result r;

    for (;;) {
        *last = xmalloc(have + 1);
        memcpy(*last, text.p, have);
        *last = xrealloc(*last, have ? have : 1);
        r = parse(&scratch, *last, have, limits, &p, &e);
        if (r == PARSE_BAD)
            assert_true(e.what != NULL && e.at <= have);
        if (r != PARSE_MORE || have == text.len)
            break;
        free(*last);
        memset(&scratch, 0xA5, sizeof scratch); /* another connection used it in between */
        have = text.len - have < step ? text.len : have + step;
    }
    return r == PARSE_DONE ? 0 : r == PARSE_MORE ? -1 : e.status;
}

static void check_every_split(const char *why, parser *parse, struct span text, const struct parse_limits *limits,
                              int want, size_t fields)
{
    for (size_t first = 0; first <= text.len; first++) {
        char *bytes;
        int got = verdict(parse, text, first, first == 0 ? 1 : text.len, limits, &bytes);

        if (got != want)
            fail_msg("%s: split at %zu: got %d, want %d", why, first, got, want);
        if (want == 0 && fields != SIZE_MAX)
            assert_int_equal(scratch.n_fields, fields);
        free(bytes);
    }
}

static void requests_are_judged_alike_however_cut(void **state)
{
    struct parse_limits relaxed = test_limits;

    (void)state;
    relaxed.relaxed = true;
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        const struct request_case *c = &requests[i];

        check_every_split(c->why, parse_request, c->text, &test_limits, c->want, c->fields);
        check_every_split(c->why, parse_request, c->text, &relaxed, c->want_relaxed,
                          c->want == 0 || c->fields > 0 ? c->fields : SIZE_MAX);
    }
}

/* uri_whitespace. */
static void blanks_may_stand_in_a_target(void **state)
{
    static const struct {
        struct span text;
        int want;
        const char *target;
    } cases[] = {
        { BYTES("GET /a b HTTP/1.1\r\n" H "\r\n"), 0, "/a b" },
        { BYTES("GET /a \t b  c HTTP/1.0\r\n\r\n"), 0, "/a \t b  c" },
        { BYTES("GET /a HTTP/1.1 HTTP/1.1\r\n" H "\r\n"), 0, "/a HTTP/1.1" },
        { BYTES("GET /a HTTP/1.1\r\n" H "\r\n"), 0, "/a" },
        { BYTES("GET /a b\r\n" H "\r\n"), 400, NULL },
        { BYTES("GET  HTTP/1.1\r\n" H "\r\n"), 400, NULL },
        { BYTES("GET /a b HTTP/2.0\r\n" H "\r\n"), 505, NULL },
        { BYTES("GET /a \x01 HTTP/1.1\r\n" H "\r\n"), 400, NULL },
        { BYTES("GET /a b\rc HTTP/1.1\r\n" H "\r\n"), 400, NULL },
        { BYTES("GET /a b HTTP/1.1\n" H "\r\n"), 400, NULL },
    };
    struct parse_limits limits = test_limits;

    (void)state;
    limits.target_blanks = true;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *bytes;

        check_every_split("blanks in a target", parse_request, cases[i].text, &limits, cases[i].want, SIZE_MAX);
        if (cases[i].want != 0)
            continue;
        verdict(parse_request, cases[i].text, SIZE_MAX, 1, &limits, &bytes);
        assert_span(cases[i].target, head_piece(&scratch, scratch.target), span_str(cases[i].target));
        free(bytes);
    }
}

static void responses_are_judged_alike_however_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(responses); i++) {
        char *bytes;

        check_every_split(responses[i].why, parse_response, responses[i].text, &test_limits, responses[i].want,
                          SIZE_MAX);
        if (responses[i].want != 0)
            continue;
        verdict(parse_response, responses[i].text, SIZE_MAX, 1, &test_limits, &bytes);
        assert_int_equal(scratch.status, responses[i].status);
        assert_int_equal(scratch.minor_version, responses[i].minor);
        assert_span(responses[i].why, head_piece(&scratch, scratch.reason), span_str(responses[i].reason));
        free(bytes);
    }
}

static void no_prefix_of_a_head_is_a_head(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        if (requests[i].want != 0)
            continue;
        char *bytes;
        assert_int_equal(verdict(parse_request, requests[i].text, SIZE_MAX, 1, &test_limits, &bytes), 0);
        size_t head_len = scratch.len;
        free(bytes);
        for (size_t n = 0; n < head_len; n++) {
            int got = verdict(parse_request, span_of(requests[i].text.p, n), SIZE_MAX, 1, &test_limits, &bytes);

            if (got != -1)
                fail_msg("%s: %zu bytes of it: %d", requests[i].why, n, got);
            free(bytes);
        }
    }
}

static void parts_lie_where_they_should(void **state)
{
    static const char text[] = "\r\nPOST http://a/b?c HTTP/1.0\r\nhost:a\r\nX-Odd:\t two  words\t \r\nACCEPT: 1\r\n"
                               "accept:2\r\nContent-length: 3\r\nAccept: \r\n\r\nabc";
    static const struct {
        const char *name, *value;
        enum token token;
    } want[] = {
        { "host", "a", TOKEN_HOST },
        { "X-Odd", "two  words", TOKEN_OTHER },
        { "ACCEPT", "1", TOKEN_ACCEPT },
        { "accept", "2", TOKEN_ACCEPT },
        { "Content-length", "3", TOKEN_CONTENT_LENGTH },
        { "Accept", "", TOKEN_ACCEPT },
    };
    struct head h;
    const struct head_field *f;

    (void)state;
    memset(&h, 0x5A, sizeof h);
    head_of_request(&h, text);
    assert_int_equal(h.len, sizeof text - 1 - 3);
    assert_ptr_equal(h.base, text);
    assert_int_equal(h.minor_version, 0);
    assert_int_equal(h.method, METHOD_POST);
    assert_span("method", head_piece(&h, h.method_name), SPAN("POST"));
    assert_span("target", head_piece(&h, h.target), SPAN("http://a/b?c"));
    assert_int_equal(h.n_fields, COUNT_OF(want));
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        assert_span("name", field_name(&h, &h.fields[i]), span_str(want[i].name));
        assert_span(want[i].name, field_value(&h, &h.fields[i]), span_str(want[i].value));
        assert_int_equal(h.fields[i].token, want[i].token);
    }
    f = head_find(&h, TOKEN_ACCEPT);
    assert_ptr_equal(f, &h.fields[2]);
    assert_ptr_equal(f = head_next(&h, f), &h.fields[3]);
    assert_ptr_equal(f = head_next(&h, f), &h.fields[5]);
    assert_null(head_next(&h, f));
    assert_null(head_find(&h, TOKEN_COOKIE));
    assert_null(head_value(&h, TOKEN_COOKIE).p);
    assert_span("first of several", head_value(&h, TOKEN_ACCEPT), SPAN("1"));
}

/* n fields "NAME: 1" behind a request line, and the blank line. */
static struct span many_fields(size_t n, const char *name)
{
    char *text = xmalloc(64 + n * 32), *p = text;

    p += sprintf(p, "GET / HTTP/1.1\r\n");
    for (size_t i = 0; i < n; i++)
        p += sprintf(p, "%s: 1\r\n", name);
    p += sprintf(p, "\r\n");
    return span_of(text, (size_t)(p - text));
}

static void fields_are_counted(void **state)
{
    static const struct {
        size_t n;
        uint16_t max;
        const char *name;
        int want;
    } cases[] = {
        { 256, 256, "Accept", 0 },    { 257, 256, "Accept", 431 },
        { 256, 256, "X-Unknown", 0 }, { 257, 256, "X-Unknown", 431 },
        { 3, 2, "A", 431 },           { 2, 2, "A", 0 },
        { 1, 0, "A", 431 },           { 0, 0, "A", 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct parse_limits limits = { .max_bytes = 65536, .max_fields = cases[i].max };
        struct span text = many_fields(cases[i].n, cases[i].name);
        char *bytes;

        assert_int_equal(verdict(parse_request, text, SIZE_MAX, 1, &limits, &bytes), cases[i].want);
        free(bytes);
        assert_int_equal(verdict(parse_request, text, 0, 1, &limits, &bytes), cases[i].want);
        if (cases[i].want == 431) { /* a sender that never comes to the end is told just the same */
            free(bytes);
            assert_int_equal(verdict(parse_request, span_of(text.p, text.len - 2), 0, 1, &limits, &bytes), 431);
        }
        if (cases[i].want == 0 && cases[i].n == 256 && strcmp(cases[i].name, "Accept") == 0) {
            size_t linked = 0;

            for (const struct head_field *f = head_find(&scratch, TOKEN_ACCEPT); f; f = head_next(&scratch, f))
                linked++;
            assert_int_equal(linked, 256); /* the index of the last still fits in its byte */
        }
        free(bytes);
        free((void *)(uintptr_t)text.p);
    }
}

static void sizes_are_limited(void **state)
{
    static const struct {
        const char *why, *before;
        char fill;
        size_t n;
        const char *after;
        int want;
    } cases[] = {
        { "C13 target beyond the limit", "GET /", 'a', 2000, " HTTP/1.1\r\n\r\n", 414 },
        { "C14 endless method", "", 'A', 2000, " / HTTP/1.1\r\n\r\n", 400 },
        { "U01 one field beyond the limit", "GET / HTTP/1.1\r\nX: ", 'a', 2000, "\r\n\r\n", 431 },
        { "one name beyond the limit", "GET / HTTP/1.1\r\n", 'a', 2000, ": 1\r\n\r\n", 431 },
        { "long but allowed", "GET /", 'a', 900, " HTTP/1.1\r\n\r\n", 0 },
        { "the blank line beyond the limit", "GET /", 'a', 1024 - 5 - 11, " HTTP/1.1\r\n\r\n", 431 },
        { "exactly the limit", "GET /", 'a', 1024 - 5 - 13, " HTTP/1.1\r\n\r\n", 0 },
        { "one more", "GET /", 'a', 1024 - 5 - 12, " HTTP/1.1\r\n\r\n", 431 },
        { "an endless version", "GET / HTTP/1.", '1', 2000, "\r\n\r\n", 431 },
    };
    struct parse_limits limits = { .max_bytes = 1024, .max_fields = 100 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        size_t before = strlen(cases[i].before), after = strlen(cases[i].after);
        char *text = xmalloc(before + cases[i].n + after), *bytes;
        struct span s = span_of(text, before + cases[i].n + after);

        memcpy(text, cases[i].before, before);
        memset(text + before, cases[i].fill, cases[i].n);
        memcpy(text + before + cases[i].n, cases[i].after, after);
        for (size_t step = 1; step < 3000; step += 211) {
            int got = verdict(parse_request, s, step, step, &limits, &bytes);

            if (got != cases[i].want)
                fail_msg("%s, %zu at a time: got %d, want %d", cases[i].why, step, got, cases[i].want);
            if (got == 414 || got == 431) /* for the log */
                assert_span(cases[i].why, head_piece(&scratch, scratch.method_name), SPAN("GET"));
            if (got == 414)
                assert_int_equal(scratch.target.len, 1024 - 4);
            free(bytes);
        }
        free(text);
    }
    assert_int_equal(parse_response(&scratch, "HTTP/1.1 200 OKOKOKOK", 20,
                                    &(struct parse_limits){ .max_bytes = 20, .max_fields = 1 },
                                    &(struct parse_progress){ 0 }, &(struct parse_error){ 0 }),
                     PARSE_BAD);
}

static void a_bad_head_still_names_its_target(void **state)
{
    struct parse_progress p = { 0 };
    struct parse_error e;
    static const char text[] = "GET /found HTTP/1.1\r\nA: 1\r\nB: \x01\r\n\r\n";

    (void)state;
    for (size_t n = 1; n < sizeof text; n++) {
        memset(&scratch, 0xA5, sizeof scratch);
        if (parse_request(&scratch, text, n, &test_limits, &p, &e) == PARSE_BAD) {
            assert_string_equal(e.what, "control byte in a head");
            assert_int_equal(e.at, strlen("GET /found HTTP/1.1\r\nA: 1\r\nB: "));
            assert_span("target", head_piece(&scratch, scratch.target), SPAN("/found"));
            return;
        }
    }
    fail_msg("not refused");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_are_judged_alike_however_cut),
        cmocka_unit_test(blanks_may_stand_in_a_target),
        cmocka_unit_test(responses_are_judged_alike_however_cut),
        cmocka_unit_test(no_prefix_of_a_head_is_a_head),
        cmocka_unit_test(parts_lie_where_they_should),
        cmocka_unit_test(fields_are_counted),
        cmocka_unit_test(sizes_are_limited),
        cmocka_unit_test(a_bad_head_still_names_its_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
