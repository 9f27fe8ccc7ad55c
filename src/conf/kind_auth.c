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
#define DEFAULT_CHILDREN 5 /* programs; Squid's */
#define LINES_TOLD 5       /* of an htpasswd file */

/* One auth_param line: words[0] auth_param, [1] scheme, [2] option, values. */
struct auth_line {
    struct reading *r;
    const struct line *l;
    enum auth_scheme which;
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

static struct program_setting *program_of(const struct auth_line *a)
{
    return &a->r->s->auth_programs[a->which];
}

static void read_children(const struct auth_line *a)
{
    struct program_setting *p = program_of(a);
    int64_t n;

    if (value_count(a->l->words[3].text, 1, CHILDREN_MOST, &n) != VALUE_OK) {
        bad_value(a, 3, "number from 1 to 1000");
        return;
    }
    p->max = a->scheme->children = (int)n;
    for (size_t i = 4; i < a->l->n; i++)
        if (!program_option(a->r, p, &a->l->words[i], ""))
            bad_value(a, i, "option of children: startup=, idle=, concurrency=, queue-size=, on-persistent-overload=");
    a->scheme->queue_size = p->queue_max;
}

static void set_file(const struct auth_line *a, const struct word *path)
{
    free(a->scheme->file_path);
    program_free(program_of(a));
    a->scheme->file_path = xspandup(path->text);
    a->r->auth_file_at[a->which] = path->at;
}

static void read_file(const struct auth_line *a)
{
    set_file(a, &a->l->words[3]);
}

/* Squid's helpers for such files need no process here. */
static const struct {
    const char *program;
    enum auth_scheme scheme;
    const char *flag; /* in front of the path; NULL: none */
} built_in[] = {
    { "basic_ncsa_auth", AUTH_BASIC, NULL },
    { "ncsa_auth", AUTH_BASIC, NULL },
    { "digest_file_auth", AUTH_DIGEST, "-c" },
    { "digest_pw_auth", AUTH_DIGEST, "-c" },
};

static void read_program(const struct auth_line *a)
{
    struct span program = a->l->words[3].text;
    const char *slash = program.len > 0 ? memrchr(program.p, '/', program.len) : NULL;

    if (slash != NULL)
        program = span_of(slash + 1, program.len - (size_t)(slash + 1 - program.p));
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++) {
        size_t path = 4 + (built_in[i].flag != NULL);

        if (built_in[i].scheme == a->which && span_eq(program, span_str(built_in[i].program)) && a->l->n == path + 1 &&
            (path == 4 || span_eq(a->l->words[4].text, span_str(built_in[i].flag)))) {
            set_file(a, &a->l->words[path]);
            return;
        }
    }
    a->r->auth_file_at[a->which] = a->l->words[3].at;
    free(a->scheme->file_path);
    a->scheme->file_path = NULL;
    program_add_words(a->r, program_of(a), a->l, 3);
}

static void read_key_extras(const struct auth_line *a)
{
    free(a->scheme->key_extras);
    a->scheme->key_extras = a->l->n == 4 ? xspandup(a->l->words[3].text) : xspandup(line_rest(a->l, 3));
}

static void read_keep_alive(const struct auth_line *a)
{
    read_switch(a, &a->scheme->keep_alive);
}

static void read_algorithms(const struct auth_line *a)
{
    a->scheme->n_algorithms = 0;
    for (size_t i = 3; i < a->l->n; i++) {
        int k = 0;

        while (k < DIGEST_ALGORITHM_N &&
               !span_eq_nocase(a->l->words[i].text, span_str(digest_algorithm_name((enum digest_algorithm)k))))
            k++;
        if (k == DIGEST_ALGORITHM_N || a->scheme->n_algorithms == DIGEST_ALGORITHM_N)
            bad_value(a, i, "algorithm: MD5, SHA-256 or both");
        else
            a->scheme->algorithms[a->scheme->n_algorithms++] = (enum digest_algorithm)k;
    }
}

