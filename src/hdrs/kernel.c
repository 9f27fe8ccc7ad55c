#include "hdrs/kernel.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "hdrs/whole.h"

const struct whole *whole_in_use;

static enum hdrs_kernel in_use = HDRS_SCALAR;

static bool always(void)
{
    return true;
}

#if defined(__x86_64__)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512vbmi2");
}
#endif

static const struct {
    const char *name;
    bool (*runs_here)(void); /* NULL: not compiled in */
    const struct whole *whole;
} kernels[HDRS_KERNEL_N] = {
    [HDRS_SCALAR] = { "scalar", always, NULL },
#if defined(__x86_64__)
    [HDRS_SSE2] = { "sse2", always, &whole_sse2 },
    [HDRS_AVX2] = { "avx2", has_avx2, &whole_avx2 },
    [HDRS_AVX512] = { "avx512", has_avx512, &whole_avx512 },
#else
    [HDRS_SSE2] = { "sse2", NULL, NULL },       [HDRS_AVX2] = { "avx2", NULL, NULL },
    [HDRS_AVX512] = { "avx512", NULL, NULL },
#endif
#if defined(__AARCH64EL__)
    [HDRS_NEON] = { "neon", always, &whole_neon },
#else
    [HDRS_NEON] = { "neon", NULL, NULL },
#endif
};

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
    whole_in_use = kernels[k].whole;
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
