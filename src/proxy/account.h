/* proxy/account.h: the end of a transaction: counters, service times, access.log. One place, so that the pages and the
 * log agree. One worker. */
#pragma once
#include "proxy/log_entry.h"
#include "proxy/request.h"
#include "proxy/worker_state.h"

/* What the request itself says; r NULL for connections that never made one. */
void log_entry_from_request(struct log_entry *e, const struct request *r);
/* Writes it, where a log is in force; counts nothing. */
void account_log(struct proxy_worker *pw, struct log_entry *e, const struct request *r);
/* Counts e and, where a log is in force, writes it. */
void account(struct proxy_worker *pw, struct log_entry *e, const struct request *r);
