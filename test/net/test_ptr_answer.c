#include "harness.h"

#include <stdlib.h>
#include "net/ptr_answer.h"

#define ASKED "4.2.0.192.in-addr.arpa"
#define Q                                                                                                              \
    "\x01"                                                                                                             \
    "4"                                                                                                                \
    "\x01"                                                                                                             \
    "2"                                                                                                                \
    "\x01"                                                                                                             \
    "0"                                                                                                                \
    "\x03"                                                                                                             \
    "192"                                                                                                              \
    "\x07"                                                                                                             \
    "in-addr"                                                                                                          \
    "\x04"                                                                                                             \
    "arpa"                                                                                                             \
    "\0"
/* One question, n answers. */
#define HEAD(n) "\x12\x34\x81\x80\0\x01\0" n "\0\0\0\0" Q "\0\x0c\0\x01"
#define OWNER "\xc0\x0c" /* the question's name */
#define PTR "\0\x0c\0\x01"
#define CNAME "\0\x05\0\x01"
#define TTL(s) "\0\0\0" s
#define A_TEST                                                                                                         \
    "\x01"                                                                                                             \
    "a"                                                                                                                \
    "\x04"                                                                                                             \
    "test"                                                                                                             \
    "\0" /* 8 bytes */
#define L63                                                                                                            \
    "\x3f"                                                                                                             \
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
    const char *why;
    struct span message;
    enum ptr_result result;
    const char *name;
    uint32_t ttl;
} answers[] = {
    { "one name", SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\x08" A_TEST), PTR_NAME, "a.test", 60 },
    { "no answer", SPAN(HEAD("\0")), PTR_NO_NAME, "", 0 },
    { "in lower case",
      SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\x08\x01"
                                              "A"
                                              "\x04"
                                              "TeSt"
                                              "\0"),
      PTR_NAME, "a.test", 60 },
    { "the owner in another case",
      SPAN(HEAD("\x01") "\x01"
                        "4"
                        "\x01"
                        "2"
                        "\x01"
                        "0"
                        "\x03"
                        "192"
                        "\x07"
                        "IN-ADDR"
                        "\x04"
                        "ARPA"
                        "\0" PTR TTL("\x3c") "\0\x08" A_TEST),
      PTR_NAME, "a.test", 60 },
    { "another owner's", SPAN(HEAD("\x01") A_TEST PTR TTL("\x3c") "\0\x08" A_TEST), PTR_NO_NAME, "", 0 },
    { "another class", SPAN(HEAD("\x01") OWNER "\0\x0c\0\x03" TTL("\x3c") "\0\x08" A_TEST), PTR_NO_NAME, "", 0 },
    { "another type", SPAN(HEAD("\x01") OWNER "\0\x10\0\x01" TTL("\x3c") "\0\x08" A_TEST), PTR_NO_NAME, "", 0 },
    { "the first valid one",
      SPAN(HEAD("\x03")
               OWNER PTR TTL("\x01") "\0\x08\x01"
                                     "*"
                                     "\x04"
                                     "test"
                                     "\0" OWNER PTR TTL("\x3c") "\0\x08" A_TEST OWNER PTR TTL("\x3c") "\0\x08\x01"
                                                                                                      "b"
                                                                                                      "\x04"
                                                                                                      "test"
                                                                                                      "\0"),
      PTR_NAME, "a.test", 60 },
    { "a dot in a label",
      SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\x08\x06"
                                              "a.test"
                                              "\0"),
      PTR_NO_NAME, "", 0 },
    { "a NUL in a label",
      SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\x08\x01"
                                              "\0"
                                              "\x04"
                                              "test"
                                              "\0"),
      PTR_NO_NAME, "", 0 },
    { "a blank",
      SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\x08\x06"
                                              "a test"
                                              "\0"),
      PTR_NO_NAME, "", 0 },
    { "a line break",
      SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\x08\x06"
                                              "a\r\nbcd"
                                              "\0"),
      PTR_NO_NAME, "", 0 },
    { "a byte above 127",
      SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\x08\x06"
                                              "\xc3\xa4test"
                                              "\0"),
      PTR_NO_NAME, "", 0 },
    { "an address for a name",
      SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\x0a\x02"
                                              "10"
                                              "\x01"
                                              "0"
                                              "\x01"
                                              "0"
                                              "\x01"
                                              "1"
                                              "\0"),
      PTR_NO_NAME, "", 0 },
    { "the root", SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\x01\0"), PTR_NO_NAME, "", 0 },
    { "an alias (RFC 2317), the shorter time",
      SPAN(HEAD("\x02") OWNER CNAME TTL("\x05") "\0\x0b\x04"
                                                "0/25"
                                                "\x04"
                                                "test"
                                                "\0"
                                                "\x04"
                                                "0/25"
                                                "\x04"
                                                "test"
                                                "\0" PTR TTL("\x3c") "\0\x08" A_TEST),
      PTR_NAME, "a.test", 5 },
    { "an alias of itself",
      SPAN(HEAD("\x02") OWNER CNAME TTL("\x05") "\0\x02" OWNER OWNER CNAME TTL("\x05") "\0\x02" OWNER), PTR_NO_NAME, "",
      0 },
    { "a time with the highest bit is none (RFC 2181)",
      SPAN(HEAD("\x01") OWNER PTR "\x80\0\0\0"
                                  "\0\x08" A_TEST),
      PTR_NAME, "a.test", 0 },
    { "a name of 255 bytes",
      SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\xff" L63 L63 L63 "\x3d"
                                              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                              "\0"),
      PTR_NAME, NULL, 60 },
    { "a name of 256 bytes",
      SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\x01\0" L63 L63 L63 "\x3e"
                                              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                              "\0"),
      PTR_BROKEN, NULL, 0 },
    { "a label of 64",
      SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\x42\x40"
                                              "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                              "\0"),
      PTR_BROKEN, NULL, 0 },
    { "a pointer to itself", SPAN(HEAD("\x01") "\xc0\x28" PTR TTL("\x3c") "\0\x08" A_TEST), PTR_BROKEN, NULL, 0 },
    { "a pointer forwards", SPAN(HEAD("\x01") "\xc0\x34" PTR TTL("\x3c") "\0\x08" A_TEST), PTR_BROKEN, NULL, 0 },
    { "data longer than the name", SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\x09" A_TEST "x"), PTR_BROKEN, NULL, 0 },
    { "data shorter than the name", SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\0\x07" A_TEST), PTR_BROKEN, NULL, 0 },
    { "data past the end", SPAN(HEAD("\x01") OWNER PTR TTL("\x3c") "\x01\0" A_TEST), PTR_BROKEN, NULL, 0 },
    { "fewer records than announced", SPAN(HEAD("\x02") OWNER "\0\x10\0\x01" TTL("\x3c") "\0\0"), PTR_BROKEN, NULL, 0 },
    { "no question", SPAN("\x12\x34\x81\x80\0\0\0\0\0\0\0\0"), PTR_BROKEN, NULL, 0 },
};

/* In memory of its own size: reading beyond it is seen by the sanitizer. */
static enum ptr_result read_copy(struct span message, size_t len, struct ptr_answer *a)
{
    unsigned char *copy = malloc(len + 1);
    enum ptr_result r;

    memcpy(copy, message.p, len);
    copy = realloc(copy, len > 0 ? len : 1);
    r = ptr_answer_read(copy, len, ASKED, a);
    free(copy);
    return r;
}

static void answers_are_judged(void **state)
{
    struct ptr_answer a;

    (void)state;
    for (size_t i = 0; i < LENGTH(answers); i++) {
        enum ptr_result r = read_copy(answers[i].message, answers[i].message.len, &a);

        if (r != answers[i].result || (answers[i].name != NULL && strcmp(a.name, answers[i].name) != 0) ||
            (r == PTR_NAME && a.ttl != answers[i].ttl))
            fail_msg("%s: %d '%s' %u", answers[i].why, r, a.name, a.ttl);
    }
}

static void part_of_a_message_has_no_name(void **state)
{
    struct ptr_answer a;

    (void)state;
    for (size_t len = 0; len < answers[0].message.len; len++)
        assert_int_equal(read_copy(answers[0].message, len, &a), PTR_BROKEN);
}

/* Aliases up to the limit, and one more. */
static void a_long_way_ends(void **state)
{
    struct ptr_answer a;

    (void)state;
    for (unsigned aliases = PTR_ALIASES_MAX; aliases <= PTR_ALIASES_MAX + 1; aliases++) {
        unsigned char m[4096] = HEAD("\0");
        size_t len = sizeof HEAD("\0") - 1;

        m[7] = (unsigned char)(aliases + 1);
        for (unsigned i = 0; i <= aliases; i++) {
            const unsigned char own[] = { 1, (unsigned char)('a' + i - 1), 0 },
                                next[] = { 1, (unsigned char)('a' + i), 0 };

            memcpy(m + len, i == 0 ? (const void *)OWNER "\0" : own, i == 0 ? 2 : 3);
            len += i == 0 ? 2 : 3;
            memcpy(m + len, i == aliases ? PTR TTL("\x3c") "\0\x03" : CNAME TTL("\x3c") "\0\x03", 10);
            memcpy(m + len + 10, next, 3);
            len += 13;
        }
        assert_int_equal(ptr_answer_read(m, len, ASKED, &a), aliases <= PTR_ALIASES_MAX ? PTR_NAME : PTR_NO_NAME);
    }
}

/* 100 pointers, each to the one before it. */
static void pointers_end(void **state)
{
    unsigned char m[1024] = HEAD("\x01") "\x01"
                                         "a"
                                         "\0";
    size_t len = sizeof HEAD("\x01") - 1, first = len;
    struct ptr_answer a;

    (void)state;
    memcpy(m + len, "\xc0\x0c\0\x0a\0\x01\0\0\0\x01\0\xc8", 12); /* a record nobody asks about, of 200 bytes */
    len += 12;
    first = len;
    for (unsigned i = 0; i < 100; i++, len += 2) {
        unsigned to = i == 0 ? 12 : (unsigned)len - 2;

        m[len] = (unsigned char)(0xc0 | to >> 8);
        m[len + 1] = (unsigned char)to;
    }
    m[7] = 2;
    memcpy(m + len, "\xc0", 1);
    m[len + 1] = (unsigned char)(len - 2);
    m[len] = (unsigned char)(0xc0 | (len - 2) >> 8);
    memcpy(m + len + 2, PTR TTL("\x3c") "\0\x08" A_TEST, 18);
    assert_int_equal(ptr_answer_read(m, len + 20, ASKED, &a), PTR_BROKEN);
    m[len] = (unsigned char)(0xc0 | (first + 40) >> 8); /* 21 of them */
    m[len + 1] = (unsigned char)(first + 40);
    assert_int_equal(ptr_answer_read(m, len + 20, ASKED, &a), PTR_NAME);
}

static void addresses_as_questions(void **state)
{
    char text[PTR_QUESTION_MAX];
    struct addr a = address("192.0.2.4", 80);

    (void)state;
    ptr_question(&a, text);
    assert_string_equal(text, ASKED);
    a = address("2001:db8::567:89ab", 0);
    ptr_question(&a, text);
    assert_string_equal(text,
                        "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"); /* RFC 3596 */
}

static void names_of_hosts(void **state)
{
    static const char *const good[] = { "a", "a.b", "A-1.b_c", "1.a", "xn--bcher-kva.example" };
    static const char *const bad[] = { "", ".", "a.", ".a", "a..b", "a b", "a*", "1.2", "a.1", "a/b", "a\\b", "\xe4" };

    (void)state;
    for (size_t i = 0; i < LENGTH(good); i++)
        if (!host_name_is_valid(span_str(good[i])))
            fail_msg("%s", good[i]);
    for (size_t i = 0; i < LENGTH(bad); i++)
        if (host_name_is_valid(span_str(bad[i])))
            fail_msg("%s", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_judged),     cmocka_unit_test(part_of_a_message_has_no_name),
        cmocka_unit_test(a_long_way_ends),        cmocka_unit_test(pointers_end),
        cmocka_unit_test(addresses_as_questions), cmocka_unit_test(names_of_hosts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
