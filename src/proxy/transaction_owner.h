/* proxy/transaction_owner.h: what a fetch asks of the transaction that began it. Private to transaction*.c and fetch*.c.
 * */
#pragma once
#include "base/strbuf.h"
#include "proxy/transaction.h"

/* Where to note server, times and hierarchy code. */
struct log_entry *transaction_log(struct transaction *t);
/* http_access says no to the address that would be connected to; the fetch fails with ERR_ACCESS_DENIED next. */
void transaction_address_denied(struct transaction *t, const struct access_verdict *v);
/* The fetch is gone: forget it. request_unfinished: body bytes were left unread, the connection can't go on. */
void transaction_fetch_over(struct transaction *t, bool request_unfinished);
/* 100 Continue goes to the client now, if it still waits for it: the origin is silent. */
void transaction_continue(struct transaction *t);
/* A 1xx of the origin, but 101. */
void transaction_interim(struct transaction *t, const struct head *h);
/* The origin took the change of protocol: fd leads there, `first` (taken over) goes to the client first. t is gone
 * afterwards, and so must be its fetch. */
void transaction_upgraded(struct transaction *t, int fd, struct strbuf *first);
