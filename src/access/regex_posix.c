#include "access/regex_posix.h"

/* GNU's escapes that PCRE2 takes for the plain character. */
static const struct {
    char letter;
    const char *perl;
} gnu_escapes[] = {
    { '<', "\\b(?=\\w)" },
    { '>', "\\b(?<=\\w)" },
    { '`', "\\A" },
    { '\'', "\\z" },
};

/* The length of the "[:alpha:]" text starts with, whose ']' doesn't end the brackets around it; 0 when it is none. */
static size_t character_class(struct span text)
{
    size_t i = 2;

    if (text.len < 2 || text.p[0] != '[' || text.p[1] != ':')
        return 0;
    while (i < text.len && (text.p[i] == '^' || (text.p[i] >= 'a' && text.p[i] <= 'z')))
        i++;
    return i + 1 < text.len && text.p[i] == ':' && text.p[i + 1] == ']' ? i + 2 : 0;
}

/* Copies a bracket expression as it is and returns where it ends. Inside, a backslash escapes, as PCRE2 has it and who
 * writes `[\w.]` or `[a\-z]` means it; POSIX would take it for a member. `[^\]` then lacks its ']' and is an error, not
 * another meaning. */
static size_t copy_brackets(struct span pattern, size_t at, struct strbuf *out)
{
    size_t i = at + 1;

    if (i < pattern.len && pattern.p[i] == '^')
        i++;
    if (i < pattern.len && pattern.p[i] == ']') /* in front it is a member */
        i++;
    while (i < pattern.len && pattern.p[i] != ']') {
        size_t class_length = character_class(span_of(pattern.p + i, pattern.len - i));

        i += class_length > 0 ? class_length : pattern.p[i] == '\\' ? 2 : 1;
    }
    i = i < pattern.len ? i + 1 : pattern.len;
    sb_add(out, pattern.p + at, i - at);
    return i;
}

static void copy_escape(char letter, struct strbuf *out)
{
    for (size_t i = 0; i < sizeof gnu_escapes / sizeof gnu_escapes[0]; i++)
        if (gnu_escapes[i].letter == letter) {
            sb_str(out, gnu_escapes[i].perl);
            return;
        }
    sb_char(out, '\\');
    sb_char(out, letter);
}

/* "{,3}" counts from 0; PCRE2 before 10.43 takes it for text. */
static bool counts_from_nothing(struct span pattern, size_t at)
{
    size_t i = at + 2;

    if (i >= pattern.len || pattern.p[at + 1] != ',')
        return false;
    while (i < pattern.len && pattern.p[i] >= '0' && pattern.p[i] <= '9')
        i++;
    return i > at + 2 && i < pattern.len && pattern.p[i] == '}';
}

void regex_from_posix(struct span pattern, struct strbuf *out)
{
    for (size_t i = 0; i < pattern.len;) {
        char c = pattern.p[i];

        if (c == '[') {
            i = copy_brackets(pattern, i, out);
        } else if (c == '\\' && i + 1 < pattern.len) {
            copy_escape(pattern.p[i + 1], out);
            i += 2;
        } else {
            sb_char(out, c);
            if (c == '{' && counts_from_nothing(pattern, i))
                sb_char(out, '0');
            i++;
        }
    }
}

bool regex_is_combinable(struct span pattern)
{
    for (size_t i = 0; i + 1 < pattern.len; i++) {
        char next = pattern.p[i + 1];

        if (pattern.p[i] == '(' && (next == '*' || next == '?'))
            return false;
        if (pattern.p[i] != '\\')
            continue;
        if ((next >= '0' && next <= '9') || memchr("gkGKQEX", next, 7) != NULL)
            return false;
        i++;
    }
    return true;
}
