/* auth_param: how users are asked who they are. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/mem.h"
#include "base/similar.h"
#include "conf/directive.h"
#include "conf/value.h"

#define DEFAULT_REALM "Loligo proxy-caching web server"
#define DEFAULT_TTL (7200 * US_PER_S)
#define CHILDREN_MOST 1000
#define LINES_TOLD 5 /* of an htpasswd file */

/* One auth_param line: words[0] auth_param, [1] scheme, [2] option, values. */
struct auth_line {
    struct reading *r;
    const struct line *l;
    struct auth_scheme_settings *scheme;
};

static void bad_value(const struct auth_line *a, size_t i, const char *wanted)
{
    diag_error(a->r->report, a->l->words[i].at, NULL, "'%.*s' is no %s", QUOTED_ARG(a->l->words[i].text), wanted);
}

static void read_switch(const struct auth_line *a, bool *on)
{
    if (value_switch(a->l->words[3].text, on) != VALUE_OK)
        bad_value(a, 3, "switch: on or off");
}

static void read_duration(const struct auth_line *a, int64_t *us)
{
    struct span unit = a->l->n > 4 ? a->l->words[4].text : SPAN_NONE;
    enum value_result result = value_duration(a->l->words[3].text, unit, US_PER_S, us);

    if (result != VALUE_OK && result != VALUE_NO_UNIT)
        bad_value(a, 3, "time, such as 2 hours");
}

static void read_realm(const struct auth_line *a)
{
    struct span text = a->l->n == 4 ? a->l->words[3].text : line_rest(a->l, 3);

    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == 0x7f) {
            bad_value(a, 3, "realm: it has control characters");
            return;
        }
    free(a->scheme->realm);
    a->scheme->realm = xspandup(text);
}

static void read_children(const struct auth_line *a)
{
    struct auth_children *c = &a->scheme->children;
    const struct {
        const char *key;
        int *to;
        int64_t low;
    } options[] = { { "startup", &c->startup, 0 },
                    { "idle", &c->idle, 0 },
                    { "concurrency", &c->concurrency, 0 },
                    { "queue-size", &c->queue_size, 0 } };
    int64_t n;

    if (value_count(a->l->words[3].text, 1, CHILDREN_MOST, &n) != VALUE_OK) {
        bad_value(a, 3, "number from 1 to 1000");
        return;
    }
    c->max = (int)n;
    for (size_t i = 4; i < a->l->n; i++) {
        struct span value;
        size_t k = 0;

        while (k < sizeof options / sizeof options[0] && !option_is(a->l->words[i].text, options[k].key, &value))
            k++;
        if (k == sizeof options / sizeof options[0])
            bad_value(a, i, "option of children: startup=, idle=, concurrency=, queue-size=");
        else if (value_count(value, options[k].low, 1000000, &n) != VALUE_OK)
            bad_value(a, i, "number from 0 to 1000000");
        else
            *options[k].to = (int)n;
    }
}

static void set_file(const struct auth_line *a, const struct word *path)
{
    free(a->scheme->file_path);
    a->scheme->file_path = xspandup(path->text);
    a->r->auth_file_at = path->at;
}

/* Squid's helper for htpasswd files needs no process here. */
static bool is_ncsa(struct span program)
{
    const char *slash = program.len > 0 ? memrchr(program.p, '/', program.len) : NULL;

    if (slash != NULL)
        program = span_of(slash + 1, program.len - (size_t)(slash + 1 - program.p));
    return span_eq(program, SPAN("basic_ncsa_auth")) || span_eq(program, SPAN("ncsa_auth"));
}

static void read_program(const struct auth_line *a)
{
    if (is_ncsa(a->l->words[3].text) && a->l->n == 5)
        set_file(a, &a->l->words[4]);
    else
        diag_error(a->r->report, a->l->words[3].at, NULL,
                   "helper programs are not supported yet, but basic_ncsa_auth: use `auth_param basic file PATH`");
}

static void read_option(const struct auth_line *a)
{
    static const char *const known[] = { "file", "program",        "children",      "realm",
                                         "utf8", "credentialsttl", "casesensitive", NULL };
    struct span option = a->l->words[2].text;

    if (span_eq(option, SPAN("file")))
        set_file(a, &a->l->words[3]);
    else if (span_eq(option, SPAN("program")))
        read_program(a);
    else if (span_eq(option, SPAN("children")))
        read_children(a);
    else if (span_eq(option, SPAN("realm")))
        read_realm(a);
    else if (span_eq(option, SPAN("credentialsttl")))
        read_duration(a, &a->scheme->credentials_ttl);
    else if (span_eq(option, SPAN("casesensitive")))
        read_switch(a, &a->scheme->case_sensitive);
    else if (span_eq(option, SPAN("utf8")))
        read_switch(a, &a->scheme->utf8);
    else
        diag_error(a->r->report, a->l->words[2].at, similar_word(known, option),
                   "auth_param basic has no option '%.*s'", QUOTED_ARG(option));
}

