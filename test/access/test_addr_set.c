#include "access/addr_text.h"
#include "lines.h"

static const struct {
    const char *why, *texts, *in, *out, *print;
    enum addr_text_result result; /* of the last text */
} rows[] = {
    { "one address", "10.1.2.3", "10.1.2.3", "10.1.2.2 10.1.2.4 ::1", "10.1.2.3 ", ADDR_TEXT_GOOD },
    { "a network, both ends", "10.0.0.0/8", "10.0.0.0 10.255.255.255", "9.255.255.255 11.0.0.0", "10.0.0.0/8 ",
      ADDR_TEXT_GOOD },
    { "a netmask", "10.0.0.0/255.0.0.0", "10.9.9.9", "11.0.0.0", "10.0.0.0/8 ", ADDR_TEXT_DOUBTFUL },
    { "bits behind the prefix", "10.1.2.3/16", "10.1.0.0 10.1.255.255", "10.2.0.0", "10.1.0.0/16 ",
      ADDR_TEXT_DOUBTFUL },
    { "a range", "10.1.2.3-10.1.2.9", "10.1.2.3 10.1.2.9", "10.1.2.2 10.1.2.10", "10.1.2.3-10.1.2.9 ", ADDR_TEXT_GOOD },
    { "a range of hosts", "10.1.2.3-10.1.2.9/32", "10.1.2.3 10.1.2.9", "10.1.2.2 10.1.2.10", "10.1.2.3-10.1.2.9 ",
      ADDR_TEXT_GOOD },
    { "a range of networks", "10.1.0.0-10.3.0.0/16", "10.1.0.0 10.3.255.255", "10.4.0.0", "10.1.0.0-10.3.255.255 ",
      ADDR_TEXT_GOOD },
    { "/0 of one address family", "9.0.0.0/0", "255.255.255.255", "::1", "0.0.0.0/0 ", ADDR_TEXT_DOUBTFUL },
    { "all", "all", "0.0.0.0 255.255.255.255 :: ffff::", "", "all ", ADDR_TEXT_GOOD },
    { "ipv4", "ipv4", "0.0.0.0 255.255.255.255", "::", "0.0.0.0/0 ", ADDR_TEXT_GOOD },
    { "ipv6", "ipv6", ":: ffff::", "0.0.0.0 ::ffff:1.2.3.4", "::/0 ", ADDR_TEXT_GOOD },
    { "Squid's old all", "0.0.0.0/0", "1.1.1.1 ::1", "", "all ", ADDR_TEXT_DOUBTFUL },
    { "mgr:config's all", "::/0", "1.1.1.1 ::1", "", "all ", ADDR_TEXT_DOUBTFUL },
    { "both families by name are all", "ipv4 ipv6", "1.1.1.1 ::1", "", "all ", ADDR_TEXT_GOOD },
    { "IPv6", "2001:db8::/32", "2001:db8:: 2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9:: 32.1.13.184",
      "2001:db8::/32 ", ADDR_TEXT_GOOD },
    { "IPv6's last bit", "::2/127", "::2 ::3", "::1 ::4", "::2/127 ", ADDR_TEXT_GOOD },
    { "one IPv6 address as a network", "2001:db8::1/128", "2001:db8::1",
      "2001:db8:: 2001:db8::2 :: ffff::", "2001:db8::1 ", ADDR_TEXT_GOOD },
    { "an IPv6 netmask", "fe80::/ffc0::", "fe80::1 febf::1", "fec0::", "fe80::/10 ", ADDR_TEXT_DOUBTFUL },
    { "a mapped address is IPv4", "::ffff:10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.1 ", ADDR_TEXT_GOOD },
    { "a mapped network too", "::ffff:10.0.0.0/104", "10.200.0.1", "11.0.0.0", "10.0.0.0/8 ", ADDR_TEXT_GOOD },
    { "touching networks join", "10.0.0.0/9 10.128.0.0/9", "10.127.0.1 10.128.0.1", "11.0.0.0", "10.0.0.0/8 ",
      ADDR_TEXT_GOOD },
    { "one inside another", "10.0.0.0/8 10.1.0.0/16 10.1.1.1", "10.2.0.0", "11.0.0.0", "10.0.0.0/8 ", ADDR_TEXT_GOOD },
    { "any order", "3.0.0.0/8 1.0.0.0/8 2.2.2.2", "1.1.1.1 2.2.2.2 3.3.3.3", "2.2.2.1 2.2.2.3 4.0.0.0",
      "1.0.0.0/8 2.2.2.2 3.0.0.0/8 ", ADDR_TEXT_GOOD },
    { "a name", "localhost", "127.0.0.1", "127.0.0.2", NULL, ADDR_TEXT_GOOD },
    { "a range backwards", "10.1.2.9-10.1.2.3", "", "10.1.2.5", "", ADDR_TEXT_BAD },
    { "a range over families", "10.0.0.1-::1", "", "10.0.0.1", "", ADDR_TEXT_BAD },
    { "half a range", "10.0.0.1-", "", "10.0.0.1", "", ADDR_TEXT_BAD },
    { "too long a prefix", "10.0.0.0/33", "", "10.0.0.0", "", ADDR_TEXT_BAD },
    { "too long a prefix of IPv6", "::1/129", "", "::1", "", ADDR_TEXT_BAD },
    { "no prefix", "10.0.0.0/", "", "10.0.0.0", "", ADDR_TEXT_BAD },
    { "a mask with a hole", "10.0.0.0/255.0.255.0", "", "10.0.0.0", "", ADDR_TEXT_BAD },
    { "a mask of the other family", "10.0.0.0/ffff::", "", "10.0.0.0", "", ADDR_TEXT_BAD },
    { "less than the mapped prefix", "::ffff:10.0.0.0/8", "", "10.0.0.0", "", ADDR_TEXT_BAD },
    { "inet_aton's short forms", "127.1", "", "127.0.0.1", "", ADDR_TEXT_BAD },
    { "a number", "2130706433", "", "127.0.0.1", "", ADDR_TEXT_BAD },
    { "hex", "0x7f.1", "", "127.0.0.1", "", ADDR_TEXT_BAD },
    { "a name that never resolves (RFC 6761)", "no-such-host.invalid", "", "127.0.0.1", "", ADDR_TEXT_BAD },
    { "a name with a mask", "localhost/8", "", "127.0.0.1", "", ADDR_TEXT_BAD },
    { "no name at all", "a b;c", "", "127.0.0.1", "", ADDR_TEXT_BAD },
};

