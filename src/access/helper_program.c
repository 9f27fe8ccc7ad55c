#include "access/helper_private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/child.h"

/* A program that ends sooner than this after its start has failed. */
#define SHORT_LIFE (10 * US_PER_S)
/* What a program that should end gets: its standard input ends; then, after so long, TERM; after that again, KILL. */
#define END_STEP (3 * US_PER_S)
/* A program's own words in cache.log, a line; and how many lines a second. */
#define SAYING_MAX 500
#define SAYINGS_A_SECOND 20
#define TRIES_MAX 2
/* Bytes of answers read in one turn of the worker's loop. */
#define TURN_MAX (4 * WORKER_SCRATCH)
/* Of its own words, whatever it says, no more than a helping each so long are read: a program that says more waits in its write(), and
 * the worker has time for others. */
#define WORDS_PAUSE 5000 /* microseconds */

/* --- programs --------------------------------------------------------------------------------------------------- */

/* Its answers don't count any more. */
static void close_io(struct program *g)
{
    worker_timer_clear(&g->io_later);
    stream_close(&g->io, false);
}

static void close_errors(struct program *g)
{
    worker_timer_clear(&g->errors_later);
    stream_close(&g->errors, false);
}

static void program_free(struct program *g)
{
    close_io(g);
    close_errors(g);
    sb_free(&g->out);
    sb_free(&g->in);
    sb_free(&g->said);
    free(g);
}

static void say_end(const struct program *g, int status)
{
    if (WIFSIGNALED(status) && g->signals == 0)
        log_line(LOG_ERROR, "ERROR: %s: process %ld was killed by signal %d", g->name, (long)g->pid, WTERMSIG(status));
    else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        log_line(LOG_ERROR, "ERROR: %s: process %ld ended with status %d", g->name, (long)g->pid, WEXITSTATUS(status));
}

/* Out of its pool: its process has so long to end. */
void program_send_away(struct program *g)
{
    struct helper_pool *p = g->pool;

    list_remove(&g->node);
    p->n_programs--;
    atomic_store_explicit(&p->running, p->n_programs, memory_order_relaxed);
    g->pool = NULL;
    g->name = xstrdup(p->name);
    close_io(g);
    g->leaving_since = worker_mono(p->host->worker);
    list_append(&p->host->leaving, &g->node);
}

/* It failed: its questions go back, and others wait before another one is started. why: for cache.log; NULL: it ended. */
void program_fails(struct program *g, const char *why)
{
    struct helper_pool *p = g->pool;
    struct list_node *n, *following;
    int64_t now = helper_now(p), pause;

    if (why != NULL)
        log_line(LOG_ERROR, "ERROR: %s: process %ld %s: it is replaced", p->name, (long)g->pid, why);
    p->failures = g->useful && now - g->since > SHORT_LIFE ? 1 : p->failures + 1;
    atomic_fetch_add_explicit(&p->n_failures, 1, memory_order_relaxed);
    pause = p->failures > 6 ? HELPER_PAUSE_MAX : (US_PER_S / 2) << p->failures;
    if (pause > HELPER_PAUSE_MAX)
        pause = HELPER_PAUSE_MAX;
    p->next_start = now + pause;
    if (p->failures > 1)
        log_line(LOG_ERROR, "ERROR: %s: failed %u times in a row; started again in %lld seconds", p->name, p->failures,
                 (long long)(pause / US_PER_S));
    LIST_EACH (n, following, &g->asked) {
        struct helper_question *q = CONTAINER_OF(n, struct helper_question, node);

        list_remove(&q->node);
        if (++q->tries < TRIES_MAX)
            helper_enqueue(p, q);
        else
            helper_give_up(q, "the helper program failed");
    }
    program_send_away(g);
}

