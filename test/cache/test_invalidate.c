#include "heads.h"
#include "cache/invalidate.h"

static void unsafe_successes_invalidate(void **state)
{
    static const struct {
        const char *why;
        enum http_method method;
        int status;
        bool want;
    } rows[] = {
        { "I1 POST", METHOD_POST, 200, true },
        { "I1 PUT", METHOD_PUT, 201, true },
        { "I1 DELETE", METHOD_DELETE, 204, true },
        { "I1 PATCH", METHOD_PATCH, 299, true },
        { "I1 unknown: M-SEARCH", METHOD_OTHER, 200, true },
        { "I1 3xx", METHOD_POST, 303, true },
        { "I1 3xx", METHOD_POST, 399, true },
        { "I2 4xx", METHOD_POST, 400, false },
        { "I2 4xx", METHOD_DELETE, 404, false },
        { "I2 5xx", METHOD_POST, 500, false },
        { "not yet an answer", METHOD_POST, 103, false },
        { "I4 GET", METHOD_GET, 200, false },
        { "I4 HEAD", METHOD_HEAD, 200, false },
        { "I4 OPTIONS", METHOD_OPTIONS, 200, false },
        { "I4 TRACE", METHOD_TRACE, 200, false },
        { "a tunnel is no resource", METHOD_CONNECT, 200, false },
    };

    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++)
        if (invalidates(rows[i].method, rows[i].status) != rows[i].want)
            fail_msg("%s, %d", rows[i].why, rows[i].status);
}

static const struct {
    const char *why, *value, *want; /* NULL: none */
} references[] = {
    /* target: http://example.com/a/b/c?q=1 */
    { "absolute", "http://example.com/x", "http://example.com/x" },
    { "absolute, default port and letter case", "HTTP://EXAMPLE.com:80/x", "http://example.com/x" },
    { "absolute without a path", "http://example.com", "http://example.com/" },
    { "absolute, only a query", "http://example.com?x", "http://example.com/?x" },
    { "absolute path", "/x/y?z", "http://example.com/x/y?z" },
    { "relative", "d", "http://example.com/a/b/d" },
    { "relative, deeper", "d/e", "http://example.com/a/b/d/e" },
    { "relative with a colon in the query", "d?x:y", "http://example.com/a/b/d?x:y" },
    { "query only", "?r=2", "http://example.com/a/b/c?r=2" },
    { "empty is the target", "", "http://example.com/a/b/c?q=1" },
    { "fragment is dropped", "d#e", "http://example.com/a/b/d" },
    { "only a fragment", "#e", "http://example.com/a/b/c?q=1" },
    { "network path, same host", "//example.com/x", "http://example.com/x" },
    { "dot", "./d", "http://example.com/a/b/d" },
    { "dot alone", ".", "http://example.com/a/b/" },
    { "dots", "../d", "http://example.com/a/d" },
    { "dots alone", "..", "http://example.com/a/" },
    { "dots up to the root", "../../d", "http://example.com/d" },
    { "dots beyond it", "../../../../d", "http://example.com/d" },
    { "dots in the middle", "/x/./y/../z", "http://example.com/x/z" },
    { "not in the query", "/x?a/../b", "http://example.com/x?a/../b" },
    { "three dots are a name", "...", "http://example.com/a/b/..." },
    { "dots in an absolute one", "http://example.com/x/../y", "http://example.com/y" },
    { "escapes made canonical", "/%7ea%2f", "http://example.com/~a%2F" },

    { "I3 another host", "http://example.org/x", NULL },
    { "I3 a host that starts alike", "http://example.com.evil.invalid/x", NULL },
    { "I3 another port", "http://example.com:8080/x", NULL },
    { "I3 another scheme", "https://example.com/x", NULL },
    { "I3 another scheme, same port", "https://example.com:80/x", NULL },
    { "I3 network path, another host", "//example.org/x", NULL },
    { "no http", "mailto:x@example.com", NULL },
    { "blank in it", "/x y", NULL },
    { "no host", "http:///x", NULL },
};

static struct span resolved(const char *target, const char *value, char *out, size_t capacity)
{
    static char text[256];
    struct canonical_uri c;
    struct uri u;
    const char *why;

    assert_true(uri_parse(span_str(target), METHOD_GET, &u, &why));
    assert_true(uri_canonical(u.scheme, u.host, u.host_is_ipv6, u.port, u.path, text, sizeof text, &c));
    return same_origin_reference(&c, span_str(value), out, capacity);
}

static void references_resolve(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(references); i++) {
        char out[256];
        struct span got = resolved("http://example.com/a/b/c?q=1", references[i].value, out, sizeof out);

        if (!span_eq(got, span_str(references[i].want)) || (got.p == NULL) != (references[i].want == NULL))
            fail_msg("%s: %s gives %.*s", references[i].why, references[i].value, SPAN_ARG(got));
    }
}

static void other_targets(void **state)
{
    char out[256];
    struct span got;

    (void)state;
    got = resolved("http://[::1]:8080/", "x", out, sizeof out);
    assert_true(span_eq(got, SPAN("http://[::1]:8080/x")));
    got = resolved("http://[::1]:8080/", "http://[0:0::1]:8080/y", out, sizeof out);
    assert_true(span_eq(got, SPAN("http://[::1]:8080/y")));
    got = resolved("http://[::1]:8080/", "http://[::1]/y", out, sizeof out);
    assert_null(got.p);
    got = resolved("https://example.com/a", "//example.com/b", out, sizeof out);
    assert_true(span_eq(got, SPAN("https://example.com/b")));
    got = resolved("http://example.com/?a/b", "c", out, sizeof out);
    assert_true(span_eq(got, SPAN("http://example.com/c")));
}

static void what_does_not_fit_is_none(void **state)
{
    char out[21];
    struct span got;

    (void)state;
    got = resolved("http://example.com/", "/x", out, 20);
    assert_true(span_eq(got, SPAN("http://example.com/x")));
    got = resolved("http://example.com/", "/xy", out, 20);
    assert_null(got.p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsafe_successes_invalidate),
        cmocka_unit_test(references_resolve),
        cmocka_unit_test(other_targets),
        cmocka_unit_test(what_does_not_fit_is_none),
    };

    return cmocka_run_group_tests_name("cache/invalidate", tests, NULL, NULL);
}
