/* proxy/access_log.h: access.log without ever blocking a worker: a ring of bytes per worker and log, one thread that
 * writes.
 *
 * Full ring: the line is dropped and counted (access_log.dropped); a line in cache.log says so at most once a minute.
 * A file that can't be written (disk full, directory gone): lines are dropped and counted likewise, traffic goes on,
 * and writing is tried again.
 *
 * Threads: access_log_write() by each worker for its own ring; the rest by the main thread. */
#pragma once
#include "conf/settings.h"
#include "net/worker.h"
#include "proxy/logformat.h"

struct access_log; /* the logs of one process */

/* Opens the files (before privileges are dropped) and starts no thread yet. What can't be opened is tried again, but with
 * on-error=die. False: a line in cache.log said why. */
bool access_log_open(struct access_log **out, const struct settings *s, unsigned workers);
void access_log_start(struct access_log *l);
/* Other files, formats or ACLs after a reload; lines already in the rings still go to the old ones. False: one can't
 * be opened, nothing has changed; a line in cache.log said why. */
bool access_log_reconfigure(struct access_log *l, const struct settings *s);
/* USR1: keep .0, .1 ... up to logfile_rotate, 0 reopens only; no line is lost. */
void access_log_rotate(struct access_log *l, int keep);
/* Writes what is in the rings, stops the thread. */
void access_log_close(struct access_log **holder);
/* Formats and queues e for every log whose ACL admits it. facts: for those ACLs. A module `none` costs nothing. */
void access_log_write(struct access_log *l, struct worker *w, const struct settings *s, const struct log_entry *e,
                      const struct access_facts *facts);
/* Any access_log line in force that isn't none? */
bool access_log_enabled(const struct settings *s);
