/* test/proxy/test_logformat.c: logformat: the lines Squid wrote, every code, encodings, and what hostile bytes come
 * to. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "hdrs/parse.h"
#include "proxy/logformat.h"

#define COUNT_OF(a) (sizeof(a) / sizeof(a)[0])
#define S(literal) { literal, sizeof(literal) - 1 }

static const struct logformat_options squid_options = { .strip_query_terms = true };

static struct addr address(const char *text, uint16_t port)
{
    struct addr a;

    if (!addr_parse(span_str(text), &a))
        fail_msg("not an address: %s", text);
    a.port = port;
    return a;
}

/* The line without its newline; static. */
static const char *line_with(const char *spec, const struct logformat_options *o, const struct log_entry *e)
{
    static char line[8192];
    char error[160] = "";
    size_t at = 0, n;
    struct logformat *f = logformat_compile(spec, error, &at);

    if (f == NULL)
        fail_msg("%s: %s at %zu", spec, error, at);
    n = logformat_line(f, o, e, line, sizeof line - 1);
    logformat_free(f);
    assert_true(n > 0 && line[n - 1] == '\n');
    line[n - 1] = '\0';
    assert_int_equal(strlen(line), n - 1);
    return line;
}

static const char *line_of(const char *spec, const struct log_entry *e)
{
    return line_with(spec, &squid_options, e);
}

/* Seen in Squid's log (access-log.md section 1): what our entry has to be for the same line. */
static const struct {
    const char *want;
    int64_t end_ms, took_ms;
    enum log_tag tag;
    bool aborted;
    int status;
    uint64_t bytes;
    const char *method, *url;
    enum hier_code hier;
    const char *server, *mime;
} seen[] = {
    { "1796084613.472      1 127.0.0.1 TCP_MISS/200 1360 GET http://origin.example:8201/c1 "
      "- HIER_DIRECT/127.0.0.1 text/plain",
      1796084613472, 1, TAG_TCP_MISS, false, 200, 1360, "GET", "http://origin.example:8201/c1", HIER_DIRECT,
      "127.0.0.1", "text/plain; charset=utf-8" },
    { "1796084647.558      0 127.0.0.1 TCP_MEM_HIT/200 1367 GET http://origin.example:8201/c1 "
      "- HIER_NONE/- text/plain",
      1796084647558, 0, TAG_TCP_MEM_HIT, false, 200, 1367, "GET", "http://origin.example:8201/c1", HIER_NONE, NULL,
      "text/plain" },
    { "1796084652.601      1 127.0.0.1 TCP_MISS/200 259 POST http://origin.example:8201/post "
      "- HIER_DIRECT/127.0.0.1 -",
      1796084652601, 1, TAG_TCP_MISS, false, 200, 259, "POST", "http://origin.example:8201/post", HIER_DIRECT,
      "127.0.0.1", "" },
    { "1796084662.636  10000 127.0.0.1 TCP_MISS_ABORTED/000 0 GET http://nosuch.example.invalid:8201/x "
      "- HIER_NONE/- -",
      1796084662636, 10000, TAG_TCP_MISS, true, 0, 0, "GET", "http://nosuch.example.invalid:8201/x", HIER_NONE,
      NULL, "" },
    { "1796084667.682      1 127.0.0.1 TCP_TUNNEL/200 1253 CONNECT origin.example:8201 "
      "- HIER_DIRECT/127.0.0.1 -",
      1796084667682, 1, TAG_TCP_TUNNEL, false, 200, 1253, "CONNECT", "origin.example:8201", HIER_DIRECT,
      "127.0.0.1", "" },
    { "1796084800.990      0 127.0.0.1 NONE_NONE/000 0 - error:transaction-end-before-headers "
      "- HIER_NONE/- -",
      1796084800990, 0, TAG_NONE, false, 0, 0, "", "error:transaction-end-before-headers", HIER_NONE, NULL, "" },
    { "1796084807.003      0 127.0.0.1 NONE_NONE/431 3682 GET error:request-too-large "
      "- HIER_NONE/- text/html",
      1796084807003, 0, TAG_NONE, false, 431, 3682, "GET", "error:request-too-large", HIER_NONE, NULL, "text/html" },
    { "1796084811.012   2003 127.0.0.1 TCP_MISS_ABORTED/100 0 POST http://origin.example:8201/p "
      "- HIER_DIRECT/127.0.0.1 -",
      1796084811012, 2003, TAG_TCP_MISS, true, 100, 0, "POST", "http://origin.example:8201/p", HIER_DIRECT,
      "127.0.0.1", "" },
    { "1796084652.615      1 127.0.0.1 TCP_DENIED/403 3478 GET http://blocked.example:8201/x? "
      "- HIER_NONE/- text/html",
      1796084652615, 1, TAG_TCP_DENIED, false, 403, 3478, "GET", "http://blocked.example:8201/x?token=secret",
      HIER_NONE, NULL, "text/html" },
};

