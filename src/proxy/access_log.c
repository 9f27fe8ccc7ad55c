/* proxy/access_log.c: from settings to rings and places. */
#include "proxy/access_log.h"

#include <assert.h>
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/log.h"
#include "base/mem.h"
#include "proxy/log_writer.h"

/* Longer lines are cut: a URL of request_header_max_size must not take a ring's eighth. */
#define LINE_MAX_BYTES (32u << 10)

/* A log line of the settings as one worker uses it. */
struct route {
    bool none;             /* what matches goes into no log that comes after it */
    struct log_ring *ring; /* NULL: a place that access_log_reconfigure() never heard of */
    const struct logformat *format;
    const struct access_list *acl;
};

/* Each worker's own; what it worked out of the settings it has at the time. */
struct worker_logs {
    alignas(64) const struct settings *settings;
    unsigned generation; /* of access_log: settings may come to lie where freed ones lay */
    size_t n;
    struct route *routes;
    char *line; /* LINE_MAX_BYTES, for lines that go round the end of the ring */
};

struct access_log {
    atomic_uint generation; /* counts reconfigurations */
    unsigned n_workers;
    struct worker_logs *workers;
    struct log_writer writer;
};

static bool is_none(const struct log_setting *s)
{
    return s->module != NULL && strcmp(s->module, "none") == 0;
}

bool access_log_enabled(const struct settings *s)
{
    for (size_t i = 0; i < s->n_logs; i++)
        if (!is_none(&s->logs[i]))
            return true;
    return false;
}

static struct log_place *find_place(struct access_log *l, const char *path)
{
    unsigned n = atomic_load_explicit(&l->writer.n_places, memory_order_acquire);

    for (unsigned i = 0; i < n; i++)
        if (strcmp(l->writer.places[i]->path, path) == 0)
            return l->writer.places[i];
    return NULL;
}

/* `stdio:` and `daemon:` are both files here: the thread is what Squid's helper process is for. */
static bool is_file_module(const struct log_setting *s)
{
    return s->module == NULL || strcmp(s->module, "stdio") == 0 || strcmp(s->module, "daemon") == 0;
}

static bool settings_are_usable(const struct settings *s)
{
    for (size_t i = 0; i < s->n_logs; i++) {
        const struct log_setting *log = &s->logs[i];

        if (is_none(log))
            continue;
        if (!is_file_module(log)) {
            log_line(LOG_ERROR, "ERROR: access_log module '%s' isn't supported; stdio, daemon and none are",
                     log->module);
            return false;
        }
        if (log->format == NULL) {
            log_line(LOG_ERROR, "ERROR: access_log %s: no logformat '%s'", log->place,
                     log->format_name ? log->format_name : "");
            return false;
        }
    }
    return true;
}

static uid_t owner_of(const struct settings *s)
{
    struct passwd *pw = geteuid() == 0 && s->effective_user != NULL ? getpwnam(s->effective_user) : NULL;

    return pw ? pw->pw_uid : (uid_t)-1;
}

/* Places that are new or were no longer wanted, opened. All or nothing. */
struct opening {
    struct log_place *place;
    int fd;
    bool is_new;
};

/* What a start does without, so that there is service at all, a reload isn't to lose: the log that is written then goes on. */
static bool open_one(struct access_log *l, const struct settings *s, const struct log_setting *log, bool reload,
                     struct opening *o)
{
    struct log_place *known = find_place(l, log->place);

    o->is_new = known == NULL;
    o->place = known ? known : log_place_new(log->place, l->n_workers, owner_of(s));
    o->fd = log_place_open(o->place);
    if (o->fd >= 0)
        return true;
    if (!reload && !log->on_error_die) {
        log_line(LOG_ERROR, "ERROR: can't open access log %s: %s; its lines are dropped until that is possible",
                 log->place, strerror(errno));
        return true;
    }
    log_line(LOG_ERROR, "ERROR: can't open access log %s: %s", log->place, strerror(errno));
    return false;
}

static void undo(struct opening *o, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (o[i].fd >= 0)
            close(o[i].fd);
        if (o[i].is_new)
            log_place_free(&o[i].place);
    }
}

static bool is_opening(const struct opening *o, size_t n, const char *path)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(o[i].place->path, path) == 0)
            return true;
    return false;
}

static void apply(struct access_log *l, struct opening *o, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int before = atomic_exchange(&o[i].place->handed, o[i].fd);

        if (before >= 0)
            close(before);
        if (o[i].is_new && !log_writer_add(&l->writer, o[i].place))
            assert(!"counted before");
    }
}

static void mark_wanted(struct access_log *l, const struct settings *s)
{
    unsigned n = atomic_load(&l->writer.n_places);

    for (unsigned i = 0; i < n; i++) {
        struct log_place *p = l->writer.places[i];
        bool wanted = false, die = false;

        for (size_t k = 0; k < s->n_logs; k++)
            if (!is_none(&s->logs[k]) && strcmp(s->logs[k].place, p->path) == 0) {
                wanted = true;
                die = die || s->logs[k].on_error_die;
            }
        atomic_store(&p->wanted, wanted);
        atomic_store(&p->die, die);
    }
}

