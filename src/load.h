/* load.h: which configuration is read, and where its problems are said. */
#pragma once
#include "conf/settings.h"
#include "options.h"

/* The file -f names; without it the compiled-in path; without that file, or with --embedded, the built-in text. */
struct settings *load_settings(const struct options *o, struct conf_report *report);
/* What load_settings() reads, for messages. Static or argv's. */
const char *load_name(const struct options *o);
bool load_is_embedded(const struct options *o);
/* "FILE: 2 errors, 1 warnings" to stderr. */
void load_summary(const struct options *o, const struct conf_report *report);

/* conf_report.say: everything to stderr, each with its line and a caret; errors only; everything to cache.log; nowhere. */
void load_say_stderr(struct conf_report *r, bool is_error, const char *text);
void load_say_errors(struct conf_report *r, bool is_error, const char *text);
void load_say_log(struct conf_report *r, bool is_error, const char *text);
void load_say_nothing(struct conf_report *r, bool is_error, const char *text);
