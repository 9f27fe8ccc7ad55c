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

/* 2^12 addresses as bits, against the real set, with ranges added a few at a time in any order. */
static void ranges_match_a_bitmap(int family, addr_number base)
{
    enum { SPACE = 4096 };
    static bool bits[SPACE];
    unsigned seed = 12345;

    for (int round = 0; round < 200; round++) {
        struct addr_set *s = addr_set_new();

        memset(bits, 0, sizeof bits);
        for (int step = 0; step < 20; step++) {
            for (unsigned k = (unsigned)rand_r(&seed) % 5; k > 0; k--) {
                unsigned first = (unsigned)rand_r(&seed) % SPACE;
                unsigned last = first + (unsigned)rand_r(&seed) % 64;

                last = last < SPACE ? last : SPACE - 1;
                memset(bits + first, true, last - first + 1);
                addr_set_add(s, family, base + first, base + last);
            }
            addr_set_settle(s);
        }
        for (unsigned i = 0; i < SPACE; i++) {
            struct addr a = addr_from_number(base + i, family);

            if (addr_set_contains(s, &a) != bits[i])
                fail_msg("round %d: %u should be %s", round, i, bits[i] ? "in" : "out");
        }
        addr_set_free(&s);
    }
}

static void random_ranges_match_a_bitmap(void **state)
{
    (void)state;
    ranges_match_a_bitmap(AF_INET, 0);
    ranges_match_a_bitmap(AF_INET, (addr_number)0xfffff000u); /* the top: ends at the last address */
    ranges_match_a_bitmap(AF_INET6, 0);
    ranges_match_a_bitmap(AF_INET6, ((addr_number)7 << 64) - 2048); /* over the middle's edge */
    ranges_match_a_bitmap(AF_INET6, ~(addr_number)4095);
}

/* Networks as written, against a list of them that is tried one by one, bit by bit. */
struct net {
    struct addr a;
    unsigned prefix;
};

static unsigned bit_of(const struct addr *a, unsigned i)
{
    return a->bytes[i / 8] >> (7 - i % 8) & 1;
}

static bool naively_contains(const struct net *nets, size_t n, const struct addr *a)
{
    for (size_t i = 0; i < n; i++) {
        unsigned same = 0;

        while (nets[i].a.family == a->family && same < nets[i].prefix && bit_of(&nets[i].a, same) == bit_of(a, same))
            same++;
        if (nets[i].a.family == a->family && same == nets[i].prefix)
            return true;
    }
    return false;
}

/* Few different bytes, so that networks lie in each other and beside each other. */
static struct addr random_addr(unsigned *seed)
{
    static const uint8_t bytes[] = { 0, 1, 0x7f, 0x80, 0xfe, 0xff };
    struct addr a = { .family = rand_r(seed) % 2 ? AF_INET : AF_INET6 };

    for (size_t i = 0; i < (a.family == AF_INET ? 4 : 16); i++)
        a.bytes[i] = bytes[(unsigned)rand_r(seed) % sizeof bytes];
    if (a.family == AF_INET6)
        a.bytes[0] = 0x20; /* a mapped one would be IPv4 */
    return a;
}

static struct net add_random_net(struct addr_set *s, unsigned *seed)
{
    struct net net = { .a = random_addr(seed) };
    unsigned bits = net.a.family == AF_INET ? 32 : 128;
    bool mapped = net.a.family == AF_INET && rand_r(seed) % 4 == 0;
    char text[ADDR_TEXT_MAX], word[ADDR_TEXT_MAX + 16], why[160];

    net.prefix = rand_r(seed) % 4 == 0 ? bits : (unsigned)rand_r(seed) % (bits + 1);
    if (rand_r(seed) % 64 != 0 && net.prefix < 3)
        net.prefix += 3; /* else most sets would have everything in them */
    addr_print(&net.a, text);
    snprintf(word, sizeof word, "%s%s/%u", mapped ? "::ffff:" : "", text, net.prefix + (mapped ? 96 : 0));
    if (net.prefix == 0) /* 0.0.0.0/0 as text would mean both families */
        addr_set_add(s, net.a.family, 0, addr_number_max(net.a.family));
    else
        assert_int_not_equal(addr_text_add(s, span_str(word), why), ADDR_TEXT_BAD);
    return net;
}

static void expect_as_naive(const struct addr_set *s, const struct net *nets, size_t n, addr_number number, int family)
{
    struct addr a = addr_from_number(number, family);
    char text[ADDR_TEXT_MAX];

    if (addr_set_contains(s, &a) == naively_contains(nets, n, &a))
        return;
    addr_print(&a, text);
    fail_msg("%s of %zu networks", text, n);
}

static void random_networks_match_a_naive_list(void **state)
{
    enum { NETS = 48 };
    unsigned seed = 4711;

    (void)state;
    for (int round = 0; round < 400; round++) {
        struct addr_set *s = addr_set_new();
        struct net nets[NETS];
        size_t n = 1 + (size_t)rand_r(&seed) % NETS;

        for (size_t i = 0; i < n; i++) {
            nets[i] = add_random_net(s, &seed);
            if (rand_r(&seed) % 4 == 0)
                addr_set_settle(s);
        }
        addr_set_settle(s);
        for (size_t i = 0; i < n; i++) {
            int family = nets[i].a.family;
            unsigned bits = family == AF_INET ? 32 : 128;
            addr_number host_bits =
                nets[i].prefix == 0 ? addr_number_max(family) : ((addr_number)1 << (bits - nets[i].prefix)) - 1;
            addr_number first = addr_to_number(&nets[i].a) & ~host_bits, last = first | host_bits;
            struct addr any = random_addr(&seed);

            expect_as_naive(s, nets, n, first, family);
            expect_as_naive(s, nets, n, last, family);
            expect_as_naive(s, nets, n, (first - 1) & addr_number_max(family), family);
            expect_as_naive(s, nets, n, (last + 1) & addr_number_max(family), family);
            expect_as_naive(s, nets, n, addr_to_number(&any), any.family);
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
        cmocka_unit_test(random_networks_match_a_naive_list),
        cmocka_unit_test(no_address_is_only_in_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
