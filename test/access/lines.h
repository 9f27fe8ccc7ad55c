/* test/access/lines.h: for the tests of this room: squid.conf lines as text, and facts that are easy to write. Every
 * one includes this and nothing of cmocka's own. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "access/access_list.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "hdrs/parse.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
#define LINE_WORDS 16

/* Splits at blanks; the words point into text. */
static inline size_t line_words(const char *text, struct span words[LINE_WORDS])
{
    size_t n = 0;

    while (*(text += strspn(text, " ")) != '\0') {
        assert_true(n < LINE_WORDS);
        words[n] = span_of(text, strcspn(text, " "));
        text += words[n++].len;
    }
    return n;
}

/* `NAME TYPE values`, without the word acl. */
static inline bool define_line(struct acl_set *s, const char *text, struct acl_problem *p)
{
    struct span words[LINE_WORDS];
    size_t n = line_words(text, words);

    return acl_define(s, words, n, p);
}

/* One that must be good; warnings pass. */
static inline void define(struct acl_set *s, const char *text)
{
    struct acl_problem p;

    if (!define_line(s, text, &p))
        fail_msg("acl %s: %s", text, p.text);
}

static inline bool list_line(struct access_list *l, const struct acl_set *s, const char *text, const char *where,
                             struct acl_problem *p)
{
    struct span words[LINE_WORDS];
    size_t n = line_words(text, words);

    return access_list_add(l, s, words, n, where, p);
}

static inline struct addr addr_of(const char *text, uint16_t port)
{
    struct addr a;

    if (!addr_parse(span_str(text), &a))
        fail_msg("not an address: %s", text);
    a.port = port;
    return a;
}

/* A GET of http://www.example.org/path?q from 192.0.2.7 at 192.0.2.1:3128; tests change what they are about. */
static inline struct access_facts example_facts(void)
{
    return (struct access_facts){
        .client = addr_of("192.0.2.7", 50000),
        .local = addr_of("192.0.2.1", 3128),
        .port_name = SPAN("inside"),
        .method = METHOD_GET,
        .method_name = SPAN("GET"),
        .scheme = SPAN("http"),
        .host = SPAN("www.example.org"),
        .port = 80,
        .url = SPAN("http://www.example.org/path?q"),
        .path = SPAN("/path?q"),
    };
}

static inline void set_host(struct access_facts *f, const char *host)
{
    f->host = span_str(host);
    f->host_is_address = addr_parse(f->host, &f->host_addr);
}

static const struct parse_limits head_limits = { .max_bytes = 65536, .max_fields = HEAD_FIELDS_MAX };

static inline void head_of_request(struct head *h, const char *text)
{
    struct parse_progress progress = { 0 };
    struct parse_error e = { 0 };

    if (parse_request(h, text, strlen(text), &head_limits, &progress, &e) != PARSE_DONE)
        fail_msg("not a request: %s", text);
}

static inline void head_of_response(struct head *h, const char *text)
{
    struct parse_progress progress = { 0 };
    struct parse_error e = { 0 };

    if (parse_response(h, text, strlen(text), &head_limits, &progress, &e) != PARSE_DONE)
        fail_msg("not a response: %s", text);
}
