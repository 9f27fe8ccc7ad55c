#include "daemon.h"
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "channel.h"
#include "load.h"
#include "mgr/manager.h"
#include "proxy/proxy.h"

#define SAMPLE_EVERY (60 * US_PER_S)
/* Workers leave a closed port at their next turn; its descriptors are closed when all surely have. */
#define CLOSE_GONE_AFTER (2 * US_PER_S)
/* Likewise at the end, when clients shouldn't queue up for long where nobody comes. */
#define REFUSE_AFTER (US_PER_S / 50)
#define NEVER INT64_MAX

struct running {
    const struct options *options;
    const struct identity *identity;
    int channel;
    struct settings *settings; /* in force */
    struct ports ports;
    struct ports gone; /* no longer configured; closed at close_gone_at */
    struct access_log *log;
    struct manager *manager;
    struct proxy *proxy;
    int signals; /* signalfd */
    int drained; /* eventfd: the last client has left */
    bool draining, stop;
    int64_t next_sample, close_gone_at, refuse_at, deadline; /* monotonic; NEVER */
};

unsigned daemon_workers(const struct settings *s)
{
    unsigned most = EPOCH_THREADS_MAX - 16; /* leaves slots for other threads that read the store */
    unsigned n = (unsigned)s->workers;
    cpu_set_t cpus;

    if (s->workers <= 0) {
        n = 1;
        if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
            n = (unsigned)CPU_COUNT(&cpus);
    }
    return n < 1 ? 1 : n < most ? n : most;
}

int daemon_signal_fd(void)
{
    sigset_t set;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a log at its size limit is a log that can't be written, no more */
    signal(SIGUSR2, SIG_IGN);
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void daemon_detach_stdio(void)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return;
    for (int std = 0; std <= 2; std++)
        dup2(fd, std);
    if (fd > 2)
        close(fd);
}

bool daemon_open_cache_log(const struct settings *s, const struct options *o, const struct identity *id)
{
    const char *path = s->cache_log;

    log_set_level(s->debug_level);
    if (path == NULL || strcmp(path, "/dev/stderr") == 0)
        return log_open(NULL, -1); /* not opened by name: it may be a socket (systemd's journal), which can't be */
    if (strcmp(path, "none") == 0)
        path = "/dev/null";
    if (!log_open(path, o->stderr_level)) {
        fprintf(stderr, "loligo: cannot open cache_log %s: %s\n", path, strerror(errno));
        if (errno == ENOENT)
            fputs("loligo: its directory has to exist\n", stderr);
        return false;
    }
    identity_own(id, path);
    return true;
}

void daemon_rotate_cache_log(int keep, const struct identity *id)
{
    const char *path = log_path();
    struct stat st;

    if (path == NULL)
        return;
    if (keep > 0 && lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
        for (int i = keep; i > 0; i--) {
            char *from = i == 1 ? xstrdup(path) : xasprintf("%s.%d", path, i - 2);
            char *to = xasprintf("%s.%d", path, i - 1);

            if (rename(from, to) != 0 && errno != ENOENT)
                log_line(LOG_ERROR, "ERROR: cannot rotate %s: %s", from, strerror(errno));
            free(from);
            free(to);
        }
    }
    if (!log_reopen())
        log_line(LOG_ERROR, "ERROR: cannot open cache_log %s again: %s", path, strerror(errno));
    identity_own(id, path);
}

/* ---- reload ---- */

static void keep_old(const char *why)
{
    log_line(LOG_ERROR, "ERROR: reconfigure: %s; the configuration in force stays as it was", why);
}

static void say_what_needs_a_restart(const struct settings *old, const struct settings *new, unsigned workers)
{
    if (daemon_workers(new) != workers)
        log_line(LOG_IMPORTANT, "workers: %u until the next start", workers);
    if (strcmp(old->pid_filename ? old->pid_filename : "", new->pid_filename ? new->pid_filename : "") != 0)
        log_line(LOG_IMPORTANT, "pid_filename: a new one is used from the next start on");
}

static void close_gone(struct running *r)
{
    ports_refuse(&r->gone);
    ports_close(&r->gone, NULL);
    r->close_gone_at = NEVER;
}