static void native_format_writes_what_squid_wrote(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(seen); i++) {
        struct log_entry e = {
            .tag = seen[i].tag,
            .aborted = seen[i].aborted,
            .status = seen[i].status,
            .end_wall = seen[i].end_ms * 1000 + 123,
            .start_mono = 5000000,
            .end_mono = 5000000 + seen[i].took_ms * 1000 + 999,
            .bytes_out = seen[i].bytes,
            .client = address("127.0.0.1", 1234),
            .method = span_str(seen[i].method),
            .url = span_str(seen[i].url),
            .hier = seen[i].hier,
            .mime = span_str(seen[i].mime),
        };

        if (seen[i].server != NULL)
            e.server = address(seen[i].server, 8201);
        assert_string_equal(line_of(logformat_builtin(SPAN("squid")), &e), seen[i].want);
    }
}

static const char request_text[] = "GET /a%20b?q=1 HTTP/1.1\r\nHost: Example.com:8080\r\nUser-Agent: a \"b\"\tc\r\n"
                                   "Cookie: id=77; theme=dark\r\nX-Two: one\r\nX-Two: two\r\n"
                                   "Authorization: Basic c2VjcmV0\r\n\r\n";

static const struct head *parsed(const char *text)
{
    static struct head h;
    struct parse_limits limits = { .max_bytes = 65536, .max_fields = 100 };
    struct parse_progress progress = { 0 };
    struct parse_error error;

    assert_int_equal(parse_request(&h, text, strlen(text), &limits, &progress, &error), PARSE_DONE);
    return &h;
}

static struct log_entry full_entry(void)
{
    return (struct log_entry){
        .tag = TAG_TCP_REFRESH_MODIFIED, .timed_out = true, .hier = HIER_FIRSTUP_PARENT, .status = 206,
        .server_status = 200,
        .start_wall = 1796084613004005, .end_wall = 1796084614007008, .start_mono = 1000, .end_mono = 1004003,
        .dns_us = 12345, .server_us = 99000, .bytes_out = 1500, .head_out = 300, .bytes_in = 200,
        .client = address("192.0.2.7", 40000), .local = address("2001:db8::1", 3128),
        .server = address("198.51.100.1", 8080), .server_local = address("198.51.100.99", 55555),
        .server_name = S("peer1"), .method = S("GET"), .url = S("http://example.com:8080/a%20b?q=1"),
        .minor_version = 1,
        .mime = S("text/html ; charset=x"), .user = S("joe doe"), .request = parsed(request_text),
        .reply_head = S("HTTP/1.1 200 OK\r\nETag: \"x\"\r\nSet-Cookie: s=1\r\n"),
        .error_name = "ERR_CONNECT_FAIL", .error_detail = ECONNREFUSED, .reason = "no-store",
        .access_line = "squid.conf:12",
        .sequence = 42,
    };
}

