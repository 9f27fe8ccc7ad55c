/* proxy/transaction_private.h: what the files of a transaction share. transaction.c: its life and where its answer comes
 * from; transaction_answer.c: which answer, and its head; transaction_relay.c: interim responses and the body. */
#pragma once
#include "cache/object.h"
#include "proxy/admission.h"
#include "proxy/error_page.h"
#include "proxy/delay.h"
#include "proxy/fetch.h"
#include "proxy/purge.h"
#include "proxy/rewrite.h"
#include "proxy/transaction.h"
#include "proxy/transaction_owner.h"

enum tx_state { TX_ADMIT, TX_REWRITE, TX_MISS, TX_OBJECT, TX_TUNNEL, TX_PURGE, TX_GATHER, TX_HEAD, TX_RELAY };

struct transaction {
    struct client_conn *client;
    struct proxy_worker *pw;
    struct settings *settings;
    struct request *request;
    enum tx_state state;
    enum tx_state onward; /* after miss_access: TX_MISS or TX_TUNNEL */
    bool may_miss;        /* miss_access has let it pass */
    bool begun;
    bool ahead;                 /* the answer to an earlier request goes first: nothing is sent yet */
    struct transaction *behind; /* the next one ahead */
    struct mail *mail;          /* how fills knock */
    struct miss miss;
    bool waiter; /* on somebody else's fetch */
    struct fill_reader reader;
    struct fetch *fetch;   /* ours; NULL: over or none */
    struct object *object; /* delivered from the store; a reference */
    struct body_cursor cursor;
    bool has_part; /* of the body: */
    struct byte_range part;
    uint64_t base;  /* of the fill's first byte, in the representation */
    uint64_t skip;  /* bytes of the fill that are in front of it, and were not passed over yet */
    bool continues; /* miss.begins and what the fetch brings make the answer together */
    struct admission admission;
    struct purge_run purge;
    const struct gather_kind *gathers; /* TX_GATHER */
    struct gathering *gathering;       /* NULL: none */
    struct rewrite rewrite;
    struct log_entry log;
    int error_status;            /* of the page when the fetch fails; 0: the page's own */
    const char *error_detail;    /* static text; NULL: none */
    const struct acl *denied_by; /* the last ACL of the rule that refused the origin's address; NULL */
    /* relay */
    struct strbuf own_fields; /* lines of the head that others don't get */
    struct strbuf pre;        /* head, chunk framing: goes before the next run of body bytes */
    size_t pre_at;
    struct delay_use delays[CLIENT_DELAYS]; /* how fast the body may go */
    struct worker_timer later;              /* goes on when it may */
    uint64_t body_left;                     /* bytes of body that reply_body_max_size still lets through */
    uint64_t run;                           /* body bytes that may follow pre */
    bool chunked, any_chunk, last_sent, no_body, close_delimited;
    bool continue_sent;
};

/* --- transaction.c. All but leave_fill end t. */

/* Goes off from the start that was set. May end t. */
void transaction_begin(struct transaction *t);
/* The answer is complete. */
void transaction_finish(struct transaction *t);
/* The answer can't be completed: the client must see that. why: static text for the log. */
void transaction_cut(struct transaction *t, const char *why);
/* So the connection says. */
void transaction_client_is_gone(struct transaction *t);
/* An error page instead of an answer: id, status, sys_errno, detail, tag, access_line and deny of `what` are looked at. */
void transaction_error(struct transaction *t, const struct error_answer *what);
/* Lets go of the fill, and of its fetch if it is ours. complete: the client got all it wanted. */
void transaction_leave_fill(struct transaction *t, bool complete);
/* Let go by a fill that wasn't for us, or can't be: fetch for ourselves, whatever others do. */
void transaction_fetch_alone(struct transaction *t);

/* --- transaction_answer.c */

/* The fill has news: answers if there is something to answer with. May end t. */
void transaction_progress(struct transaction *t);

/* --- transaction_relay.c */

/* Sends what there is and the client takes. May end t. */
void transaction_relay(struct transaction *t);
/* Interim responses that the socket didn't take yet go into the batch, in front of the answer. */
void transaction_interims_first(struct transaction *t);
/* Sends interim responses while no answer is there; what the socket doesn't take goes with the answer. */
void transaction_send_interims(struct transaction *t);
