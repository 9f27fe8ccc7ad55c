/* test/hdrs/heads.h: for the tests of this room: every one includes this and nothing of cmocka's own. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/mem.h"
#include "hdrs/parse.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])
/* A literal and its length, NULs inside it counted. */
#define BYTES(literal) { (literal), sizeof(literal) - 1 }

static const struct parse_limits test_limits = { .max_bytes = 65536, .max_fields = HEAD_FIELDS_MAX };

/* The head of a text that must parse; the spans point into text. */
static inline void head_of_request(struct head *h, const char *text)
{
    struct parse_progress p = { 0 };
    struct parse_error e = { 0 };

    if (parse_request(h, text, strlen(text), &test_limits, &p, &e) != PARSE_DONE)
        fail_msg("not a request (%s): %s", e.what ? e.what : "incomplete", text);
}

static inline void head_of_response(struct head *h, const char *text)
{
    struct parse_progress p = { 0 };
    struct parse_error e = { 0 };

    if (parse_response(h, text, strlen(text), &test_limits, &p, &e) != PARSE_DONE)
        fail_msg("not a response (%s): %s", e.what ? e.what : "incomplete", text);
}

static inline void assert_span(const char *why, struct span got, struct span want)
{
    if (!span_eq(got, want))
        fail_msg("%s: got \"%.*s\", want \"%.*s\"", why, SPAN_ARG(got), SPAN_ARG(want));
}
