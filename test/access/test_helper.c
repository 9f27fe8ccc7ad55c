/* Programs are /bin/sh; workers run as in the daemon. Checks are made on the test's own thread. */
#include "../net/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "access/helper.h"
#include "base/clock.h"
#include "base/log.h"

#define MOST 64

static struct worker *host, *asker;
static struct helpers *helpers;
static struct helper_pool *pool;
static struct gate answered = GATE_INIT;

static struct asked {
    struct helper_query query;
    enum helper_status status;
    char text[200], user[100];
    const char *why;
} questions[MOST];

static void done(struct helper_query *q, const struct helper_reply *reply, const char *why)
{
    struct asked *a = (struct asked *)(void *)q;

    a->status = reply->status;
    a->why = why;
    snprintf(a->text, sizeof a->text, "%.*s", SPAN_ARG(reply->rest));
    snprintf(a->user, sizeof a->user, "%.*s", SPAN_ARG(helper_reply_value(reply, "user")));
    gate_open(&answered);
}

struct question {
    struct asked *a;
    const char *text;
};

static void ask_there(void *arg)
{
    struct question *q = arg;

    q->a->query.done = done;
    helper_ask(pool, asker, &q->a->query, span_str(q->text));
}

static void ask(size_t i, const char *text)
{
    struct question q = { &questions[i], text };

    memset(&questions[i], 0, sizeof questions[i]);
    call(asker, ask_there, &q);
}

static void wait_for(size_t n)
{
    while (n-- > 0)
        assert_true(gate_passed(&answered));
}

static void run(const char *script, struct helper_config c)
{
    char *argv[] = { (char[]){ "/bin/sh" }, (char[]){ "-c" }, (char *)(uintptr_t)script, NULL };

    log_open("/dev/null", -1);
    answered.open = 0;
    c.name = "the test's";
    c.argv = argv;
    if (c.max == 0)
        c.max = 1;
    if (c.queue_max == 0)
        c.queue_max = 10;
    host = worker_new(0);
    helpers = helpers_new(host);
    asker = worker_new(1);
    worker_start(host, NULL);
    worker_start(asker, NULL);
    pool = helper_pool_new(&c);
    helper_pool_start(pool, helpers);
}

static void end(void)
{
    worker_stop(host);
    worker_stop(asker);
    worker_join(host);
    worker_join(asker);
    if (pool != NULL)
        helper_pool_close(&pool);
    helpers_free(&helpers);
    worker_free(&host);
    worker_free(&asker);
}

#define ECHO "while read x; do echo \"OK user=$x\"; done"

static void it_answers_line_by_line(void **state)
{
    struct helper_stats stats;

    (void)state;
    run(ECHO, (struct helper_config){ .max = 1 });
    ask(0, "a%20b");
    ask(1, "c");
    wait_for(2);
    assert_int_equal(questions[0].status, HELPER_OK);
    assert_string_equal(questions[0].user, "a b");
    assert_string_equal(questions[1].user, "c");
    helper_pool_stats(pool, &stats);
    assert_int_equal(stats.running, 1);
    assert_int_equal(stats.asked, 2);
    assert_int_equal(stats.answered, 2);
    end();
}

static void channels_may_answer_in_any_order(void **state)
{
    (void)state;
    run("read a; read b; read c; echo \"${c%% *} OK user=${c#* }\"; echo \"${a%% *} OK user=${a#* }\"; echo \"${b%% *} "
        "ERR\"; read x",
        (struct helper_config){ .concurrency = 3 });
    ask(0, "one");
    ask(1, "two");
    ask(2, "three");
    wait_for(3);
    assert_string_equal(questions[0].user, "one");
    assert_int_equal(questions[1].status, HELPER_ERR);
    assert_string_equal(questions[2].user, "three");
    end();
}

/* What a worker's last messages ask when the programs have been sent away. */
static void at_the_end_nobody_is_asked(void **state)
{
    (void)state;
    run(ECHO, (struct helper_config){ .max = 1 });
    ask(0, "x");
    wait_for(1);
    worker_stop(host);
    worker_stop(asker);
    worker_join(host);
    worker_join(asker);
    helpers_free(&helpers);
    questions[1].query.done = done;
    helper_ask(pool, asker, &questions[1].query, SPAN("y"));
    helper_pool_close(&pool);
    worker_free(&host);
    worker_free(&asker);
    assert_true(gate_passed(&answered));
    assert_int_equal(questions[1].status, HELPER_BH);
    assert_string_equal(questions[1].why, "the process ends");
}

