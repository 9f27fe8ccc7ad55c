/* The head that goes to an origin: what stays here, what is added, exact bytes. */
#include "requests.h"

#include "cache/response.h"
#include "proxy/forward_head.h"

#define PORT                                                                                                           \
    "http_port 127.0.0.1:3128\nvisible_hostname p.example\nhttp_access allow all\naccess_log none\n"                   \
    "httpd_suppress_version_string on\n"
#define VIA "Via: 1.1 p.example (loligo)\r\n"
#define XFF "X-Forwarded-For: 192.0.2.7\r\n"

static const struct {
    const char *why, *conf, *fields, *want;
} rows[] = {
    { "plain", PORT, "A: b\r\n", "A: b\r\n" VIA XFF },
    { "hop-by-hop fields (H04)", PORT,
      "Keep-Alive: 9\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nConnection: TE\r\nUpgrade: "
      "x\r\nProxy-Authorization: y\r\n",
      VIA XFF },
    { "fields that Connection names (H01)", PORT, "Connection: X-Secret\r\nX-Secret: 1\r\nA: b\r\n",
      "A: b\r\n" VIA XFF },
    { "but not those that must survive (H02, X4)", PORT, "Connection: cookie, host\r\nCookie: c\r\n",
      "Cookie: c\r\n" VIA XFF },
    { "the client's Via stays in front", PORT, "Via: 1.0 x\r\n", "Via: 1.0 x\r\n" VIA XFF },
    { "X-Forwarded-For grows", PORT, "X-Forwarded-For: 10.0.0.1\r\n", VIA "X-Forwarded-For: 10.0.0.1, 192.0.2.7\r\n" },
    { "forwarded_for off", PORT "forwarded_for off\n", "X-Forwarded-For: 10.0.0.1\r\n",
      VIA "X-Forwarded-For: unknown\r\n" },
    { "forwarded_for delete", PORT "forwarded_for delete\n", "X-Forwarded-For: 10.0.0.1\r\n", VIA },
    { "forwarded_for transparent", PORT "forwarded_for transparent\n", "X-Forwarded-For: 10.0.0.1\r\n",
      "X-Forwarded-For: 10.0.0.1\r\n" VIA },
    { "forwarded_for truncate", PORT "forwarded_for truncate\n", "X-Forwarded-For: 10.0.0.1\r\n", VIA XFF },
    { "via off", PORT "via off\n", "", XFF },
    { "the expectation is met here", PORT, "Expect: 100-continue\r\n", VIA XFF },
    { "Authorization is end-to-end (Z1)", PORT, "Authorization: a\r\n", "Authorization: a\r\n" VIA XFF },
    { "a body's one framing", PORT, "Content-Length: 5\r\n", VIA XFF "Content-Length: 5\r\n" },
    { "chunked is framed anew", PORT, "Transfer-Encoding: Chunked\r\n", VIA XFF "Transfer-Encoding: chunked\r\n" },
};

static void fields_are_forwarded(void **state)
{
    static struct made m;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct settings *s = settings_of(rows[i].conf);
        struct strbuf message = { 0 }, got = { 0 }, want = { 0 };
        struct forward_options o = { .close = false };

        sb_printf(&message, "POST http://a.example/x?y HTTP/1.1\r\nHost: other\r\n%s\r\n", rows[i].fields);
        make_request(&m, s, 0, message.p);
        assert_true(m.ok);
        forward_head(&got, &m.request, s, &o);
        sb_printf(&want, "POST /x?y HTTP/1.1\r\nHost: a.example\r\n%s\r\n", rows[i].want);
        if (!span_eq(sb_view(&got), sb_view(&want)))
            fail_msg("%s:\n%s", rows[i].why, got.p);
        sb_free(&message);
        sb_free(&got);
        sb_free(&want);
        settings_unref(&s);
    }
}

static void a_parent_gets_the_absolute_form_and_a_login(void **state)
{
    static struct made m;
    struct settings *s = settings_of(PORT "via off\nforwarded_for delete\n");
    struct strbuf got = { 0 };
    struct forward_options o = { .absolute_form = true, .login = "me:pw", .close = true };

    (void)state;
    make_request(&m, s, 0, "GET http://a.example:81/x HTTP/1.1\r\nHost: a\r\n\r\n");
    forward_head(&got, &m.request, s, &o);
    assert_string_equal(got.p, "GET http://a.example:81/x HTTP/1.1\r\nHost: a.example:81\r\n"
                               "Proxy-Authorization: Basic bWU6cHc=\r\nConnection: close\r\n\r\n");
    sb_free(&got);
    settings_unref(&s);
}

static void a_validation_carries_the_stored_validators(void **state)
{
    static struct made m;
    static struct head response;
    static const struct parse_limits limits = { .max_bytes = 65536, .max_fields = HEAD_FIELDS_MAX };
    struct settings *s = settings_of(PORT "via off\nforwarded_for delete\n");
    struct parse_progress p = { 0 };
    struct parse_error e;
    const char text[] = "HTTP/1.1 200 OK\r\nETag: W/\"x\"\r\nLast-Modified: Sat, 05 Nov 1994 08:49:37 GMT\r\n\r\n";
    struct cache_control cc;
    struct object *o;
    struct strbuf got = { 0 };

    (void)state;
    assert_int_equal(parse_response(&response, text, sizeof text - 1, &limits, &p, &e), PARSE_DONE);
    cc = cache_control_parse(&response, false);
    make_request(&m, s, 0,
                 "GET http://a/ HTTP/1.1\r\nHost: a\r\nIf-None-Match: \"mine\"\r\nRange: bytes=0-1\r\nA: b\r\n\r\n");
    {
        struct object_recipe r = {
            .url = m.request.uri.text, .request = &m.head, .response = &response, .response_cc = &cc
        };
        struct forward_options options = { 0 };

        o = object_from_response(&r);
        options.validate = o;
        forward_head(&got, &m.request, s, &options);
    }
    assert_string_equal(got.p, "GET / HTTP/1.1\r\nHost: a\r\nA: b\r\nIf-None-Match: W/\"x\"\r\n"
                               "If-Modified-Since: Sat, 05 Nov 1994 08:49:37 GMT\r\n\r\n");
    object_unref(&o);
    sb_free(&got);
    settings_unref(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_forwarded),
        cmocka_unit_test(a_parent_gets_the_absolute_form_and_a_login),
        cmocka_unit_test(a_validation_carries_the_stored_validators),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
