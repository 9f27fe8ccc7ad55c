/* proxy/proxy.h: the HTTP intermediary as the daemon sees it: one struct proxy a process, one proxy_worker on each
 * worker.
 *
 * Threads: proxy_new, proxy_start, proxy_reconfigure, proxy_drain: the main thread. The rest: each worker for itself.
 * */
#pragma once
#include "cache/store.h"
#include "conf/settings.h"
#include "net/worker.h"
#include "proxy/access_log.h"
#include "proxy/internal_service.h"
#include "proxy/reason_counts.h"

struct proxy;

struct proxy_config {
    struct settings *settings;              /* a reference is taken */
    struct access_log *log;                 /* opened */
    const struct internal_service *service; /* lives as long as the process */
    unsigned workers;
    /* Listening sockets: fds[port * workers + worker], for settings->ports in order. */
    const int *fds;
};

struct proxy *proxy_new(const struct proxy_config *c);
/* Starts the workers. */
void proxy_start(struct proxy *p);
/* Swaps the settings on every worker (each at its own next turn); nothing in progress notices. fds as above for the
 * ports of the new settings: those of ports that stay are the same descriptors. Ports that went stop accepting. */
void proxy_reconfigure(struct proxy *p, struct settings *s, const int *fds);
/* Stops accepting, ends idle connections, lets the rest finish until deadline (monotonic microseconds), then returns
 * when all are gone or it has passed. *remaining: connections cut. done is called on some worker's thread when idle. */
void proxy_drain(struct proxy *p, void (*done)(void *ctx), void *ctx);
/* Ends workers, whatever they are doing, and frees everything. */
void proxy_free(struct proxy **holder);

/* For manager pages: read from any thread. */
unsigned proxy_workers(const struct proxy *p);
struct worker *const *proxy_threads(const struct proxy *p); /* so many; their `user` is a struct proxy_worker */
const struct counters *proxy_counters(const struct proxy *p, unsigned worker);
const struct reason_counts *proxy_reasons(const struct proxy *p, unsigned worker);
struct store *proxy_store(const struct proxy *p);
/* Client connections now, over all workers. */
uint64_t proxy_clients(const struct proxy *p);
/* Wall clock of proxy_new(), microseconds. */
int64_t proxy_start_time(const struct proxy *p);
