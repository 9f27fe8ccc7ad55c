/* proxy/mail.h: a knock on the door of something that lives on one worker and may be gone when the knock arrives.
 *
 * Threads: mail_send() from any; the rest on the owner's worker. Several knocks before the owner looks are one. */
#pragma once
#include "net/worker.h"

struct mail;

/* deliver(owner) will be called on w after a mail_send(). */
struct mail *mail_new(struct worker *w, void (*deliver)(void *owner), void *owner);
void mail_send(struct mail *m);
/* The owner is going: no delivery any more. Clears the holder; NULL is fine. */
void mail_close(struct mail **holder);