static void read_ttl(const struct auth_line *a)
{
    read_duration(a, &a->scheme->credentials_ttl);
}

static void read_case(const struct auth_line *a)
{
    read_switch(a, &a->scheme->case_sensitive);
}

static void read_utf8(const struct auth_line *a)
{
    read_switch(a, &a->scheme->utf8);
}

static void read_garbage_interval(const struct auth_line *a)
{
    read_duration(a, &a->scheme->nonce_garbage_interval);
}

static void read_max_duration(const struct auth_line *a)
{
    read_duration(a, &a->scheme->nonce_max_duration);
}

static void read_max_count(const struct auth_line *a)
{
    int64_t n;

    if (value_count(a->l->words[3].text, 1, INT32_MAX, &n) == VALUE_OK)
        a->scheme->nonce_max_count = (int)n;
    else
        bad_value(a, 3, "number of requests");
}

static void read_strictness(const struct auth_line *a)
{
    read_switch(a, &a->scheme->nonce_strictness);
}

static void read_check_count(const struct auth_line *a)
{
    read_switch(a, &a->scheme->check_nonce_count);
}

static void read_post_workaround(const struct auth_line *a)
{
    read_switch(a, &a->scheme->post_workaround);
}

#define BASIC (1u << AUTH_BASIC)
#define DIGEST (1u << AUTH_DIGEST)
#define NEGOTIATE (1u << AUTH_NEGOTIATE)

static const struct {
    const char *name;
    unsigned schemes;
    void (*read)(const struct auth_line *a);
} options[] = {
    { "file", BASIC | DIGEST, read_file },
    { "program", BASIC | DIGEST | NEGOTIATE, read_program },
    { "children", BASIC | DIGEST | NEGOTIATE, read_children },
    { "realm", BASIC | DIGEST, read_realm },
    { "key_extras", BASIC | DIGEST | NEGOTIATE, read_key_extras },
    { "keep_alive", NEGOTIATE, read_keep_alive },
    { "credentialsttl", BASIC, read_ttl },
    { "casesensitive", BASIC, read_case },
    { "utf8", BASIC, read_utf8 },
    { "algorithm", DIGEST, read_algorithms },
    { "nonce_garbage_interval", DIGEST, read_garbage_interval },
    { "nonce_max_duration", DIGEST, read_max_duration },
    { "nonce_max_count", DIGEST, read_max_count },
    { "nonce_strictness", DIGEST, read_strictness },
    { "check_nonce_count", DIGEST, read_check_count },
    { "post_workaround", DIGEST, read_post_workaround },
};
#define OPTIONS (sizeof options / sizeof options[0])

static void read_option(const struct auth_line *a)
{
    const char *known[OPTIONS + 1] = { NULL };
    struct span option = a->l->words[2].text;
    size_t n = 0;

    for (size_t i = 0; i < OPTIONS; i++) {
        if (!(options[i].schemes & 1u << a->which))
            continue;
        if (span_eq(option, span_str(options[i].name))) {
            options[i].read(a);
            return;
        }
        known[n++] = options[i].name;
    }
    diag_error(a->r->report, a->l->words[2].at, similar_word(known, option), "auth_param %.*s has no option '%.*s'",
               QUOTED_ARG(a->l->words[1].text), QUOTED_ARG(option));
}

static struct auth_scheme_settings *scheme_of(struct settings *s, enum auth_scheme which, struct place at)
{
    struct auth_scheme_settings *one = &s->auth.schemes[which];

    if (one->is_named)
        return one;
    one->is_named = true;
    one->where = place_text(at);
    one->realm = xstrdup(DEFAULT_REALM);
    one->credentials_ttl = DEFAULT_TTL;
    one->queue_size = -1;
    one->keep_alive = true;
    s->auth_programs[which].max = DEFAULT_CHILDREN;
    s->auth_programs[which].queue_max = -1;
    one->n_algorithms = 1; /* MD5 */
    one->nonce_garbage_interval = 300 * US_PER_S;
    one->nonce_max_duration = 1800 * US_PER_S;
    one->nonce_max_count = 50;
    one->check_nonce_count = true;
    s->auth.named.order[s->auth.named.n++] = which;
    return one;
}

