/* mgr/high_water.h: what is above the limits that high_response_time_warning, high_page_fault_warning and
 * high_memory_warning set. Pure but for process_resident(). */
#pragma once
#include "base/strbuf.h"
#include "conf/settings.h"
#include "mgr/sample.h"

/* Appends a line, with its end, for each limit that is exceeded. minute: the difference of two samples; NULL: there
 * aren't two yet, so that only memory is looked at. resident: bytes. */
void high_water_lines(const struct settings *s, const struct sample *minute, uint64_t resident, struct strbuf *out);
/* Bytes of this process in memory now; 0: the kernel doesn't say. Reads a file: not for a worker. */
uint64_t process_resident(void);
