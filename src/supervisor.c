#include "supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "channel.h"
#include "daemon.h"
#include "load.h"
#include "pidfile.h"
#include "restart.h"

#define DESCRIPTORS_MAX (1024 * 1024)
#define KILL_AFTER (5 * US_PER_S) /* beyond shutdown_lifetime: a child that doesn't end when told to */
#define NEVER INT64_MAX

struct supervisor {
    struct options options;
    struct settings *settings; /* the last good ones: what the next child gets */
    struct identity identity;
    struct ports ports;
    struct pidfile pidfile;
    int signals; /* signalfd */
    int ready;   /* the starter waits at the other end; -1: none */
    bool background;
    pid_t child; /* 0: none */
    int channel; /* our end; -1 */
    struct channel_in incoming;
    bool child_up, ever_up;
    int64_t child_since, restart_at, kill_at; /* monotonic; NEVER */
    struct restart restart;
    bool stopping;
    int status;
};

/* Soft up to hard, within reason. Nothing is ever sized by it: in containers it can be 2^30. */
static void raise_descriptors(const struct settings *s)
{
    rlim_t want = s->max_filedescriptors != 0 ? (rlim_t)s->max_filedescriptors : DESCRIPTORS_MAX;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    if (s->max_filedescriptors == 0 && limit.rlim_cur >= want)
        return;
    limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        log_line(LOG_IMPORTANT, "cannot set the limit on open files to %ju: %s", (uintmax_t)limit.rlim_cur,
                 strerror(errno));
    if (s->max_filedescriptors > limit.rlim_cur)
        log_line(LOG_IMPORTANT, "max_filedescriptors %" PRIu64 ": the system allows %ju", s->max_filedescriptors,
                 (uintmax_t)limit.rlim_cur);
}

/* Started with stdin, stdout or stderr closed, a socket of ours could become one of them and get what is printed. */
static void fill_stdio(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= 2);
    if (fd > 2)
        close(fd);
}

/* ---- into the background ---- */

/* In the starter: what the parent reports is the exit status; nothing at all means that it died. */
static int wait_until_ready(int fd)
{
    unsigned char status;
    ssize_t n;

    do
        n = read(fd, &status, 1);
    while (n < 0 && errno == EINTR);
    if (n == 1)
        return status;
    fputs("loligo: it did not start\n", stderr);
    return 1;
}

static void tell_starter(struct supervisor *v, int status)
{
    unsigned char byte = (unsigned char)status;

    if (v->ready < 0)
        return;
    if (write(v->ready, &byte, 1) != 1)
        log_line(LOG_NOTICE, "nobody waits for the start any more");
    close(v->ready);
    v->ready = -1;
}

/* Twice, so that the parent leads no session and never gets a terminal. Returns in the parent only. */
static void into_background(struct supervisor *v)
{
    int fds[2];
    pid_t pid;

    if (pipe2(fds, O_CLOEXEC) != 0 || (pid = fork()) < 0) {
        fprintf(stderr, "loligo: cannot fork: %s\n", strerror(errno));
        exit(1);
    }
    if (pid > 0) {
        close(fds[1]);
        exit(wait_until_ready(fds[0]));
    }
    close(fds[0]);
    setsid();
    if ((pid = fork()) != 0)
        _exit(pid > 0 ? 0 : 1);
    v->ready = fds[1];
    v->background = true;
}

/* ---- the child ---- */

static _Noreturn void run_child(struct supervisor *v, int channel, pid_t parent)
{
    struct daemon_job job = { .options = &v->options,
                              .settings = v->settings,
                              .ports = v->ports,
                              .identity = &v->identity,
                              .channel = channel,
                              .parent = parent,
                              .background = v->background };
    int status;

    close(v->signals);
    if (v->ready >= 0)
        close(v->ready);
    pidfile_forget(&v->pidfile); /* the lock is the parent's alone */
    status = daemon_run(&job);
    close(channel);
    free((char *)(uintptr_t)v->options.file);
    exit(status);
}

static void start_child(struct supervisor *v)
{
    pid_t parent = getpid(), pid = -1;
    int fds[2];

    v->restart_at = NEVER;
    v->child_up = false;
    v->child_since = clock_mono_us();
    if (!channel_open(fds)) {
        fds[0] = fds[1] = -1;
    } else if ((pid = fork()) == 0) {
        close(fds[0]);
        run_child(v, fds[1], parent);
    }
    close(fds[1]);
    if (pid < 0) {
        log_line(LOG_ERROR, "ERROR: cannot start a child process: %s; trying again in a second", strerror(errno));
        close(fds[0]);
        v->restart_at = v->child_since + US_PER_S;
        return;
    }
    v->child = pid;
    v->channel = fds[0];
}

static void stop_with(struct supervisor *v, int status)
{
    v->stopping = true;
    v->restart_at = NEVER;
    v->status = status;
}