/* As many as asked for, and each has one question. */
static void more_programs_for_more_questions(void **state)
{
    struct helper_stats stats;
    char flag[] = "/tmp/loligo-helper-XXXXXX", go[64];

    (void)state;
    assert_non_null(mkdtemp(flag));
    snprintf(go, sizeof go, "%s/go", flag);
    run("while read x; do until [ -e \"$x\" ]; do sleep 0.01; done; echo OK user=$$; done",
        (struct helper_config){ .max = 3 });
    for (size_t i = 0; i < 3; i++)
        ask(i, go);
    do
        helper_pool_stats(pool, &stats);
    while (stats.running < 3);
    ask(3, go); /* waits: there is no fourth */
    assert_int_equal(mkdir(go, 0700), 0);
    wait_for(4);
    helper_pool_stats(pool, &stats);
    assert_int_equal(stats.running, 3);
    rmdir(go);
    rmdir(flag);
    assert_string_not_equal(questions[0].user, questions[1].user);
    assert_string_not_equal(questions[1].user, questions[2].user);
    end();
}

static void one_that_dies_is_replaced(void **state)
{
    (void)state;
    /* The first one ever dies on its question; the next answers. */
    char flag[] = "/tmp/loligo-helper-XXXXXX", script[300];
    int fd = mkstemp(flag);

    assert_true(fd >= 0);
    close(fd);
    snprintf(script, sizeof script, "if [ -e %s ]; then rm %s; read x; exit 1; fi; " ECHO, flag, flag);
    run(script, (struct helper_config){ .max = 1 });
    ask(0, "again");
    wait_for(1);
    assert_int_equal(questions[0].status, HELPER_OK);
    assert_string_equal(questions[0].user, "again");
    end();
}

/* Tried twice, then said; and who comes later is told at once. */
static void one_that_always_dies_is_given_up(void **state)
{
    struct helper_stats stats;

    (void)state;
    run("read x; exit 1", (struct helper_config){ .max = 1 });
    ask(0, "x");
    wait_for(1);
    assert_int_equal(questions[0].status, HELPER_BH);
    assert_string_equal(questions[0].why, "the helper program failed");
    ask(1, "x");
    wait_for(1);
    assert_int_equal(questions[1].status, HELPER_BH);
    helper_pool_stats(pool, &stats);
    assert_int_equal(stats.failures, 2);
    end();
}

static void one_that_is_not_there(void **state)
{
    (void)state;
    run("", (struct helper_config){ .max = 1 });
    {
        char *argv[] = { (char[]){ "/nowhere" }, NULL };
        struct helper_config c = { .name = "nobody", .argv = argv, .max = 1, .queue_max = 5 };

        helper_pool_close(&pool);
        pool = helper_pool_new(&c);
        helper_pool_start(pool, helpers);
    }
    ask(0, "x");
    wait_for(1);
    assert_int_equal(questions[0].status, HELPER_BH);
    end();
}

static void bad_answers(void **state)
{
    static const struct {
        const char *script;
        unsigned concurrency;
    } rows[] = {
        { "read x; echo OK", 1 },                                       /* no channel */
        { "read x; echo 7 OK", 1 },                                     /* another channel */
        { "read x; head -c 70000 /dev/zero | tr '\\0' x; sleep 9", 0 }, /* no end */
        { "read x; exec <&- >&-; sleep 9", 0 },
    };

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        run(rows[i].script, (struct helper_config){ .concurrency = rows[i].concurrency, .startup = 1 });
        ask(0, "x");
        wait_for(1);
        end();
        if (questions[0].status != HELPER_BH || questions[0].why == NULL)
            fail_msg("%s: %d, '%s'", rows[i].script, (int)questions[0].status, questions[0].text);
    }
}

static void an_answer_too_many(void **state)
{
    struct helper_stats stats;

    (void)state;
    run("read x; echo OK; echo OK; read y; exit 1", (struct helper_config){ .max = 1 });
    ask(0, "x");
    wait_for(1);
    assert_int_equal(questions[0].status, HELPER_OK);
    do
        helper_pool_stats(pool, &stats);
    while (stats.failures == 0);
    end();
}

static void questions_nobody_can_ask(void **state)
{
    static char large[HELPER_LINE_MAX + 2];

    (void)state;
    memset(large, 'x', sizeof large - 1);
    run("while read x; do echo OK; done", (struct helper_config){ .max = 1 });
    ask(0, "two\nlines");
    ask(1, large);
    large[HELPER_LINE_MAX] = '\0';
    ask(2, large);
    wait_for(3);
    assert_int_equal(questions[0].status, HELPER_BH);
    assert_int_equal(questions[1].status, HELPER_BH);
    assert_int_equal(questions[2].status, HELPER_OK);
    end();
}

static void a_full_queue_refuses(void **state)
{
    (void)state;
    run("read x; kill -STOP $$; echo OK", (struct helper_config){ .max = 1, .queue_max = 2 });
    for (size_t i = 0; i < 5; i++)
        ask(i, "x");
    wait_for(2); /* the last two: one is asked, two wait */
    assert_string_equal(questions[3].why, "too many questions wait for the helper program");
    assert_string_equal(questions[4].why, "too many questions wait for the helper program");
    assert_null(questions[2].why);
    end();
}

static void who_is_too_slow_is_replaced(void **state)
{
    (void)state;
    run("read x; [ $x = stop ] && kill -STOP $$; echo OK user=$x; " ECHO,
        (struct helper_config){ .max = 1, .timeout = US_PER_S / 10 });
    ask(0, "stop");
    wait_for(1);
    assert_string_equal(questions[0].why, "the helper program is too slow");
    ask(1, "go");
    wait_for(1);
    end();
}

