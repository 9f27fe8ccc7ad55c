/* conf/diagnose.h: what is wrong with a configuration, and where. Private to src/conf. One thread. */
#pragma once
#include "base/span.h"
#include "conf/settings.h"

/* A byte in a file. line 0: the file as a whole; column 0: the line as a whole. Both count from 1, columns in bytes. */
struct place {
    const char *file; /* somebody else's; lives as long as the reading */
    unsigned line, column;
};

/* Megabytes of garbage give this many errors and a last one that says so; then reading stops. */
#define DIAG_ERRORS_MAX 100

/* Composes "FILE:LINE:COLUMN: error: text (did you mean 'suggestion'?)" and hands it to the report. suggestion NULL:
 * none. Bytes that a terminal could take for a command are printed as \xNN. */
void diag_error(struct conf_report *r, struct place at, const char *suggestion, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void diag_warning(struct conf_report *r, struct place at, const char *suggestion, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Too many errors: stop reading. */
bool diag_is_full(const struct conf_report *r);

/* A word as it may stand in a message: printf("%.*s", QUOTED_ARG(s)), cut to a readable length. */
#define QUOTED_MAX 120
#define QUOTED_ARG(s) (int)((s).len > QUOTED_MAX ? QUOTED_MAX : (s).len), ((s).p ? (s).p : "")
