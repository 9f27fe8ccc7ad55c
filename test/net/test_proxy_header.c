#include "harness.h"

#include "net/proxy_header.h"

#define MAX 4096
#define SIG "\r\n\r\n\0\r\nQUIT\n"

static const struct {
    const char *text, *from, *to; /* from NULL: no addresses */
} good_lines[] = {
    { "PROXY TCP4 192.0.2.1 192.0.2.2 51000 80\r\n", "192.0.2.1:51000", "192.0.2.2:80" },
    { "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n", "255.255.255.255:65535", "255.255.255.255:65535" },
    { "PROXY TCP4 0.0.0.0 0.0.0.0 0 0\r\n", "0.0.0.0:0", "0.0.0.0:0" },
    { "PROXY TCP6 2001:db8::1 ::1 1 2\r\n", "[2001:db8::1]:1", "[::1]:2" },
    { "PROXY TCP6 ::ffff:127.0.0.1 ::1 1 2\r\n", "127.0.0.1:1", "[::1]:2" },
    { "PROXY UNKNOWN\r\n", NULL, NULL },
    { "PROXY UNKNOWN ffff::1 what ever 1\r\n", NULL, NULL },
};

static void check_good(struct span in, const char *from, const char *to)
{
    struct proxy_header h;
    const char *why = NULL;
    char text[ADDR_TEXT_MAX], beyond[512];

    for (size_t n = 0; n < in.len; n++) {
        memset(beyond, 'x', sizeof beyond); /* nothing behind the prefix is looked at */
        memcpy(beyond, in.p, n);
        assert_int_equal(proxy_header_parse(span_of(beyond, n), MAX, &h, &why), PROXY_HEADER_MORE);
    }
    memset(beyond, 'x', sizeof beyond);
    memcpy(beyond, in.p, in.len);
    for (size_t more = 0; more < 3; more++) {
        assert_int_equal(proxy_header_parse(span_of(beyond, in.len + more), MAX, &h, &why), PROXY_HEADER_DONE);
        assert_int_equal(h.len, in.len);
        assert_int_equal(h.has_addresses, from != NULL);
    }
    if (from == NULL)
        return;
    addr_print_port(&h.from, text);
    assert_string_equal(text, from);
    addr_print_port(&h.to, text);
    assert_string_equal(text, to);
}

static void lines_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good_lines / sizeof good_lines[0]; i++)
        check_good(span_str(good_lines[i].text), good_lines[i].from, good_lines[i].to);
}

static const struct {
    struct span in;
    const char *from, *to;
} good_binaries[] = {
    { SPAN(SIG "\x21\x11\x00\x0c\xc0\x00\x02\x01\xc0\x00\x02\x02\xc7\x38\x00\x50"), "192.0.2.1:51000", "192.0.2.2:80" },
    { SPAN(SIG "\x21\x11\x00\x10\xc0\x00\x02\x01\xc0\x00\x02\x02\xc7\x38\x00\x50\x04\x00\x01\x00"), "192.0.2.1:51000",
      "192.0.2.2:80" },
    { SPAN(SIG "\x21\x21\x00\x24 \x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01"
               "\0\0\0\0\0\0\0\0\0\0\xff\xff\x7f\0\0\x01\x00\x01\x00\x02"),
      "[2001:db8::1]:1", "127.0.0.1:2" },
    { SPAN(SIG "\x20\x00\x00\x00"), NULL, NULL },
    { SPAN(SIG "\x20\x11\x00\x02\x01\x02"), NULL, NULL }, /* LOCAL: whatever it says is nothing */
    { SPAN(SIG "\x21\x00\x00\x00"), NULL, NULL },         /* UNSPEC */
    { SPAN(SIG "\x21\x12\x00\x0c\xc0\x00\x02\x01\xc0\x00\x02\x02\0\1\0\2"), NULL, NULL }, /* UDP */
};

static void binaries_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good_binaries / sizeof good_binaries[0]; i++)
        check_good(good_binaries[i].in, good_binaries[i].from, good_binaries[i].to);
}

#define BAD(text)                                                                                                      \
    {                                                                                                                  \
        text, sizeof(text) - 1                                                                                         \
    }
static const struct span bad[] = {
    BAD("GET / HTTP/1.1\r\n"),
    BAD("proxy TCP4 192.0.2.1 192.0.2.2 1 2\r\n"),
    BAD("PROXY\r\n"),
    BAD("PROXY \r\n"),
    BAD("PROXY TCP4\r\n"),
    BAD("PROXY TCP5 192.0.2.1 192.0.2.2 1 2\r\n"),
    BAD("PROXY TCP4 192.0.2.1 192.0.2.2 1\r\n"),
    BAD("PROXY TCP4 192.0.2.1 192.0.2.2 1 2 \r\n"),
    BAD("PROXY TCP4 192.0.2.1 192.0.2.2 1 2 3\r\n"),
    BAD("PROXY TCP4  192.0.2.1 192.0.2.2 1 2\r\n"),
    BAD("PROXY TCP4 192.0.2.256 192.0.2.2 1 2\r\n"),
    BAD("PROXY TCP4 2001:db8::1 ::1 1 2\r\n"),
    BAD("PROXY TCP6 192.0.2.1 192.0.2.2 1 2\r\n"),
    BAD("PROXY TCP6 [::1] ::1 1 2\r\n"),
    BAD("PROXY TCP4 192.0.2.1 192.0.2.2 01 2\r\n"),
    BAD("PROXY TCP4 192.0.2.1 192.0.2.2 1 65536\r\n"),
    BAD("PROXY TCP4 192.0.2.1 192.0.2.2 -1 2\r\n"),
    BAD("PROXY TCP4 192.0.2.1 192.0.2.2 1 2\n"),
    BAD("PROXY UNKNOWN "
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\r\n"),
    BAD("\r\n\r\n\0\r\nQUIT\r"),
    BAD(SIG "\x11\x11\x00\x0c"),
    BAD(SIG "\x22\x11\x00\x0c"),
    BAD(SIG "\x21\x41\x00\x0c"),
    BAD(SIG "\x21\x13\x00\x0c"),
    BAD(SIG "\x21\x11\x00\x0b"),
    BAD(SIG "\x21\x21\x00\x23"),
    BAD(SIG "\x21\x11\x0f\xf1"), /* one byte over MAX */
};

static void what_is_wrong_is_refused_before_it_is_whole(void **state)
{
    struct proxy_header h;
    const char *why;

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        why = NULL;
        if (proxy_header_parse(bad[i], MAX, &h, &why) != PROXY_HEADER_BAD || why == NULL)
            fail_msg("not refused: %zu", i);
    }
}

/* 107 bytes with the CRLF are the longest line. */
static void the_longest_line_is_taken(void **state)
{
    char line[200];
    struct proxy_header h;
    const char *why;

    (void)state;
    memset(line, 'x', sizeof line);
    memcpy(line, "PROXY UNKNOWN ", 14);
    memcpy(line + 105, "\r\n", 2);
    assert_int_equal(proxy_header_parse(span_of(line, sizeof line), MAX, &h, &why), PROXY_HEADER_DONE);
    assert_int_equal(h.len, 107);
    memcpy(line + 105, "x\r\n", 3);
    assert_int_equal(proxy_header_parse(span_of(line, sizeof line), MAX, &h, &why), PROXY_HEADER_BAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read),
        cmocka_unit_test(binaries_are_read),
        cmocka_unit_test(what_is_wrong_is_refused_before_it_is_whole),
        cmocka_unit_test(the_longest_line_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
