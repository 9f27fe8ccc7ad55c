/* proxy/cache_outcome.h: what the cache made of a request, told to the client: X-Cache and X-Cache-Lookup as Squid writes them
 * (x_cache), Cache-Status (RFC 9211; cache_status), and X-Access-Line, the line of the configuration that decided (x_access_line). Pure. */
#pragma once
#include "conf/settings.h"

enum cache_lookup { LOOKUP_NONE, LOOKUP_MISS, LOOKUP_HIT, LOOKUP_N };

struct cache_outcome {
    bool hit;                 /* answered without asking anybody, or with somebody else's answer */
    bool stored, collapsed;   /* the answer is kept; it was asked for by another request */
    enum cache_lookup lookup; /* was something stored for it when it came? */
    bool has_ttl;             /* of what is stored: */
    int64_t ttl;              /* seconds of freshness left; negative: stale */
    const char *fwd;          /* why it went on (section 2.2), a token; NULL: it didn't */
    int fwd_status;           /* of the answer from there; 0: none, or the one that is sent */
    const char *code;         /* "TCP_MISS"; NULL: none */
    const char *reason;       /* static text without quotes; NULL: none */
    uint16_t port;            /* that the client connected to */
    const char *access_line;  /* FILE:LINE of the access rule that decided; NULL: none did */
};

/* Of a longer access_line the end is shown. */
#define ACCESS_LINE_SHOWN 200
/* With a visible_hostname of 255 bytes. */
#define CACHE_OUTCOME_MAX (1280 + 20 + ACCESS_LINE_SHOWN)
/* X-Cache and X-Cache-Lookup for [hit][lookup], whole for the first port and up to the port for others: made once, for they are
 * part of every hit. len 0: x_cache is off. */
struct x_cache {
    struct {
        uint16_t len, whole; /* up to the port; all of it */
        char text[640];
    } lines[2][LOOKUP_N];
    uint16_t port;
};
void x_cache_prepare(struct x_cache *x, const struct settings *s);
/* The fields that are switched on, each with its CRLF, into out (CACHE_OUTCOME_MAX). x: of the same settings. Returns their length. */
size_t cache_outcome_fields(const struct cache_outcome *o, const struct settings *s, const struct x_cache *x,
                            char *out);
