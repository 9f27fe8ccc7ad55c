/* test/proxy/test_error_page.c: what error pages say, in which form, and that nothing a peer sends gets out of its
 * place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hdrs/parse.h"
#include "proxy/error_accept.h"
#include "proxy/error_page.h"

#define COUNT_OF(a) (sizeof(a) / sizeof(a)[0])

struct made {
    struct strbuf head, body;
    int status;
    const char *name;
};

static struct made make(const struct error_context *c)
{
    struct made m = { 0 };

    error_page_make(c, &m.head, &m.body, &m.status, &m.name);
    return m;
}

static void made_free(struct made *m)
{
    sb_free(&m->head);
    sb_free(&m->body);
}

static const struct head *with_accept(const char *accept)
{
    static struct head h;
    static char text[512];
    struct parse_limits limits = { .max_bytes = 65536, .max_fields = 100 };
    struct parse_progress progress = { 0 };
    struct parse_error error;

    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: h\r\n%s%s%s\r\n", accept ? "Accept: " : "",
             accept ? accept : "", accept ? "\r\n" : "");
    assert_int_equal(parse_request(&h, text, strlen(text), &limits, &progress, &error), PARSE_DONE);
    return &h;
}

static const struct { const char *accept; enum error_form want; } accepts[] = {
    { NULL,                                            ERROR_HTML },
    { "*/*",                                           ERROR_HTML },
    { "text/html,application/xhtml+xml,*/*;q=0.8",     ERROR_HTML },
    { "application/json",                              ERROR_JSON },
    { "Application/JSON; charset=utf-8",               ERROR_JSON },
    { "application/json, */*;q=0.5",                   ERROR_JSON },
    { "application/*",                                 ERROR_JSON },
    { "application/problem+json",                      ERROR_PROBLEM_JSON },
    { "text/plain",                                    ERROR_PLAIN },
    { "text/*;q=0.3, text/plain;q=0.7",                ERROR_PLAIN },
    { "text/html;q=0.2, application/json;q=0.3",       ERROR_JSON },
    { "text/html;q=0.3, application/json;q=0.25",      ERROR_HTML },
    { "text/html;q=0, */*;q=0.1",                      ERROR_JSON },
    { "application/json;q=0, */*",                     ERROR_HTML },
    { "image/png",                                     ERROR_HTML },
    { ",,;;q=,/",                                      ERROR_HTML },
};

static void accept_chooses_the_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(accepts); i++)
        if (error_form_wanted(with_accept(accepts[i].accept)) != accepts[i].want)
            fail_msg("%s", accepts[i].accept);
    assert_int_equal(error_form_wanted(NULL), ERROR_HTML);
}

static void the_head_has_what_was_promised(void **state)
{
    struct error_context c = { .id = ERR_CONNECT_FAIL, .sys_errno = ECONNREFUSED, .now = 1796085079,
                               .hide_version = true };
    struct made m = make(&c);
    char want[512];

    (void)state;
    snprintf(want, sizeof want,
             "HTTP/1.1 503 Service Unavailable\r\nServer: loligo\r\nDate: Tue, 01 Dec 2026 00:31:19 GMT\r\n"
             "Content-Type: text/html;charset=utf-8\r\nContent-Length: %zu\r\nX-Squid-Error: ERR_CONNECT_FAIL %d\r\n",
             m.body.len, ECONNREFUSED);
    assert_string_equal(m.head.p, want);
    assert_int_equal(m.status, 503);
    assert_non_null(strstr(m.body.p, strerror(ECONNREFUSED)));
    made_free(&m);
    c.hide_version = false;
    m = make(&c);
    assert_non_null(strstr(m.head.p, "\r\nServer: loligo/"));
    made_free(&m);
}

static void head_requests_get_the_length_only(void **state)
{
    struct error_context c = { .id = ERR_DNS_FAIL };
    struct made get = make(&c), head;

    (void)state;
    c.head_only = true;
    head = make(&c);
    assert_int_equal(head.body.len, 0);
    assert_string_equal(head.head.p, get.head.p);
    made_free(&get);
    made_free(&head);
}

/* Everything a peer can put on a page, in each form. */
static const char evil[] = "http://user:pw@evil.example/<script>alert(1)</script>\"'&\\\r\nX: y\x1b\x80?token=secret";

