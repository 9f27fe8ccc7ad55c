#include "load.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "proxy/error_page.h"
#include "proxy/logformat.h"

#define SHOWN_MAX 240 /* bytes of a line that are shown */
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

/* Line `wanted` of a file into out, without its end. A pipe was read already, and would have us wait. */
static bool read_line(const char *path, unsigned wanted, char *out, int capacity)
{
    struct stat s;
    FILE *f;
    unsigned line = 1;
    bool found;

    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode) || (f = fopen(path, "re")) == NULL)
        return false;
    for (int c; line < wanted && (c = getc(f)) != EOF;)
        line += c == '\n';
    found = line == wanted && fgets(out, capacity, f) != NULL;
    fclose(f);
    if (found)
        out[strcspn(out, "\r\n")] = '\0';
    return found;
}

/* The line and a caret under the column. Not one that may hold a password: standard error often is a journal. */
static void show_place(const struct conf_report *r)
{
    char line[SHOWN_MAX];
    unsigned before = 0;

    if (r->line == 0 || r->column == 0 || !read_line(r->file, r->line, line, sizeof line) ||
        r->column > strlen(line) + 1 || strstr(line, "passw") != NULL || strstr(line, "login=") != NULL)
        return;
    for (char *p = line; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = *p == '\t' ? ' ' : '?';
        /* Columns count bytes; those that continue a character of UTF-8 take no room. */
        if (p < line + r->column - 1 && ((unsigned char)*p & 0xc0) != 0x80)
            before++;
    }
    fprintf(stderr, "    %s\n    %*s^\n", line, (int)before, "");
}

void load_say_stderr(struct conf_report *r, bool is_error, const char *text)
{
    (void)is_error;
    fprintf(stderr, "%s\n", text);
    show_place(r);
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