/* Everything that can fail comes before anything changes. */
static void reload(struct running *r)
{
    struct conf_report report = { .say = load_say_log };
    struct settings *s;
    struct ports ports;

    log_line(LOG_IMPORTANT, "Reconfiguring from %s", load_name(r->options));
    if ((s = load_settings(r->options, &report)) == NULL) {
        keep_old("the file has errors");
        return;
    }
    if (!ports_open(&ports, s, r->ports.workers, &r->ports)) {
        keep_old("a port cannot be opened");
        settings_unref(&s);
        return;
    }
    umask_enforce(s->umask);
    if (!access_log_reconfigure(r->log, s)) {
        umask_enforce(r->settings->umask);
        keep_old("an access_log cannot be opened");
        ports_close(&ports, &r->ports);
        settings_unref(&s);
        return;
    }
    say_what_needs_a_restart(r->settings, s, r->ports.workers);
    if (strcmp(r->settings->cache_log ? r->settings->cache_log : "", s->cache_log ? s->cache_log : "") != 0 &&
        !daemon_open_cache_log(s, r->options, r->identity))
        log_line(LOG_ERROR, "ERROR: cache_log %s cannot be opened; lines go on to the old one", s->cache_log);
    log_set_level(s->debug_level);
    proxy_reconfigure(r->proxy, s, ports.fds);
    ports_split(&r->ports, &ports, &r->gone);
    r->ports = ports;
    r->close_gone_at = clock_mono_us() + CLOSE_GONE_AFTER;
    channel_send_ports(r->channel, &r->ports);
    settings_unref(&r->settings);
    r->settings = s;
    log_line(LOG_IMPORTANT, "Reconfigured: %u warnings", report.warnings);
}

/* ---- stop ---- */

/* On a worker's thread. */
static void on_drained(void *ctx)
{
    const struct running *r = ctx;
    uint64_t one = 1;

    if (write(r->drained, &one, sizeof one) != sizeof one)
        abort(); /* an eventfd takes 2^64 - 1 of them */
}

static void drain(struct running *r)
{
    if (r->draining)
        return; /* TERM reached us twice: from the parent and as one of its process group */
    r->draining = true;
    r->deadline = clock_mono_us() + r->settings->shutdown_lifetime;
    log_line(LOG_IMPORTANT, "Stopping: %" PRIu64 " clients have up to %" PRId64 " seconds to finish",
             proxy_clients(r->proxy), r->settings->shutdown_lifetime / US_PER_S);
    proxy_drain(r->proxy, on_drained, r);
    r->refuse_at = clock_mono_us() + REFUSE_AFTER;
}

static void rotate(struct running *r)
{
    /* With a parent, that has renamed cache.log already (it may; we may not) and then signalled. */
    daemon_rotate_cache_log(r->channel >= 0 ? 0 : r->settings->logfile_rotate, r->identity);
    access_log_rotate(r->log, r->settings->logfile_rotate);
    log_line(LOG_IMPORTANT, "Logs rotated");
}

static void on_signals(struct running *r)
{
    struct signalfd_siginfo info;

    while (read(r->signals, &info, sizeof info) == sizeof info) {
        switch (info.ssi_signo) {
        case SIGHUP:
            if (!r->draining)
                reload(r);
            break;
        case SIGUSR1: rotate(r); break;
        case SIGTERM: drain(r); break;
        case SIGINT: r->stop = true; break;
        default: break;
        }
    }
}

/* ---- the main thread's loop ---- */

