#include "heads.h"
#include "base/hash.h"
#include "hdrs/named_fields.h"
#include "hdrs/field_list.h"

#define GET "GET / HTTP/1.1\r\n"

static struct head h;

static void members_of_lists(void **state)
{
    static const struct { const char *why, *list, *want; } lists[] = {
        { "plain", "a, b,c", "a|b|c|" },
        { "E13 empty members", ",, a ,\t,b,,", "a|b|" },
        { "nothing", "", "" },
        { "only commas", " , ,", "" },
        { "quoted comma", "a=\"b, c\", d", "a=\"b, c\"|d|" },
        { "escaped quote", "a=\"b\\\", c\", d", "a=\"b\\\", c\"|d|" },
        { "open quote runs to the end", "a, b=\"c, d", "a|b=\"c, d|" },
        { "backslash at the end", "a=\"\\", "a=\"\\|" },
        { "backslash outside quotes is a byte", "a\\, b", "a\\|b|" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct span rest = span_str(lists[i].list), member;
        char got[128] = "";

        while (list_next(&rest, &member))
            sprintf(got + strlen(got), "%.*s|", SPAN_ARG(member));
        if (strcmp(got, lists[i].want) != 0)
            fail_msg("%s: %s", lists[i].why, got);
        assert_false(list_next(&rest, &member));
    }
    struct span none = SPAN_NONE, member;
    assert_false(list_next(&none, &member));
}

static void values_of_a_name_join(void **state)
{
    static const struct { const char *why, *name, *want; bool present; } joins[] = {
        { "known, several lines", "accept", "a, b, ", true },
        { "unknown, any case", "X-FOO", "1, 2", true },
        { "one line", "X-Bar", "only", true },
        { "absent", "Cookie", "", false },
        { "absent and unknown", "X-Nope", "", false },
        { "empty is present", "X-Empty", "", true },
        { "an empty line first", "X-Gap", ", 1", true },
    };
    bool present;
    char out[16];

    (void)state;
    head_of_request(&h, GET "Accept: a\r\nX-Foo: 1\r\nX-Bar: only\r\nAccept: b\r\nx-foo: 2\r\nX-Empty:\r\n"
                            "X-Gap:\r\nX-Gap: 1\r\naccept:\r\n\r\n");
    for (size_t i = 0; i < COUNT_OF(joins); i++) {
        size_t want = strlen(joins[i].want);

        for (size_t capacity = 0; capacity < sizeof out; capacity++) {
            size_t n = head_join(&h, span_str(joins[i].name), out, capacity, &present);

            if (capacity < want) {
                if (n != SIZE_MAX)
                    fail_msg("%s: written into %zu bytes", joins[i].why, capacity);
                continue;
            }
            assert_span(joins[i].why, span_of(out, n), span_str(joins[i].want));
            assert_int_equal(present, joins[i].present);
        }
    }
}

static void a_name_is_found_line_by_line(void **state)
{
    const struct head_field *f;

    (void)state;
    head_of_request(&h, GET "X-A: 1\r\nHost: h\r\nx-a: 2\r\nX-AB: 3\r\n\r\n");
    f = head_find_name(&h, SPAN("X-A"), NULL);
    assert_ptr_equal(f, &h.fields[0]);
    f = head_find_name(&h, SPAN("X-A"), f);
    assert_ptr_equal(f, &h.fields[2]);
    assert_null(head_find_name(&h, SPAN("X-A"), f));
    assert_ptr_equal(head_find_name(&h, SPAN("HOST"), NULL), &h.fields[1]);
    assert_null(head_find_name(&h, SPAN("HOST"), &h.fields[1]));
}

static void a_copy_is_its_own(void **state)
{
    char *text = xstrdup("\r\n" GET "Host: h\r\nX: y\r\nAccept: 1\r\nAccept: 2\r\n\r\nbody");
    struct head *copy;

    (void)state;
    head_of_request(&h, text);
    copy = head_copy(&h);
    memset(text, '#', strlen(text));
    free(text);
    memset(&h, 0, sizeof h);
    assert_span("target", head_piece(copy, copy->target), SPAN("/"));
    assert_int_equal(copy->n_fields, 4);
    assert_span("Host", head_value(copy, TOKEN_HOST), SPAN("h"));
    assert_span("second Accept", field_value(copy, head_next(copy, head_find(copy, TOKEN_ACCEPT))), SPAN("2"));
    assert_span("unknown", field_value(copy, head_find_name(copy, SPAN("x"), NULL)), SPAN("y"));
    assert_int_equal(copy->base[copy->len - 1], '\n');
    free(copy);
}

static void connection_drops_what_it_names(void **state)
{
    static const struct { const char *name; bool kept; } names[] = {
        { "x-secret", false }, { "B", false }, { "X-Sec", true }, { "Host", true }, { "Cookie", true }, { "c", true },
    };
    struct named_fields index;
    bool keep[HEAD_FIELDS_MAX];

    (void)state;
    head_of_request(&h, GET "Connection: x-secret ,, Host\r\nX-Secret: 1\r\nconnection: a,b, cookie\r\nHost: h\r\n"
                            "B: 1\r\nX-Sec: 1\r\nCookie: c\r\nC: 1\r\nX-SECRET: 2\r\n\r\n");
    memset(keep, true, sizeof keep);
    named_fields_index(&index, &h);
    named_fields_drop_connection(&index, keep);
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (const struct head_field *f = NULL; (f = head_find_name(&h, span_str(names[i].name), f)) != NULL;)
            if (keep[f - h.fields] != names[i].kept)
                fail_msg("%s", names[i].name);
}

static void connection_options(void **state)
{
    static const struct { const char *why, *fields; enum connection_option request, response; } options[] = {
        { "none", "", CONNECTION_NONE, CONNECTION_NONE },
        { "another", "Connection: upgrade\r\n", CONNECTION_NONE, CONNECTION_NONE },
        { "close", "Connection: Close\r\n", CONNECTION_CLOSE, CONNECTION_CLOSE },
        { "keep-alive", "Connection: foo, Keep-Alive\r\n", CONNECTION_KEEP_ALIVE, CONNECTION_KEEP_ALIVE },
        { "close wins", "Connection: close, keep-alive\r\n", CONNECTION_CLOSE, CONNECTION_CLOSE },
        { "close wins, behind", "Connection: keep-alive\r\nConnection: close\r\n", CONNECTION_CLOSE, CONNECTION_CLOSE },
        { "Proxy-Connection", "Proxy-Connection: keep-alive\r\n", CONNECTION_KEEP_ALIVE, CONNECTION_NONE },
        { "Connection first", "Proxy-Connection: keep-alive\r\nConnection: close\r\n", CONNECTION_CLOSE,
          CONNECTION_CLOSE },
    };
    char text[256];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        sprintf(text, GET "%s\r\n", options[i].fields);
        head_of_request(&h, text);
        if (head_connection(&h) != options[i].request)
            fail_msg("request, %s", options[i].why);
        sprintf(text, "HTTP/1.1 200 OK\r\n%s\r\n", options[i].fields);
        head_of_response(&h, text);
        if (head_connection(&h) != options[i].response)
            fail_msg("response, %s", options[i].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_of_lists),
        cmocka_unit_test(values_of_a_name_join),
        cmocka_unit_test(a_name_is_found_line_by_line),
        cmocka_unit_test(a_copy_is_its_own),
        cmocka_unit_test(connection_drops_what_it_names),
        cmocka_unit_test(connection_options),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
