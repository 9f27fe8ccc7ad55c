/* main.c: the command line and the exit status. 0: done; 1: it wasn't, and stderr says why; check_access.h has its own. */
#include "config.h"

#include <openssl/crypto.h>
#include <event2/event.h>
#include <ares.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/strbuf.h"
#include "conf/settings.h"
#include "control.h"
#include "daemon.h"
#include "hdrs/kernel.h"
#include "options.h"
#include "supervisor.h"

static int version(void)
{
    printf("Loligo %s\n", PACKAGE_VERSION);
    printf("build: %s\n", LOLIGO_BUILD);
    printf("with: libevent %s, c-ares %s, %s\n", event_get_version(), ares_version(NULL),
           OpenSSL_version(OPENSSL_VERSION));
    puts("paths: configuration " LOLIGO_SYSCONFDIR "/squid.conf, logs " LOLIGO_LOGDIR ", pid file " LOLIGO_RUNDIR
         "/loligo.pid");
    return 0;
}

static int print_default(void)
{
    struct strbuf out = { 0 };
    bool ok;

    settings_print_default(&out);
    ok = fwrite(out.p, 1, out.len, stdout) == out.len && fflush(stdout) == 0;
    sb_free(&out);
    return ok ? 0 : 1;
}

/* LOLIGO_HDRS_KERNEL: for tests and measurements, and to rule the vector code out when something looks odd. */
static int run(const struct options *o)
{
    char error[160];

    if (!hdrs_kernel_choose(getenv("LOLIGO_HDRS_KERNEL"), error, sizeof error)) {
        fprintf(stderr, "loligo: LOLIGO_HDRS_KERNEL: %s\n", error);
        return 1;
    }
    return supervisor_main(o);
}

int main(int argc, char **argv)
{
    struct options o = options_parse(argc, argv);

    switch (o.action) {
    case ACTION_BAD: return o.bad_status;
    case ACTION_HELP: options_help(); return 0;
    case ACTION_VERSION: return version();
    case ACTION_PRINT_DEFAULT: return print_default();
    case ACTION_MAKE_DIRS: puts("loligo: there is no disk cache: nothing to create"); return 0;
    case ACTION_RUN: return run(&o);
    default: return control(&o);
    }
}