static void parse_auth_param(struct reading *r, const struct directive *d, const struct line *l)
{
    struct auth_line a = { .r = r, .l = l };
    const char *names[AUTH_SCHEME_N + 1] = { NULL };
    struct span scheme;

    (void)d;
    if (!words_between(r, l, 3, SIZE_MAX))
        return;
    scheme = l->words[1].text;
    for (int i = 0; i < AUTH_SCHEME_N; i++) {
        names[i] = auth_scheme_name((enum auth_scheme)i);
        if (span_eq_nocase(scheme, span_str(names[i]))) {
            a.which = (enum auth_scheme)i;
            a.scheme = scheme_of(r->s, a.which, l->words[0].at);
            read_option(&a);
            return;
        }
    }
    if (span_eq_nocase(scheme, SPAN("ntlm")))
        diag_error(
            r->report, l->words[1].at, NULL,
            "auth_param ntlm is not supported: NTLM is broken; have the same users checked by `auth_param negotiate` "
            "(Kerberos) or basic");
    else
        diag_error(r->report, l->words[1].at, similar_word(names, scheme),
                   "auth_param knows basic, digest and negotiate, not '%.*s'", QUOTED_ARG(scheme));
}

static void print_children(const struct auth_scheme_settings *s, const struct program_setting *p, const char *name,
                           struct strbuf *out)
{
    if (s->children == 0)
        return;
    sb_printf(out, "%s children %d startup=%d idle=%d concurrency=%d", name, p->max, p->startup, p->idle,
              p->concurrency);
    if (p->queue_max >= 0)
        sb_printf(out, " queue-size=%d", p->queue_max);
    sb_char(out, '\n');
}

static const char *on_or_off(bool on)
{
    return on ? "on" : "off";
}

static void print_basic(const struct auth_scheme_settings *s, const char *name, struct strbuf *out)
{
    sb_printf(out, "%s realm %s\n", name, s->realm);
    sb_printf(out, "%s credentialsttl %" PRId64 " seconds\n", name, s->credentials_ttl / US_PER_S);
    sb_printf(out, "%s casesensitive %s\n", name, on_or_off(s->case_sensitive));
    sb_printf(out, "%s utf8 %s\n", name, on_or_off(s->utf8));
}

static void print_digest(const struct auth_scheme_settings *s, const char *name, struct strbuf *out)
{
    sb_printf(out, "%s realm %s\n", name, s->realm);
    sb_printf(out, "%s algorithm", name);
    for (unsigned i = 0; i < s->n_algorithms; i++)
        sb_printf(out, " %s", digest_algorithm_name(s->algorithms[i]));
    sb_printf(out, "\n%s nonce_garbage_interval %" PRId64 " seconds\n", name, s->nonce_garbage_interval / US_PER_S);
    sb_printf(out, "%s nonce_max_duration %" PRId64 " seconds\n", name, s->nonce_max_duration / US_PER_S);
    sb_printf(out, "%s nonce_max_count %d\n", name, s->nonce_max_count);
    sb_printf(out, "%s nonce_strictness %s\n", name, on_or_off(s->nonce_strictness));
    sb_printf(out, "%s check_nonce_count %s\n", name, on_or_off(s->check_nonce_count));
    sb_printf(out, "%s post_workaround %s\n", name, on_or_off(s->post_workaround));
}

