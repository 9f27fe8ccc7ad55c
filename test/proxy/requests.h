/* test/proxy/requests.h: requests as the proxy sees them, made of text and a configuration. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include "conf/settings.h"
#include "hdrs/parse.h"
#include "proxy/logformat.h"
#include "proxy/request.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static inline void say(struct conf_report *r, bool is_error, const char *text)
{
    (void)r;
    if (is_error)
        print_error("%s\n", text);
}

static inline struct settings *settings_of(const char *text)
{
    struct conf_hooks hooks = {
        .logformat_compile = logformat_compile,
        .logformat_free = logformat_free,
        .logformat_builtin = logformat_builtin,
    };
    struct conf_report report = { .say = say };
    struct settings *s = settings_read_text("test", span_str(text), &hooks, &report);

    assert_non_null(s);
    return s;
}

struct made {
    struct head head;
    struct request request;
    char text[8192];
    enum error_id error;
    int status;
    const char *what;
    bool ok;
};

/* message must parse; port: index into s->ports. */
static inline void make_request(struct made *m, const struct settings *s, size_t port, const char *message)
{
    static const struct parse_limits limits = { .max_bytes = 65536, .max_fields = HEAD_FIELDS_MAX };
    struct parse_progress p = { 0 };
    struct parse_error e = { 0 };
    struct request_origin o = { .settings = s, .port = &s->ports[port], .mono = 1, .wall = 1 };

    if (parse_request(&m->head, message, strlen(message), &limits, &p, &e) != PARSE_DONE)
        fail_msg("%s: %s", e.what ? e.what : "incomplete", message);
    assert_true(addr_parse(SPAN("192.0.2.7"), &o.client));
    assert_true(addr_parse(SPAN("127.0.0.1"), &o.local));
    o.local.port = s->ports[port].at.port;
    m->what = NULL;
    m->status = 0;
    m->ok = request_from_head(&m->request, &m->head, &o, m->text, sizeof m->text, &m->error, &m->status, &m->what);
}
