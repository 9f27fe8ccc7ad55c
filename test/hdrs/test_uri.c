#include "heads.h"
#include "hdrs/uri.h"

static const struct {
    const char *why;
    enum http_method method;
    struct span target;
    bool ok;
    enum uri_form form;
    const char *scheme, *host;
    int port;
    const char *path;
} targets[] = {
    { "origin-form", METHOD_GET, BYTES("/a?b=c"), true, URI_ORIGIN, "", "", 0, "/a?b=c" },
    { "two slashes are a path", METHOD_GET, BYTES("//a/b"), true, URI_ORIGIN, "", "", 0, "//a/b" },
    { "absolute-form", METHOD_GET, BYTES("http://h.test/a"), true, URI_ABSOLUTE, "http", "h.test", 80, "/a" },
    { "scheme and host in any case", METHOD_GET, BYTES("HTTPS://H.test:444/"), true, URI_ABSOLUTE, "HTTPS", "H.test",
      444, "/" },
    { "without a path", METHOD_GET, BYTES("http://h"), true, URI_ABSOLUTE, "http", "h", 80, "" },
    { "query without a path", METHOD_GET, BYTES("http://h?q"), true, URI_ABSOLUTE, "http", "h", 80, "?q" },
    { "empty port", METHOD_GET, BYTES("http://h:/"), true, URI_ABSOLUTE, "http", "h", 80, "/" },
    { "ftp", METHOD_GET, BYTES("ftp://h/f"), true, URI_ABSOLUTE, "ftp", "h", 21, "/f" },
    { "unknown scheme", METHOD_GET, BYTES("x+y-z.1://h/f"), true, URI_ABSOLUTE, "x+y-z.1", "h", 0, "/f" },
    { "IPv4", METHOD_GET, BYTES("http://127.0.0.1:8399/"), true, URI_ABSOLUTE, "http", "127.0.0.1", 8399, "/" },
    { "IPv6", METHOD_GET, BYTES("http://[::1]:8/"), true, URI_ABSOLUTE, "http", "::1", 8, "/" },
    { "userinfo is cut off", METHOD_GET, BYTES("http://user:pw@h/x"), true, URI_ABSOLUTE, "http", "h", 80, "/x" },
    { "an @ in the path is no userinfo", METHOD_GET, BYTES("http://h/@x"), true, URI_ABSOLUTE, "http", "h", 80, "/@x" },
    { "an @ in the query", METHOD_GET, BYTES("http://h?a@b"), true, URI_ABSOLUTE, "http", "h", 80, "?a@b" },
    { "two of them", METHOD_GET, BYTES("http://a@b@h/x"), false, 0, 0, 0, 0, 0 },
    { "userinfo and no host", METHOD_GET, BYTES("http://a@/x"), false, 0, 0, 0, 0, 0 },
    { "bad byte in the userinfo", METHOD_GET, BYTES("http://a\\b@h/x"), false, 0, 0, 0, 0, 0 },
    { "asterisk", METHOD_OPTIONS, BYTES("*"), true, URI_ASTERISK, "", "", 0, "*" },
    { "C18 asterisk", METHOD_GET, BYTES("*"), false, 0, 0, 0, 0, 0 },
    { "C11 fragment", METHOD_GET, BYTES("/x#frag"), false, 0, 0, 0, 0, 0 },
    { "fragment behind the host", METHOD_GET, BYTES("http://h#frag"), false, 0, 0, 0, 0, 0 },
    { "fragment behind the query", METHOD_GET, BYTES("http://h/?a#frag"), false, 0, 0, 0, 0, 0 },
    { "C12 high bytes", METHOD_GET, BYTES("/\xff\xfe"), true, URI_ORIGIN, "", "", 0, "/\xff\xfe" },
    { "high bytes in the host", METHOD_GET, BYTES("http://h\xff/"), false, 0, 0, 0, 0, 0 },
    { "NUL", METHOD_GET, BYTES("/a\0b"), false, 0, 0, 0, 0, 0 },
    { "blank", METHOD_GET, BYTES("/a b"), false, 0, 0, 0, 0, 0 },
    { "tab", METHOD_GET, BYTES("http://h/\t"), false, 0, 0, 0, 0, 0 },
    { "DEL", METHOD_GET, BYTES("/\x7f"), false, 0, 0, 0, 0, 0 },
    { "C17 authority-form", METHOD_GET, BYTES("h.invalid:80"), false, 0, 0, 0, 0, 0 },
    { "C19 no host", METHOD_GET, BYTES("file:///etc/passwd"), false, 0, 0, 0, 0, 0 },
    { "no slashes", METHOD_GET, BYTES("http:h/"), false, 0, 0, 0, 0, 0 },
    { "one slash", METHOD_GET, BYTES("http:/h/"), false, 0, 0, 0, 0, 0 },
    { "no scheme", METHOD_GET, BYTES("://h/"), false, 0, 0, 0, 0, 0 },
    { "scheme of a digit", METHOD_GET, BYTES("1http://h/"), false, 0, 0, 0, 0, 0 },
    { "relative", METHOD_GET, BYTES("a/b"), false, 0, 0, 0, 0, 0 },
    { "empty", METHOD_GET, BYTES(""), false, 0, 0, 0, 0, 0 },
    { "D09 long port", METHOD_GET, BYTES("http://127.0.0.1:8399999999999/h"), false, 0, 0, 0, 0, 0 },
    { "D10 two ports", METHOD_GET, BYTES("http://127.0.0.1:8399:1/h"), false, 0, 0, 0, 0, 0 },
    { "D11 %00 in the host", METHOD_GET, BYTES("http://127.0.0.1%00.invalid:8399/h"), false, 0, 0, 0, 0, 0 },
    { "backslash ends no host", METHOD_GET, BYTES("http://h\\@evil/"), false, 0, 0, 0, 0, 0 },
    { "CONNECT", METHOD_CONNECT, BYTES("h.test:443"), true, URI_AUTHORITY, "", "h.test", 443, "" },
    { "J05 CONNECT IPv6", METHOD_CONNECT, BYTES("[::1]:25"), true, URI_AUTHORITY, "", "::1", 25, "" },
    { "J06 CONNECT IPv4 in IPv6", METHOD_CONNECT, BYTES("[::ffff:127.0.0.1]:25"), true, URI_AUTHORITY, "",
      "::ffff:127.0.0.1", 25, "" },
    { "J02 short form", METHOD_CONNECT, BYTES("127.1:25"), false, 0, 0, 0, 0, 0 },
    { "J03 decimal", METHOD_CONNECT, BYTES("2130706433:25"), false, 0, 0, 0, 0, 0 },
    { "J04 hex", METHOD_CONNECT, BYTES("0x7f.1:25"), false, 0, 0, 0, 0, 0 },
    { "J11 no port", METHOD_CONNECT, BYTES("127.0.0.1"), false, 0, 0, 0, 0, 0 },
    { "empty port", METHOD_CONNECT, BYTES("127.0.0.1:"), false, 0, 0, 0, 0, 0 },
    { "J12 port 0", METHOD_CONNECT, BYTES("127.0.0.1:0"), false, 0, 0, 0, 0, 0 },
    { "J13 port 65536", METHOD_CONNECT, BYTES("127.0.0.1:65536"), false, 0, 0, 0, 0, 0 },
    { "port 65535", METHOD_CONNECT, BYTES("127.0.0.1:65535"), true, URI_AUTHORITY, "", "127.0.0.1", 65535, "" },
    { "J14 minus", METHOD_CONNECT, BYTES("127.0.0.1:-443"), false, 0, 0, 0, 0, 0 },
    { "J15 plus", METHOD_CONNECT, BYTES("127.0.0.1:+443"), false, 0, 0, 0, 0, 0 },
    { "J16 absolute-form", METHOD_CONNECT, BYTES("http://127.0.0.1:443/"), false, 0, 0, 0, 0, 0 },
    { "J17 a path", METHOD_CONNECT, BYTES("/"), false, 0, 0, 0, 0, 0 },
    { "J18 a path behind", METHOD_CONNECT, BYTES("127.0.0.1:443/x"), false, 0, 0, 0, 0, 0 },
    { "userinfo", METHOD_CONNECT, BYTES("u@h:443"), false, 0, 0, 0, 0, 0 },
};

