/* test/cache/heads.h: heads for the tables of this directory, from text with '\n' between fields, by the real
 * parser. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "hdrs/parse.h"

#define ROWS(table) (sizeof(table) / sizeof(table)[0])

/* Sun, 06 Nov 1994 08:49:37 GMT, the RFC's own example: every test's idea of "now" is near it. */
#define T0 INT64_C(784111777)
#define T0_TEXT "Sun, 06 Nov 1994 08:49:37 GMT"

struct test_head {
    struct head head;
    size_t len;
    char bytes[16384];
};

static inline void test_head_add(struct test_head *t, const char *s, size_t n)
{
    assert_true(t->len + n <= sizeof t->bytes);
    memcpy(t->bytes + t->len, s, n);
    t->len += n;
}

/* start line, fields, and the blank line, each with CRLF. */
static inline void test_head_write(struct test_head *t, const char *start_line, const char *fields)
{
    t->len = 0;
    test_head_add(t, start_line, strlen(start_line));
    test_head_add(t, "\r\n", 2);
    while (*fields != '\0') {
        size_t n = strcspn(fields, "\n");

        test_head_add(t, fields, n);
        test_head_add(t, "\r\n", 2);
        fields += n + (fields[n] == '\n');
    }
    test_head_add(t, "\r\n", 2);
}

static inline const struct head *test_parse(struct test_head *t, bool request)
{
    struct parse_limits limits = { .max_bytes = sizeof t->bytes, .max_fields = HEAD_FIELDS_MAX };
    struct parse_progress progress = { 0 };
    struct parse_error error = { 0 };
    enum parse_result r = request ? parse_request(&t->head, t->bytes, t->len, &limits, &progress, &error)
                                  : parse_response(&t->head, t->bytes, t->len, &limits, &progress, &error);

    if (r != PARSE_DONE)
        fail_msg("bad test head: %s: %.*s", error.what ? error.what : "unfinished", (int)t->len, t->bytes);
    return &t->head;
}

static inline const struct head *request_head(struct test_head *t, const char *method, const char *fields)
{
    char line[64];

    snprintf(line, sizeof line, "%s / HTTP/1.1", method);
    test_head_write(t, line, fields);
    return test_parse(t, true);
}

static inline const struct head *response_head(struct test_head *t, int status, const char *fields)
{
    char line[64];

    snprintf(line, sizeof line, "HTTP/1.1 %d Reason", status);
    test_head_write(t, line, fields);
    return test_parse(t, false);
}