static const char *how_it_ended(int status, char text[64])
{
    if (WIFSIGNALED(status))
        snprintf(text, 64, "was ended by signal %d (%s%s)", WTERMSIG(status), strsignal(WTERMSIG(status)),
                 WCOREDUMP(status) ? ", core dumped" : "");
    else
        snprintf(text, 64, "ended with status %d", WEXITSTATUS(status));
    return text;
}

/* The child is gone and nobody asked it to: another one, sooner or later, or the end. */
static void replace_child(struct supervisor *v, int status)
{
    int64_t now = clock_mono_us(), lived = now - v->child_since, wait;
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    char how[64];

    log_line(LOG_ERROR, "ERROR: the child process %ld %s after %.1f seconds", (long)v->child, how_it_ended(status, how),
             (double)lived / US_PER_S);
    if (!v->ever_up && !killed) {
        /* The first one never served: it has said why, and the next would say it again. */
        stop_with(v, 1);
        return;
    }
    wait = restart_after(&v->restart, now, lived, killed);
    if (wait == RESTART_GIVE_UP) {
        log_line(LOG_ERROR, "ERROR: %d child processes died within %d seconds: giving up", RESTART_DEATHS,
                 RESTART_WITHIN_S);
        stop_with(v, 1);
        return;
    }
    v->restart_at = now + wait;
    if (wait > 0)
        log_line(LOG_IMPORTANT, "the next child process starts in %.1f seconds", (double)wait / US_PER_S);
}

static void forget_child(struct supervisor *v)
{
    close(v->channel);
    v->channel = -1;
    channel_reset(&v->incoming);
    v->child = 0;
    v->kill_at = NEVER;
}

/* ---- what the child says ---- */

/* It reads the configuration by itself. What it took is what the next one is to start with, so we follow, silently. */
static void follow_reload(struct supervisor *v, struct ports *now)
{
    struct conf_report report = { .say = load_say_nothing };
    struct settings *s = load_settings(&v->options, &report);

    ports_close(&v->ports, NULL);
    v->ports = *now;
    if (s == NULL)
        return; /* changed again meanwhile, for the worse */
    umask_enforce(s->umask);
    if (strcmp(s->cache_log ? s->cache_log : "", v->settings->cache_log ? v->settings->cache_log : "") != 0)
        daemon_open_cache_log(s, &v->options, &v->identity);
    log_set_level(s->debug_level);
    settings_unref(&v->settings);
    v->settings = s;
}

static void on_channel(struct supervisor *v)
{
    struct ports now;

    for (;;) {
        switch (channel_receive(v->channel, &v->incoming, &now)) {
        case CHANNEL_NOTHING: return;
        case CHANNEL_CLOSED: return; /* SIGCHLD comes with the status */
        case CHANNEL_UP:
            v->child_up = v->ever_up = true;
            tell_starter(v, 0);
            if (v->background)
                daemon_detach_stdio();
            break;
        case CHANNEL_PORTS: follow_reload(v, &now); break;
        }
    }
}

static void reap(struct supervisor *v)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid != v->child)
            continue;
        on_channel(v); /* what it said last still counts */
        if (!v->stopping && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            log_line(LOG_IMPORTANT, "the child process %ld was told to stop: so do we", (long)pid);
            stop_with(v, 0);
        } else if (!v->stopping) {
            replace_child(v, status);
        } else if (v->kill_at != NEVER && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
            char how[64];

            log_line(LOG_ERROR, "ERROR: while stopping, the child process %ld %s", (long)pid,
                     how_it_ended(status, how));
            v->status = 1;
        }
        forget_child(v);
    }
}

/* ---- signals ---- */

static void forward(const struct supervisor *v, int signal_number)
{
    if (v->child > 0)
        kill(v->child, signal_number);
}

static void begin_stop(struct supervisor *v, int signal_number)
{
    int64_t lifetime = signal_number == SIGTERM ? v->settings->shutdown_lifetime : 0;
    int64_t kill_at = clock_mono_us() + lifetime + KILL_AFTER;

    if (!v->stopping)
        stop_with(v, 0);
    if (kill_at < v->kill_at)
        v->kill_at = kill_at;
    forward(v, signal_number);
}

/* No child to read it: mended meanwhile, perhaps, and the next one should profit. */
static void reload_between_children(struct supervisor *v)
{
    struct conf_report report = { .say = load_say_log };
    struct settings *s = load_settings(&v->options, &report);
    struct ports ports;

    if (s == NULL)
        return;
    if (!ports_open(&ports, s, v->ports.workers, &v->ports)) {
        settings_unref(&s);
        return;
    }
    ports_close(&v->ports, &ports);
    v->ports = ports;
    umask_enforce(s->umask);
    settings_unref(&v->settings);
    v->settings = s;
}

