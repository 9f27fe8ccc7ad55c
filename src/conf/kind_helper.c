/* Helper programs: what is run, how many of them, and the rewriters among them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/mem.h"
#include "conf/directive.h"
#include "conf/value.h"

#define PROCESSES_MAX 10000
#define CONCURRENCY_MAX 100000
#define QUEUE_MAX 1000000

static struct program_setting *program_at(struct settings *s, const struct directive *d)
{
    return (void *)((char *)s + d->at);
}

void program_add_words(struct reading *r, struct program_setting *p, const struct line *l, size_t first)
{
    struct strbuf written = { 0 };

    program_free(p);
    p->argv = xcalloc(l->n - first + 1, sizeof *p->argv);
    for (size_t i = first; i < l->n; i++) {
        p->argv[i - first] = xspandup(l->words[i].text);
        sb_printf(&written, "%s%.*s", i > first ? " " : "", SPAN_ARG(l->words[i].text));
    }
    p->written = written.p;
    if (p->argv[0][0] != '/')
        diag_error(r->report, l->words[first].at, NULL, "'%.*s': the path of a program begins with /",
                   QUOTED_ARG(l->words[first].text));
    else if (!r->closed && access(p->argv[0], X_OK) != 0)
        diag_error(r->report, l->words[first].at, NULL, "can't run '%.*s': %s", QUOTED_ARG(l->words[first].text),
                   strerror(errno));
}

static void parse_program(struct reading *r, const struct directive *d, const struct line *l)
{
    struct program_setting *p = program_at(r->s, d);

    if (l->n == 2 && span_eq(l->words[1].text, SPAN("none")))
        program_free(p);
    else
        program_add_words(r, p, l, 1);
}

static void print_program(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const struct program_setting *p = program_at((struct settings *)(uintptr_t)s, d);

    if (p->written != NULL)
        sb_printf(out, "%s %s\n", d->name, p->written);
}

static bool number_option(struct reading *r, const struct word *w, struct span value, int64_t low, int64_t high,
                          int *out)
{
    int64_t n;

    if (value_count(value, low, high, &n) != VALUE_OK) {
        diag_error(r->report, w->at, NULL, "'%.*s': a number from %lld to %lld is expected", QUOTED_ARG(w->text),
                   (long long)low, (long long)high);
        return false;
    }
    *out = (int)n;
    return true;
}

bool program_option(struct reading *r, struct program_setting *p, const struct word *w, const char *prefix)
{
    char name[64];
    struct span value;
    const struct {
        const char *name;
        bool prefixed;
        int *at;
        int64_t low, high;
    } numbers[] = {
        { "max=", true, &p->max, 1, PROCESSES_MAX },
        { "startup=", true, &p->startup, 0, PROCESSES_MAX },
        { "idle=", true, &p->idle, 0, PROCESSES_MAX },
        { "concurrency=", false, &p->concurrency, 0, CONCURRENCY_MAX },
        { "queue-size=", false, &p->queue_max, 0, QUEUE_MAX },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        snprintf(name, sizeof name, "%s%.*s", numbers[i].prefixed ? prefix : "", (int)strlen(numbers[i].name) - 1,
                 numbers[i].name);
        if (!option_is(w->text, name, &value))
            continue;
        (void)number_option(r, w, value, numbers[i].low, numbers[i].high, numbers[i].at);
        return true;
    }
    if (!option_is(w->text, "on-persistent-overload", &value))
        return false;
    if (!span_eq(value, SPAN("die")) && !span_eq(value, SPAN("ERR")))
        diag_error(r->report, w->at, NULL, "'%.*s': die or ERR is expected", QUOTED_ARG(w->text));
    return true;
}

static void parse_children(struct reading *r, const struct directive *d, const struct line *l)
{
    struct program_setting *p = program_at(r->s, d);

    p->queue_max = -1;
    if (!number_option(r, &l->words[1], l->words[1].text, 1, PROCESSES_MAX, &p->max))
        return;
    for (size_t i = 2; i < l->n; i++)
        if (!program_option(r, p, &l->words[i], ""))
            diag_error(r->report, l->words[i].at, NULL,
                       "'%.*s' is none of startup=, idle=, concurrency=, queue-size=, on-persistent-overload=",
                       QUOTED_ARG(l->words[i].text));
}

static void print_children(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    const struct program_setting *p = program_at((struct settings *)(uintptr_t)s, d);

    sb_printf(out, "%s %d startup=%d idle=%d concurrency=%d queue-size=%d\n", d->name, p->max, p->startup, p->idle,
              p->concurrency, program_queue_max(p));
}

/* All that follows `response=` in word i, without quotes around it. */
static char *quoted_rest(const struct line *l, size_t i, struct span value)
{
    struct span rest = line_rest(l, i), word = l->words[i].text;
    size_t name = word.len - value.len;

    rest = span_trim(span_of(rest.p + name, rest.len - name));
    if (rest.len > 1 && rest.p[0] == '"' && rest.p[rest.len - 1] == '"')
        rest = span_of(rest.p + 1, rest.len - 2);
    return xspandup(rest);
}