/* False: it is gone. */
static bool flush(struct program *g)
{
    while (g->out_at < g->out.len) {
        struct iovec v = stream_piece(sb_from(&g->out, g->out_at));
        ssize_t n = stream_send(&g->io, &v, 1, false);

        if (n == STREAM_AGAIN)
            return true;
        if (n == STREAM_ERROR) {
            program_fails(g, NULL);
            return false;
        }
        g->out_at += (size_t)n;
    }
    g->out.len = g->out_at = 0;
    return true;
}

static struct helper_question *question_of_channel(struct program *g, unsigned channel)
{
    struct list_node *n, *following;

    LIST_EACH (n, following, &g->asked) {
        struct helper_question *q = CONTAINER_OF(n, struct helper_question, node);

        if (q->channel == channel)
            return q;
    }
    return NULL;
}

/* False: g is gone. */
static bool take_line(struct program *g, struct span line)
{
    struct helper_pool *p = g->pool;
    struct helper_question *q;
    unsigned channel = 0;
    size_t at = 0;

    if (p->config.concurrency > 0 && !helper_channel_parse(line, &channel, &at)) {
        program_fails(g, "answered without a channel number, though concurrency is on");
        return false;
    }
    q = question_of_channel(g, channel);
    if (q == NULL) {
        program_fails(g, "answered what nobody had asked");
        return false;
    }
    list_remove(&q->node);
    g->n_asked--;
    g->useful = true;
    if (helper_now(p) - g->since > SHORT_LIFE)
        p->failures = 0;
    q->text.len = 0;
    sb_span(&q->text, span_of(line.p + at, line.len - at));
    if (q->text.p == NULL)
        sb_str(&q->text, "");
    helper_answer(q);
    return true;
}

/* Whole lines of g->in. False: g is gone. */
static bool take_lines(struct program *g)
{
    size_t at = 0;
    const char *end;

    while (at < g->in.len && (end = memchr(g->in.p + at, '\n', g->in.len - at)) != NULL) {
        size_t next = (size_t)(end - g->in.p) + 1;

        if (next - 1 - at > HELPER_LINE_MAX)
            break;
        if (!take_line(g, span_of(g->in.p + at, next - 1 - at)))
            return false;
        at = next;
    }
    if (at > 0) {
        memmove(g->in.p, g->in.p + at, g->in.len - at);
        g->in.len -= at;
    }
    if (g->in.len > HELPER_LINE_MAX) {
        program_fails(g, "sent a line beyond 64 KB");
        return false;
    }
    return true;
}

static void read_on(struct worker_timer *t);

/* As far as it goes in this turn. */
static void take_answers(struct program *g)
{
    struct stream *s = &g->io;
    char *scratch = s->worker->scratch;

    for (size_t taken = 0; taken < TURN_MAX;) {
        ssize_t n = stream_recv(s, scratch, WORKER_SCRATCH);

        if (n == STREAM_AGAIN)
            return;
        if (n == 0 || n == STREAM_ERROR) {
            program_fails(g, NULL);
            return;
        }
        taken += (size_t)n;
        sb_add(&g->in, scratch, (size_t)n);
        if (!take_lines(g))
            return;
    }
    worker_timer_set(s->worker, &g->io_later, 0, read_on);
}

static void read_on(struct worker_timer *t)
{
    struct program *g = CONTAINER_OF(t, struct program, io_later);
    struct helper_pool *p = g->pool;

    take_answers(g);
    helper_settle(p);
}

static void io_ready(struct stream *s, unsigned what)
{
    struct program *g = CONTAINER_OF(s, struct program, io);
    struct helper_pool *p = g->pool;

    if ((!(what & STREAM_WRITABLE) || flush(g)) && (what & (STREAM_READABLE | STREAM_ENDED)) && !g->io_later.set)
        take_answers(g);
    helper_settle(p);
}

