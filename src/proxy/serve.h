/* proxy/serve.h: what to do with a request: refuse it, answer it from memory, or start a transaction. The hit path.
 * One worker. */
#pragma once
#include "proxy/admission.h"
#include "proxy/client_conn.h"

/* A head was just parsed (into the worker's scratch). The answer goes into the batch, or c becomes BUSY with a
 * transaction. */
void serve_request(struct client_conn *c, const struct head *h);
/* http_access has let it pass, by the line r->access_line names. tx: the transaction that waited for that, under whose settings it
 * goes on; or NULL: one is made when it is needed, and the settings in force count. */
void serve_admitted(struct client_conn *c, const struct request *r, struct transaction *tx);
/* Nothing rewrites it any more: r is what it has become. */
void serve_rewritten(struct client_conn *c, const struct request *r, struct transaction *tx);
/* adapted_http_access has let that pass, too. */
void serve_adapted(struct client_conn *c, const struct request *r, struct transaction *tx);
/* A manager page for which all workers were asked: answers, and ends tx. */
void serve_gathered(struct client_conn *c, const struct request *r, struct transaction *tx, const struct gathering *g);
/* Answers from a stored object into the batch (small) or through a transaction (large). */
void serve_object(struct client_conn *c, const struct request *r, struct transaction *tx, struct object *o,
                  enum log_tag tag, const char *reason);
/* The list of that gate said no; s: the settings it is of. */
void serve_denied(struct client_conn *c, const struct request *r, const struct settings *s, enum gate gate,
                  const struct access_verdict *v);
