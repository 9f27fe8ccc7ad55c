#include <ctype.h>
#include "heads.h"
#include "hdrs/scan.h"
#include "hdrs/token_find.h"

static void every_known_name_is_found_in_any_case(void **state)
{
    (void)state;
    for (int t = 1; t < TOKEN_N; t++) {
        const char *name = token_name((enum token)t);
        size_t len = strlen(name);
        char *copy = xmalloc(len); /* no NUL: a read beyond it shows */

        for (int style = 0; style < 3; style++) {
            for (size_t i = 0; i < len; i++)
                copy[i] = (char)(style == 0 ? name[i] : style == 1 ? toupper(name[i]) : tolower(name[i]));
            if (token_lookup(span_of(copy, len)) != (enum token)t)
                fail_msg("%.*s not found", (int)len, copy);
        }
        free(copy);
    }
}

/* Each byte of each name changed to each other value: only the other letter case is still that name, and no change is
 * overlooked (a name that hashes like Content-Length isn't Content-Length). */
static void every_byte_is_compared(void **state)
{
    (void)state;
    for (int t = 1; t < TOKEN_N; t++) {
        char name[64] = { 0 };
        size_t len = strlen(token_name((enum token)t));

        memcpy(name, token_name((enum token)t), len);
        for (size_t i = 0; i < len; i++) {
            char was = name[i];

            for (int c = 0; c < 256; c++) {
                enum token got;

                name[i] = (char)c;
                got = token_lookup(span_of(name, len));
                if ((got == (enum token)t) != (tolower((unsigned char)was) == tolower(c)) ||
                    (got != TOKEN_OTHER && !span_eq_nocase(span_of(name, len), span_str(token_name(got)))))
                    fail_msg("%s with byte %zu = 0x%02x: %d", token_name((enum token)t), i, c, (int)got);
                /* The parser asks without a second look, once it knows there are token characters only. */
                if (scan_is_tchar[c] && token_find(name, len) != got)
                    fail_msg("%s with byte %zu = '%c' passes in the parser", token_name((enum token)t), i, c);
            }
            name[i] = was;
        }
        assert_int_equal(token_lookup(span_of(name, len - 1)) == (enum token)t, false);
        name[len] = 'x';
        assert_int_equal(token_lookup(span_of(name, len + 1)) == (enum token)t, false);
    }
}

static void unknown_names_are_other(void **state)
{
    static const char *const unknown[] = {
        "", "X", "X-Unknown", "Content-Lengths", "Accept-Foo-Range", "Access-Control-Xllow-Headers",
        "an-unknown-name-that-is-longer-than-any-name-in-the-table",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(unknown); i++)
        assert_int_equal(token_lookup(span_str(unknown[i])), TOKEN_OTHER);
    assert_string_equal(token_name(TOKEN_OTHER), "");
    assert_int_equal(token_policy(TOKEN_OTHER), 0);
    assert_true(TOKEN_N > 100);
}

static const struct { enum token t; unsigned has, lacks; } policies[] = {
    { TOKEN_CONNECTION, TOKEN_HOP_BY_HOP | TOKEN_LIST, TOKEN_PROTECTED },
    { TOKEN_KEEP_ALIVE, TOKEN_HOP_BY_HOP, 0 },
    { TOKEN_PROXY_CONNECTION, TOKEN_HOP_BY_HOP, 0 },
    { TOKEN_TE, TOKEN_HOP_BY_HOP, 0 },
    { TOKEN_TRAILER, TOKEN_HOP_BY_HOP, 0 },
    { TOKEN_TRANSFER_ENCODING, TOKEN_HOP_BY_HOP | TOKEN_PROTECTED | TOKEN_NOT_FROM_304, 0 },
    { TOKEN_UPGRADE, TOKEN_HOP_BY_HOP, 0 },
    { TOKEN_HTTP2_SETTINGS, TOKEN_HOP_BY_HOP, 0 },
    { TOKEN_PROXY_AUTHORIZATION, TOKEN_HOP_BY_HOP | TOKEN_NOT_STORED, 0 },
    { TOKEN_PROXY_AUTHENTICATE, TOKEN_HOP_BY_HOP | TOKEN_NOT_STORED, 0 },
    { TOKEN_PROXY_AUTHENTICATION_INFO, TOKEN_HOP_BY_HOP | TOKEN_NOT_STORED, 0 },
    { TOKEN_HOST, TOKEN_PROTECTED | TOKEN_SINGLETON | TOKEN_REQUEST, TOKEN_HOP_BY_HOP | TOKEN_RESPONSE },
    { TOKEN_CONTENT_LENGTH, TOKEN_PROTECTED | TOKEN_NOT_FROM_304 | TOKEN_SINGLETON, TOKEN_HOP_BY_HOP },
    { TOKEN_CONTENT_TYPE, TOKEN_PROTECTED, TOKEN_NOT_FROM_304 },
    { TOKEN_CACHE_CONTROL, TOKEN_PROTECTED | TOKEN_LIST, TOKEN_NOT_FROM_304 },
    { TOKEN_SET_COOKIE, TOKEN_PROTECTED | TOKEN_RESPONSE, TOKEN_LIST | TOKEN_SINGLETON | TOKEN_NOT_STORED },
    { TOKEN_VIA, TOKEN_PROTECTED | TOKEN_LIST, 0 },
    { TOKEN_X_FORWARDED_FOR, TOKEN_PROTECTED, 0 },
    { TOKEN_AUTHORIZATION, TOKEN_PROTECTED, TOKEN_HOP_BY_HOP },
};

