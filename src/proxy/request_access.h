/* proxy/request_access.h: access lists asked about a request. Pure. */
#pragma once
#include "access/access_list.h"
#include "proxy/log_entry.h"
#include "proxy/request.h"

/* As far as it can be told without the host's addresses. */
struct access_verdict request_access(const struct access_list *l, const struct request *r);
/* By whoever can find out what addresses are called: that may be asked for. */
struct access_verdict request_access_asking(const struct access_list *l, const struct request *r, bool dst_known,
                                            const struct addr *dst, size_t n);
/* With them: those that will be, or are, connected to. */
struct access_verdict request_access_dst(const struct access_list *l, const struct request *r, const struct addr *dst,
                                         size_t n);
/* The lists that it passed on its way here, asked once more now that the addresses it would be sent to are known: each about
 * the request as it was then, http_access only where no rewriter chose another place. *why: static text about the one that
 * doesn't allow it. */
struct access_verdict request_access_going(const struct settings *s, const struct request *r, const struct addr *dst,
                                           size_t n, const char **why);
/* About a reply with that status and head (object_head()). so_far: who was asked for it; NULL: nobody. */
struct access_verdict request_access_reply(const struct access_list *l, const struct request *r, int status,
                                           struct span head, const struct log_entry *so_far);
/* Who was asked, as facts. */
void request_facts_route(const struct log_entry *e, struct access_facts *f);
/* Just yes or no; NULL lists allow. What would need addresses is no. */
bool request_allowed(const struct access_list *l, const struct request *r);
