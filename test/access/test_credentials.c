#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include "access/credentials.h"
#include "base/strbuf.h"

static void scheme_and_rest_are_split(void **state)
{
    static const struct {
        const char *why, *value, *scheme, *rest; /* scheme NULL: refused */
    } rows[] = {
        { "as usual", "Basic abcd", "Basic", "abcd" },
        { "blanks around and between", "  Basic \t abcd\t ", "Basic", "abcd" },
        { "nothing but a scheme", "Negotiate", "Negotiate", "" },
        { "parameters stay as they are", "Digest a=\"b c\", d=e", "Digest", "a=\"b c\", d=e" },
        { "nothing", "", NULL, NULL },
        { "blanks only", "  ", NULL, NULL },
        { "no scheme in front", "=abcd", NULL, NULL },
        { "a control character", "Basic ab\x01 cd", NULL, NULL },
        { "not a token", "Ba(sic abcd", NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct span scheme, rest;
        bool good = credentials_split(span_str(rows[i].value), &scheme, &rest);

        if (good != (rows[i].scheme != NULL))
            fail_msg("%s: %d", rows[i].why, good);
        if (good && (!span_eq(scheme, span_str(rows[i].scheme)) || !span_eq(rest, span_str(rows[i].rest))))
            fail_msg("%s: %.*s, %.*s", rows[i].why, SPAN_ARG(scheme), SPAN_ARG(rest));
    }
}

/* decoded is encoded first when it is set; else token is taken as it is. */
static const struct row {
    const char *why;
    struct span decoded;
    const char *token;
    struct basic_options o;
    const char *user, *password; /* user NULL: refused, with: */
    const char *said;
} rows[] = {
    { "a name and a password", SPAN("joe:secret"), NULL, { 0 }, "joe", "secret", NULL },
    { "the first colon divides", SPAN("joe:se:cr:et"), NULL, { 0 }, "joe", "se:cr:et", NULL },
    { "an empty password is one", SPAN("joe:"), NULL, { 0 }, "joe", "", NULL },
    { "letter case stays", SPAN("Joe:Secret"), NULL, { 0 }, "Joe", "Secret", NULL },
    { "the name's is folded, the password's never",
      SPAN("JoE:SeCret"),
      NULL,
      { .fold_case = true },
      "joe",
      "SeCret",
      NULL },
    { "ISO 8859-1 becomes UTF-8", SPAN("j\xf6:\xfc"), NULL, { .utf8 = true }, "j\xc3\xb6", "\xc3\xbc", NULL },
    { "UTF-8 stays UTF-8", SPAN("j\xc3\xb6:\xe2\x82\xac"), NULL, { .utf8 = true }, "j\xc3\xb6", "\xe2\x82\xac", NULL },
    { "an overlong form is no UTF-8", SPAN("j:\xc0\xaf"), NULL, { .utf8 = true }, "j", "\xc3\x80\xc2\xaf", NULL },
    { "without utf8 bytes stay as they are", SPAN("j\xf6:\xfc"), NULL, { 0 }, "j\xf6", "\xfc", NULL },
    { "no colon", SPAN("joesecret"), NULL, { 0 }, NULL, NULL, "credentials without a colon" },
    { "no name", SPAN(":secret"), NULL, { 0 }, NULL, NULL, "credentials without a user name" },
    { "a NUL in the password", SPAN("joe:sec\0ret"), NULL, { 0 }, NULL, NULL, "control characters in the credentials" },
    { "a line end in the name",
      SPAN("joe\nx:secret"),
      NULL,
      { 0 },
      NULL,
      NULL,
      "control characters in the credentials" },
    { "DEL", SPAN("joe:\x7f"), NULL, { 0 }, NULL, NULL, "control characters in the credentials" },
    { "nothing", SPAN_NONE, "", { 0 }, NULL, NULL, "credentials that aren't base64" },
    { "not base64", SPAN_NONE, "am9l!nNl", { 0 }, NULL, NULL, "credentials that aren't base64" },
    { "padding is missing", SPAN_NONE, "am9lOnNlY3JldA", { 0 }, NULL, NULL, "credentials that aren't base64" },
    { "padding in the middle", SPAN_NONE, "am9l=nNl", { 0 }, NULL, NULL, "credentials that aren't base64" },
    { "nothing but padding", SPAN_NONE, "====", { 0 }, NULL, NULL, "credentials that aren't base64" },
    { "a blank within", SPAN_NONE, "am9l OnN", { 0 }, NULL, NULL, "credentials that aren't base64" },
};

static void basic_credentials_are_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *r = &rows[i];
        char coded[256];
        struct basic_credentials c;
        const char *why = NULL;
        bool good;

        if (r->token == NULL)
            EVP_EncodeBlock((unsigned char *)coded, (const unsigned char *)r->decoded.p, (int)r->decoded.len);
        good = basic_credentials_parse(span_str(r->token ? r->token : coded), &r->o, &c, &why);
        if (good != (r->user != NULL))
            fail_msg("%s: %d (%s)", r->why, good, why ? why : "");
        if (good && (!span_eq(c.user, span_str(r->user)) || !span_eq(c.password, span_str(r->password))))
            fail_msg("%s: '%s' '%s'", r->why, c.user.p, c.password.p);
        if (!good && strcmp(why, r->said) != 0)
            fail_msg("%s: %s", r->why, why);
    }
}

static bool takes(size_t user, size_t password, const struct basic_options *o)
{
    struct strbuf text = { 0 };
    struct basic_credentials c;
    const char *why;
    char *coded;
    bool good;

    for (size_t i = 0; i < user; i++)
        sb_char(&text, (char)0xfc);
    sb_char(&text, ':');
    for (size_t i = 0; i < password; i++)
        sb_char(&text, (char)0xfc);
    coded = malloc(text.len * 2 + 8);
    EVP_EncodeBlock((unsigned char *)coded, (const unsigned char *)text.p, (int)text.len);
    good = basic_credentials_parse(span_str(coded), o, &c, &why);
    if (good)
        assert_true(c.user.len >= user && c.password.len >= password);
    else
        assert_string_equal(why, "credentials that are too long");
    free(coded);
    sb_free(&text);
    return good;
}

static void lengths_are_bounded(void **state)
{
    const struct basic_options plain = { 0 }, doubled = { .utf8 = true };

    (void)state;
    assert_true(takes(255, 511, &plain) && takes(255, 511, &doubled));
    assert_false(takes(256, 10, &plain));
    assert_false(takes(10, 512, &plain));
    assert_false(takes(5000, 5000, &doubled));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scheme_and_rest_are_split),
        cmocka_unit_test(basic_credentials_are_judged),
        cmocka_unit_test(lengths_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