static struct auth_scheme_settings *scheme_of(struct auth_settings *s, enum auth_scheme which, struct place at)
{
    struct auth_scheme_settings *one = &s->schemes[which];

    if (one->is_named)
        return one;
    one->is_named = true;
    one->where = place_text(at);
    one->realm = xstrdup(DEFAULT_REALM);
    one->credentials_ttl = DEFAULT_TTL;
    one->children.queue_size = -1;
    s->order[s->n++] = which;
    return one;
}

static void parse_auth_param(struct reading *r, const struct directive *d, const struct line *l)
{
    struct auth_line a = { .r = r, .l = l };
    struct span scheme;

    (void)d;
    if (!words_between(r, l, 3, SIZE_MAX))
        return;
    scheme = l->words[1].text;
    if (!span_eq_nocase(scheme, SPAN("basic"))) {
        diag_error(r->report, l->words[1].at, NULL,
                   "auth_param %.*s is not supported yet: its users would be locked out, or let in",
                   QUOTED_ARG(scheme));
        return;
    }
    a.scheme = scheme_of(&r->s->auth, AUTH_BASIC, l->words[0].at);
    read_option(&a);
}

static void print_children(const struct auth_children *c, const char *name, struct strbuf *out)
{
    if (c->max == 0)
        return;
    sb_printf(out, "%s children %d startup=%d idle=%d concurrency=%d", name, c->max, c->startup, c->idle,
              c->concurrency);
    if (c->queue_size >= 0)
        sb_printf(out, " queue-size=%d", c->queue_size);
    sb_char(out, '\n');
}

static void print_auth_param(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    for (unsigned i = 0; i < s->auth.n; i++) {
        const struct auth_scheme_settings *one = &s->auth.schemes[s->auth.order[i]];
        char *name = xasprintf("%s basic", d->name);

        if (one->file_path != NULL)
            sb_printf(out, "%s file %s\n", name, one->file_path);
        print_children(&one->children, name, out);
        sb_printf(out, "%s realm %s\n", name, one->realm);
        sb_printf(out, "%s credentialsttl %" PRId64 " seconds\n", name, one->credentials_ttl / US_PER_S);
        sb_printf(out, "%s casesensitive %s\n", name, one->case_sensitive ? "on" : "off");
        sb_printf(out, "%s utf8 %s\n", name, one->utf8 ? "on" : "off");
        free(name);
    }
}

struct file_problems {
    struct reading *r;
    const char *path;
    unsigned n;
};

static void tell_line(void *ctx, unsigned line, const char *why)
{
    struct file_problems *p = ctx;

    if (p->n++ < LINES_TOLD)
        diag_warning(p->r->report, (struct place){ p->path, line, 0 }, NULL, "%s; this user can't log in", why);
}

static void open_file(struct reading *r, struct auth_scheme_settings *s)
{
    struct file_problems problems = { r, s->file_path, 0 };

    if (r->closed) {
        diag_error(r->report, r->auth_file_at, NULL, "other files can't be read from here");
        return;
    }
    s->file = htpasswd_file_open(s->file_path, !s->case_sensitive, tell_line, &problems);
    s->works = s->file != NULL;
    if (s->file == NULL)
        diag_error(r->report, r->auth_file_at, NULL, "can't read '%s': %s", s->file_path, strerror(errno));
    else if (problems.n > LINES_TOLD)
        diag_warning(r->report, r->auth_file_at, NULL, "'%s' has %u lines of no use in all", s->file_path, problems.n);
}

bool auth_is_asked_for(struct span acl_type)
{
    return span_eq(acl_type, SPAN("proxy_auth")) || span_eq(acl_type, SPAN("proxy_auth_regex")) ||
           span_eq(acl_type, SPAN("max_user_ip"));
}

void auth_complete(struct reading *r)
{
    struct auth_settings *s = &r->s->auth;

    if (s->schemes[AUTH_BASIC].file_path != NULL)
        open_file(r, &s->schemes[AUTH_BASIC]);
    if (r->report->errors == 0 && r->users_at.file != NULL && !auth_is_set(s))
        diag_error(r->report, r->users_at, NULL,
                   "this asks for users, but no auth_param says how to check them: see `auth_param basic file`");
}

const struct directive_kind kind_auth_param = { parse_auth_param, print_auth_param };
