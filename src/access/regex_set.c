#include "access/regex_set.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <assert.h>
#include <pcre2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "access/regex_posix.h"
#include "base/mem.h"

#define ERROR_SIZE 128
/* Backtracks before a match is given up: some milliseconds. PCRE2's own default is ten times that. */
#define STEPS_MAX 1000000
#define JIT_STACK_FIRST (32 * 1024)
#define JIT_STACK_MAX (512 * 1024)
/* Patterns in one combined one. A hundred -i patterns on a URL: 9.5 us one by one, 4.3 combined (test_regex_set). */
#define GROUP_MAX 64

struct pattern {
    char *text;
    size_t len;
    bool ignore_case;
    bool combinable;
    pcre2_code *code;
};

/* A run of patterns, in order, as one. */
struct group {
    size_t from, to;
    pcre2_code *code; /* of patterns[from..to); borrowed from the pattern when there is just one */
};

struct regex_set {
    struct pattern *patterns;
    size_t n;
    struct group *groups; /* over patterns[0..n_grouped) */
    size_t n_groups, n_grouped;
};

/* What a match needs to write to: one per thread, made at its first match. */
struct scratch {
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static pthread_key_t scratch_key;
static _Thread_local struct scratch *my_scratch;

static void scratch_free(void *p)
{
    struct scratch *s = p;

    pcre2_match_data_free(s->data);
    pcre2_match_context_free(s->context);
    pcre2_jit_stack_free(s->stack);
    free(s);
}

static void scratch_key_make(void)
{
    if (pthread_key_create(&scratch_key, scratch_free) != 0)
        abort();
}

static struct scratch *scratch(void)
{
    struct scratch *s = my_scratch;

    if (s != NULL)
        return s;
    pthread_once(&scratch_once, scratch_key_make);
    s = xcalloc(1, sizeof *s);
    s->data = pcre2_match_data_create(1, NULL);
    s->context = pcre2_match_context_create(NULL);
    s->stack = pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_MAX, NULL);
    if (s->data == NULL || s->context == NULL || s->stack == NULL)
        abort(); /* small allocations abort: base/mem.h */
    pcre2_set_match_limit(s->context, STEPS_MAX);
    pcre2_jit_stack_assign(s->context, NULL, s->stack);
    pthread_setspecific(scratch_key, s);
    my_scratch = s;
    return s;
}

struct regex_set *regex_set_new(void)
{
    return xcalloc(1, sizeof(struct regex_set));
}

static void group_free(struct group *g)
{
    if (g->to - g->from > 1)
        pcre2_code_free(g->code);
}

void regex_set_free(struct regex_set **holder)
{
    struct regex_set *s = *holder;

    *holder = NULL;
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->n_groups; i++)
        group_free(&s->groups[i]);
    for (size_t i = 0; i < s->n; i++) {
        free(s->patterns[i].text);
        pcre2_code_free(s->patterns[i].code);
    }
    free(s->groups);
    free(s->patterns);
    free(s);
}

/* NULL: *problem and *at say what is wrong where. */
static pcre2_code *compile(struct span text, uint32_t options, int *problem, size_t *at)
{
    /* '.' takes any byte and '$' only the very end, as regexec() has it. No PCRE2_UTF: URLs are bytes. */
    uint32_t always = PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_UTF;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)(text.p ? text.p : ""), text.len, options | always, problem, at, NULL);

    if (code != NULL)
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* when it can't, pcre2_match() interprets */
    return code;
}

bool regex_set_add(struct regex_set *s, struct span pattern, bool ignore_case, char error[ERROR_SIZE])
{
    struct strbuf perl = { 0 };
    pcre2_code *code;
    int problem;
    size_t at;

    regex_from_posix(pattern, &perl);
    code = compile(sb_view(&perl), ignore_case ? PCRE2_CASELESS : 0, &problem, &at);
    sb_free(&perl);
    if (code == NULL) {
        PCRE2_UCHAR what[96];

        if (pcre2_get_error_message(problem, what, sizeof what) < 0)
            snprintf((char *)what, sizeof what, "PCRE2 error %d", problem);
        snprintf(error, ERROR_SIZE, "%.64s, at character %zu%s", (const char *)what, at + 1,
                 pattern.len > 0 && pattern.p[0] == '*' ? "; for any text write '.*'" : "");
        return false;
    }
    s->patterns = xrealloc(s->patterns, (s->n + 1) * sizeof *s->patterns);
    s->patterns[s->n++] = (struct pattern){ .text = xspandup(pattern),
                                            .len = pattern.len,
                                            .ignore_case = ignore_case,
                                            .combinable = regex_is_combinable(pattern),
                                            .code = code };
    error[0] = '\0';
    return true;
}

