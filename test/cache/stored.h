/* test/cache/stored.h: objects and bodies whose every byte can be foretold, for the tests of the store. */
#pragma once
#include <stdlib.h>
#include <sys/uio.h>
#include "cache/object.h"
#include "cache/vary.h"
#include "heads.h"

/* Byte number `at` of the body made from seed. */
static inline unsigned char body_byte(uint64_t seed, uint64_t at)
{
    return (unsigned char)((seed * 131 + at) ^ (at >> 8));
}

static inline void body_bytes(unsigned char *out, uint64_t seed, uint64_t at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = body_byte(seed, at + i);
}

/* Bytes from `at` on that are right: n when all are. */
static inline size_t bytes_right(const unsigned char *p, uint64_t seed, uint64_t at, size_t n)
{
    size_t i = 0;

    while (i < n && p[i] == body_byte(seed, at + i))
        i++;
    return i;
}

static inline struct hash128 test_key(uint64_t n)
{
    return hash128(&n, sizeof n);
}

/* An object of key n with a head like any; names (lower case, sorted) makes it a variant for request. NULL: no room. */
static inline struct object *test_object(struct arena *a, uint64_t n, const char *names, const struct head *request)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: \"0123456789\"\r\n";
    size_t names_len = names != NULL ? strlen(names) : 0;
    struct object *o = object_new(a, sizeof head - 1 + names_len);

    if (o == NULL)
        return NULL;
    memcpy(o->head, head, sizeof head - 1);
    o->key = test_key(n);
    o->status = 200;
    o->head_len = sizeof head - 1;
    if (names_len > 0) {
        memcpy(o->head + o->head_len, names, names_len);
        o->vary = (struct object_piece){ o->head_len, (uint32_t)names_len };
        o->vary_print = vary_fingerprint(span_str(names), request);
    }
    return o;
}

/* A complete body of `length` bytes from seed; NULL when the arena has no room. */
static inline struct body *test_body(struct arena *a, uint64_t seed, uint64_t length)
{
    struct body *b = body_new(a, body_segment_size(length, true));

    while (b != NULL && b->length < length) {
        struct segment *s = b->last;
        uint64_t left = length - b->length;

        if (s->len == s->capacity && (s = body_extend(b, body_segment_size(left, false))) == NULL) {
            body_unref(&b);
            break;
        }
        s->len = s->capacity < left ? s->capacity : (uint32_t)left;
        body_bytes(s->bytes, seed, b->length, s->len);
        b->length += s->len;
    }
    return b;
}

/* With a body made from n. NULL: no room. */
static inline struct object *test_stored(struct arena *a, uint64_t n, uint64_t length)
{
    struct object *o = test_object(a, n, NULL, NULL);

    if (o != NULL && length > 0 && (o->body = test_body(a, n, length)) == NULL)
        object_unref(&o);
    return o;
}

/* Is the body, read through a cursor, that of seed? */
static inline bool body_is(const struct body *b, uint64_t seed, uint64_t first, uint64_t length)
{
    struct body_cursor c = body_cursor(b, first, length);
    struct iovec v[3];
    uint64_t at = first;
    size_t n;

    while ((n = body_peek(&c, v, 3)) > 0) {
        uint64_t took = 0;

        for (size_t i = 0; i < n; i++, at += v[i - 1].iov_len) {
            if (bytes_right(v[i].iov_base, seed, at, v[i].iov_len) != v[i].iov_len)
                return false;
            took += v[i].iov_len;
        }
        body_advance(&c, took);
    }
    return at == first + length && c.left == 0;
}