static bool take_settings(struct access_log *l, const struct settings *s, bool reload)
{
    struct opening *o;
    size_t n = 0, n_new = 0;
    bool ok = true;

    if (!settings_are_usable(s))
        return false;
    o = xcalloc(s->n_logs + 1, sizeof *o);
    for (size_t i = 0; ok && i < s->n_logs; i++) {
        const struct log_setting *log = &s->logs[i];
        struct log_place *known;

        if (is_none(log) || is_opening(o, n, log->place))
            continue;
        known = find_place(l, log->place);
        if (known != NULL && atomic_load(&known->wanted))
            continue; /* open already */
        ok = open_one(l, s, log, reload, &o[n]);
        n_new += o[n++].is_new;
    }
    if (ok && atomic_load(&l->writer.n_places) + n_new > LOG_PLACES_MAX) {
        log_line(LOG_ERROR, "ERROR: more than %d access log files since the start; restart to use new ones",
                 LOG_PLACES_MAX);
        ok = false;
    }
    if (ok) {
        apply(l, o, n);
        mark_wanted(l, s);
        atomic_fetch_add(&l->generation, 1);
    } else {
        undo(o, n);
    }
    free(o);
    return ok;
}

bool access_log_open(struct access_log **out, const struct settings *s, unsigned workers)
{
    struct access_log *l = xcalloc(1, sizeof *l);

    l->n_workers = workers;
    if (posix_memalign((void **)&l->workers, alignof(struct worker_logs), workers * sizeof l->workers[0]) != 0)
        abort();
    memset(l->workers, 0, workers * sizeof l->workers[0]);
    log_writer_init(&l->writer);
    if (!take_settings(l, s, false)) {
        access_log_close(&l);
        return false;
    }
    *out = l;
    return true;
}

void access_log_start(struct access_log *l)
{
    log_writer_start(&l->writer);
}

bool access_log_reconfigure(struct access_log *l, const struct settings *s)
{
    bool ok = take_settings(l, s, true);

    log_writer_wake(&l->writer); /* descriptors were handed over */
    return ok;
}

void access_log_rotate(struct access_log *l, int keep)
{
    log_writer_rotate(&l->writer, keep);
}

void access_log_close(struct access_log **holder)
{
    struct access_log *l = *holder;

    *holder = NULL;
    if (l == NULL)
        return;
    log_writer_stop(&l->writer);
    for (unsigned i = 0; i < l->n_workers; i++) {
        free(l->workers[i].routes);
        free(l->workers[i].line);
    }
    free(l->workers);
    free(l);
}

/* Cold: the first line after the settings changed. */
static void work_out_routes(struct access_log *l, struct worker_logs *mine, const struct settings *s, unsigned id)
{
    mine->n = 0;
    mine->routes = xrealloc(mine->routes, (s->n_logs + 1) * sizeof mine->routes[0]);
    if (mine->line == NULL)
        mine->line = xmalloc(LINE_MAX_BYTES);
    mine->generation = atomic_load(&l->generation);
    for (size_t i = 0; i < s->n_logs; i++) {
        const struct log_setting *log = &s->logs[i];
        struct log_place *p;
        struct route r = { .none = is_none(log), .format = log->format, .acl = log->acl };

        if (!r.none) {
            p = find_place(l, log->place);
            r.ring = p ? &p->rings[id] : NULL;
        }
        mine->routes[mine->n++] = r;
    }
    mine->settings = s;
}

static bool queue(struct access_log *l, struct worker_logs *mine, const struct route *r,
                  const struct logformat_options *o, const struct log_entry *e)
{
    char *direct;

    if (r->ring == NULL)
        return false;
    if ((direct = log_ring_direct(r->ring, LINE_MAX_BYTES)) != NULL)
        log_ring_commit(r->ring, logformat_line(r->format, o, e, direct, LINE_MAX_BYTES));
    else if (!log_ring_push(r->ring, mine->line, logformat_line(r->format, o, e, mine->line, LINE_MAX_BYTES)))
        return false;
    log_writer_nudge(&l->writer, r->ring);
    return true;
}

void access_log_write(struct access_log *l, struct worker *w, const struct settings *s, const struct log_entry *e,
                      const struct access_facts *facts)
{
    const struct logformat_options o = { s->strip_query_terms, s->log_mime_hdrs, s->client_netmask };
    struct worker_logs *mine;

    assert(w->id < l->n_workers);
    mine = &l->workers[w->id];
    if (mine->settings != s || mine->generation != atomic_load_explicit(&l->generation, memory_order_acquire))
        work_out_routes(l, mine, s, w->id);
    for (size_t i = 0; i < mine->n; i++) {
        const struct route *r = &mine->routes[i];

        /* Without facts no rule can be asked; a line too many is better than one that is missing. */
        if (r->acl != NULL && (facts != NULL ? access_check(r->acl, facts).answer != ACCESS_ALLOWED : r->none))
            continue;
        if (r->none)
            return;
        count(w->counters, queue(l, mine, r, &o, e) ? ACCESS_LOG_LINES : ACCESS_LOG_DROPPED, 1);
    }
}
