#include "privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/log.h"

bool identity_find(struct identity *out, const struct settings *s, char error[256])
{
    const char *user = s->effective_user != NULL ? s->effective_user : "proxy";
    const struct passwd *pw;
    const struct group *gr;

    *out = (struct identity){ .change = geteuid() == 0 };
    if (!out->change)
        return true;
    pw = getpwnam(user);
    if (pw == NULL && strcmp(user, "proxy") == 0)
        pw = getpwnam("nobody"); /* the default's user comes with Debian, not with every system */
    if (pw == NULL) {
        snprintf(error, 256, "cache_effective_user %s: there is no such user", user);
        return false;
    }
    snprintf(out->user, sizeof out->user, "%s", pw->pw_name);
    out->uid = pw->pw_uid;
    out->gid = pw->pw_gid;
    if (s->effective_group != NULL) {
        if ((gr = getgrnam(s->effective_group)) == NULL) {
            snprintf(error, 256, "cache_effective_group %s: there is no such group", s->effective_group);
            return false;
        }
        out->gid = gr->gr_gid;
        out->only_group = true;
    }
    return true;
}

void identity_own(const struct identity *id, const char *path)
{
    struct stat st;
    int fd;

    if (!id->change || path == NULL || path[0] != '/')
        return;
    fd = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == 0 &&
        fchown(fd, id->uid, id->gid) != 0)
        log_line(LOG_IMPORTANT, "cannot give %s to user %s: %s; rotating it will fail", path, id->user,
                 strerror(errno));
    close(fd);
}

void identity_own_logs(const struct identity *id, const struct settings *s)
{
    for (size_t i = 0; i < s->n_logs; i++)
        if (strcmp(s->logs[i].module, "none") != 0)
            identity_own(id, s->logs[i].place);
}

static bool failed(const char *what)
{
    log_line(LOG_ERROR, "ERROR: cannot drop privileges: %s: %s", what, strerror(errno));
    return false;
}

static bool keep_only(const char *capabilities)
{
    cap_t caps = cap_from_text(capabilities);
    bool ok = caps != NULL && cap_set_proc(caps) == 0;

    if (caps != NULL)
        cap_free(caps);
    return ok;
}

static bool change_user(const struct identity *id)
{
    if (id->only_group ? setgroups(1, &id->gid) != 0 : initgroups(id->user, id->gid) != 0)
        return failed("groups");
    if (setresgid(id->gid, id->gid, id->gid) != 0)
        return failed("group");
    if (prctl(PR_SET_KEEPCAPS, 1L, 0L, 0L, 0L) != 0)
        return failed("keep capabilities");
    if (setresuid(id->uid, id->uid, id->uid) != 0)
        return failed("user");
    if (id->uid != 0 && setuid(0) == 0) {
        errno = EPERM;
        return failed("root could be had back");
    }
    /* A container may have taken CAP_NET_BIND_SERVICE away: then a reload can't open a low port, that is all. */
    if (!keep_only("cap_net_bind_service=ep") && !keep_only("="))
        return failed("capabilities");
    return true;
}

void umask_enforce(unsigned least)
{
    static bool known;
    static mode_t inherited;

    if (!known) {
        inherited = umask(077);
        known = true;
    }
    (void)umask(inherited | (mode_t)least);
}

static bool wants_core(const char *dir)
{
    return dir != NULL && dir[0] != '\0' && strcmp(dir, "none") != 0;
}

bool privileges_drop(const struct identity *id, const char *coredump_dir)
{
    if (id->change && id->uid != 0 && !change_user(id))
        return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) != 0)
        return failed("no_new_privs");
    if (wants_core(coredump_dir)) {
        if (chdir(coredump_dir) != 0)
            log_line(LOG_IMPORTANT, "coredump_dir %s: %s", coredump_dir, strerror(errno));
        else if (prctl(PR_SET_DUMPABLE, 1L, 0L, 0L, 0L) != 0) /* changing the user switched it off */
            log_line(LOG_IMPORTANT, "no core dumps: %s", strerror(errno));
    }
    return true;
}
