/* proxy/client_conn_private.h: what the files of a client's connection share. client_conn.c: its life; client_bytes.c: bytes
 * in; client_error.c: error pages; client_proxied.c: the PROXY protocol; client_ahead.c: requests behind the one in hand. */
#pragma once
#include "proxy/client_conn.h"

/* --- client_conn.c */

/* What a request head may be under the settings in force. */
struct parse_limits client_conn_head_limits(const struct client_conn *c);

/* --- client_bytes.c */

/* One recv. Takes note of what it says about the socket. sparing: a short read is taken for an emptied socket, so that
 * a request costs one recv. Edge-triggered, news will be announced; but an end that was announced together with these
 * bytes will not be again, and a reset comes without saying so (libevent): where a connection can hang on it, read on
 * until it blocks. */
ssize_t client_conn_receive(struct client_conn *c, char *buf, size_t size, bool sparing);
/* Copies bytes that can't be used yet behind the kept ones. */
void client_conn_keep(struct client_conn *c, const char *p, size_t n);

/* --- client_proxied.c */

/* proxy_protocol_access about the connection's own address. False: close it; cache.log says why. */
bool client_conn_may_be_proxied(struct client_conn *c);
/* Reads on in the PROXY header. DONE: peer and local are those it named, what follows it is kept. REFUSED: close. */
enum client_proxied { CLIENT_PROXIED_WAIT, CLIENT_PROXIED_DONE, CLIENT_PROXIED_REFUSED };
enum client_proxied client_conn_read_proxied(struct client_conn *c);

/* --- client_ahead.c */

/* BUSY: reads on behind the request in hand, and begins what pipeline_prefetch lets. Finds out as well that the client is gone. */
void client_conn_look_ahead(struct client_conn *c);
/* The request in hand is answered: the first of those begun, if any, is next. */
void client_conn_take_ahead(struct client_conn *c);
/* The connection is gone, or closes: none of them is answered. */
void client_conn_drop_ahead(struct client_conn *c);
