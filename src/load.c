#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"
#include "proxy/error_page.h"
#include "proxy/logformat.h"

#define SHOWN_MAX 160 /* bytes of a line that are shown */
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

/* Line `wanted` of a file, without its end, the caller's to free; NULL when there is none. A pipe was read already, and
 * would have us wait. */
static char *read_line(const char *path, unsigned wanted)
{
    struct stat s;
    FILE *f;
    char *line = NULL;
    size_t capacity = 0;
    ssize_t len = 0;

    if (stat(path, &s) != 0 || !S_ISREG(s.st_mode) || (f = fopen(path, "re")) == NULL)
        return NULL;
    for (unsigned n = 0; n < wanted && len >= 0; n++)
        len = getline(&line, &capacity, f);
    fclose(f);
    if (len < 0) {
        free(line);
        return NULL;
    }
    line[strcspn(line, "\r\n")] = '\0';
    return line;
}

/* Columns count bytes; those that continue a character of UTF-8 take no room. */
static bool takes_room(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

/* The stretch of a line around the column, and a caret under it. */
static void show_stretch(char *line, size_t column)
{
    size_t len = strlen(line), from = 0, to = len;
    int before = 0;

    if (len > SHOWN_MAX) {
        from = column > SHOWN_MAX / 2 ? column - SHOWN_MAX / 2 : 0;
        to = len - from > SHOWN_MAX ? from + SHOWN_MAX : len;
        while (from > 0 && !takes_room(line[from]))
            from--;
        while (to < len && !takes_room(line[to]))
            to++;
    }
    for (size_t i = from; i < to; i++) {
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
            line[i] = line[i] == '\t' ? ' ' : '?';
        before += i < column && takes_room(line[i]);
    }
    fprintf(stderr, "    %s%.*s%s\n    %*s^\n", from > 0 ? "..." : "", (int)(to - from), line + from,
            to < len ? "..." : "", before + (from > 0 ? 3 : 0), "");
}

/* Not a line that may hold a password: standard error often is a journal. */
static void show_place(const struct conf_report *r)
{
    char *line;

    if (r->line == 0 || r->column == 0 || (line = read_line(r->file, r->line)) == NULL)
        return;
    if (r->column <= strlen(line) + 1 && strstr(line, "passw") == NULL && strstr(line, "login=") == NULL)
        show_stretch(line, r->column - 1);
    free(line);
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
