/* proxy/transaction_owner.h: what a fetch asks of the transaction that began it. Private to transaction*.c and fetch*.c.
 * */
#pragma once
#include "base/strbuf.h"
#include "proxy/transaction.h"

/* Where to note server, times and hierarchy code. */
struct log_entry *transaction_log(struct transaction *t);
/* The address that would be connected to is refused; why: static text; v: of http_access, or zeroed. The fetch fails with ERR_ACCESS_DENIED next. */
void transaction_address_denied(struct transaction *t, const struct access_verdict *v, const char *why);
/* The server speaks HTTP/1.0 and the body has no length: the fetch fails next, with 411. */
void transaction_length_required(struct transaction *t);
/* Lines of the response's head that are for this request's client alone go in here, before the fill has its head. */
struct strbuf *transaction_own_fields(struct transaction *t);
/* The part it planned to continue is continued by what comes now. */
void transaction_part_continues(struct transaction *t);
/* The fetch is gone: forget it. request_unfinished: body bytes were left unread, the connection can't go on. */
void transaction_fetch_over(struct transaction *t, bool request_unfinished);
/* 100 Continue goes to the client now, if it still waits for it: the origin is silent. */
void transaction_continue(struct transaction *t);
/* A 1xx of the origin, but 101. */
void transaction_interim(struct transaction *t, const struct head *h);
/* The origin took the change of protocol: fd leads there and has that place among the peer's (taken over; NULL: none),
 * `first` (taken over) goes to the client first. t is gone afterwards, and so must be its fetch. */
void transaction_upgraded(struct transaction *t, int fd, struct server_health *place, struct strbuf *first);