/* A line of its own words is over. */
static void say(struct program *g)
{
    const char *name = g->pool != NULL ? g->pool->name : g->name;

    if (g->said.len > 0 && g->sayings++ < SAYINGS_A_SECOND)
        log_line(LOG_IMPORTANT, "%s: process %ld: %.*s", name, (long)g->pid, SPAN_ARG(sb_view(&g->said)));
    g->said.len = 0;
}

static void add_words(struct program *g, struct span words)
{
    for (size_t i = 0; i < words.len; i++) {
        char c = words.p[i];

        if (c == '\n')
            say(g);
        else if (g->said.len < SAYING_MAX)
            sb_char(&g->said, (unsigned char)c < ' ' ? ' ' : c);
    }
}

/* A helping of what it says on standard error, for cache.log. */
static void listen_on(struct worker_timer *t)
{
    struct program *g = CONTAINER_OF(t, struct program, errors_later);
    struct stream *s = &g->errors;
    ssize_t n = stream_recv(s, s->worker->scratch, WORKER_SCRATCH);

    if (n > 0) {
        add_words(g, span_of(s->worker->scratch, (size_t)n));
        worker_timer_set(s->worker, t, WORDS_PAUSE, listen_on);
    } else if (n != STREAM_AGAIN) {
        close_errors(g);
    }
}

static void errors_ready(struct stream *s, unsigned what)
{
    struct program *g = CONTAINER_OF(s, struct program, errors);

    if ((what & (STREAM_READABLE | STREAM_ENDED)) && !g->errors_later.set)
        listen_on(&g->errors_later);
}

/* NULL: it can't be started; the pool waits. */
struct program *program_start(struct helper_pool *p)
{
    struct child c;
    struct program *g;

    if (!child_start(&c, p->argv)) {
        p->failures += 2;
        atomic_fetch_add_explicit(&p->n_failures, 1, memory_order_relaxed);
        p->next_start = helper_now(p) + HELPER_PAUSE_MAX;
        log_line(LOG_ERROR, "ERROR: %s: cannot run %s: %s", p->name, p->argv[0], strerror(errno));
        return NULL;
    }
    g = xcalloc(1, sizeof *g);
    g->pool = p;
    g->pid = c.pid;
    g->since = helper_now(p);
    list_init(&g->asked);
    list_append(&p->programs, &g->node);
    p->n_programs++;
    atomic_store_explicit(&p->running, p->n_programs, memory_order_relaxed);
    stream_open(&g->io, p->host->worker, c.io, io_ready);
    stream_open(&g->errors, p->host->worker, c.errors, errors_ready);
    return g;
}

static unsigned free_channel(struct program *g)
{
    if (g->pool->config.concurrency == 0)
        return 0;
    while (question_of_channel(g, g->next_channel) != NULL)
        g->next_channel = (g->next_channel + 1) % helper_capacity(g->pool);
    return g->next_channel;
}

void program_ask(struct program *g, struct helper_question *q)
{
    q->channel = free_channel(g);
    list_append(&g->asked, &q->node);
    g->n_asked++;
    if (g->pool->config.concurrency > 0)
        sb_printf(&g->out, "%u ", q->channel);
    sb_span(&g->out, sb_view(&q->text));
    sb_char(&g->out, '\n');
    (void)flush(g);
}

void programs_reap(struct helpers *h, int64_t now, bool at_once)
{
    struct list_node *n, *following;

    LIST_EACH (n, following, &h->leaving) {
        struct program *g = CONTAINER_OF(n, struct program, node);
        int status;

        bool ended = child_has_ended(g->pid, &status);

        if (ended)
            say_end(g, status);
        else if (at_once)
            kill(g->pid, SIGTERM); /* most end with their input; nobody waits for the others */
        if (ended || at_once) {
            list_remove(&g->node);
            free(g->name);
            program_free(g);
        } else if (now - g->leaving_since > END_STEP * (g->signals + 1)) {
            kill(g->pid, g->signals == 0 ? SIGTERM : SIGKILL);
            g->signals++;
        }
    }
}
