/* test/mgr/test_high_water.c: which limits a minute's numbers are above. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include "base/clock.h"
#include "mgr/high_water.h"

/* A minute with `slow` responses of 400 ms, `fast` ones of 1 ms, and so many faults. */
static struct sample minute_of(uint64_t slow, uint64_t fast, uint64_t faults)
{
    struct sample m = { .mono = 60 * US_PER_S, .wall = 60 * US_PER_S, .page_faults = faults };

    m.times[TIME_ALL][service_time_bucket(400000)] = slow;
    m.times[TIME_ALL][service_time_bucket(1000)] = fast;
    return m;
}

static const struct {
    const char *why;
    int64_t response_us;
    int faults_limit;
    uint64_t memory_limit;
    uint64_t slow, fast, faults, resident;
    const char *want; /* the words that tell the lines apart */
} rows[] = {
    /* limits: us, a second, bytes; then slow fast faults resident */
    { "nothing is asked", 0, 0, 0, 9, 1, 1 << 20, 1 << 30, "" },
    { "the median is above", 300000, 0, 0, 6, 4, 0, 0, "slow" },
    { "most are below", 300000, 0, 0, 4, 6, 0, 0, "" },
    { "the median is below", 500000, 0, 0, 6, 4, 0, 0, "" },
    { "nobody asked anything", 1000, 0, 0, 0, 0, 0, 0, "" },
    { "faults: 61 in a minute", 0, 1, 0, 0, 0, 61, 0, "swapping" },
    { "faults: 60 in a minute", 0, 1, 0, 0, 0, 60, 0, "" },
    { "memory above", 0, 0, 1 << 20, 0, 0, 0, (1 << 20) + 1, "large" },
    { "memory at the limit", 0, 0, 1 << 20, 0, 0, 0, 1 << 20, "" },
    { "all of them", 300000, 1, 1 << 20, 1, 0, 600, 1 << 30, "slow swapping large" },
};

/* The second word of each line. */
static void kinds_of(const struct strbuf *lines, char kinds[64])
{
    kinds[0] = '\0';
    for (const char *p = lines->p; p != NULL && *p != '\0'; p = strchr(p, '\n') + 1) {
        assert_int_equal(strncmp(p, "WARNING: ", 9), 0);
        if (kinds[0] != '\0')
            strcat(kinds, " ");
        strncat(kinds, p + 9, strcspn(p + 9, ":"));
    }
}

static void lines_for(size_t i, bool has_minute, char kinds[64])
{
    struct settings s = { .high_response_time_warning = rows[i].response_us,
                          .high_page_fault_warning = rows[i].faults_limit,
                          .high_memory_warning = rows[i].memory_limit };
    struct sample m = minute_of(rows[i].slow, rows[i].fast, rows[i].faults);
    struct strbuf out = { 0 };

    high_water_lines(&s, has_minute ? &m : NULL, rows[i].resident, &out);
    kinds_of(&out, kinds);
    sb_free(&out);
}

static void what_is_above_its_limit_is_said(void **state)
{
    char kinds[64];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        lines_for(i, true, kinds);
        if (strcmp(kinds, rows[i].want) != 0)
            fail_msg("%s: '%s'", rows[i].why, kinds);
    }
}

static void before_the_first_minute_only_memory_counts(void **state)
{
    char kinds[64];

    (void)state;
    lines_for(sizeof rows / sizeof rows[0] - 1, false, kinds);
    assert_string_equal(kinds, "large");
}

static void this_process_has_a_size(void **state)
{
    (void)state;
    assert_in_range(process_resident(), 100 << 10, (uint64_t)1 << 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_above_its_limit_is_said),
        cmocka_unit_test(before_the_first_minute_only_memory_counts),
        cmocka_unit_test(this_process_has_a_size),
    };

    return cmocka_run_group_tests_name("mgr/high_water", tests, NULL, NULL);
}
