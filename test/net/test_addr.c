#include "harness.h"

static const struct {
    const char *why, *text, *print, *with_port; /* print NULL: refused */
} addresses[] = {
    { "IPv4", "192.0.2.1", "192.0.2.1", "192.0.2.1:80" },
    { "IPv6", "2001:db8::1", "2001:db8::1", "[2001:db8::1]:80" },
    { "IPv6 in brackets", "[::1]", "::1", "[::1]:80" },
    { "the longest", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe",
      "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe]:80" },
    { "a mapped address is the IPv4 one", "::ffff:127.0.0.1", "127.0.0.1", "127.0.0.1:80" },
    { "mapped, in hex and brackets", "[::FFFF:7f00:1]", "127.0.0.1", "127.0.0.1:80" },
    { "any", "0.0.0.0", "0.0.0.0", "0.0.0.0:80" },
    { "inet_aton's short forms are names", "127.1", NULL, NULL },
    { "a number is a name", "2130706433", NULL, NULL },
    { "hex", "0x7f.0.0.1", NULL, NULL },
    { "octal", "0177.0.0.1", NULL, NULL },
    { "beyond a byte", "127.0.0.256", NULL, NULL },
    { "five parts", "127.0.0.1.1", NULL, NULL },
    { "IPv4 in brackets", "[127.0.0.1]", NULL, NULL },
    { "half a bracket", "[::1", NULL, NULL },
    { "other half", "::1]", NULL, NULL },
    { "nothing in brackets", "[]", NULL, NULL },
    { "nothing", "", NULL, NULL },
    { "blank", " 127.0.0.1", NULL, NULL },
    { "a scope", "fe80::1%lo", NULL, NULL },
    { "a port", "127.0.0.1:80", NULL, NULL },
    { "too long", "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000", NULL, NULL },
};

static void addresses_are_parsed_and_printed(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(addresses); i++) {
        struct addr a = { 0 };
        char text[ADDR_TEXT_MAX];
        bool ok = addr_parse(span_str(addresses[i].text), &a);

        if (ok != (addresses[i].print != NULL))
            fail_msg("%s: %s", addresses[i].why, addresses[i].text);
        if (!ok)
            continue;
        assert_int_equal(addr_print(&a, text), strlen(addresses[i].print));
        assert_string_equal(text, addresses[i].print);
        a.port = 80;
        assert_int_equal(addr_print_port(&a, text), strlen(addresses[i].with_port));
        assert_string_equal(text, addresses[i].with_port);
    }
}

static void a_nul_inside_is_refused(void **state)
{
    struct addr a;

    (void)state;
    assert_false(addr_parse(SPAN("127.0.0.1\0x"), &a));
    assert_false(addr_parse(SPAN("::1\0"), &a));
}

static void sockaddr_there_and_back(void **state)
{
    static const char *const texts[] = { "192.0.2.1", "2001:db8::1", "::" };

    (void)state;
    for (size_t i = 0; i < LENGTH(texts); i++) {
        struct addr a = address(texts[i], 8080), b;
        struct sockaddr_storage sa;

        assert_int_equal(addr_to_sockaddr(&a, &sa),
                         a.family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
        b = addr_from_sockaddr((struct sockaddr *)&sa);
        assert_true(addr_eq(&a, &b));
        b.port++;
        assert_false(addr_eq(&a, &b));
    }
}

static void a_mapped_peer_is_ipv4(void **state)
{
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(7) };
    struct sockaddr other = { .sa_family = AF_UNIX };
    struct addr a, want = address("192.0.2.9", 7);

    (void)state;
    memcpy(in6.sin6_addr.s6_addr, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\x9", 16);
    a = addr_from_sockaddr((struct sockaddr *)&in6);
    assert_true(addr_eq(&a, &want));
    assert_int_equal(addr_from_sockaddr(&other).family, 0);
}

static void any_is_any(void **state)
{
    struct addr none = { 0 }, any4 = address("0.0.0.0", 1), any6 = address("::", 1), one = address("::1", 0);
    char text[ADDR_TEXT_MAX];

    (void)state;
    assert_false(addr_is_any(&none));
    assert_true(addr_is_any(&any4));
    assert_true(addr_is_any(&any6));
    assert_false(addr_is_any(&one));
    addr_print(&none, text);
    assert_string_equal(text, "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_parsed_and_printed), cmocka_unit_test(a_nul_inside_is_refused),
        cmocka_unit_test(sockaddr_there_and_back),          cmocka_unit_test(a_mapped_peer_is_ipv4),
        cmocka_unit_test(any_is_any),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
