/* conf/paths.h: where things are when the configuration doesn't say. Private to src/conf. The build gives these with
 * -D; the fallbacks are those of a plain `./configure`. */
#pragma once

#ifndef LOLIGO_LOGDIR
#define LOLIGO_LOGDIR "/usr/local/var/log/loligo"
#endif
#ifndef LOLIGO_RUNDIR
#define LOLIGO_RUNDIR "/usr/local/var/run/loligo"
#endif
#ifndef LOLIGO_SYSCONFDIR
#define LOLIGO_SYSCONFDIR "/usr/local/etc/loligo"
#endif
#ifndef LOLIGO_STATEDIR
#define LOLIGO_STATEDIR "/usr/local/var/lib/loligo"
#endif
