#include "net/descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#define RESERVE_MOST 1000

/* Numbers from here on are the reserve; 0: not asked yet. Whoever asks first finds the same as all others. */
static atomic_int first_reserved;

struct descriptor_limits descriptors_limits(void)
{
    struct descriptor_limits d = { .most = INT_MAX };
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < INT_MAX)
        d.most = (int)limit.rlim_cur;
    d.reserve = d.most / 4 < RESERVE_MOST ? d.most / 4 : RESERVE_MOST;
    return d;
}

static int read_first_reserved(void)
{
    struct descriptor_limits d = descriptors_limits();

    atomic_store_explicit(&first_reserved, d.most - d.reserve, memory_order_relaxed);
    return d.most - d.reserve;
}

bool descriptors_short(int fd)
{
    int first = atomic_load_explicit(&first_reserved, memory_order_relaxed);

    return fd >= (first != 0 ? first : read_first_reserved());
}

bool descriptors_short_now(void)
{
    int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    bool is_short =
        fd < 0 || fd >= read_first_reserved(); /* the limit may have been changed from outside: prlimit(1) */

    if (fd >= 0)
        close(fd);
    return is_short;
}
