#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "conf/lex.h"

/* A text as "LINE:COLUMN word|..." a line, lines end in \n: easier to read than a tree of structs. */
static void show(struct strbuf *out, struct span text)
{
    struct lexer x;
    const struct line *l;

    lexer_init(&x, "f", text);
    while ((l = lexer_next(&x)) != NULL) {
        for (size_t i = 0; i < l->n; i++)
            sb_printf(out, "%s%u:%u%s %.*s", i > 0 ? "|" : "", l->words[i].at.line, l->words[i].at.column,
                      l->words[i].open_quote ? "?"
                      : l->words[i].quoted   ? "\""
                                             : "",
                      SPAN_ARG(l->words[i].text));
        sb_char(out, '\n');
    }
    lexer_free(&x);
}

static const struct {
    const char *why, *text, *want;
} texts[] = {
    { "nothing", "", "" },
    { "blank lines and comments", "\n  \n# c\n \t# c\n", "" },
    { "words between blanks and tabs", "a  b\tc\n", "1:1 a|1:4 b|1:6 c\n" },
    { "leading blanks", "  a b", "1:3 a|1:5 b\n" },
    { "no line end at the end", "a\nb", "1:1 a\n2:1 b\n" },
    { "comment after a blank", "a b # c d\ne", "1:1 a|1:3 b\n2:1 e\n" },
    { "# inside a word stays", "a b#c #d", "1:1 a|1:3 b#c\n" },
    { "CR before LF is dropped", "a b\r\nc\r\n", "1:1 a|1:3 b\n2:1 c\n" },
    { "CR at the very end is dropped", "a b\r", "1:1 a|1:3 b\n" },
    { "CR elsewhere is a byte like others", "a\rb c", "1:1 a\rb|1:5 c\n" },
    { "a backslash joins", "a b \\\n  c\nd", "1:1 a|1:3 b|2:3 c\n3:1 d\n" },
    { "a backslash joins before CR LF", "a \\\r\nb", "1:1 a|2:1 b\n" },
    { "a word goes on over a join", "ab\\\ncd e", "1:1 abcd|2:4 e\n" },
    { "two joins", "a \\\n\\\nb", "1:1 a|3:1 b\n" },
    { "a backslash elsewhere stays", "a \\. b\\", "1:1 a|1:3 \\.|1:6 b\\\n" },
    { "a comment doesn't go on: no rule is swallowed", "a # b \\\nc", "1:1 a\n2:1 c\n" },
    { "a comment line doesn't go on either", "# b \\\nc", "2:1 c\n" },
    { "comment after a join", "a \\\n# b\nc", "1:1 a\n3:1 c\n" },
    { "quotes group", "a \"b c\" d", "1:1 a|1:3\" b c|1:9 d\n" },
    { "a quoted # is no comment", "a \"b # c\"", "1:1 a|1:3\" b # c\n" },
    { "quoted quote and backslash", "a \"b\\\"c\\\\d\\e\"", "1:1 a|1:3\" b\"c\\d\\e\n" },
    { "empty quotes", "a \"\"", "1:1 a|1:3\" \n" },
    { "quotes inside a word are bytes", "a b\"c d\"", "1:1 a|1:3 b\"c|1:7 d\"\n" },
    { "something behind the quote: bytes", "a \"b\"c", "1:1 a|1:3 \"b\"c\n" },
    { "an open quote", "a \"b c\nd", "1:1 a|1:3? \"b c\n2:1 d\n" },
    { "macros", "a ${process_number}-${service_name} ${other} $", "1:1 a|1:3 1-loligo|1:37 ${other}|1:46 $\n" },
    { "a macro within quotes", "a \"x${process_number} y\"", "1:1 a|1:3\" x1 y\n" },
    { "byte order mark",
      "\xef\xbb\xbf"
      "a b",
      "1:1 a|1:3 b\n" },
};

static void texts_become_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct strbuf out = { 0 };

        show(&out, span_str(texts[i].text));
        if (!span_eq(sb_view(&out), span_str(texts[i].want)))
            fail_msg("%s:\n%.*swanted:\n%s", texts[i].why, SPAN_ARG(sb_view(&out)), texts[i].want);
        sb_free(&out);
    }
}

static void the_raw_rest_keeps_blanks_and_quotes_and_knows_its_places(void **state)
{
    struct lexer x;
    const struct line *l;
    struct span rest;

    (void)state;
    lexer_init(&x, "f", SPAN("logformat x  %a  \"%b\" \\\n  %c  # comment\n"));
    l = lexer_next(&x);
    assert_non_null(l);
    rest = line_rest(l, 2);
    assert_true(span_eq(rest, SPAN("%a  \"%b\"   %c")));
    assert_int_equal(lexer_place(&x, l->words[2].raw_from).column, 14);
    assert_int_equal(lexer_place(&x, l->words[2].raw_from + 5).line, 1);
    assert_int_equal(lexer_place(&x, l->words[2].raw_from + 5).column, 19);
    assert_int_equal(lexer_place(&x, l->words[2].raw_from + 11).line, 2);
    assert_int_equal(lexer_place(&x, l->words[2].raw_from + 11).column, 3);
    assert_int_equal(line_rest(l, 9).len, 0);
    lexer_free(&x);
}

static void a_nul_is_a_byte(void **state)
{
    struct lexer x;
    const struct line *l;

    (void)state;
    lexer_init(&x, "f", SPAN("a b\0c d"));
    l = lexer_next(&x);
    assert_int_equal(l->n, 3);
    assert_int_equal(l->words[1].text.len, 3);
    lexer_free(&x);
}

static void list_files_have_a_value_a_line(void **state)
{
    static const struct {
        const char *value;
        unsigned line, column;
    } want[] = { { "a.example", 1, 1 }, { "b c", 4, 3 }, { "d#e", 5, 1 }, { "f", 6, 1 } };
    static const struct span forms[] = { SPAN("a.example\r\n\r\n# comment\n  b c \t# x\r\nd#e\nf"),
                                         SPAN("\xef\xbb\xbf"
                                              "a.example\r\n\r\n# comment\n  b c \t# x\r\nd#e\nf") };

    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct list_file f = { .text = forms[i] };
        struct span value;
        size_t n = 0;

        for (; list_file_next(&f, &value); n++) {
            assert_true(n < sizeof want / sizeof want[0]);
            if (!span_eq(value, span_str(want[n].value)) || f.line != want[n].line || f.column != want[n].column)
                fail_msg("%u:%u '%.*s'", f.line, f.column, SPAN_ARG(value));
        }
        assert_int_equal(n, sizeof want / sizeof want[0]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_words),
        cmocka_unit_test(the_raw_rest_keeps_blanks_and_quotes_and_knows_its_places),
        cmocka_unit_test(a_nul_is_a_byte),
        cmocka_unit_test(list_files_have_a_value_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
