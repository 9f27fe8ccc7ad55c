/* net/carp.h: which of several peers a text goes to, always the same while they stay the same: the Cache Array Routing Protocol
 * (draft-vinod-carp-v1-03), for cache_peer carp, userhash and sourcehash. Pure. */
#pragma once
#include "base/span.h"

/* Of a peer's name: computed once. */
uint32_t carp_member_hash(struct span name);
/* multipliers[i] of peers whose load factors (any positive numbers; their ratios count) are loads[i]. n > 0. */
void carp_multipliers(const double *loads, size_t n, double *multipliers);
/* The peer with the highest score of all gets the text. */
double carp_score(struct span text, uint32_t member_hash, double multiplier);
