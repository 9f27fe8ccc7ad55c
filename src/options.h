/* options.h: the command line, read. Squid's letters mean what they mean there, so that unit files, init scripts and
 * container images keep working. */
#pragma once
#include <stdbool.h>

enum action {
    ACTION_RUN,
    ACTION_PARSE,        /* -k parse */
    ACTION_CHECK,        /* -k check */
    ACTION_RECONFIGURE,  /* -k reconfigure */
    ACTION_ROTATE,       /* -k rotate */
    ACTION_SHUTDOWN,     /* -k shutdown */
    ACTION_INTERRUPT,    /* -k interrupt */
    ACTION_KILL,         /* -k kill */
    ACTION_CHECK_ACCESS, /* -k check-access METHOD URL [CLIENT [USER]] */
    ACTION_MAKE_DIRS,    /* -z */
    ACTION_VERSION,      /* -v */
    ACTION_HELP,         /* -h */
    ACTION_PRINT_DEFAULT,
    ACTION_BAD, /* already explained on stderr */
};

struct options {
    enum action action;
    const char *file;         /* -f; NULL: the compiled-in path, or the built-in configuration when that is absent */
    bool embedded;            /* --embedded: the built-in configuration, whatever files there are */
    bool single;              /* -N: one process, in the foreground */
    bool foreground;          /* --foreground, or -N */
    int stderr_level;         /* -d; -1: cache.log only */
    const char *service_name; /* -n */
    bool json;                /* --json: ACTION_CHECK_ACCESS answers in JSON */
    char **arguments;         /* ACTION_CHECK_ACCESS: what stands behind it */
    int n_arguments;
    int bad_status; /* ACTION_BAD: the exit status; -k check-access has 1 for "denied" */
};

/* Points into argv. */
struct options options_parse(int argc, char **argv);
/* The usage text, to stdout. */
void options_help(void);
