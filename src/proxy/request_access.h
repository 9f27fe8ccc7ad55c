/* proxy/request_access.h: access lists asked about a request. Pure. */
#pragma once
#include "access/access_list.h"
#include "proxy/request.h"

/* As far as it can be told without the host's addresses. */
struct access_verdict request_access(const struct access_list *l, const struct request *r);
/* With them: those that will be, or are, connected to. */
struct access_verdict request_access_dst(const struct access_list *l, const struct request *r, const struct addr *dst,
                                         size_t n);
/* About a reply with that status. */
struct access_verdict request_access_reply(const struct access_list *l, const struct request *r, int status);
/* Just yes or no; NULL lists allow. What would need addresses is no. */
bool request_allowed(const struct access_list *l, const struct request *r);
