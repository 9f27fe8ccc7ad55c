/* What test_kernels.c takes of cmocka, for check-neon: each assertion ends the program. */
#pragma once
#define CMOCKA_SHIM
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(f)                                                                                            \
    {                                                                                                                  \
#f, f                                                                                                          \
    }
#define fail_msg(...) (fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))
#define SHIM_ASSERT(condition) ((condition) ? (void)0 : fail_msg("%s:%d: not so: %s", __FILE__, __LINE__, #condition))
#define assert_int_equal(a, b) SHIM_ASSERT((a) == (b))
#define assert_string_equal(a, b) SHIM_ASSERT(strcmp(a, b) == 0)
#define assert_memory_equal(a, b, n) SHIM_ASSERT(memcmp(a, b, n) == 0)

static inline int cmocka_run_group_tests(const struct CMUnitTest *tests, int (*before)(void **), int (*after)(void **))
{
    if (before(NULL) != 0)
        return 1;
    for (size_t i = 0; tests[i].name != NULL; i++) {
        printf("[ RUN      ] %s\n", tests[i].name);
        tests[i].run(NULL);
    }
    return after(NULL);
}