static int64_t earliest(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int wait_ms(const struct running *r)
{
    int64_t until = earliest(earliest(r->next_sample, r->close_gone_at), earliest(r->refuse_at, r->deadline));
    int64_t us = until - clock_mono_us();

    return us <= 0 ? 0 : (int)(us / 1000 + 1);
}

static void on_time(struct running *r)
{
    int64_t now = clock_mono_us();

    if (now >= r->next_sample) {
        manager_sample(r->manager, r->settings);
        r->next_sample = now + SAMPLE_EVERY;
    }
    if (now >= r->close_gone_at)
        close_gone(r);
    if (now >= r->refuse_at) {
        ports_refuse(&r->ports);
        r->refuse_at = NEVER;
    }
    if (now >= r->deadline) {
        log_line(LOG_IMPORTANT, "shutdown_lifetime is over: %" PRIu64 " clients are cut off", proxy_clients(r->proxy));
        r->stop = true;
    }
}

static void serve(struct running *r)
{
    struct pollfd fds[] = { { .fd = r->signals, .events = POLLIN }, { .fd = r->drained, .events = POLLIN } };

    while (!r->stop) {
        if (poll(fds, 2, wait_ms(r)) < 0 && errno != EINTR) {
            log_line(LOG_ERROR, "ERROR: poll: %s", strerror(errno));
            return;
        }
        if (fds[0].revents != 0)
            on_signals(r);
        if (fds[1].revents != 0)
            r->stop = true;
        on_time(r);
    }
}

/* A child whose parent is gone answers no -k and would not be replaced: it stops (as on INT). */
static bool end_with_parent(pid_t parent)
{
    /* After the change of user, which clears it. */
    return parent == 0 || (prctl(PR_SET_PDEATHSIG, (long)SIGINT, 0L, 0L, 0L) == 0 && getppid() == parent);
}

static bool start(struct running *r, pid_t parent)
{
    r->next_sample = r->close_gone_at = r->refuse_at = r->deadline = NEVER;
    if ((r->signals = daemon_signal_fd()) < 0 || (r->drained = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0) {
        log_line(LOG_ERROR, "ERROR: cannot start: %s", strerror(errno));
        return false;
    }
    hash_init();
    if (!access_log_open(&r->log, r->settings, r->ports.workers))
        return false;
    identity_own_logs(r->identity, r->settings);
    if (!privileges_drop(r->identity, r->settings->coredump_dir))
        return false;
    if (!end_with_parent(parent)) {
        log_line(LOG_ERROR, "ERROR: the parent process is gone");
        return false;
    }
    access_log_start(r->log);
    r->manager = manager_new();
    r->proxy = proxy_new(&(struct proxy_config){ .settings = r->settings,
                                                 .log = r->log,
                                                 .service = manager_service(r->manager),
                                                 .workers = r->ports.workers,
                                                 .fds = r->ports.fds });
    manager_attach(r->manager, r->proxy);
    manager_sample(r->manager, r->settings);
    r->next_sample = clock_mono_us() + SAMPLE_EVERY;
    proxy_start(r->proxy);
    return true;
}

/* Copes with a start that stopped half-way. for_good: nobody comes after us. */
static void finish(struct running *r, bool for_good)
{
    if (r->proxy != NULL)
        proxy_free(&r->proxy);
    if (for_good)
        ports_refuse(&r->ports); /* the parent holds them too, a moment longer */
    if (r->log != NULL)
        access_log_close(&r->log);
    if (r->manager != NULL)
        manager_free(&r->manager);
    ports_close(&r->gone, NULL);
    ports_close(&r->ports, NULL);
    settings_unref(&r->settings);
    if (r->signals >= 0)
        close(r->signals);
    if (r->drained >= 0)
        close(r->drained);
}

static void say_hello(const struct running *r)
{
    const struct settings *s = r->settings;
    char at[ADDR_TEXT_MAX];

    log_line(LOG_IMPORTANT, "Loligo %s serves as process %ld, user %s: %u workers, %" PRIu64 " MB of cache",
             PACKAGE_VERSION, (long)getpid(), r->identity->change ? r->identity->user : "as started", r->ports.workers,
             s->cache_mem >> 20);
    if (load_is_embedded(r->options) && s->n_ports > 0) {
        addr_print_port(&s->ports[0].at, at);
        fprintf(stderr, "Try: curl -x http://%s http://example.com/\n", at);
    }
}

int daemon_run(struct daemon_job *job)
{
    struct running r = { .options = job->options,
                         .identity = job->identity,
                         .channel = job->channel,
                         .settings = job->settings,
                         .ports = job->ports,
                         .signals = -1,
                         .drained = -1 };
    int status = 1;

    if (start(&r, job->parent)) {
        say_hello(&r);
        channel_send_up(r.channel);
        if (job->background)
            daemon_detach_stdio();
        serve(&r);
        status = 0;
    }
    finish(&r, status == 0);
    if (status == 0)
        log_line(LOG_IMPORTANT, "Loligo %s, process %ld: stopped", PACKAGE_VERSION, (long)getpid());
    return status;
}
