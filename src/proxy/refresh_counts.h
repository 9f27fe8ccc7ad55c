/* proxy/refresh_counts.h: how a worker found out whether responses are fresh: mgr:refresh. One worker. */
#pragma once
#include "cache/freshness.h"
#include "cache/validate.h"
#include "conf/settings.h"

#define REUSE_N (REUSE_ASKED + 1)
#define LIFETIME_N (LIFETIME_NEGATIVE + 1)

struct refresh_counts {
    const struct settings *settings; /* whose patterns these are; lent */
    uint64_t *used;                  /* responses, by the refresh_pattern they fall under; the last: the built-in one */
    size_t n_used;
    uint64_t lookups[REUSE_N];   /* stored responses that were selected, by enum reuse */
    uint64_t stored[LIFETIME_N]; /* responses that might be stored, by enum lifetime_source */
};

/* Other settings: their patterns begin at 0. NULL: none any more. */
void refresh_counts_use(struct refresh_counts *c, const struct settings *s);
/* A response falls under that rule of s; of other settings than those in use nothing is counted. */
void refresh_counts_rule(struct refresh_counts *c, const struct settings *s, const struct refresh_rule *rule);
