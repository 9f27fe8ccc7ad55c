/* net/server_health.h: what all workers know together of one server: how many connections go to it, and whether it answers.
 * Threads: any. */
#pragma once
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct server_health;

/* One reference, the caller's. */
struct server_health *server_health_new(void);
struct server_health *server_health_ref(struct server_health *h);
/* Clears the holder; NULL is fine. */
void server_health_unref(struct server_health **holder);

/* A place for one connection, max at the most (0: any number); with a reference. False: none is free. */
bool server_health_take(struct server_health *h, int max);
/* The connection is closed: its place and its reference go. Clears the holder; NULL is fine. */
void server_health_give(struct server_health **holder);
int server_health_connections(const struct server_health *h);

/* A connection could not be made, at now (wall clock, microseconds). True: that was the limit'th in a row; it is dead now. */
bool server_health_failed(struct server_health *h, unsigned limit, int64_t now);
/* When that was last; 0: never. */
int64_t server_health_last_failure(const struct server_health *h);
/* One could be made. True: it was dead before. */
bool server_health_answered(struct server_health *h);
bool server_health_is_dead(const struct server_health *h);
/* It gets a request; how many it got. */
void server_health_count_request(struct server_health *h);
uint64_t server_health_requests(const struct server_health *h);
/* Dead, and nobody has tried it for interval microseconds: now the caller is to. now: monotonic. */
bool server_health_wants_probe(struct server_health *h, int64_t now, int64_t interval);
