#include "hdrs/structured.h"

#include "hdrs/scan.h"

#define INTEGER_DIGITS 15 /* RFC 8941 section 3.3.1 */
#define DECIMAL_DIGITS 12
#define FRACTION_DIGITS 3

static bool at(struct span s, char c)
{
    return s.len > 0 && s.p[0] == c;
}

static void skip(struct span *s, size_t n)
{
    s->p += n;
    s->len -= n;
}

static void skip_blanks(struct span *s, bool tabs)
{
    while (at(*s, ' ') || (tabs && at(*s, '\t')))
        skip(s, 1);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_alpha(char c)
{
    return is_lower(c) || (c >= 'A' && c <= 'Z');
}

/* key = ( lcalpha / "*" ) *( lcalpha / DIGIT / "_" / "-" / "." / "*" ) */
static bool parse_key(struct span *s, struct span *key)
{
    size_t n = 0;

    if (s->len == 0 || !(is_lower(s->p[0]) || s->p[0] == '*'))
        return false;
    while (n < s->len && (is_lower(s->p[n]) || is_digit(s->p[n]) || s->p[n] == '_' || s->p[n] == '-' ||
                          s->p[n] == '.' || s->p[n] == '*'))
        n++;
    *key = span_of(s->p, n);
    skip(s, n);
    return true;
}

static size_t digits(struct span s)
{
    size_t n = 0;

    while (n < s.len && is_digit(s.p[n]))
        n++;
    return n;
}

static bool parse_number(struct span *s, struct sf_member *m)
{
    bool negative = at(*s, '-');
    size_t whole, fraction;

    if (negative)
        skip(s, 1);
    whole = digits(*s);
    if (whole == 0 || whole > INTEGER_DIGITS)
        return false;
    m->type = SF_INTEGER;
    m->integer = 0;
    for (size_t i = 0; i < whole; i++)
        m->integer = m->integer * 10 + (s->p[i] - '0');
    if (negative)
        m->integer = -m->integer;
    skip(s, whole);
    if (!at(*s, '.'))
        return true;
    skip(s, 1);
    m->type = SF_DECIMAL;
    fraction = digits(*s);
    skip(s, fraction);
    return whole <= DECIMAL_DIGITS && fraction > 0 && fraction <= FRACTION_DIGITS;
}

static bool parse_string(struct span *s, struct sf_member *m)
{
    size_t i = 1;

    for (; i < s->len && s->p[i] != '"'; i++) {
        if (s->p[i] == '\\' && (++i == s->len || (s->p[i] != '"' && s->p[i] != '\\')))
            return false;
        if (s->p[i] < ' ' || s->p[i] > '~') /* char may be signed: bytes beyond ASCII are below ' ' then */
            return false;
    }
    if (i == s->len)
        return false;
    m->type = SF_STRING;
    m->text = span_of(s->p + 1, i - 1);
    skip(s, i + 1);
    return true;
}

static bool parse_token(struct span *s, struct sf_member *m)
{
    const char *end = s->p + s->len, *p = s->p;

    do
        p = scan_tchars(p, end);
    while (p < end && (*p == ':' || *p == '/') && ++p < end);
    m->type = SF_TOKEN;
    m->text = span_of(s->p, (size_t)(p - s->p));
    skip(s, m->text.len);
    return true;
}

static bool parse_bytes(struct span *s, struct sf_member *m)
{
    size_t i = 1;

    while (i < s->len && (is_alpha(s->p[i]) || is_digit(s->p[i]) || s->p[i] == '+' || s->p[i] == '/' || s->p[i] == '='))
        i++;
    if (i == s->len || s->p[i] != ':')
        return false;
    m->type = SF_BYTES;
    skip(s, i + 1);
    return true;
}

static bool parse_boolean(struct span *s, struct sf_member *m)
{
    if (s->len < 2 || (s->p[1] != '0' && s->p[1] != '1'))
        return false;
    m->type = SF_BOOLEAN;
    m->boolean = s->p[1] == '1';
    skip(s, 2);
    return true;
}

static bool parse_bare_item(struct span *s, struct sf_member *m)
{
    if (s->len == 0)
        return false;
    switch (s->p[0]) {
    case '"': return parse_string(s, m);
    case ':': return parse_bytes(s, m);
    case '?': return parse_boolean(s, m);
    case '*': return parse_token(s, m);
    default: return is_alpha(s->p[0]) ? parse_token(s, m) : parse_number(s, m);
    }
}

static bool parse_parameters(struct span *s)
{
    struct span key;
    struct sf_member ignored;

    while (at(*s, ';')) {
        skip(s, 1);
        skip_blanks(s, false);
        if (!parse_key(s, &key))
            return false;
        if (at(*s, '=')) {
            skip(s, 1);
            if (!parse_bare_item(s, &ignored))
                return false;
        }
    }
    return true;
}

static bool parse_inner_list(struct span *s, struct sf_member *m)
{
    struct sf_member ignored;

    m->type = SF_INNER_LIST;
    skip(s, 1);
    for (;;) {
        skip_blanks(s, false);
        if (at(*s, ')')) {
            skip(s, 1);
            return true;
        }
        if (!parse_bare_item(s, &ignored) || !parse_parameters(s) || !(at(*s, ' ') || at(*s, ')')))
            return false;
    }
}

enum sf_result sf_dictionary_next(struct span *rest, struct sf_member *m)
{
    if (rest->len == 0)
        return SF_END;
    *m = (struct sf_member){ .type = SF_BOOLEAN, .boolean = true };
    if (!parse_key(rest, &m->key))
        return SF_BAD;
    if (at(*rest, '=')) {
        skip(rest, 1);
        if (!(at(*rest, '(') ? parse_inner_list(rest, m) : parse_bare_item(rest, m)))
            return SF_BAD;
    }
    if (!parse_parameters(rest))
        return SF_BAD;
    skip_blanks(rest, true);
    if (rest->len == 0)
        return SF_MEMBER;
    if (!at(*rest, ','))
        return SF_BAD;
    skip(rest, 1);
    skip_blanks(rest, true);
    return rest->len > 0 ? SF_MEMBER : SF_BAD; /* a comma is followed by a member */
}