static void expect_members(const char *why, const struct addr_set *s, const char *texts, bool want)
{
    struct span words[LINE_WORDS];
    size_t n = line_words(texts, words);

    for (size_t i = 0; i < n; i++) {
        struct addr a;

        assert_true(addr_parse(words[i], &a));
        if (addr_set_contains(s, &a) != want)
            fail_msg("%s: %.*s %s", why, SPAN_ARG(words[i]), want ? "is missing" : "is in it");
    }
}

static void what_is_written_is_what_matches(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct addr_set *s = addr_set_new();
        struct span words[LINE_WORDS];
        size_t n = line_words(rows[i].texts, words);
        enum addr_text_result result = ADDR_TEXT_GOOD;
        struct strbuf printed = { 0 };
        char why[160];

        if (strcmp(rows[i].texts, "a b;c") == 0)
            words[0] = span_str(rows[i].texts), n = 1;
        for (size_t w = 0; w < n; w++)
            result = addr_text_add(s, words[w], why);
        addr_set_settle(s);
        if (result != rows[i].result || (result != ADDR_TEXT_GOOD) != (why[0] != '\0'))
            fail_msg("%s: result %d, '%s'", rows[i].why, (int)result, why);
        expect_members(rows[i].why, s, rows[i].in, true);
        expect_members(rows[i].why, s, rows[i].out, false);
        addr_set_print(s, &printed);
        if (rows[i].print != NULL && !span_eq(sb_view(&printed), span_str(rows[i].print)))
            fail_msg("%s: printed '%.*s'", rows[i].why, SPAN_ARG(sb_view(&printed)));
        sb_free(&printed);
        addr_set_free(&s);
    }
}

/* A set of 2^12 addresses as bits, against the real one, with ranges added a few at a time in any order. */
static void random_ranges_match_a_bitmap(void **state)
{
    enum { SPACE = 4096 };
    static bool bits[SPACE];
    const addr_number base = (addr_number)0xfffff000u; /* the top: ends at the last address */
    unsigned seed = 12345;

    (void)state;
    for (int round = 0; round < 200; round++) {
        struct addr_set *s = addr_set_new();

        memset(bits, 0, sizeof bits);
        for (int step = 0; step < 20; step++) {
            for (unsigned k = (unsigned)rand_r(&seed) % 5; k > 0; k--) {
                unsigned first = (unsigned)rand_r(&seed) % SPACE;
                unsigned last = first + (unsigned)rand_r(&seed) % 64;

                last = last < SPACE ? last : SPACE - 1;
                memset(bits + first, true, last - first + 1);
                addr_set_add(s, AF_INET, base + first, base + last);
            }
            addr_set_settle(s);
        }
        for (unsigned i = 0; i < SPACE; i++) {
            struct addr a = addr_from_number(base + i, AF_INET);

            if (addr_set_contains(s, &a) != bits[i])
                fail_msg("round %d: %u should be %s", round, i, bits[i] ? "in" : "out");
        }
        addr_set_free(&s);
    }
}

static void no_address_is_only_in_everything(void **state)
{
    struct addr none = { 0 };
    struct addr_set *s = addr_set_new();

    (void)state;
    addr_set_add(s, AF_INET, 0, addr_number_max(AF_INET));
    addr_set_settle(s);
    assert_false(addr_set_contains(s, &none));
    assert_false(addr_set_is_everything(s));
    addr_set_add(s, AF_INET6, 0, addr_number_max(AF_INET6));
    addr_set_settle(s);
    assert_true(addr_set_is_everything(s));
    assert_true(addr_set_contains(s, &none));
    addr_set_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_what_matches),
        cmocka_unit_test(random_ranges_match_a_bitmap),
        cmocka_unit_test(no_address_is_only_in_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