static void nothing_gets_out_of_its_place(void **state)
{
    static const struct { const char *accept; const char *never[8]; } forms[] = {
        { "text/html", { "<script", "\"'", "alert(1)<", "&\\", "secret", "user:pw", "\x1b", "\x80" } },
        { "application/json", { "<script", "user:", "</", "\x1b", "secret", "user:pw", "\x80", "&" } },
        { "text/plain", { "\r\nX", "secret", "user:pw", "\x1b", "\x80", "\r", "token", "pw@" } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        struct error_context c = {
            .id = ERR_INVALID_URL, .url = span_of(evil, sizeof evil - 1), .method = SPAN("<M>\"'&\\\x1b\x80"),
            .detail = "<b>\x1b", .host = SPAN("<i>"), .cache_mgr = SPAN("a\"<u>"),
            .request = with_accept(forms[i].accept),
        };
        struct made m = make(&c);

        for (size_t k = 0; k < 8; k++)
            if (memmem(m.body.p, m.body.len, forms[i].never[k], strlen(forms[i].never[k])) != NULL)
                fail_msg("%s: found %s in %s", forms[i].accept, forms[i].never[k], m.body.p);
        made_free(&m);
    }
}

static void html_shows_the_escaped_url(void **state)
{
    struct error_context c = { .id = ERR_ACCESS_DENIED, .url = SPAN("http://a.example/<b>?q=1"), .method = SPAN("GET"),
                               .cache_mgr = SPAN("root@example.com") };
    struct made m = make(&c);

    (void)state;
    assert_non_null(strstr(m.body.p, "http://a.example/&lt;b&gt;\n"));
    assert_non_null(strstr(m.body.p, "root@example.com"));
    assert_non_null(strstr(m.body.p, "ERR_ACCESS_DENIED (403)"));
    made_free(&m);
}

static void json_is_exact(void **state)
{
    struct error_context c = {
        .id = ERR_INVALID_REQ, .detail = "bare LF in a \"head\"", .url = SPAN("http://a/\\"), .method = SPAN("GET"),
        .host = SPAN("proxy.example"), .now = 0, .request = with_accept("application/problem+json"),
    };
    struct made m = make(&c);

    (void)state;
    assert_non_null(strstr(m.head.p, "\r\nContent-Type: application/problem+json\r\n"));
    assert_string_equal(m.body.p,
                        "{\n  \"type\": \"about:blank\",\n  \"status\": 400,\n"
                        "  \"title\": \"The request makes no sense\",\n"
                        "  \"detail\": \"bare LF in a \\\"head\\\"\",\n  \"error\": \"ERR_INVALID_REQ\",\n"
                        "  \"advice\": \"It breaks the rules of HTTP. If your browser sent it, try again; else the "
                        "program that did is at fault.\",\n  \"url\": \"http://a/\\\\\",\n  \"method\": \"GET\",\n"
                        "  \"proxy\": \"proxy.example\",\n  \"time\": \"Thu, 01 Jan 1970 00:00:00 GMT\"\n}\n");
    made_free(&m);
}

static void too_big_says_what_was(void **state)
{
    static const struct { int status; const char *line, *word; } cases[] = {
        { 0, "HTTP/1.1 413 ", "Too large" },
        { 414, "HTTP/1.1 414 URI Too Long\r\n", "address is too long" },
        { 431, "HTTP/1.1 431 Request Header Fields Too Large\r\n", "cookies" },
        { 502, "HTTP/1.1 502 Bad Gateway\r\n", "answer is too large" },
        { 499, "HTTP/1.1 499 Client Error\r\n", "Too large" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct error_context c = { .id = ERR_TOO_BIG, .status = cases[i].status };
        struct made m = make(&c);

        assert_int_equal(strncmp(m.head.p, cases[i].line, strlen(cases[i].line)), 0);
        if (strstr(m.body.p, cases[i].word) == NULL)
            fail_msg("%d: no '%s'", cases[i].status, cases[i].word);
        made_free(&m);
    }
}

static void every_page_is_complete(void **state)
{
    (void)state;
    for (int i = 0; i < ERROR_PAGE_N; i++) {
        struct error_context c = { .id = (enum error_id)i };
        struct made m = make(&c);
        const char *title = strstr(m.body.p, "<title>");

        assert_in_range(error_page_status(c.id), 400, 599);
        assert_int_equal(m.status, error_page_status(c.id));
        assert_non_null(title);
        assert_int_not_equal(title[7], '<');
        assert_non_null(strstr(m.body.p, error_page_name(c.id)));
        made_free(&m);
    }
    assert_string_equal(error_page_name(ERR_CONNECT_FAIL), "ERR_CONNECT_FAIL");
    assert_string_equal(error_page_name(MGR_INDEX), "MGR_INDEX");
}

static void long_urls_are_cut(void **state)
{
    char url[20000];
    struct error_context c = { .id = ERR_TOO_BIG, .url = span_of(url, sizeof url) };
    struct made m;

    (void)state;
    memset(url, '<', sizeof url);
    m = make(&c);
    assert_true(m.body.len < 8000);
    assert_non_null(strstr(m.body.p, "&lt;..."));
    made_free(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accept_chooses_the_form),
        cmocka_unit_test(the_head_has_what_was_promised),
        cmocka_unit_test(head_requests_get_the_length_only),
        cmocka_unit_test(nothing_gets_out_of_its_place),
        cmocka_unit_test(html_shows_the_escaped_url),
        cmocka_unit_test(json_is_exact),
        cmocka_unit_test(too_big_says_what_was),
        cmocka_unit_test(every_page_is_complete),
        cmocka_unit_test(long_urls_are_cut),
    };

    return cmocka_run_group_tests_name("error_page", tests, NULL, NULL);
}
