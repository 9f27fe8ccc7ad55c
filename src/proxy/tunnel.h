/* proxy/tunnel.h: CONNECT (RFC 9110 section 9.3.6): bytes both ways, each at the slower side's pace; an ended side is
 * passed on as an end (half-close). Nothing is buffered while nothing waits, so an idle tunnel costs its two sockets
 * and this struct.
 *
 *   CONNECTING --> [PEER_REPLY] --> OPEN --> over
 *
 * Threads: its client's worker. */
#pragma once
#include "proxy/client_conn.h"

struct tunnel;

/* c becomes CLIENT_TUNNEL. r, settings (those r began with): a reference of each is taken over. */
void tunnel_start(struct client_conn *c, struct request *r, struct settings *settings);
/* An upgraded connection: fd leads to the server and has that place among the peer's (given back when the tunnel ends;
 * NULL: none), `first` (taken over) goes to the client first; log as far as it is known. r, settings: references are
 * taken over. */
void tunnel_adopt(struct client_conn *c, struct request *r, struct settings *settings, const struct log_entry *log,
                  int fd, struct server_health *place, struct strbuf *first);
/* From client_conn. */
void tunnel_client_ready(struct tunnel *t, unsigned what);
void tunnel_client_gone(struct tunnel *t);
/* For manager pages; lent. log: as far as it is known, without the bytes that have passed. */
const struct request *tunnel_request(const struct tunnel *t);
const struct log_entry *tunnel_log(const struct tunnel *t);
/* The descriptor that leads to the server, and its address; -1: none yet. */
int tunnel_server(const struct tunnel *t, struct addr *server);
size_t tunnel_memory(const struct tunnel *t);       /* bytes */
uint64_t tunnel_bytes_down(const struct tunnel *t); /* to the client */
void tunnel_sweep(struct tunnel *t, int64_t mono);
