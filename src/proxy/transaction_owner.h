/* proxy/transaction_owner.h: what a fetch asks of the transaction that began it. Private to transaction.c and fetch.c.
 * */
#pragma once
#include "proxy/transaction.h"

/* Where to note server, times and hierarchy code. */
struct log_entry *transaction_log(struct transaction *t);
/* The fetch is gone: forget it. request_unfinished: body bytes were left unread, the connection can't go on. */
void transaction_fetch_over(struct transaction *t, bool request_unfinished);
/* 100 Continue may go to the client now, if it waits for it. */
void transaction_continue(struct transaction *t);
