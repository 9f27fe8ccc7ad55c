/* cache/purge.h: which stored responses a PURGE means. Pure. */
#pragma once
#include "cache/object.h"

enum purge_mode {
    PURGE_EXACT,  /* one URL with all its variants: by key, not by looking */
    PURGE_PREFIX, /* URLs that begin so */
    PURGE_TAGS,   /* responses that carry one of these tags in Surrogate-Key, Cache-Tag or xkey */
};

struct purge_query {
    enum purge_mode mode;
    struct span text; /* the prefix, a canonical URL; or the tags, blanks or commas between them */
};

/* Not for PURGE_EXACT. */
bool purge_matches(const struct purge_query *q, const struct object *o);
