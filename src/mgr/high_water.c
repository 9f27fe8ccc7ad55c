#include "mgr/high_water.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static void response_time_line(int64_t limit_us, const struct sample *minute, struct strbuf *out)
{
    double median = sample_percentile(minute, TIME_ALL, 50) * 1e3, limit = (double)limit_us / 1e3;

    if (limit > 0 && median > limit)
        sb_printf(out, "WARNING: slow: half of the last minute's responses took more than %.0f ms (limit %.0f ms)\n",
                  median, limit);
}

static void page_fault_line(int limit, const struct sample *minute, struct strbuf *out)
{
    double rate = (double)minute->page_faults / sample_seconds(minute);

    if (limit > 0 && rate > limit)
        sb_printf(out, "WARNING: swapping: %.1f page faults with I/O a second in the last minute (limit %d)\n", rate,
                  limit);
}

static void memory_line(uint64_t limit, uint64_t resident, struct strbuf *out)
{
    if (limit > 0 && resident > limit)
        sb_printf(out, "WARNING: large: %" PRIu64 " MB of memory in use (limit %" PRIu64 " MB)\n", resident >> 20,
                  limit >> 20);
}

void high_water_lines(const struct settings *s, const struct sample *minute, uint64_t resident, struct strbuf *out)
{
    if (minute != NULL) {
        response_time_line(s->high_response_time_warning, minute, out);
        page_fault_line(s->high_page_fault_warning, minute, out);
    }
    memory_line(s->high_memory_warning, resident, out);
}

uint64_t process_resident(void)
{
    FILE *f = fopen("/proc/self/statm", "re");
    uint64_t all, resident;
    bool read = f != NULL && fscanf(f, "%" SCNu64 " %" SCNu64, &all, &resident) == 2;

    if (f != NULL)
        fclose(f);
    return read ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
