/* net/host_name.h: what is taken for the name of a host, wherever it comes from. Pure. */
#pragma once
#include "base/span.h"

#define HOST_NAME_MAX_LEN 253 /* RFC 1035 section 2.3.4, as text without the root's dot */

/* Letters, digits, hyphens and underscores in labels of 1 to 63 (RFC 1035 section 2.3.1, RFC 1123 section 2.1, and the
 * underscores there are); the last label is no number, which would be read as an address. No dot at the end. */
bool host_name_is_valid(struct span name);