static void policies_are_those_of_the_rfcs(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        unsigned p = token_policy(policies[i].t);

        if ((p & policies[i].has) != policies[i].has || (p & policies[i].lacks) != 0)
            fail_msg("%s: %x", token_name(policies[i].t), p);
    }
    for (int t = 1; t < TOKEN_N; t++) {
        unsigned p = token_policy((enum token)t);

        assert_true(p & (TOKEN_REQUEST | TOKEN_RESPONSE));
        assert_false((p & TOKEN_SINGLETON) && (p & TOKEN_LIST));
        if (p & TOKEN_HOP_BY_HOP)
            assert_true(p & TOKEN_NOT_FROM_304);
    }
}

static void methods_are_case_sensitive(void **state)
{
    (void)state;
    for (int m = METHOD_OTHER + 1; m < METHOD_N; m++)
        assert_int_equal(method_lookup(span_str(method_name((enum http_method)m))), m);
    assert_int_equal(method_lookup(SPAN("get")), METHOD_OTHER);
    assert_int_equal(method_lookup(SPAN("")), METHOD_OTHER);
    assert_int_equal(method_lookup(SPAN("GETX")), METHOD_OTHER);
    assert_true(method_is_safe(METHOD_GET) && method_is_safe(METHOD_TRACE) && !method_is_safe(METHOD_PUT));
    assert_true(method_is_idempotent(METHOD_PUT) && !method_is_idempotent(METHOD_POST));
    assert_false(method_is_safe(METHOD_OTHER) || method_is_idempotent(METHOD_OTHER));
}

/* Every byte at every place in runs of every length around the word size, against the plain definition. */
static void scanners_stop_where_they_should(void **state)
{
    char text[27];

    (void)state;
    for (size_t len = 0; len < sizeof text; len++)
        for (size_t at = 0; at < len; at++)
            for (int c = 0; c < 256; c++) {
                char *copy = xmalloc(len);
                const char *end = copy + len;
                bool control = c < 0x20 || c == 0x7F;

                memset(text, at % 2 ? 'a' : 0xC3, sizeof text);
                text[at] = (char)c;
                memcpy(copy, text, len);
                assert_ptr_equal(scan_text(copy, end), control && c != '\t' ? copy + at : end);
                assert_ptr_equal(scan_visible(copy, end), control || c == ' ' ? copy + at : end);
                assert_ptr_equal(scan_to_colon(copy, end), c <= 0x20 || c == ':' ? copy + at : end);
                free(copy);
            }
    for (int c = 0; c < 256; c++)
        assert_int_equal(scan_is_tchar[c], isalnum(c) || (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_known_name_is_found_in_any_case),
        cmocka_unit_test(every_byte_is_compared),
        cmocka_unit_test(unknown_names_are_other),
        cmocka_unit_test(policies_are_those_of_the_rfcs),
        cmocka_unit_test(methods_are_case_sensitive),
        cmocka_unit_test(scanners_stop_where_they_should),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