static const struct { const char *spec, *want; } codes[] = {
    { "%ts %tu %03tu %.6tu %tr %tS",  "1796084614 7 007 7008 1003 1796084613.004" },
    { "%tg",                          "01/Dec/2026:00:23:34 +0000" },
    { "%{%Y-%m-%dT%H:%M:%SZ}tg",      "2026-12-01T00:23:34Z" },
    { "%tg{%H}",                      "00" },
    { "%dt %<pt %<tt",                "12 99 99" },
    { "%>a %>p %>A",                  "192.0.2.7 40000 192.0.2.7" },
    { "%la %lp %>la %>lp",            "2001:db8::1 3128 2001:db8::1 3128" },
    { "%<a %<A %<p %<la %<lp",        "198.51.100.1 peer1 8080 198.51.100.99 55555" },
    { "%un %ul %ui %ue %[un",         "joe%20doe joe%20doe - - joe%20doe" },
    { "%rm %ru %rv %rp",              "GET http://example.com:8080/a%20b? 1.1 /a%20b?" },
    { "%>rm %>ru %>rs %>rd %>rP %>rp %>rv", "GET http://example.com:8080/a%20b? http example.com 8080 /a%20b? 1.1" },
    { "%<rm %<ru %<rs %<rd %<rP %<rp %<rv", "GET http://example.com:8080/a%20b? http example.com 8080 /a%20b? 1.1" },
    { "%>Hs %<Hs %Hs",                "206 200 206" },
    { "%http::>Hs",                   "206" },
    { "%{host}>h %{Host}>ha",         "Example.com:8080 Example.com:8080" },
    { "%>h{Host}",                    "Example.com:8080" },
    { "%{X-Two}>h",                   "one,%20two" },
    { "%{Absent}>h %{Absent}<h",      "- -" },
    { "%{etag}<h",                    "\"x\"" },
    { "%{Cookie:;theme}>h",           "dark" },
    { "%{Cookie:;none}>h",            "-" },
    { "%mt",                          "text/html" },
    { "%st %>st %<st %<sh",           "1700 200 1500 300" },
    { "%Ss %Sh",                      "TCP_REFRESH_MODIFIED_TIMEOUT FIRSTUP_PARENT" },
    { "%err_code %err_detail",        "ERR_CONNECT_FAIL errno=111" },
    { "%sn %Sr %Sl",                  "42 no-store squid.conf:12" },
    { "%et %ea %note %ssl::>sni %ssl::bump_mode", "- - - - -" },
    { "100%% %%ts",                   "100% %ts" },
    { "",                             "" },
    /* widths */
    { "[%6rm] [%-6rm] [%.2rm] [%6.2rm]", "[   GET] [GET   ] [GE] [    GE]" },
    { "[%6sn] [%-6sn] [%06sn]",       "[    42] [42    ] [000042]" },
    { "[%15>a] [%-15>a]",             "[      192.0.2.7] [192.0.2.7      ]" },
    { "[%5ui] [%-5ui]",               "[    -] [-    ]" },
    /* encodings: by sign, and by what stands around */
    { "%\"{User-Agent}>h",            "a \\\"b\\\"\\tc" },
    { "\"%{User-Agent}>h\"",          "\"a \\\"b\\\"\\tc\"" },
    { "%{User-Agent}>h",              "a%20\"b\"%09c" },
    { "%[{User-Agent}>h",             "a %22b%22%09c" },
    { "[%{User-Agent}>h]",            "[a %22b%22%09c]" },
    { "%#{User-Agent}>h",             "a%20%22b%22%09c" },
    { "%/{User-Agent}>h",             "\"a \\\"b\\\"\\tc\"" },
    { "%/rm",                         "GET" },
    { "%'{User-Agent}>h",             "a \"b\"%09c" },
    /* all fields: credentials don't show */
    { "%[<h",                         "ETag: %22x%22%0D%0ASet-Cookie: ***%0D%0A" },
};