static void targets_are_parsed_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        struct uri u;
        const char *why = NULL;
        size_t len = targets[i].target.len;
        char *copy = xmalloc(len ? len : 1);    /* of its own length, for the sanitizer */

        memcpy(copy, targets[i].target.p, len);
        if (uri_parse(span_of(copy, len), targets[i].method, &u, &why) != targets[i].ok)
            fail_msg("%s: %s", targets[i].why, why ? why : "accepted");
        if (!targets[i].ok) {
            assert_non_null(why);
        } else {
            assert_int_equal(u.form, targets[i].form);
            assert_span(targets[i].why, u.scheme, span_str(targets[i].scheme));
            assert_span(targets[i].why, u.host, span_str(targets[i].host));
            assert_span(targets[i].why, u.path, span_str(targets[i].path));
            assert_int_equal(u.port, targets[i].port);
            assert_int_equal(u.had_userinfo, strstr(targets[i].why, "userinfo is cut off") != NULL);
            assert_int_equal(u.host_is_ipv6, u.host.len > 0 && memchr(u.host.p, ':', u.host.len) != NULL);
        }
        free(copy);
    }
}

#define LABEL63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff123"
static const struct {
    const char *why;
    struct span text;
    bool ok;
    const char *host;
    int port; /* -1: none given */
} authorities[] = {
    { "name", BYTES("h.test"), true, "h.test", -1 },
    { "name and port", BYTES("h.test:8080"), true, "h.test", 8080 },
    { "rooted name", BYTES("h.test."), true, "h.test.", -1 },
    { "underscores happen", BYTES("_a.b_c:1"), true, "_a.b_c", 1 },
    { "digits in front are fine", BYTES("1.2.3.test"), true, "1.2.3.test", -1 },
    { "empty port", BYTES("h:"), true, "h", -1 },
    { "IPv4", BYTES("1.2.3.4:5"), true, "1.2.3.4", 5 },
    { "IPv6", BYTES("[2001:db8::1]"), true, "2001:db8::1", -1 },
    { "label of 63", BYTES(LABEL63 ".test"), true, LABEL63 ".test", -1 },
    { "label of 64", BYTES(LABEL63 "4.test"), false, 0, 0 },
    { "name of 255", BYTES(LABEL63 "." LABEL63 "." LABEL63 "." LABEL63), false, 0, 0 },
    { "D03 empty", BYTES(""), false, 0, 0 },
    { "port alone", BYTES(":80"), false, 0, 0 },
    { "D04 blank", BYTES("a b"), false, 0, 0 },
    { "D05 path", BYTES("h/evil"), false, 0, 0 },
    { "D06 port", BYTES("127.0.0.1:99999"), false, 0, 0 },
    { "leading zeros too many", BYTES("h:000080"), false, 0, 0 },
    { "port with a letter", BYTES("h:8a"), false, 0, 0 },
    { "port with a blank", BYTES("h:80 "), false, 0, 0 },
    { "NUL", BYTES("h\0.test"), false, 0, 0 },
    { "comma", BYTES("a,b"), false, 0, 0 },
    { "userinfo", BYTES("u@h"), false, 0, 0 },
    { "quote", BYTES("h\""), false, 0, 0 },
    { "dot alone", BYTES("."), false, 0, 0 },
    { "dots", BYTES("a..b"), false, 0, 0 },
    { "two dots at the end", BYTES("a.."), false, 0, 0 },
    { "dot in front", BYTES(".a"), false, 0, 0 },
    { "three numbers", BYTES("1.2.3"), false, 0, 0 },
    { "five numbers", BYTES("1.2.3.4.5"), false, 0, 0 },
    { "a number above 255", BYTES("1.2.3.256"), false, 0, 0 },
    { "octal", BYTES("0177.0.0.1"), false, 0, 0 },
    { "octal at the end", BYTES("127.0.0.01"), false, 0, 0 },
    { "hex at the end", BYTES("127.0.0.0x1"), false, 0, 0 },
    { "name with a numeric end", BYTES("evil.1"), false, 0, 0 },
    { "rooted IPv4", BYTES("127.0.0.1."), false, 0, 0 },
    { "rooted short form", BYTES("127.1."), false, 0, 0 },
    { "hex alone", BYTES("0X7F000001"), false, 0, 0 },
    { "0xg is a name", BYTES("0xg"), true, "0xg", -1 },
    { "brackets around IPv4", BYTES("[1.2.3.4]"), false, 0, 0 },
    { "brackets not closed", BYTES("[::1"), false, 0, 0 },
    { "empty brackets", BYTES("[]"), false, 0, 0 },
    { "zone", BYTES("[fe80::1%25eth0]"), false, 0, 0 },
    { "zone, bare", BYTES("[fe80::1%1]"), false, 0, 0 },
    { "behind the bracket", BYTES("[::1]x"), false, 0, 0 },
    { "NUL in brackets", BYTES("[::1\0]"), false, 0, 0 },
    { "IPv6 without brackets", BYTES("::1"), false, 0, 0 },
    { "future address", BYTES("[v1.x]"), false, 0, 0 },
};

