/* base/epoch.h: memory that readers use without a lock or a reference (epoch-based reclamation).
 *
 * A reader brackets its use with epoch_enter() and epoch_exit(); both write only its own cache line.
 * A writer that has unlinked a thing retires it; it is freed when every thread that was inside at that
 * time has left. A worker is inside for a turn of its loop and outside while it waits, so a sleeping
 * worker holds nothing up.
 *
 * Why ours and not liburcu: doc/decisions/001-epochs.md.
 *
 * Threads: an epoch_thread belongs to the thread that registered it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EPOCH_THREADS_MAX 256

struct epoch_thread;

/* A slot for the calling thread; aborts beyond EPOCH_THREADS_MAX. */
struct epoch_thread *epoch_register(void);
/* Gives the slot back; what it had retired is freed when it may be, by whoever polls next. Outside only. */
void epoch_unregister(struct epoch_thread **holder);
/* Not nested. */
void epoch_enter(struct epoch_thread *t);
void epoch_exit(struct epoch_thread *t);
bool epoch_inside(const struct epoch_thread *t);
/* Calls release(p) once no reader can still see p; on a thread that polls, not nested in a reader.
 * The caller has unlinked p already. Inside or outside. */
void epoch_retire(struct epoch_thread *t, void *p, void (*release)(void *p));
/* Frees what may be freed of what t retired. Cheap when there is nothing. Outside only. */
void epoch_poll(struct epoch_thread *t);
/* How many things t has retired that aren't freed yet. */
size_t epoch_pending(const struct epoch_thread *t);