static void on_signals(struct supervisor *v)
{
    struct signalfd_siginfo info;

    while (read(v->signals, &info, sizeof info) == sizeof info) {
        switch (info.ssi_signo) {
        case SIGHUP:
            if (v->child > 0)
                forward(v, SIGHUP);
            else if (!v->stopping)
                reload_between_children(v);
            break;
        case SIGUSR1:
            daemon_rotate_cache_log(v->settings->logfile_rotate, &v->identity);
            forward(v, SIGUSR1);
            break;
        case SIGTERM:
        case SIGINT: begin_stop(v, (int)info.ssi_signo); break;
        case SIGCHLD: reap(v); break;
        default: break;
        }
    }
}

/* ---- the parent's loop ---- */

static int wait_ms(const struct supervisor *v)
{
    int64_t until = v->restart_at < v->kill_at ? v->restart_at : v->kill_at;
    int64_t us;

    if (until == NEVER)
        return -1;
    us = until - clock_mono_us();
    return us <= 0 ? 0 : (int)(us / 1000 + 1);
}

static void watch(struct supervisor *v)
{
    while (!v->stopping || v->child > 0) {
        struct pollfd fds[] = { { .fd = v->signals, .events = POLLIN }, { .fd = v->channel, .events = POLLIN } };

        if (poll(fds, 2, wait_ms(v)) < 0 && errno != EINTR) {
            log_line(LOG_ERROR, "ERROR: poll: %s", strerror(errno));
            return;
        }
        if (fds[0].revents != 0)
            on_signals(v);
        if (fds[1].revents != 0 && v->channel >= 0)
            on_channel(v);
        if (v->child > 0 && clock_mono_us() >= v->kill_at) {
            log_line(LOG_ERROR, "ERROR: the child process %ld does not end: killed", (long)v->child);
            v->kill_at = NEVER;
            forward(v, SIGKILL);
        }
        if (v->child == 0 && !v->stopping && clock_mono_us() >= v->restart_at)
            start_child(v);
    }
}

/* ---- start ---- */

/* A relative name stays right wherever coredump_dir takes us. */
static const char *absolute(const char *file)
{
    char *here, *out;

    if (file == NULL || file[0] == '/' || (here = getcwd(NULL, 0)) == NULL)
        return file != NULL ? xstrdup(file) : NULL;
    out = xasprintf("%s/%s", here, file);
    free(here);
    return out;
}

/* Up to where a child, or under -N we ourselves, can serve. */
static bool prepare(struct supervisor *v)
{
    struct conf_report report = { .say = load_say_stderr };
    char error[256];

    if ((v->settings = load_settings(&v->options, &report)) == NULL) {
        load_summary(&v->options, &report);
        return false;
    }
    umask_enforce(v->settings->umask);
    if (!identity_find(&v->identity, v->settings, error) ||
        !pidfile_take(&v->pidfile, v->settings->pid_filename, error)) {
        fprintf(stderr, "loligo: %s\n", error);
        return false;
    }
    if (!daemon_open_cache_log(v->settings, &v->options, &v->identity))
        return false;
    log_line(LOG_IMPORTANT, "Loligo%s%s starts with %s", v->options.service_name ? " " : "",
             v->options.service_name ? v->options.service_name : "", load_name(&v->options));
    raise_descriptors(v->settings);
    if ((v->signals = daemon_signal_fd()) < 0) {
        fprintf(stderr, "loligo: signalfd: %s\n", strerror(errno));
        return false;
    }
    return ports_open(&v->ports, v->settings, daemon_workers(v->settings), NULL);
}

static int run_alone(struct supervisor *v)
{
    struct daemon_job job = {
        .options = &v->options, .settings = v->settings, .ports = v->ports, .identity = &v->identity, .channel = -1
    };
    int status;

    v->settings = NULL;
    v->ports = (struct ports){ 0 };
    close(v->signals); /* daemon_run() has its own */
    v->signals = -1;
    status = daemon_run(&job);
    return status;
}

int supervisor_main(const struct options *o)
{
    struct supervisor v = { .options = *o,
                            .signals = -1,
                            .ready = -1,
                            .channel = -1,
                            .pidfile = { .fd = -1 },
                            .restart_at = NEVER,
                            .kill_at = NEVER,
                            .status = 1 };

    fill_stdio();
    v.options.file = absolute(o->file);
    if (!o->foreground)
        into_background(&v);
    if (prepare(&v)) {
        if (o->single) {
            v.status = run_alone(&v);
        } else {
            start_child(&v);
            watch(&v);
        }
    }
    tell_starter(&v, v.status);
    pidfile_release(&v.pidfile);
    ports_close(&v.ports, NULL);
    settings_unref(&v.settings);
    if (v.signals >= 0)
        close(v.signals);
    free((char *)(uintptr_t)v.options.file);
    return v.status;
}