static void every_code_prints(void **state)
{
    struct log_entry e = full_entry();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(codes); i++)
        assert_string_equal(line_of(codes[i].spec, &e), codes[i].want);
}

static void an_empty_entry_prints_dashes(void **state)
{
    struct log_entry e = { .dns_us = -1, .server_us = -1 };

    (void)state;
    assert_string_equal(line_of("%>a %>p %<a %<A %un %rm %ru %rp %>rs %>rP %mt %{Host}>h %>h %<h %dt %<pt "
                                "%err_code %Sr %<Hs",
                                &e), "- - - - - - - - - - - - - - - - - - -");
}

static void common_and_combined(void **state)
{
    struct log_entry e = full_entry();

    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    e.aborted = e.timed_out = false;
    assert_string_equal(line_of(logformat_builtin(SPAN("common")), &e),
                        "192.0.2.7 - joe%20doe [01/Dec/2026:00:23:34 +0000] "
                        "\"GET http://example.com:8080/a%20b? HTTP/1.1\" 206 "
                        "1500 TCP_REFRESH_MODIFIED:FIRSTUP_PARENT");
    assert_string_equal(line_of(logformat_builtin(SPAN("combined")), &e),
                        "192.0.2.7 - joe%20doe [01/Dec/2026:00:23:34 +0000] "
                        "\"GET http://example.com:8080/a%20b? HTTP/1.1\" 206 "
                        "1500 \"-\" \"a \\\"b\\\"\\tc\" TCP_REFRESH_MODIFIED:FIRSTUP_PARENT");
    assert_null(logformat_builtin(SPAN("nothing")));
    assert_string_equal(line_of(logformat_builtin(SPAN("useragent")), &e),
                        "192.0.2.7 [01/Dec/2026:00:23:34 +0000] \"a \\\"b\\\"\\tc\"");
}

static void the_query_stays_only_when_asked(void **state)
{
    const struct logformat_options keep = { 0 };
    struct log_entry e = full_entry();

    (void)state;
    assert_string_equal(line_with("%ru %rp", &keep, &e), "http://example.com:8080/a%20b?q=1 /a%20b?q=1");
}

static const struct { const char *url, *want; } urls[] = {
    { "http://example.com/",            "http example.com 80 /" },
    { "https://example.com/x",          "https example.com 443 /x" },
    { "http://[2001:db8::1]:81/a:b",    "http [2001:db8::1] 81 /a:b" },
    { "http://[2001:db8::1]/",          "http [2001:db8::1] 80 /" },
    { "example.com:443",                "- example.com 443 -" },
    { "[::1]:443",                      "- [::1] 443 -" },
    { "error:invalid-request",          "- - - -" },
};

static void urls_split(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        struct log_entry e = { .url = span_str(urls[i].url) };

        assert_string_equal(line_of("%>rs %>rd %>rP %>rp", &e), urls[i].want);
    }
}

static void mime_heads_follow_when_asked(void **state)
{
    const struct logformat_options mime = { .log_mime_hdrs = true };
    struct log_entry e = full_entry(), none = { 0 };

    (void)state;
    e.request = parsed("GET / HTTP/1.1\r\nHost: h\r\nCookie: secret\r\nA: [x]\r\n\r\n");
    assert_string_equal(line_with("%rm", &mime, &e), "GET [Host: h%0D%0ACookie: ***%0D%0AA: %5Bx%5D%0D%0A] "
                                                     "[ETag: %22x%22%0D%0ASet-Cookie: ***%0D%0A]");
    assert_string_equal(line_with("%rm", &mime, &none), "- [] []");
}