static void authorities_are_parsed_or_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(authorities); i++) {
        struct span host;
        bool ipv6, has_port;
        uint16_t port;
        const char *why = NULL;

        if (authority_parse(authorities[i].text, &host, &ipv6, &port, &has_port, &why) != authorities[i].ok)
            fail_msg("%s: %s", authorities[i].why, why);
        if (!authorities[i].ok)
            continue;
        assert_span(authorities[i].why, host, span_str(authorities[i].host));
        assert_int_equal(has_port ? port : -1, authorities[i].port);
    }
}

static const struct {
    const char *why, *scheme, *host;
    bool ipv6;
    uint16_t port;
    const char *path, *want, *want_authority, *want_path;
} canonical[] = {
    { "as it is", "http", "h.test", false, 80, "/a?b", "http://h.test/a?b", "h.test", "/a?b" },
    { "case and default port", "HTTP", "H.Test", false, 80, "/A", "http://h.test/A", "h.test", "/A" },
    { "no port", "https", "h", false, 0, "/", "https://h/", "h", "/" },
    { "other port", "https", "h", false, 80, "/", "https://h:80/", "h:80", "/" },
    { "empty path", "http", "h", false, 80, "", "http://h/", "h", "/" },
    { "query without a path", "http", "h", false, 80, "?q", "http://h/?q", "h", "/?q" },
    { "root dot", "http", "h.test.", false, 81, "/", "http://h.test:81/", "h.test:81", "/" },
    { "IPv6", "http", "2001:DB8:0:0::1", true, 81, "/", "http://[2001:db8::1]:81/", "[2001:db8::1]:81", "/" },
    { "V2 unreserved escapes", "http", "h", false, 80, "/%7Eb%41%2d", "http://h/~bA-", "h", "/~bA-" },
    { "V2 others in capitals, slash kept", "http", "h", false, 80, "/a%2fb%c3", "http://h/a%2Fb%C3", "h", "/a%2Fb%C3" },
    { "no escapes", "http", "h", false, 80, "/%%4%zz%4", "http://h/%%4%zz%4", "h", "/%%4%zz%4" },
    { "no new escapes", "http", "h", false, 80, "/%%34%31", "http://h/%%34%31", "h", "/%%34%31" },
    { "an escape cut by the query", "http", "h", false, 80, "/%4?1", "http://h/%4?1", "h", "/%4?1" },
    { "query byte for byte", "http", "h", false, 80, "/%41?%41=%7e&b", "http://h/A?%41=%7e&b", "h", "/A?%41=%7e&b" },
    { "not decoded twice", "http", "h", false, 80, "/%2541", "http://h/%2541", "h", "/%2541" },
    { "dots and slashes stay", "http", "h", false, 80, "//a/../b/./", "http://h//a/../b/./", "h", "//a/../b/./" },
};

static void one_spelling_for_each_target(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(canonical); i++) {
        size_t len = strlen(canonical[i].want);
        /* The exact length must do, and anything less must not. */
        for (size_t capacity = 0; capacity <= len; capacity++) {
            char *out = xmalloc(capacity ? capacity : 1);
            struct canonical_uri c;
            bool ok = uri_canonical(span_str(canonical[i].scheme), span_str(canonical[i].host), canonical[i].ipv6,
                                    canonical[i].port, span_str(canonical[i].path), out, capacity, &c);

            if (ok != (capacity == len))
                fail_msg("%s: %zu bytes of %zu", canonical[i].why, capacity, len);
            if (ok) {
                assert_span(canonical[i].why, c.text, span_str(canonical[i].want));
                assert_span(canonical[i].why, c.authority, span_str(canonical[i].want_authority));
                assert_span(canonical[i].why, c.path, span_str(canonical[i].want_path));
                assert_true(c.port != 0);
            }
            free(out);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_parsed_or_refused),
        cmocka_unit_test(authorities_are_parsed_or_refused),
        cmocka_unit_test(one_spelling_for_each_target),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
