/* proxy/client_records.h: what each client address has asked for on one worker: client_db, mgr:client_list. Requests are counted by
 * the connection's own address, whoever a forwarded one was for.
 *
 * Threads: one worker. hash_init() was called. */
#pragma once
#include "base/list.h"
#include "net/addr.h"
#include "proxy/log_entry.h"

/* Those without a connection that are remembered, of all workers together: the ones that left first are forgotten first. */
#define CLIENT_RECORDS_REST 65536u
/* Records are found, and walked through, by these: the same in all workers. */
#define CLIENT_RECORD_PLACES 8192u

struct client_record {
    struct client_record *next; /* of its place */
    struct list_node rest;      /* while it has no connection */
    struct addr client;         /* port 0 */
    unsigned place;
    unsigned connections; /* now */
    uint64_t requests;
    uint32_t tags[TAG_N]; /* of these */
};

struct client_records;
struct client_records *client_records_new(size_t rest_most);
/* No connection holds a record any more. */
void client_records_free(struct client_records **holder);
/* A connection of this address: its record, which stays until that is given back. */
struct client_record *client_records_take(struct client_records *c, const struct addr *client);
/* It is gone; clears the holder. NULL is fine. */
void client_records_give(struct client_records *c, struct client_record **holder);
/* A request of a client that has a connection; of others nothing is counted. Allocates nothing. */
void client_records_count(struct client_records *c, const struct addr *client, enum log_tag tag);
/* Whole places in order, until `most` records or more have been passed to each(). Returns the first place that wasn't looked at. */
unsigned client_records_each(const struct client_records *c, size_t most,
                             void (*each)(const struct client_record *r, void *ctx), void *ctx);
size_t client_records_number(const struct client_records *c);

struct client_totals {
    uint64_t requests, hits;
};
/* Of forgotten ones as well. */
struct client_totals client_records_totals(const struct client_records *c);
