/* access/helper_private.h: what helper.c (pools, their questions and queue) and helper_program.c (a program of a pool) share. All
 * functions: the host's thread. */
#pragma once
#include <pthread.h>
#include "access/helper.h"
#include "base/strbuf.h"
#include "net/stream.h"

#define HELPER_PAUSE_MAX (60 * US_PER_S)

struct helper_question {
    struct list_node node; /* the host's: queue, or a program's */
    struct worker_msg msg;
    struct helper_pool *pool; /* a reference */
    struct worker *asker;
    struct helper_query *query; /* the asker's thread only; NULL: cancelled */
    struct strbuf text;         /* the question, then the answer */
    const char *why;
    int64_t asked; /* monotonic, on the host's clock */
    unsigned channel, tries;
};

struct program {
    struct list_node node; /* pool->programs, or host->leaving */
    struct helper_pool *pool;
    char *name; /* for messages, once it has left */
    pid_t pid;
    struct stream io, errors;
    struct worker_timer io_later, errors_later; /* reads on: others had their turn */
    struct strbuf out, in, said;
    size_t out_at;
    struct list_node asked; /* struct helper_question */
    unsigned n_asked, next_channel, sayings;
    bool useful; /* it has answered */
    int64_t since, leaving_since;
    int signals; /* sent while leaving */
};

struct helper_pool {
    struct list_node node; /* host->pools */
    atomic_uint refs;
    struct helpers *host; /* set once by helper_pool_start(); NULL when the host is gone */
    char *name, **argv;
    struct helper_config config;
    struct worker_msg begin, close;
    /* The host's. */
    struct list_node programs, queue;
    unsigned n_programs, n_queue, failures;
    int64_t next_start, overload_told;
    bool closing;
    _Atomic unsigned running, waiting;
    _Atomic uint64_t n_asked, n_answered, n_failures;
};

struct helpers {
    struct worker *worker;
    struct worker_tick tick;
    struct list_node pools, leaving;
    pthread_mutex_t lock;
    struct list_node coming; /* pools whose begin() is on its way; guarded by lock */
};

static inline int64_t helper_now(const struct helper_pool *p)
{
    return worker_mono(p->host->worker);
}

/* --- helper.c */

/* Puts it into the queue. */
void helper_enqueue(struct helper_pool *p, struct helper_question *q);
/* To its asker: q->text, or why there is none (static text). */
void helper_answer(struct helper_question *q);
void helper_give_up(struct helper_question *q, const char *why);
/* After anything that may have freed a program, or a question. p may be gone. */
void helper_settle(struct helper_pool *p);
/* How many questions a program takes at a time. */
unsigned helper_capacity(const struct helper_pool *p);

/* --- helper_program.c */

/* NULL: it can't be started; the pool waits. */
struct program *program_start(struct helper_pool *p);
/* It has room for it. */
void program_ask(struct program *g, struct helper_question *q);
/* It failed: its questions go back into the queue, and others wait before another one is started. why: for cache.log; NULL: it
 * ended. */
void program_fails(struct program *g, const char *why);
/* Out of its pool, into the host's leaving ones: its process has so long to end. */
void program_send_away(struct program *g);
/* Those that are leaving: frees who has ended, reminds who hasn't. at_once: doesn't wait any longer. */
void programs_reap(struct helpers *h, int64_t now, bool at_once);
