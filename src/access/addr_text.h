/* access/addr_text.h: what squid.conf may write where addresses are wanted: `all`, `ipv4`, `ipv6`, an address,
 * FIRST-LAST, either with /PREFIX or /NETMASK, or a host name, which is resolved on the spot (blocking:
 * configuration time only). */
#pragma once
#include "access/addr_set.h"

enum addr_text_result { ADDR_TEXT_GOOD, ADDR_TEXT_DOUBTFUL, ADDR_TEXT_BAD };

/* Adds what text means to s (the caller settles it). DOUBTFUL: added, but why has a warning; BAD: not added, why has
 * the reason. */
enum addr_text_result addr_text_add(struct addr_set *s, struct span text, char why[160]);
