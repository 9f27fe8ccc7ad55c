/* mgr/manager.h: the manager pages (manager-pages.md): one row per page in page.c: name, description, handler. Reads,
 * never decides.
 *
 * Threads: answers on any worker's thread; counters are summed when read. A main-thread tick keeps the minute
 * samples. */
#pragma once
#include "proxy/proxy.h"

struct manager;
/* The service to hand to proxy_new(); manager_attach() tells it which proxy to read. Pages asked before that answer
 * 404. */
struct manager *manager_new(void);
const struct internal_service *manager_service(struct manager *m);
void manager_attach(struct manager *m, struct proxy *p);
void manager_free(struct manager **holder);
/* Once a minute (and at start): a sample for 5min, 60min and utilization; warns of what is above the limits in s. */
void manager_sample(struct manager *m, const struct settings *s);
/* The actions that change something (shutdown, reconfigure, rotate, offline_toggle) are not offered yet. */