/* hostile-inputs M04: whatever a peer sends, one line, and in the native format ten fields. */
static void hostile_bytes_stay_in_their_field(void **state)
{
    static const char *const signs[] = { "", "\"", "[", "#", "/", "'" };
    char bytes[256];

    (void)state;
    for (int i = 0; i < 256; i++)
        bytes[i] = (char)i;
    for (size_t i = 0; i < COUNT_OF(signs); i++) {
        struct log_entry e = { .method = span_of(bytes, 256), .url = span_of(bytes, 256), .user = span_of(bytes, 256),
                               .mime = span_of(bytes, 256), .server_name = span_of(bytes, 256) };
        char spec[64];
        const char *line;

        snprintf(spec, sizeof spec, "%%%srm %%%sru %%%sun %%%s<A", signs[i], signs[i], signs[i], signs[i]);
        line = line_of(spec, &e);
        for (const char *p = line; *p != '\0'; p++)
            if ((unsigned char)*p < ' ' || *p == 0x7f)
                fail_msg("encoding '%s' lets byte %d through", signs[i], *p);
    }
    struct log_entry e = { .method = span_of(bytes, 256), .url = span_of(bytes, 256), .user = span_of(bytes, 256),
                           .mime = span_of(bytes, 256), .client = address("127.0.0.1", 1) };
    char *copy = strdup(line_of(logformat_builtin(SPAN("squid")), &e)), *rest = copy;
    int fields = 0;

    while (strtok_r(fields == 0 ? copy : NULL, " ", &rest) != NULL)
        fields++;
    free(copy);
    assert_int_equal(fields, 10);
}

static const struct { const char *spec, *error; size_t at; } bad[] = {
    { "%ts %foo",           "unknown logformat code '%foo'", 5 },
    { "%ts %",              "'%' without a code at the end", 5 },
    { "%{Host",             "'{' without its '}'", 1 },
    { "%9999ts",            "width above 1024", 4 },
    { "a %>eui",            "'%>eui' can't be logged: link-layer addresses aren't looked up", 3 },
    { "%ssl::>cert_subject", "'%ssl::' can't be logged: details of TLS connections aren't kept", 1 },
    { "%icap::tt",          "'%icap::' can't be logged: there is no ICAP client", 1 },
    { "%credentials",       "'%credentials' can't be logged: credentials don't belong in a log", 1 },
};

static void errors_say_what_and_where(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char error[160] = "";
        size_t at = 999;

        assert_null(logformat_compile(bad[i].spec, error, &at));
        assert_string_equal(error, bad[i].error);
        if (at != bad[i].at)
            fail_msg("%s: at %zu, not %zu", bad[i].spec, at, bad[i].at);
    }
}

static void long_lines_are_cut_and_still_end(void **state)
{
    char url[5000], line[200], error[160];
    size_t at;

    (void)state;
    memset(url, 'x', sizeof url);
    for (size_t capacity = 64; capacity <= sizeof line; capacity++) {
        struct log_entry e = { .url = span_of(url, sizeof url), .method = S("GET") };
        struct logformat *f = logformat_compile("%rm \"%ru\" %500sn %-500rm", error, &at);
        size_t n = logformat_line(f, &squid_options, &e, line, capacity);

        assert_int_equal(n, capacity);
        assert_int_equal(line[n - 1], '\n');
        assert_memory_equal(line, "GET \"xxx", 8);
        logformat_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_format_writes_what_squid_wrote),
        cmocka_unit_test(every_code_prints),
        cmocka_unit_test(an_empty_entry_prints_dashes),
        cmocka_unit_test(common_and_combined),
        cmocka_unit_test(the_query_stays_only_when_asked),
        cmocka_unit_test(urls_split),
        cmocka_unit_test(mime_heads_follow_when_asked),
        cmocka_unit_test(hostile_bytes_stay_in_their_field),
        cmocka_unit_test(errors_say_what_and_where),
        cmocka_unit_test(long_lines_are_cut_and_still_end),
    };

    return cmocka_run_group_tests_name("logformat", tests, NULL, NULL);
}
