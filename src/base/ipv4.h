/* base/ipv4.h: dotted quads (RFC 3986 section 3.2.2), strictly: four decimal numbers up to 255 without leading zeros.
 * What inet_pton() takes, from a span, at a tenth of its cost: the hit path reads one or two of them. Pure. */
#pragma once
#include "base/span.h"

bool ipv4_parse(struct span text, uint8_t out[4]);
