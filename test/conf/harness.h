/* test/conf/harness.h: reads a configuration from text or files and keeps what was said about it. One thread. */
#pragma once
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/mem.h"
#include "conf/settings.h"

struct said {
    struct conf_report report;
    struct strbuf text; /* a message a line */
};

static inline void said_add(struct conf_report *r, bool is_error, const char *text)
{
    struct said *s = r->user;

    (void)is_error;
    sb_printf(&s->text, "%s\n", text);
}

static inline void said_init(struct said *s)
{
    *s = (struct said){ .report = { .say = said_add } };
    s->report.user = s;
}

/* Format hooks that are seen through: a compiled format is a copy of its spec, "%!" is an error. */
static inline void *fake_compile(const char *spec, char error[160], size_t *at)
{
    const char *bad = strstr(spec, "%!");

    if (bad == NULL)
        return xstrdup(spec);
    snprintf(error, 160, "unknown code '%%!'");
    *at = (size_t)(bad - spec);
    return NULL;
}

static inline const char *fake_builtin(struct span name)
{
    if (span_eq(name, SPAN("squid")))
        return "built-in squid";
    return span_eq(name, SPAN("common")) ? "built-in common" : NULL;
}

static const struct conf_hooks fake_hooks = {
    .logformat_compile = fake_compile,
    .logformat_free = free,
    .logformat_builtin = fake_builtin,
};

static inline struct settings *read_text(struct said *s, const char *text)
{
    said_init(s);
    return settings_read_text("t", span_str(text), &fake_hooks, &s->report);
}

/* The text with the port line that every configuration needs; messages count lines from the text's first. */
static inline struct settings *read_more(struct said *s, const char *text)
{
    char *whole = xasprintf("%s\nhttp_port 127.0.0.1:3128\n", text);
    struct settings *settings = read_text(s, whole);

    free(whole);
    return settings;
}

static inline const char *said_text(const struct said *s)
{
    return s->text.p != NULL ? s->text.p : "";
}

/* A directory that goes away with what is in it. */
struct scratch {
    char path[64];
};

static inline void scratch_init(struct scratch *d)
{
    snprintf(d->path, sizeof d->path, "/tmp/loligo-conf-XXXXXX");
    assert_non_null(mkdtemp(d->path));
}

static inline char *scratch_file(const struct scratch *d, const char *name, const char *text)
{
    char *path = xasprintf("%s/%s", d->path, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

static inline void scratch_free(struct scratch *d)
{
    char *command = xasprintf("rm -r %s", d->path);

    assert_int_equal(system(command), 0);
    free(command);
}