static void ask_and_cancel(void *arg)
{
    ask_there(arg);
    helper_cancel(&questions[0].query);
}

static void who_cancels_hears_nothing(void **state)
{
    (void)state;
    run(ECHO, (struct helper_config){ .max = 1 });
    memset(&questions[0], 0, sizeof questions[0]);
    call(asker, ask_and_cancel, &(struct question){ &questions[0], "x" });
    ask(1, "y");
    wait_for(1);
    assert_string_equal(questions[1].user, "y");
    assert_string_equal(questions[0].user, "");
    end();
}

/* What was asked before is answered after, and only then do the programs end. */
static void closing_waits_for_answers(void **state)
{
    (void)state;
    run("read x; read y < /proc/self/status; sleep 0.2; echo OK user=$x; read z && echo OK user=$z",
        (struct helper_config){ .max = 1 });
    ask(0, "a");
    ask(1, "b");
    helper_pool_close(&pool);
    wait_for(2);
    assert_string_equal(questions[0].user, "a");
    assert_string_equal(questions[1].user, "b");
    end();
}

static void replies(void **state)
{
    static const struct {
        const char *line;
        enum helper_status status;
        const char *rest, *name, *value; /* value NULL: no such pair */
    } rows[] = {
        { "OK", HELPER_OK, "", "user", NULL },
        { "ERR", HELPER_ERR, "", "user", NULL },
        { "BH message=\"a b\"", HELPER_BH, "", "message", "a b" },
        { "OK user=joe tag=x", HELPER_OK, "", "tag", "x" },
        { "OK  user=joe\r", HELPER_OK, "", "user", "joe" },
        { "OK user=\"jo\\\"e \\\\ x\" y=z", HELPER_OK, "", "user", "jo\"e \\ x" },
        { "OK user=\"jo\\\"e \\\\ x\" y=z", HELPER_OK, "", "y", "z" },
        { "OK user=a%20b%zz%4", HELPER_OK, "", "user", "a b%zz%4" },
        { "OK user=\"a%20b\"", HELPER_OK, "", "user", "a%20b" },
        { "OK user=", HELPER_OK, "", "user", "" },
        { "OK user=\"", HELPER_OK, "", "user", "" },
        { "OK user=\"x\\", HELPER_OK, "", "user", "x\\" },
        { "TT dG9rZW4= x=1", HELPER_TT, "dG9rZW4= x=1", "x", "1" },
        { "ERR no such user", HELPER_ERR, "no such user", "user", NULL },
        { "http://x/ 1.2.3.4/- - GET", HELPER_OTHER, "http://x/ 1.2.3.4/- - GET", "user", NULL },
        { "", HELPER_OTHER, "", "user", NULL },
        { "ok user=x", HELPER_OTHER, "ok user=x", "user", NULL },
        { "OK =x user=y", HELPER_OK, "=x", "user", "y" },
    };
    unsigned channel;
    size_t at;

    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct helper_reply r;
        struct span v;
        char *text = strdup(rows[i].line);

        helper_reply_parse(text, strlen(text), &r);
        v = helper_reply_value(&r, rows[i].name);
        if (r.status != rows[i].status || !span_eq(r.rest, span_str(rows[i].rest)) ||
            (v.p == NULL) != (rows[i].value == NULL) || !span_eq(v, span_str(rows[i].value)))
            fail_msg("%s: %d, rest '%.*s', value '%.*s'", rows[i].line, (int)r.status, SPAN_ARG(r.rest), SPAN_ARG(v));
        free(text);
    }
    assert_true(helper_channel_parse(SPAN("12 OK"), &channel, &at) && channel == 12 && at == 3);
    assert_true(helper_channel_parse(SPAN("0"), &channel, &at) && channel == 0 && at == 1);
    assert_false(helper_channel_parse(SPAN("OK"), &channel, &at));
    assert_false(helper_channel_parse(SPAN("-1 OK"), &channel, &at));
    assert_false(helper_channel_parse(SPAN("99999999999 OK"), &channel, &at));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replies),
        cmocka_unit_test(it_answers_line_by_line),
        cmocka_unit_test(channels_may_answer_in_any_order),
        cmocka_unit_test(at_the_end_nobody_is_asked),
        cmocka_unit_test(more_programs_for_more_questions),
        cmocka_unit_test(one_that_dies_is_replaced),
        cmocka_unit_test(one_that_always_dies_is_given_up),
        cmocka_unit_test(one_that_is_not_there),
        cmocka_unit_test(bad_answers),
        cmocka_unit_test(an_answer_too_many),
        cmocka_unit_test(questions_nobody_can_ask),
        cmocka_unit_test(a_full_queue_refuses),
        cmocka_unit_test(who_is_too_slow_is_replaced),
        cmocka_unit_test(who_cancels_hears_nothing),
        cmocka_unit_test(closing_waits_for_answers),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