/* patterns[from..to) as one, or NULL when PCRE2 finds that too large. */
static pcre2_code *compile_group(const struct regex_set *s, size_t from, size_t to)
{
    uint32_t options = PCRE2_NO_AUTO_CAPTURE | (s->patterns[from].ignore_case ? PCRE2_CASELESS : 0);
    struct strbuf all = { 0 };
    pcre2_code *code;
    int problem;
    size_t at;

    for (size_t i = from; i < to; i++) {
        sb_str(&all, i == from ? "(?:" : "|(?:");
        regex_from_posix(span_of(s->patterns[i].text, s->patterns[i].len), &all);
        sb_char(&all, ')');
    }
    code = compile(sb_view(&all), options, &problem, &at);
    sb_free(&all);
    return code;
}

/* Where the run of patterns that may be combined with patterns[from] ends. */
static size_t run_end(const struct regex_set *s, size_t from)
{
    size_t to = from + 1;

    if (!s->patterns[from].combinable)
        return to;
    while (to < s->n && to - from < GROUP_MAX && s->patterns[to].combinable &&
           s->patterns[to].ignore_case == s->patterns[from].ignore_case)
        to++;
    return to;
}

void regex_set_combine(struct regex_set *s)
{
    /* The last group may have room: a list given one pattern a line is to end up the same as one given at once. */
    if (s->n_groups > 0 && s->groups[s->n_groups - 1].to - s->groups[s->n_groups - 1].from < GROUP_MAX) {
        struct group *last = &s->groups[--s->n_groups];

        s->n_grouped = last->from;
        group_free(last);
    }
    while (s->n_grouped < s->n) {
        struct group g = { .from = s->n_grouped, .to = run_end(s, s->n_grouped) };

        while (g.to - g.from > 1 && (g.code = compile_group(s, g.from, g.to)) == NULL)
            g.to = g.from + (g.to - g.from) / 2;
        if (g.to - g.from == 1)
            g.code = s->patterns[g.from].code;
        s->groups = xrealloc(s->groups, (s->n_groups + 1) * sizeof *s->groups);
        s->groups[s->n_groups++] = g;
        s->n_grouped = g.to;
    }
}

static enum regex_answer run(const pcre2_code *code, struct span text)
{
    struct scratch *mine = scratch();
    int found = pcre2_match(code, (PCRE2_SPTR)(text.p ? text.p : ""), text.len, 0, 0, mine->data, mine->context);

    if (found >= 0)
        return REGEX_YES;
    return found == PCRE2_ERROR_NOMATCH ? REGEX_NO : REGEX_GIVEN_UP;
}

enum regex_answer regex_set_try(const struct regex_set *s, struct span text)
{
    enum regex_answer answer = REGEX_NO;

    for (size_t i = 0; i < s->n_groups + (s->n - s->n_grouped); i++) {
        const pcre2_code *code = i < s->n_groups ? s->groups[i].code : s->patterns[s->n_grouped + i - s->n_groups].code;
        enum regex_answer one = run(code, text);

        if (one == REGEX_YES)
            return REGEX_YES;
        if (one == REGEX_GIVEN_UP)
            answer = REGEX_GIVEN_UP;
    }
    return answer;
}

bool regex_set_matches(const struct regex_set *s, struct span text)
{
    return regex_set_try(s, text) == REGEX_YES;
}

int regex_set_first(const struct regex_set *s, struct span text)
{
    for (size_t i = 0; i < s->n; i++)
        if (run(s->patterns[i].code, text) == REGEX_YES)
            return (int)i;
    return -1;
}

size_t regex_set_count(const struct regex_set *s)
{
    return s->n;
}

struct span regex_set_pattern(const struct regex_set *s, size_t i, bool *ignore_case)
{
    assert(i < s->n);
    *ignore_case = s->patterns[i].ignore_case;
    return span_of(s->patterns[i].text, s->patterns[i].len);
}
