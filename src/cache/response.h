/* cache/response.h: from a response head to a stored object, from a 304 and a stored object to the updated one
 * (RFC 9111 sections 3.1, 3.2, 4.3.4). Reads no clock. */
#pragma once
#include "base/strbuf.h"
#include "cache/freshness.h"
#include "cache/object.h"

struct object_recipe {
    struct arena *arena; /* NULL: on the heap (passes through, isn't stored) */
    struct hash128 key;
    struct span url; /* canonical, for pages and invalidation */
    const struct head *request, *response;
    const struct cache_control *response_cc;
    struct span targets; /* the targeted fields that count, for cache_control_of_response(): of a 304's united head */
    struct response_times times;
    int64_t lifetime;        /* seconds */
    int64_t mono;            /* monotonic microseconds at response_time */
    struct object_part part; /* response is a 206: what it brings; whole 0: none that is kept */
    bool negative;
    bool another_variant; /* a 304 for a request that stored's Vary did not select: the result is for that request */
    const struct refresh_rule *rule; /* the one that made lifetime; NULL: the built-in line */
};

/* A new object with one reference and no body. Hop-by-hop fields, those Connection lists (but protected ones), those
 * never stored, Age, Content-Length and Transfer-Encoding are left out, Via lines stay; Date is added from
 * response_time when there was none that is a date. Fields named by private="..." and no-cache="..." are left out.
 * One allocation of the exact size. NULL: no room in the arena; never on the heap. */
struct object *object_from_response(const struct object_recipe *r);

/* The lines, each with its end, that private="..." and no-cache="..." keep out of what object_from_response() and
 * object_from_304() make of r->response: they are for whoever asked, for nobody else. Appended to out. */
void response_own_fields(const struct object_recipe *r, struct strbuf *out);

/* What begins, a part, and a 206 that continues it up to byte `last` (part_continues()) make together (RFC 9111 section 3.4): the
 * fields as for a 304, no body yet. A 200 when nothing is missing any more, else a part. r as for object_from_304(). */
struct object *object_from_parts(const struct object *begins, uint64_t last, const struct object_recipe *r);

/* The object that stored becomes by a 304 (r->response): its fields replace those of the same name (W7, W8), the times
 * are the new ones, the lifetime is worked out from the united fields by r->rule; the body is shared (one more
 * reference), key, url and status stay. r->key, url, lifetime and negative are not looked at. Whether the 304 may
 * update it (W6) is validate.h's business. NULL: no room, or the united head has more than HEAD_FIELDS_MAX fields;
 * stored is as it was. */
struct object *object_from_304(struct object *stored, const struct object_recipe *r);
