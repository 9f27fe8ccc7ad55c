/* What a request means: effective URI, whose it is, what is refused. */
#include "requests.h"

#include "base/mem.h"

#define CONF                                                                                                           \
    "http_port 127.0.0.1:3128\n"                                                                                       \
    "http_port 127.0.0.1:3129 accel no-vhost defaultsite=site.example\n"                                               \
    "http_port 127.0.0.1:3130 accel vhost defaultsite=site.example\n"                                                  \
    "visible_hostname proxy.example\nhttp_access allow all\naccess_log none\n"

enum { FORWARD, SITE, VHOST };

static const struct {
    const char *why;
    size_t port;
    const char *message, *url; /* url NULL: refused */
    int status;
} rows[] = {
    { "absolute-form", FORWARD, "GET http://A.example/x HTTP/1.1\r\nHost: a.example\r\n\r\n", "http://a.example/x", 0 },
    { "absolute-form wins over Host (D07)", FORWARD, "GET http://a.example/ HTTP/1.1\r\nHost: other\r\n\r\n",
      "http://a.example/", 0 },
    { "the default port is no other site", FORWARD, "GET http://a.example:80/ HTTP/1.1\r\nHost: a\r\n\r\n",
      "http://a.example/", 0 },
    { "origin-form is not for a forwarding port", FORWARD, "GET /x HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL, 400 },
    { "no Host in HTTP/1.1 (D01)", FORWARD, "GET http://a.example/ HTTP/1.1\r\n\r\n", NULL, 400 },
    { "no Host in HTTP/1.0", FORWARD, "GET http://a.example/ HTTP/1.0\r\n\r\n", "http://a.example/", 0 },
    { "two Hosts (D02)", FORWARD, "GET http://a.example/ HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", NULL, 400 },
    { "a bad Host (D05)", FORWARD, "GET http://a.example/ HTTP/1.1\r\nHost: a/evil\r\n\r\n", NULL, 400 },
    { "userinfo (D08)", FORWARD, "GET http://u:p@a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL, 400 },
    { "another scheme", FORWARD, "GET ftp://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL, 501 },
    { "an unknown expectation (H06)", FORWARD, "GET http://a.example/ HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n",
      NULL, 417 },
    { "our own Via (H10)", FORWARD,
      "GET http://a.example/ HTTP/1.1\r\nHost: a\r\nVia: 1.0 x, 1.1 proxy.example (loligo/9)\r\n\r\n", NULL, 403 },
    { "a namesake that isn't a loligo", FORWARD,
      "GET http://a.example/ HTTP/1.1\r\nHost: a\r\nVia: 1.1 proxy.example (squid/5)\r\n\r\n", "http://a.example/", 0 },
    { "CONNECT", FORWARD, "CONNECT A.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n", "a.example:443", 0 },
    { "CONNECT to an accelerator", SITE, "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n", NULL, 400 },
    { "the site is the configured one", SITE, "GET /x HTTP/1.1\r\nHost: evil.example\r\n\r\n", "http://site.example/x",
      0 },
    { "vhost: the client's Host", VHOST, "GET /x HTTP/1.1\r\nHost: b.example:8080\r\n\r\n", "http://b.example:8080/x",
      0 },
    { "vhost without a Host", VHOST, "GET /x HTTP/1.0\r\n\r\n", "http://site.example/x", 0 },
    { "our manager page", FORWARD, "GET /squid-internal-mgr/info HTTP/1.1\r\nHost: x\r\n\r\n",
      "http://proxy.example:3128/squid-internal-mgr/info", 0 },
    { "both framings (A01)", FORWARD,
      "POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", NULL, 400 },
};

static void targets_become_effective_uris(void **state)
{
    static struct made m;
    struct settings *s = settings_of(CONF);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        make_request(&m, s, rows[i].port, rows[i].message);
        if (m.ok != (rows[i].url != NULL) || (!m.ok && m.status != rows[i].status))
            fail_msg("%s: ok %d, status %d (%s)", rows[i].why, m.ok, m.status, m.what ? m.what : "");
        if (m.ok && !span_eq(request_log_url(&m.request), span_str(rows[i].url)))
            fail_msg("%s: %.*s", rows[i].why, SPAN_ARG(request_log_url(&m.request)));
    }
    settings_unref(&s);
}

static const struct {
    const char *why;
    size_t port;
    const char *message;
    bool manager, internal;
    const char *page, *password;
} pages[] = {
    { "origin-form", FORWARD, "GET /squid-internal-mgr/info HTTP/1.1\r\nHost: x\r\n\r\n", true, true, "info", "" },
    { "a query is nothing", FORWARD, "GET /squid-internal-mgr/info?x=1 HTTP/1.0\r\n\r\n", true, true, "info", "" },
    { "the old form", FORWARD, "GET cache_object://localhost/counters HTTP/1.0\r\n\r\n", true, true, "counters", "" },
    { "with a password", FORWARD, "GET cache_object://localhost/config@secret HTTP/1.0\r\n\r\n", true, true, "config",
      "secret" },
    { "our own name and port", FORWARD,
      "GET http://proxy.example:3128/squid-internal-mgr/menu HTTP/1.1\r\nHost: x\r\n\r\n", true, true, "menu", "" },
    { "M02: another host's URL", FORWARD, "GET http://a.example/squid-internal-mgr/info HTTP/1.1\r\nHost: x\r\n\r\n",
      true, false, "", "" },
    { "M02: a site's path", VHOST, "GET /squid-internal-mgr/info HTTP/1.1\r\nHost: b.example\r\n\r\n", true, false, "",
      "" },
    { "any other path", FORWARD, "GET http://a.example/ HTTP/1.1\r\nHost: x\r\n\r\n", false, false, "", "" },
};

static void manager_requests_are_recognised(void **state)
{
    static struct made m;
    struct settings *s = settings_of(CONF);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        make_request(&m, s, pages[i].port, pages[i].message);
        if (!m.ok || m.request.is_manager != pages[i].manager || m.request.is_internal != pages[i].internal)
            fail_msg("%s", pages[i].why);
        if (m.request.is_internal && (!span_eq(m.request.page, span_str(pages[i].page)) ||
                                      !span_eq(m.request.page_password, span_str(pages[i].password))))
            fail_msg("%s: %.*s", pages[i].why, SPAN_ARG(m.request.page));
        if (memmem(request_log_url(&m.request).p, request_log_url(&m.request).len, "secret", 6) != NULL)
            fail_msg("%s: a password in the log", pages[i].why); /* M05 */
    }
    settings_unref(&s);
}

/* Same key, same object: the escapes that mean the same, and nothing else. */
static void equivalent_uris_share_a_key(void **state)
{
    static struct made a, b;
    struct settings *s = settings_of(CONF);
    static const struct {
        const char *a, *b;
        bool same;
    } pairs[] = {
        { "http://a.example/a%7Eb", "http://A.EXAMPLE:80/a~b", true },
        { "http://a.example", "http://a.example/", true },
        { "http://a.example/a%2fb", "http://a.example/a/b", false },
        { "http://a.example/?a=1", "http://a.example/?A=1", false },
        { "http://a.example/?a=1", "http://a.example/?a=%31", false },
        { "http://a.example:8080/", "http://a.example/", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        char *ma = xasprintf("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", pairs[i].a);
        char *mb = xasprintf("GET %s HTTP/1.1\r\nHost: x\r\n\r\n", pairs[i].b);

        make_request(&a, s, FORWARD, ma);
        make_request(&b, s, FORWARD, mb);
        if (!a.ok || !b.ok || hash128_eq(a.request.key, b.request.key) != pairs[i].same)
            fail_msg("%s and %s", pairs[i].a, pairs[i].b);
        free(ma);
        free(mb);
    }
    settings_unref(&s);
}

static void a_kept_request_owns_its_bytes(void **state)
{
    static struct made m;
    struct settings *s = settings_of(CONF);
    char message[] = "GET http://a.example:81/x?y HTTP/1.1\r\nHost: x\r\nCache-Control: no-cache=\"q\"\r\n\r\n";
    struct request *k;

    (void)state;
    make_request(&m, s, FORWARD, message);
    k = request_keep(&m.request);
    memset(message, 'z', sizeof message - 1);
    memset(m.text, 'z', sizeof m.text);
    memset(&m.head, 'z', sizeof m.head);
    assert_true(span_eq(k->uri.text, SPAN("http://a.example:81/x?y")));
    assert_true(span_eq(k->uri.scheme, SPAN("http")));
    assert_true(span_eq(k->uri.host, SPAN("a.example")));
    assert_true(span_eq(k->uri.authority, SPAN("a.example:81")));
    assert_true(span_eq(k->uri.path, SPAN("/x?y")));
    assert_true(span_eq(head_value(k->head, TOKEN_HOST), SPAN("x")));
    assert_ptr_equal(request_ref(k), k);
    {
        struct request *again = k;

        request_unref(&again);
    }
    request_unref(&k);
    settings_unref(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_become_effective_uris),
        cmocka_unit_test(manager_requests_are_recognised),
        cmocka_unit_test(equivalent_uris_share_a_key),
        cmocka_unit_test(a_kept_request_owns_its_bytes),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
