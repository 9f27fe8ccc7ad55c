/* hdrs/structured.h: dictionaries of structured fields (RFC 8941 section 3.2), strictly: what a parser must refuse is
 * refused whole. Pure, linear, allocates nothing. */
#pragma once
#include "base/span.h"

enum sf_type { SF_INTEGER, SF_DECIMAL, SF_STRING, SF_TOKEN, SF_BYTES, SF_BOOLEAN, SF_INNER_LIST };

struct sf_member {
    struct span key;
    enum sf_type type;
    int64_t integer;  /* SF_INTEGER */
    bool boolean;     /* SF_BOOLEAN; true for a key without a value */
    struct span text; /* SF_STRING: between the quotes, escapes as written; SF_TOKEN */
};

enum sf_result { SF_END, SF_MEMBER, SF_BAD };

/* The next member of a dictionary's line; *rest (blanks around it trimmed) moves behind it. Parameters are checked and
 * skipped. SF_BAD: the whole field is worthless (section 4.2). */
enum sf_result sf_dictionary_next(struct span *rest, struct sf_member *m);
