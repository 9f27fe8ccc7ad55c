/* privileges.h: from root to cache_effective_user. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>
#include "conf/settings.h"

struct identity {
    bool change;     /* false: we aren't root; everything below stays as it is */
    bool only_group; /* cache_effective_group was set: no supplementary groups */
    char user[64];
    uid_t uid;
    gid_t gid;
};

/* Looks the user and group up; "proxy" where there is none is "nobody". False: error says what is missing. */
bool identity_find(struct identity *out, const struct settings *s, char error[256]);
/* Gives a log file that root opened to the user who will rotate it. Regular files only; links are left alone: who may
 * write the directory could have put one there to be given somebody else's file. */
void identity_own(const struct identity *id, const char *path);
/* The same for every log of s. */
void identity_own_logs(const struct identity *id, const struct settings *s);
/* New files get no permission that the umask at the process's start or this one takes. Process-wide; main thread. */
void umask_enforce(unsigned least);
/* For good: user, groups, no_new_privs; only CAP_NET_BIND_SERVICE stays, so that a reload can open port 80. False:
 * cache.log says why. coredump_dir NULL or "none": no core dumps. */
bool privileges_drop(const struct identity *id, const char *coredump_dir);
