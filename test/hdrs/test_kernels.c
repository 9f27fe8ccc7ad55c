/* Every kernel this processor runs against the scalar parser, the specification: the same verdict, error, length, spans,
 * tokens and chains, for every prefix, every split over two reads, byte by byte, every alignment, with anything behind
 * the end, and with the page behind the promised slack out of reach. */
#include "heads.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "hdrs/kernel.h"
/* The cases come with functions this file doesn't use. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include "../bench/parser_cases.h"
#pragma GCC diagnostic pop

enum kind { REQUEST, RESPONSE, FIELDS, KIND_N };

static const struct parse_limits usual = { .max_bytes = 65536, .max_fields = HEAD_FIELDS_MAX, .slack = true };

/* Texts end right before the slack, and that before a page nobody may touch. */
static char *edge;
#define EDGE_BYTES (1 << 17)

static char *placed(struct span text, size_t behind, uint64_t *random)
{
    char *p = edge - PARSE_SLACK - behind - text.len;

    if (text.len > 0)
        memcpy(p, text.p, text.len);
    for (size_t i = 0; i < PARSE_SLACK + behind; i++)
        p[text.len + i] = "\r\n: a\0\xff\n\r\n\r\n:"[pc_rng(random) % 14];
    return p;
}

static enum parse_result parse_as(enum kind kind, struct head *h, const char *p, size_t len,
                                  const struct parse_limits *limits, struct parse_progress *progress,
                                  struct parse_error *e)
{
    switch (kind) {
    case REQUEST: return parse_request(h, p, len, limits, progress, e);
    case RESPONSE: return parse_response(h, p, len, limits, progress, e);
    default: return parse_fields(h, p, len, limits, e);
    }
}

static void assert_same_head(const struct head *a, const struct head *b)
{
    assert_int_equal(a->len, b->len);
    assert_int_equal(a->minor_version, b->minor_version);
    assert_int_equal(a->method, b->method);
    assert_int_equal(a->status, b->status);
    assert_memory_equal(&a->method_name, &b->method_name, sizeof a->method_name);
    assert_memory_equal(&a->target, &b->target, sizeof a->target);
    assert_memory_equal(&a->reason, &b->reason, sizeof a->reason);
    assert_int_equal(a->n_fields, b->n_fields);
    assert_memory_equal(a->first, b->first, sizeof a->first);
    for (int t = 1; t < TOKEN_N; t++)
        if (a->first[t] != 0)
            assert_int_equal(a->last[t], b->last[t]);
    assert_memory_equal(a->fields, b->fields, a->n_fields * sizeof a->fields[0]);
}

/* One text in one piece. */
static void assert_same(enum kind kind, const char *p, size_t len, const struct parse_limits *limits)
{
    static struct head want, got;
    struct parse_progress progress = { 0 };
    struct parse_error want_error = { 0 }, error = { 0 };
    enum parse_result result;

    hdrs_kernel_use(HDRS_SCALAR);
    result = parse_as(kind, &want, p, len, limits, &progress, &want_error);
    for (int k = HDRS_SCALAR + 1; k < HDRS_KERNEL_N; k++) {
        if (!hdrs_kernel_available((enum hdrs_kernel)k))
            continue;
        hdrs_kernel_use((enum hdrs_kernel)k);
        progress = (struct parse_progress){ 0 };
        memset(&got, 0xA5, sizeof got);
        if (parse_as(kind, &got, p, len, limits, &progress, &error) != result)
            fail_msg("%s differs from scalar: %.*s", hdrs_kernel_name((enum hdrs_kernel)k), (int)len, p);
        if (result == PARSE_BAD) {
            assert_int_equal(error.status, want_error.status);
            assert_string_equal(error.what, want_error.what);
            assert_int_equal(error.at, want_error.at);
        }
        if (result == PARSE_DONE)
            assert_same_head(&got, &want);
    }
}

/* In two pieces: the answers to the first and to the whole. */
static void assert_same_split(enum kind kind, const char *p, size_t cut, size_t len, size_t step)
{
    static struct head want, got;
    struct parse_error want_error = { 0 }, error = { 0 };
    enum parse_result results[HDRS_KERNEL_N];

    for (int k = 0; k < HDRS_KERNEL_N; k++) {
        struct parse_progress progress = { 0 };
        struct head *h = k == HDRS_SCALAR ? &want : &got;
        size_t n = cut;

        if (!hdrs_kernel_available((enum hdrs_kernel)k))
            continue;
        hdrs_kernel_use((enum hdrs_kernel)k);
        while ((results[k] = parse_as(kind, h, p, n, &usual, &progress, k ? &error : &want_error)) == PARSE_MORE &&
               n < len)
            n = len - n < step ? len : n + step;
        assert_int_equal(results[k], results[HDRS_SCALAR]);
        if (results[k] == PARSE_DONE)
            assert_same_head(h, &want);
        if (results[k] == PARSE_BAD && k != HDRS_SCALAR) {
            assert_int_equal(error.status, want_error.status);
            assert_string_equal(error.what, want_error.what);
            assert_int_equal(error.at, want_error.at);
        }
    }
}