/* TIME UNIT [on_timeout=WORD] [response=TEXT] */
static void parse_rewrite_timeout(struct reading *r, const struct directive *d, const struct line *l)
{
    static const struct {
        struct span word;
        enum on_timeout action;
    } actions[] = { { SPAN("fail"), ON_TIMEOUT_FAIL },
                    { SPAN("bypass"), ON_TIMEOUT_BYPASS },
                    { SPAN("retry"), ON_TIMEOUT_RETRY },
                    { SPAN("use_configured_response"), ON_TIMEOUT_RESPONSE } };
    struct rewrite_timeout *t = (void *)((char *)r->s + d->at);
    size_t words = duration_words(r, l, &t->time);

    t->action = ON_TIMEOUT_FAIL;
    for (size_t i = 1 + words; words > 0 && i < l->n; i++) {
        struct span value;
        bool known = false;

        if (option_is(l->words[i].text, "response", &value)) {
            free(t->response);
            t->response = quoted_rest(l, i, value);
            break;
        }
        for (size_t k = 0; option_is(l->words[i].text, "on_timeout", &value) && k < sizeof actions / sizeof actions[0];
             k++)
            if (span_eq(value, actions[k].word)) {
                t->action = actions[k].action;
                known = true;
            }
        if (!known)
            diag_error(r->report, l->words[i].at, NULL,
                       "'%.*s': on_timeout=fail, bypass, retry or use_configured_response is expected",
                       QUOTED_ARG(l->words[i].text));
    }
    if (words > 0 && (t->action == ON_TIMEOUT_RESPONSE) != (t->response != NULL))
        diag_error(r->report, l->words[0].at, NULL, "on_timeout=use_configured_response and response= go together");
}

static void print_rewrite_timeout(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    static const char *const names[] = { "fail", "bypass", "retry", "use_configured_response" };
    const struct rewrite_timeout *t = (const void *)((const char *)s + d->at);

    if (t->time == 0)
        return;
    sb_printf(out, "%s %lld seconds on_timeout=%s", d->name, (long long)(t->time / 1000000), names[t->action]);
    if (t->response != NULL)
        sb_printf(out, " response=\"%s\"", t->response);
    sb_char(out, '\n');
}

struct helper_pool *program_pool(const struct program_setting *p, const char *name, int64_t timeout)
{
    struct helper_config c = {
        .name = name,
        .argv = p->argv,
        .startup = (unsigned)p->startup,
        .idle = (unsigned)p->idle,
        .max = (unsigned)p->max,
        .concurrency = (unsigned)p->concurrency,
        .queue_max = (unsigned)program_queue_max(p),
        .timeout = timeout,
    };

    return helper_pool_new(&c);
}

static void complete_rewriter(struct reading *r, struct rewrite_setting *w, const char *name, int64_t timeout)
{
    char error[160];
    size_t at;

    if (w->program.argv == NULL)
        return;
    if (w->extras != NULL && r->hooks != NULL && r->hooks->logformat_compile != NULL &&
        (w->extras_format = r->hooks->logformat_compile(w->extras, error, &at)) == NULL)
        diag_error(r->report, (struct place){ r->s->file, 0, 0 }, NULL, "the extras of %s: %s", name, error);
    w->program.pool = program_pool(&w->program, name, timeout);
}

void rewriters_complete(struct reading *r)
{
    struct settings *s = r->s;

    complete_rewriter(r, &s->url_rewrite, "url_rewrite_program",
                      s->url_rewrite_timeout.time > 0 ? s->url_rewrite_timeout.time : s->helper_timeout);
    complete_rewriter(r, &s->store_id, "store_id_program", s->helper_timeout);
}

const struct directive_kind kind_program = { parse_program, print_program };
const struct directive_kind kind_children = { parse_children, print_children };
const struct directive_kind kind_rewrite_timeout = { parse_rewrite_timeout, print_rewrite_timeout };
