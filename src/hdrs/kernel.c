#include "hdrs/kernel.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool always(void)
{
    return true;
}

static const struct {
    const char *name;
    bool (*runs_here)(void); /* NULL: not compiled in */
} kernels[HDRS_KERNEL_N] = {
    [HDRS_SCALAR] = { "scalar", always }, [HDRS_SSE2] = { "sse2", NULL }, [HDRS_AVX2] = { "avx2", NULL },
    [HDRS_AVX512] = { "avx512", NULL },   [HDRS_NEON] = { "neon", NULL },
};

static enum hdrs_kernel in_use = HDRS_SCALAR;

const char *hdrs_kernel_name(enum hdrs_kernel k)
{
    return kernels[k].name;
}

bool hdrs_kernel_available(enum hdrs_kernel k)
{
    return kernels[k].runs_here != NULL && kernels[k].runs_here();
}

void hdrs_kernel_use(enum hdrs_kernel k)
{
    assert(hdrs_kernel_available(k));
    in_use = k;
}

enum hdrs_kernel hdrs_kernel_in_use(void)
{
    return in_use;
}

bool hdrs_kernel_choose(const char *name, char *error, size_t capacity)
{
    size_t n;

    for (int k = HDRS_KERNEL_N - 1; k >= 0; k--)
        if (hdrs_kernel_available((enum hdrs_kernel)k) && (name == NULL || strcmp(name, kernels[k].name) == 0)) {
            hdrs_kernel_use((enum hdrs_kernel)k);
            return true;
        }
    n = (size_t)snprintf(error, capacity, "no header parser '%s' on this machine; available:", name);
    for (int k = 0; k < HDRS_KERNEL_N; k++)
        if (n < capacity && hdrs_kernel_available((enum hdrs_kernel)k))
            n += (size_t)snprintf(error + n, capacity - n, " %s", kernels[k].name);
    return false;
}