#define R "GET /a HTTP/1.1\r\n"
#define S "HTTP/1.1 200 OK\r\n"

/* Good, odd and bad heads; the good ones and what replays around their edges. */
static const struct span texts[] = {
    BYTES("GET / HTTP/1.1\r\n\r\n"),
    BYTES("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    BYTES("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    BYTES(R "Host: a\r\nContent-Length: 5\r\nContent-Length: 5\r\nX-A: 1\r\nX-A: 2\r\n\r\nhello"),
    BYTES(R "Host: a\r\nTE: x\r\nVia: 1\r\nAge: 2\r\nDNT: 1\r\nIf: x\r\n\r\nGET / HTTP/1.1\r\nHost: b\r\n\r\n"),
    BYTES(R "a:b\r\nc: \r\nd:\r\ne:  x  \r\nf:\t\ty\t\r\ng: a\tb\r\n\r\n"),
    BYTES(R "Host : a\r\n\r\n"),
    BYTES(R "Host\t: a\r\n\r\n"),
    BYTES(R " Host: a\r\n\r\n"),
    BYTES(R "X: 1\r\n folded\r\n\r\n"),
    BYTES(R "X: 1\r\n\tfolded: x\r\n\r\n"),
    BYTES(R "no colon\r\n\r\n"),
    BYTES(R "nocolon\r\nX: 1\r\n\r\n"),
    BYTES(R ": x\r\n\r\n"),
    BYTES(R "X: a\rb\r\n\r\n"),
    BYTES(R "X: a\nY: b\r\n\r\n"),
    BYTES(R "X: a\r\r\nY: b\r\n\r\n"),
    BYTES(R "X: a\n\n\r\n"),
    BYTES(R "X: a\r\n\n"),
    BYTES(R "X: a\r\n\r"),
    BYTES(R "X: a\r\n\rb"),
    BYTES(R "X: a\0b\r\n\r\n"),
    BYTES(R "X: a\x7f\r\n\r\n"),
    BYTES(R "X: \x01\r\n\r\n"),
    BYTES(R "X: a\x0b\r\n\r\n"),
    BYTES(R "X\0Y: a\r\n\r\n"),
    BYTES(R "X\x80: a\r\n\r\n"),
    BYTES(R "X\"Y: a\r\n\r\n"),
    BYTES(R "X(Y): a\r\n\r\n"),
    BYTES(R "X@: a\r\n\r\n"),
    BYTES(R "X[]: a\r\n\r\n"),
    BYTES(R "X Y: a\r\n\r\n"),
    BYTES(R "!#$%&'*+-.^_`|~09azAZ: a\r\n\r\n"),
    BYTES(R "Content\x0dLength: 5\r\n\r\n"),
    BYTES(R "X: \xe4\xf6\xfc\r\nY: b\tb\r\n\r\n"),
    BYTES(R "Accept-Encodin: x\r\nAccept-Encodings: y\r\nCcept-Encoding: z\r\nAccept_Encoding: w\r\n\r\n"),
    BYTES("GET  / HTTP/1.1\r\n\r\n"),
    BYTES("GET\t/ HTTP/1.1\r\n\r\n"),
    BYTES("GET /\tx HTTP/1.1\r\n\r\n"),
    BYTES("GET /\x7f HTTP/1.1\r\n\r\n"),
    BYTES("GET /\xff HTTP/1.1\r\n\r\n"),
    BYTES("GET / HTTP/1.1 \r\n\r\n"),
    BYTES("GET / x HTTP/1.1\r\n\r\n"),
    BYTES("GET /\r\n\r\n"),
    BYTES("GET HTTP/1.1\r\n\r\n"),
    BYTES(" / HTTP/1.1\r\n\r\n"),
    BYTES("G\"T / HTTP/1.1\r\n\r\n"),
    BYTES("get / HTTP/1.0\r\n\r\n"),
    BYTES("GET / HTTP/1.2\r\n\r\n"),
    BYTES("GET / HTTP/2.0\r\n\r\n"),
    BYTES("GET / http/1.1\r\n\r\n"),
    BYTES("GET / HTTP/1.1\n\r\n"),
    BYTES("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n"),
    BYTES("M-SEARCH-WITH-A-LONG-NAME http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    BYTES(S "\r\n"),
    BYTES("HTTP/1.0 204\r\n\r\n"),
    BYTES("HTTP/1.1 204 \r\n\r\n"),
    BYTES("HTTP/1.1 999 \xe4 reason\twith HT\r\nX: 1\r\n\r\n"),
    BYTES("HTTP/1.1 2OO OK\r\n\r\n"),
    BYTES("HTTP/1.1 99 OK\r\n\r\n"),
    BYTES("HTTP/1.1 099 OK\r\n\r\n"),
    BYTES("HTTP/1.1 2000 OK\r\n\r\n"),
    BYTES("HTTP/1.1 200OK\r\n\r\n"),
    BYTES("HTTP/1.1  200 OK\r\n\r\n"),
    BYTES("HTTP/1.1 200 O\rK\r\n\r\n"),
    BYTES(S "Set-Cookie: a\r\nSet-Cookie: b\r\nSet-Cookie: c\r\nSeT-cOOkie: d\r\n\r\n"),
    BYTES("\r\n"),
    BYTES("X-T: 1\r\n\r\n"),
    BYTES("a: b\r\n"),
    BYTES("a\n\r\n"),
    BYTES("\n"),
    BYTES(""),
};

static void every_prefix_and_split(struct span text, uint64_t *random)
{
    for (int kind = 0; kind < KIND_N; kind++)
        for (size_t len = 0; len <= text.len; len++)
            assert_same((enum kind)kind, placed(span_of(text.p, len), 0, random), len, &usual);
    for (int kind = 0; kind < FIELDS; kind++) {
        char *p = placed(text, 0, random);

        for (size_t cut = 1; cut < text.len; cut++)
            assert_same_split((enum kind)kind, p, cut, text.len, text.len);
        if (text.len > 0)
            assert_same_split((enum kind)kind, p, 1, text.len, 1);
    }
}

static void texts_agree(void **state)
{
    uint64_t random = 88172645463325252u;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        every_prefix_and_split(texts[i], &random);
}

static void cases_agree(void **state)
{
    uint64_t random = 1234567;

    (void)state;
    for (size_t i = 0; i < PC_NFIXED; i++) {
        struct span text = span_of(pc_fixed[i].data, pc_fixed[i].len);

        if (text.len < 1200)
            every_prefix_and_split(text, &random);
        for (int kind = 0; kind < KIND_N; kind++)
            assert_same((enum kind)kind, placed(text, 0, &random), text.len, &usual);
    }
}

static void alignments_agree(void **state)
{
    uint64_t random = 42;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        for (size_t behind = 0; behind < 64; behind++)
            for (int kind = 0; kind < KIND_N; kind++)
                assert_same((enum kind)kind, placed(texts[i], behind, &random), texts[i].len, &usual);
}

static void lengths_agree(void **state)
{
    static char text[10000];
    uint64_t random = 7;

    (void)state;
    /* Names, values and targets of every length around the blocks, and long ones. */
    for (size_t n = 1; n < 4200; n += n < 300 ? 1 : 97) {
        int len = snprintf(text, sizeof text, "GET /%0*d HTTP/1.1\r\nX: 1\r\n\r\n", (int)n, 0);

        assert_same(REQUEST, placed(span_of(text, (size_t)len), 0, &random), (size_t)len, &usual);
        len = snprintf(text, sizeof text, R "X%0*d: v\r\nHost: a\r\n\r\n", (int)n, 0);
        assert_same(REQUEST, placed(span_of(text, (size_t)len), 0, &random), (size_t)len, &usual);
        len = snprintf(text, sizeof text, S "Age: %0*d\r\nHost: a\r\n\r\n", (int)n, 0);
        assert_same(RESPONSE, placed(span_of(text, (size_t)len), 0, &random), (size_t)len, &usual);
        len = snprintf(text, sizeof text, S "no%0*d\r\n\r\n", (int)n, 0);
        assert_same(RESPONSE, placed(span_of(text, (size_t)len), 0, &random), (size_t)len, &usual);
        len = snprintf(text, sizeof text, S "Age: %0*d\x01\r\n\r\n", (int)n, 0);
        assert_same(RESPONSE, placed(span_of(text, (size_t)len), 0, &random), (size_t)len, &usual);
    }
}

static void names_agree(void **state)
{
    static char text[200];
    uint64_t random = 99;

    (void)state;
    /* Every known name, and with each byte of it another one. */
    for (int t = 1; t < TOKEN_N; t++)
        for (size_t at = 0; at <= strlen(token_name((enum token)t)); at++) {
            int len = snprintf(text, sizeof text, R "%s: v\r\n\r\n", token_name((enum token)t));
            char *name = text + sizeof R - 1;

            if (name[at] != ':')
                name[at] = (char)(name[at] ^ (1 << pc_rng(&random) % 7));
            assert_same(REQUEST, placed(span_of(text, (size_t)len), 0, &random), (size_t)len, &usual);
        }
}

static void limits_agree(void **state)
{
    uint64_t random = 5;

    (void)state;
    for (size_t n = 0; n <= 300; n += n < 8 || n > 250 ? 1 : 17) {
        size_t len;
        char *fields = pc_count(n, &len), *text = xmalloc(len + sizeof R);

        memcpy(text, R, sizeof R - 1);
        memcpy(text + sizeof R - 1, fields, len);
        len += sizeof R - 1;
        for (uint16_t max = (uint16_t)(n > 3 ? n - 3 : 0); max <= n + 2 && max <= HEAD_FIELDS_MAX; max++)
            assert_same(REQUEST, placed(span_of(text, len), 0, &random), len,
                        &(struct parse_limits){ .max_bytes = 65536, .max_fields = max, .slack = true });
        for (uint32_t max = (uint32_t)len - 4; max <= len + 2; max++)
            assert_same(REQUEST, placed(span_of(text, len), 0, &random), len,
                        &(struct parse_limits){ .max_bytes = max, .max_fields = 256, .slack = true });
        free(fields);
        free(text);
    }
}

/* Heads with a few bytes changed, cut or doubled, for as long as a test may take. */
static void mutations_agree(void **state)
{
    static const char spice[] = "\r\n\n\r: \t\0\x7f\x80,\"aZ-_/";
    uint64_t random = 20261201;
    time_t until = time(NULL) + 3;

    (void)state;
    for (size_t round = 0; round < 400000 && (round % 256 != 0 || time(NULL) < until); round++) {
        struct span from = pc_rng(&random) % 2 ? texts[pc_rng(&random) % COUNT_OF(texts)]
                                               : span_of(pc_fixed[pc_rng(&random) % 15].data, 0);
        char text[1400];
        size_t len;

        if (from.len == 0) {
            const struct pc_case *c = &pc_fixed[pc_rng(&random) % PC_NFIXED];

            from = span_of(c->data, c->len < 1000 ? c->len : 1000);
        }
        len = from.len;
        memcpy(text, from.p, len);
        for (size_t n = pc_rng(&random) % 4; n > 0 && len > 0; n--) {
            size_t at = pc_rng(&random) % len;

            switch (pc_rng(&random) % 4) {
            case 0: text[at] = spice[pc_rng(&random) % (sizeof spice - 1)]; break;
            case 1: text[at] = (char)pc_rng(&random); break;
            case 2: memmove(text + at, text + at + 1, --len - at); break;
            default:
                memmove(text + at + 1, text + at, len - at);
                text[at] = spice[pc_rng(&random) % (sizeof spice - 1)];
                len++;
            }
        }
        for (int kind = 0; kind < KIND_N; kind++)
            assert_same((enum kind)kind, placed(span_of(text, len), 0, &random), len, &usual);
        if (len > 1)
            assert_same_split(pc_rng(&random) % 2 ? REQUEST : RESPONSE, placed(span_of(text, len), 0, &random),
                              1 + pc_rng(&random) % (len - 1), len, 1 + pc_rng(&random) % len);
    }
}

static int map_edge(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = mmap(NULL, EDGE_BYTES + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    if (p == MAP_FAILED || mprotect(p + EDGE_BYTES, page, PROT_NONE) != 0)
        return -1;
    edge = p + EDGE_BYTES;
    return 0;
}

static int unmap_edge(void **state)
{
    (void)state;
    return munmap(edge - EDGE_BYTES, EDGE_BYTES + (size_t)sysconf(_SC_PAGESIZE));
}

/* --kernels: only names those this processor runs. */
int main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_agree),
        cmocka_unit_test(cases_agree),
        cmocka_unit_test(alignments_agree),
        cmocka_unit_test(lengths_agree),
        cmocka_unit_test(names_agree),
        cmocka_unit_test(limits_agree),
        cmocka_unit_test(mutations_agree),
#ifdef CMOCKA_SHIM
        { NULL, NULL },
#endif
    };

    if (argc == 2 && strcmp(argv[1], "--kernels") == 0) {
        for (int k = 0; k < HDRS_KERNEL_N; k++)
            if (hdrs_kernel_available((enum hdrs_kernel)k))
                printf("%s%s", k == 0 ? "" : " ", hdrs_kernel_name((enum hdrs_kernel)k));
        putchar('\n');
        return 0;
    }
    return cmocka_run_group_tests(tests, map_edge, unmap_edge);
}
