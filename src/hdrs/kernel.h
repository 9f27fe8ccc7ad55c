/* hdrs/kernel.h: which instructions the parser uses. The scalar parser is the specification; a vector kernel takes the
 * usual whole head sixty-four bytes a step and leaves everything else to the specification (whole.h), so all give the
 * same answers. One binary holds every kernel of its architecture. Scalar until one is chosen.
 *
 * Threads: chosen once, before any other thread starts (tests and benchmarks change it between two messages); then
 * read-only. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The better ones of one machine behind the lesser ones. */
enum hdrs_kernel { HDRS_SCALAR, HDRS_SSE2, HDRS_AVX2, HDRS_AVX512, HDRS_NEON, HDRS_KERNEL_N };

/* As LOLIGO_HDRS_KERNEL and mgr:info spell it. */
const char *hdrs_kernel_name(enum hdrs_kernel k);
/* Compiled in, and this CPU runs it. HDRS_SCALAR always is. */
bool hdrs_kernel_available(enum hdrs_kernel k);

/* k is available. */
void hdrs_kernel_use(enum hdrs_kernel k);
enum hdrs_kernel hdrs_kernel_in_use(void);

/* Uses the kernel of that name; NULL: the best one available. False: there is none of that name here, nothing changed,
 * and error (capacity bytes) says which there are. */
bool hdrs_kernel_choose(const char *name, char *error, size_t capacity);
