/* base/log.h: cache.log, for the operator: one line an event, with the wall clock in front, as Squid
 * writes it: `2026/12/01 00:31:19| text`. Any thread; a line is one write(2), so lines don't tear. */
#pragma once
#include <stdbool.h>

/* Higher is chattier; debug_options ALL,n and -d n set what is written. */
enum log_level { LOG_ERROR = 0, LOG_IMPORTANT = 1, LOG_NOTICE = 2, LOG_DEBUG = 5 };

/* To a file (appended; made with mode 0644 less the umask), or NULL for stderr only. False with errno when it can't be opened;
 * the old destination stays. also_stderr copies lines up to that level to stderr (-d); -1 for none. */
bool log_open(const char *path, int also_stderr);
/* The same path again, after somebody renamed it. */
bool log_reopen(void);
/* The path in use, NULL for stderr. */
const char *log_path(void);
void log_set_level(int level);
int log_level_now(void);
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
