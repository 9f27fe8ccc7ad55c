/* cache/validate.h: RFC 9110 section 13 and RFC 9111 section 4.3. Pure. */
#pragma once
#include "cache/object.h"
#include "hdrs/field_cache_control.h"
#include "hdrs/head.h"

/* Can a request use a stored response (already selected by key and Vary) as it is? mono: monotonic microseconds. */
enum reuse {
    REUSE_FRESH,           /* yes */
    REUSE_STALE_OK,        /* stale, but max-stale allows it */
    REUSE_STALE_MEANWHILE, /* stale, but within stale-while-revalidate: somebody should validate it (RFC 5861) */
    REUSE_VALIDATE,        /* only after validation */
    REUSE_ASKED,           /* likewise, but only because the client asks for it */
};
/* request_cc as from cache_control_parse(request, true). *why gets a static word: "fresh", "stale", "request-no-cache",
 * "response-no-cache", "max-age", "min-fresh", "vary-star", "stale-while-revalidate". ignore_cc: the port says the client's wishes don't
 * count. */
enum reuse reuse_of(const struct object *o, const struct cache_control *request_cc, bool ignore_cc, int64_t mono,
                    const char **why);

/* Does a response carry something to ask with or be recognised by: an ETag, or a Last-Modified that is a date?
 * now: seconds since the epoch. */
bool response_has_validator(const struct head *response, int64_t now);

/* What the client's own conditions make of a 200 answer (W9-W14). */
enum condition { CONDITION_SEND, CONDITION_NOT_MODIFIED_ETAG, CONDITION_NOT_MODIFIED_DATE };
/* now: seconds since the epoch. Only GET and HEAD ask. */
enum condition client_condition(const struct head *request, const struct object *o, int64_t now);
/* If-Match, If-Unmodified-Since: only the origin can tell (RFC 9111 section 4.3.2, W16). */
bool request_asks_origin(const struct head *request);
/* Has the request any condition or range at all (If-*, Range)? */
bool request_is_conditional(const struct head *request);

/* May this 304, an answer to a request made with stored's own validators, update it (RFC 9111 section 4.3.4, W6)?
 * With a strong ETag: only the same one. With a weak ETag, or only Last-Modified: when stored has that too. With no
 * validator at all: yes, since the request named stored alone; the caller sees to that. W6 would say no unless stored
 * has none either, at the price of a second, unconditional request to every origin that sends bare 304s. */
bool may_update(const struct object *stored, const struct head *response_304);

/* What the answer to a HEAD, a 200, says of a stored response that a GET of the same would select (RFC 9111 section 4.3.5):
 * by ETag, Last-Modified and Content-Length, as far as the answer has them. */
enum head_verdict {
    HEAD_SAYS_NOTHING, /* no validator came, and no other length */
    HEAD_AGREES,       /* its fields are newer ones of the same response */
    HEAD_DIFFERS,      /* what is stored is not what there is now */
};
enum head_verdict head_verdict_of(const struct object *stored, const struct head *response);

/* Fields of a stored head that a 304 carries (W12): iterate with the stored head parsed; true for those to send. */
bool belongs_in_304(enum token t);
