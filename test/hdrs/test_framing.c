#include "heads.h"
#include "hdrs/framing.h"

#define POST "POST /x HTTP/1.1\r\nHost: h\r\n"
#define GET "GET /x HTTP/1.1\r\nHost: h\r\n"
#define N FRAMING_NONE
#define L FRAMING_LENGTH
#define C FRAMING_CHUNKED
#define X FRAMING_CLOSE

static const struct {
    const char *why, *head;
    enum framing_kind kind;
    uint64_t detail; /* length or status */
    bool keep_alive;
} requests[] = {
    { "no body", GET "\r\n", N, 0, true },
    { "POST without a body", POST "\r\n", N, 0, true },
    { "A01 both", POST "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n", FRAMING_BAD, 400, false },
    { "A02 both, other order", POST "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n", FRAMING_BAD, 400,
      false },
    { "A03 equal repeats", POST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", FRAMING_BAD, 400, false },
    { "A04 different repeats", POST "Content-Length: 5\r\nContent-Length: 0\r\n\r\n", FRAMING_BAD, 400, false },
    { "A05 a list", POST "Content-Length: 5, 5\r\n\r\n", FRAMING_BAD, 400, false },
    { "A06 plus", POST "Content-Length: +5\r\n\r\n", FRAMING_BAD, 400, false },
    { "A07 minus", POST "Content-Length: -5\r\n\r\n", FRAMING_BAD, 400, false },
    { "A08 blanks around it are fine", POST "Content-Length: \t5 \t\r\n\r\n", L, 5, true },
    { "A10 hex", POST "Content-Length: 0x5\r\n\r\n", FRAMING_BAD, 400, false },
    { "A11 empty", POST "Content-Length: \r\n\r\n", FRAMING_BAD, 400, false },
    { "A12 wraps to 5", POST "Content-Length: 18446744073709551621\r\n\r\n", FRAMING_BAD, 400, false },
    { "INT64_MAX", POST "Content-Length: 9223372036854775807\r\n\r\n", L, INT64_MAX, true },
    { "INT64_MAX + 1", POST "Content-Length: 9223372036854775808\r\n\r\n", FRAMING_BAD, 400, false },
    { "A13 two numbers", POST "Content-Length: 5 5\r\n\r\n", FRAMING_BAD, 400, false },
    { "A14 semicolon", POST "Content-Length: 5;\r\n\r\n", FRAMING_BAD, 400, false },
    { "A16 unknown coding", POST "Transfer-Encoding: xchunked\r\n\r\n", FRAMING_BAD, 501, false },
    { "unknown coding that starts alike", POST "Transfer-Encoding: chunkedx\r\n\r\n", FRAMING_BAD, 501, false },
    { "gzip below chunked", POST "Transfer-Encoding: gzip, chunked\r\n\r\n", FRAMING_BAD, 501, false },
    { "A17 chunked not last", POST "Transfer-Encoding: chunked, identity\r\n\r\n", FRAMING_BAD, 400, false },
    { "chunked twice", POST "Transfer-Encoding: chunked, chunked\r\n\r\n", FRAMING_BAD, 400, false },
    { "A18 identity and a length", POST "Transfer-Encoding: identity\r\nContent-Length: 5\r\n\r\n", FRAMING_BAD, 400,
      false },
    { "A19 two fields", POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", FRAMING_BAD, 400,
      false },
    { "two fields that would join well", POST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
      FRAMING_BAD,
      400, false },
    { "A23 letter case", POST "tRANSFER-eNCODING: cHuNkEd\r\n\r\n", C, 0, true },
    { "A24 in HTTP/1.0", "POST /x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", FRAMING_BAD, 400, false },
    { "A25 empty", POST "Transfer-Encoding: \r\n\r\n", FRAMING_BAD, 400, false },
    { "A25 empty and a length", POST "Transfer-Encoding: \r\nContent-Length: 5\r\n\r\n", FRAMING_BAD, 400, false },
    { "A26 a parameter", POST "Transfer-Encoding: chunked;q=1\r\n\r\n", FRAMING_BAD, 400, false },
    { "A27 empty members", POST "Transfer-Encoding: ,chunked,\r\n\r\n", FRAMING_BAD, 400, false },
    { "quoted", POST "Transfer-Encoding: \"chunked\"\r\n\r\n", FRAMING_BAD, 501, false },
    { "A31 GET with chunks", GET "Transfer-Encoding: chunked\r\n\r\n", FRAMING_BAD, 400, false },
    { "HEAD with chunks", "HEAD / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", FRAMING_BAD, 400, false },
    { "X10 DELETE with chunks", "DELETE / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", C, 0, true },
    { "A32 GET with a length", GET "Connection: close\r\nContent-Length: 200\r\n\r\n", L, 200, false },
    { "length 0", POST "Content-Length: 0\r\n\r\n", L, 0, true },
    { "leading zeros", POST "Content-Length: 0005\r\n\r\n", L, 5, true },
    { "Connection: close", GET "Connection: x, CLOSE\r\n\r\n", N, 0, false },
    { "close on a second line wins", GET "Connection: keep-alive\r\nConnection: close\r\n\r\n", N, 0, false },
    { "closed is not close", GET "Connection: closed\r\n\r\n", N, 0, true },
    { "HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", N, 0, false },
    { "HTTP/1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", N, 0, true },
    { "HTTP/1.0 Proxy-Connection", "GET / HTTP/1.0\r\nProxy-Connection: Keep-Alive\r\n\r\n", N, 0, true },
    { "Connection before Proxy-Connection",
      "GET / HTTP/1.0\r\nProxy-Connection: Keep-Alive\r\nConnection: close\r\n\r\n",
      N, 0, false },
};

#define OK "HTTP/1.1 200 OK\r\n"
static const struct {
    const char *why, *head;
    enum http_method method;
    enum framing_kind kind;
    uint64_t detail;
    bool keep_alive;
} responses[] = {
    { "length", OK "Content-Length: 5\r\n\r\n", METHOD_GET, L, 5, true },
    { "chunked", OK "Transfer-Encoding: chunked\r\n\r\n", METHOD_GET, C, 0, true },
    { "neither", OK "\r\n", METHOD_GET, X, 0, false },
    { "neither, for all it says", OK "Connection: keep-alive\r\n\r\n", METHOD_GET, X, 0, false },
    { "O01 negative", OK "Content-Length: -1\r\n\r\n", METHOD_GET, FRAMING_BAD, 502, false },
    { "O02 too large", OK "Content-Length: 99999999999999999999\r\n\r\n", METHOD_GET, FRAMING_BAD, 502, false },
    { "repeats", OK "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", METHOD_GET, FRAMING_BAD, 502, false },
    { "X6 unknown final coding", OK "Transfer-Encoding: nonsense\r\n\r\n", METHOD_GET, X, 0, false },
    { "X7 with a length", OK "Transfer-Encoding: nonsense\r\nContent-Length: 3\r\n\r\n", METHOD_GET, FRAMING_BAD,
      502, false },
    { "O14 both", OK "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", METHOD_GET, FRAMING_BAD, 502, false },
    { "both, to HEAD", OK "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", METHOD_HEAD, FRAMING_BAD, 502,
      false },
    { "two fields", OK "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n", METHOD_GET, FRAMING_BAD, 502,
      false },
    { "gzip below chunked", OK "Transfer-Encoding: gzip, chunked\r\n\r\n", METHOD_GET, FRAMING_BAD, 502, false },
    { "chunked below gzip", OK "Transfer-Encoding: chunked, gzip\r\n\r\n", METHOD_GET, FRAMING_BAD, 502, false },
    { "chunked in HTTP/1.0", "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", METHOD_GET, FRAMING_BAD, 502,
      false },
    { "HTTP/1.0 keep-alive", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n", METHOD_GET, L,
      1, true },
    { "HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", METHOD_GET, L, 1, false },
    { "no Proxy-Connection in responses",
      "HTTP/1.0 200 OK\r\nProxy-Connection: keep-alive\r\nContent-Length: 1\r\n\r\n",
      METHOD_GET, L, 1, false },
    { "close", OK "Connection: close\r\nContent-Length: 1\r\n\r\n", METHOD_GET, L, 1, false },
    { "X12 HEAD", OK "Content-Length: 5\r\n\r\n", METHOD_HEAD, N, 0, true },
    { "HEAD of a chunked one", OK "Transfer-Encoding: chunked\r\n\r\n", METHOD_HEAD, N, 0, true },
    { "304", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", METHOD_GET, N, 0, true },
    { "204", "HTTP/1.1 204 No Content\r\n\r\n", METHOD_GET, N, 0, true },
    { "204 with an empty body", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", METHOD_GET, N, 0, true },
    { "O17 204 with a body behind", "HTTP/1.1 204 No Content\r\nContent-Length: 47\r\n\r\n", METHOD_GET, N, 0, false },
    { "204 with chunks behind", "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", METHOD_GET, N, 0,
      false },
    { "100", "HTTP/1.1 100 Continue\r\n\r\n", METHOD_POST, N, 0, true },
    { "CONNECT", OK "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", METHOD_CONNECT, N, 0, true },
    { "CONNECT refused", "HTTP/1.1 403 No\r\nContent-Length: 5\r\n\r\n", METHOD_CONNECT, L, 5, true },
};

static void check(const char *why, struct framing f, enum framing_kind kind, uint64_t detail, bool keep_alive)
{
    uint64_t got = f.kind == FRAMING_BAD ? (uint64_t)f.status : f.length;

    if (f.kind != kind || got != detail || f.keep_alive != keep_alive)
        fail_msg("%s: kind %d, %llu, keep-alive %d (%s)", why, (int)f.kind, (unsigned long long)got, f.keep_alive,
                 f.what ? f.what : "-");
    if (f.kind == FRAMING_BAD)
        assert_non_null(f.what);
}

static void requests_have_one_framing(void **state)
{
    static struct head h;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        head_of_request(&h, requests[i].head);
        check(requests[i].why, request_framing(&h), requests[i].kind, requests[i].detail, requests[i].keep_alive);
    }
}

static void responses_have_one_framing(void **state)
{
    static struct head h;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(responses); i++) {
        head_of_response(&h, responses[i].head);
        check(responses[i].why, response_framing(&h, responses[i].method), responses[i].kind, responses[i].detail,
              responses[i].keep_alive);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_have_one_framing),
        cmocka_unit_test(responses_have_one_framing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