static void print_auth_param(const struct settings *s, const struct directive *d, struct strbuf *out)
{
    static const char *const names[AUTH_SCHEME_N] = {
        [AUTH_BASIC] = "basic", [AUTH_DIGEST] = "digest", [AUTH_NEGOTIATE] = "negotiate"
    };

    for (unsigned i = 0; i < s->auth.named.n; i++) {
        const struct auth_scheme_settings *one = &s->auth.schemes[s->auth.named.order[i]];
        const struct program_setting *program = &s->auth_programs[s->auth.named.order[i]];
        char *name = xasprintf("%s %s", d->name, names[s->auth.named.order[i]]);

        if (one->file_path != NULL)
            sb_printf(out, "%s file %s\n", name, one->file_path);
        if (program->written != NULL)
            sb_printf(out, "%s program %s\n", name, program->written);
        if (one->key_extras != NULL)
            sb_printf(out, "%s key_extras %s\n", name, one->key_extras);
        print_children(one, program, name, out);
        switch (s->auth.named.order[i]) {
        case AUTH_BASIC: print_basic(one, name, out); break;
        case AUTH_DIGEST: print_digest(one, name, out); break;
        case AUTH_NEGOTIATE: sb_printf(out, "%s keep_alive %s\n", name, on_or_off(one->keep_alive)); break;
        case AUTH_SCHEME_N: break;
        }
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

static void open_file(struct reading *r, enum auth_scheme which)
{
    struct auth_scheme_settings *s = &r->s->auth.schemes[which];
    struct place at = r->auth_file_at[which];
    struct htpasswd_form form = { .fold_case = which == AUTH_BASIC && !s->case_sensitive,
                                  .realm = which == AUTH_DIGEST ? s->realm : NULL };
    struct file_problems problems = { r, s->file_path, 0 };

    if (r->closed) {
        diag_error(r->report, at, NULL, "other files can't be read from here");
        return;
    }
    s->file = htpasswd_file_open(s->file_path, &form, tell_line, &problems);
    s->works = s->file != NULL;
    if (s->file == NULL)
        diag_error(r->report, at, NULL, "can't read '%s': %s", s->file_path, strerror(errno));
    else if (problems.n > LINES_TOLD)
        diag_warning(r->report, at, NULL, "'%s' has %u lines of no use in all", s->file_path, problems.n);
}

static void open_pool(struct reading *r, enum auth_scheme which)
{
    struct auth_scheme_settings *s = &r->s->auth.schemes[which];
    struct program_setting *p = &r->s->auth_programs[which];
    char *name = xasprintf("auth_param %s", auth_scheme_name(which));

    p->pool = program_pool(p, name, r->s->helper_timeout);
    free(name);
    s->pool = p->pool;
    s->generation = htpasswd_new_generation();
    s->works = true;
}

static void compile_extras(struct reading *r, enum auth_scheme which)
{
    struct auth_scheme_settings *s = &r->s->auth.schemes[which];
    char error[160];
    size_t at;

    if (s->key_extras != NULL && r->hooks != NULL && r->hooks->logformat_compile != NULL &&
        (s->key_extras_format = r->hooks->logformat_compile(s->key_extras, error, &at)) == NULL)
        diag_error(r->report, (struct place){ r->s->file, 0, 0 }, NULL, "key_extras of auth_param %s: %s",
                   auth_scheme_name(which), error);
}

bool auth_is_asked_for(struct span acl_type)
{
    return span_eq(acl_type, SPAN("proxy_auth")) || span_eq(acl_type, SPAN("proxy_auth_regex")) ||
           span_eq(acl_type, SPAN("max_user_ip"));
}

void auth_complete(struct reading *r)
{
    struct auth_settings *s = &r->s->auth;

    for (int i = 0; i < AUTH_SCHEME_N; i++) {
        compile_extras(r, (enum auth_scheme)i);
        if (s->schemes[i].file_path != NULL)
            open_file(r, (enum auth_scheme)i);
        else if (r->s->auth_programs[i].argv != NULL)
            open_pool(r, (enum auth_scheme)i);
    }
    if (r->report->errors == 0 && r->users_at.file != NULL && !auth_is_set(s))
        diag_error(r->report, r->users_at, NULL,
                   "this asks for users, but no auth_param says how to check them: see `auth_param basic file`");
}

const struct directive_kind kind_auth_param = { parse_auth_param, print_auth_param };
