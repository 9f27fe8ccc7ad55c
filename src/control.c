#include "control.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "check_access.h"
#include "load.h"
#include "pidfile.h"

static int signal_of(enum action a)
{
    switch (a) {
    case ACTION_CHECK: return 0;
    case ACTION_RECONFIGURE: return SIGHUP;
    case ACTION_ROTATE: return SIGUSR1;
    case ACTION_SHUTDOWN: return SIGTERM;
    case ACTION_INTERRUPT: return SIGINT;
    case ACTION_KILL: return SIGKILL;
    default: break;
    }
    assert(!"not a command that signals");
    return 0;
}

static int parse(const struct options *o)
{
    struct conf_report report = { .say = load_say_stderr };
    struct settings *s = load_settings(o, &report);

    load_summary(o, &report);
    settings_unref(&s);
    return report.errors == 0 ? 0 : 1;
}

static int send_signal(const char *pid_filename, enum action a)
{
    char error[256];
    pid_t pid = pidfile_running(pid_filename, error);

    if (pid < 0) {
        fprintf(stderr, "loligo: %s\n", error);
        return 1;
    }
    if (kill(pid, signal_of(a)) != 0) {
        fprintf(stderr, "loligo: cannot signal process %ld: %s\n", (long)pid, strerror(errno));
        return 1;
    }
    if (a == ACTION_CHECK)
        printf("loligo is running: process %ld\n", (long)pid);
    return 0;
}

int control(const struct options *o)
{
    struct conf_report report = { .say = load_say_stderr };
    struct settings *s;
    int status;

    if (o->action == ACTION_CHECK_ACCESS)
        return check_access(o);
    if (o->action == ACTION_PARSE)
        return parse(o);
    /* Warnings were seen at the start; only what keeps us from going on is worth a line. */
    report.say = load_say_errors;
    s = load_settings(o, &report);
    if (s == NULL && o->action == ACTION_RECONFIGURE) {
        load_summary(o, &report);
        fputs("loligo: nothing was changed: the running proxy keeps its configuration\n", stderr);
        return 1;
    }
    if (s == NULL)
        fputs("loligo: the configuration has errors; looking for the pid file where it is by default\n", stderr);
    status = send_signal(s != NULL ? s->pid_filename : LOLIGO_RUNDIR "/loligo.pid", o->action);
    settings_unref(&s);
    return status;
}
