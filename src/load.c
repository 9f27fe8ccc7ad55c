#include "load.h"

#include <stdio.h>
#include <unistd.h>
#include "base/log.h"
#include "proxy/error_page.h"
#include "proxy/logformat.h"

#define DEFAULT_FILE LOLIGO_SYSCONFDIR "/squid.conf"

static const struct conf_hooks hooks = {
    .logformat_compile = logformat_compile,
    .logformat_free = logformat_free,
    .logformat_builtin = logformat_builtin,
    .error_page_is_known = error_page_is_known,
};

bool load_is_embedded(const struct options *o)
{
    return o->embedded || (o->file == NULL && access(DEFAULT_FILE, F_OK) != 0);
}

const char *load_name(const struct options *o)
{
    if (o->file != NULL)
        return o->file;
    return load_is_embedded(o) ? "built-in configuration" : DEFAULT_FILE;
}

struct settings *load_settings(const struct options *o, struct conf_report *report)
{
    if (load_is_embedded(o))
        return settings_read_text(load_name(o), settings_embedded(), &hooks, report);
    return settings_read(load_name(o), &hooks, report);
}

void load_summary(const struct options *o, const struct conf_report *report)
{
    fprintf(stderr, "%s: %u errors, %u warnings\n", load_name(o), report->errors, report->warnings);
}

void load_say_stderr(struct conf_report *r, bool is_error, const char *text)
{
    (void)r;
    (void)is_error;
    fprintf(stderr, "%s\n", text);
}

void load_say_errors(struct conf_report *r, bool is_error, const char *text)
{
    if (is_error)
        load_say_stderr(r, is_error, text);
}

void load_say_log(struct conf_report *r, bool is_error, const char *text)
{
    (void)r;
    log_line(is_error ? LOG_ERROR : LOG_IMPORTANT, "%s", text);
}

void load_say_nothing(struct conf_report *r, bool is_error, const char *text)
{
    (void)r;
    (void)is_error;
    (void)text;
}
