/* proxy/stale.h: may a stale stored response stand in when its origin can't answer (RFC 9111 section 4.2.4)? Pure. */
#pragma once
#include "conf/settings.h"
#include "hdrs/field_cache_control.h"

/* mono: monotonic microseconds. o NULL: no. */
bool stale_will_do(const struct object *o, const struct cache_control *request_cc, const struct settings *s,
                   int64_t mono);
