/* access/helper.h: pools of helper programs that answer questions, a line each (Squid's helper protocol: external ACLs,
 * rewriters, password checks).
 *
 * A pool's programs belong to one worker, their host's: others ask and are answered by messages between workers. Programs are
 * started when they are wanted, up to a number; each has one question at a time, or `concurrency` of them told apart by a channel number in
 * front. One that dies, or says what nobody asked, is replaced, after a pause that doubles with each failure; its questions are asked once
 * more, then answered HELPER_BH. So are those that find the queue full, or wait longer than the time-out.
 *
 * Threads: as said at each. */
#pragma once
#include "access/helper_reply.h"
#include "base/list.h"
#include "net/worker.h"

struct helper_config {
    const char *name;     /* for messages: "external_acl_type groups" */
    char *const *argv;    /* NULL-terminated; argv[0] is a path */
    unsigned startup;     /* programs begun at once */
    unsigned idle;        /* programs kept ready beyond those that are busy, as far as max allows */
    unsigned max;         /* programs at the most; at least 1 */
    unsigned concurrency; /* questions a program has at a time; 0: one, and no channel numbers */
    unsigned queue_max;   /* questions that wait for a program */
    int64_t timeout;      /* microseconds from asking to the answer; 0: no limit */
};

struct helper_pool;
struct helpers; /* a host: the pools that a worker runs */

/* Not running. c is copied. Any thread. */
struct helper_pool *helper_pool_new(const struct helper_config *c);
/* Runs it; the programs start on the host's worker. Once, before anybody asks. Any thread. */
void helper_pool_start(struct helper_pool *p, struct helpers *host);
/* No more questions come from the holder's side; those asked already are answered before the programs end. Clears the holder; NULL
 * is fine. Any thread. */
void helper_pool_close(struct helper_pool **holder);

/* Counts for manager pages; any thread. */
struct helper_stats {
    const char *name;
    unsigned running, max;
    uint64_t asked, answered, queued_now, failures;
};
void helper_pool_stats(const struct helper_pool *p, struct helper_stats *out);

/* Before w runs. */
struct helpers *helpers_new(struct worker *w);
/* When no worker runs any more: all programs end, questions that are left are forgotten; their askers have cancelled them. */
void helpers_free(struct helpers **holder);

/* One of the reasons that `done` gives: its time was over. */
extern const char helper_is_late[];

/* A question, embedded in who asks; zeroed before use. */
struct helper_question;
struct helper_query {
    struct helper_question *question; /* NULL: nothing is asked */
    /* On the asker's worker; reply is valid during the call. why: what was wrong, of a HELPER_BH that no program said; else NULL;
     * static text. */
    void (*done)(struct helper_query *q, const struct helper_reply *reply, const char *why);
};
/* line: without channel and end; copied. done is called later, never from here. w: the asker's worker, whose thread this is. After
 * helpers_free(): the answer is HELPER_BH. */
void helper_ask(struct helper_pool *p, struct worker *w, struct helper_query *q, struct span line);
/* done won't be called. Idempotent. The asker's thread. */
void helper_cancel(struct helper_query *q);
