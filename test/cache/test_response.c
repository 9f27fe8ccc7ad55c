#include "heads.h"
#include <stdlib.h>
#include "base/clock.h"
#include "cache/response.h"
#include "cache/vary.h"

#define MONO (1000 * US_PER_S)
#define DATE "Date: " T0_TEXT

static const struct refresh_rule built_in = { .max = 3 * 86400, .percent = 20, .max_stale = -1 };

/* What a head of these fields becomes, received at `at` by both clocks. */
static struct object *from(struct object *stored, struct arena *arena, int status, const char *request,
                           const char *fields, int64_t lifetime, int64_t at)
{
    static struct test_head request_text, response_text;
    const struct head *h = response_head(&response_text, status, fields);
    struct cache_control cc = cache_control_parse(h, false);
    struct object_recipe recipe = {
        .arena = arena,
        .key = { 1, 2 },
        .url = SPAN("http://example.com/path?query"),
        .request = request_head(&request_text, "GET", request),
        .response = h,
        .response_cc = &cc,
        .times = response_times_of(h, T0 + at, T0 + at),
        .lifetime = lifetime,
        .mono = MONO + at * US_PER_S,
        .rule = &built_in,
    };

    return stored != NULL ? object_from_304(stored, &recipe) : object_from_response(&recipe);
}

/* The stored head with LF for CRLF. */
static const char *head_text(const struct object *o)
{
    static char text[16384];
    size_t n = 0;

    for (size_t i = 0; i < o->head_len; i++)
        if (o->head[i] != '\r')
            text[n++] = o->head[i];
    text[n] = '\0';
    return text;
}

#define LINE "HTTP/1.1 200 Reason\n"

static const struct {
    const char *why, *fields, *want;
} heads[] = {
    { "X1 everything else is kept, in order", DATE "\nX-A: 1\nx-a: 2\nSet-Cookie: a=b\nContent-Language: en\nFoo:",
      LINE DATE "\nX-A: 1\nx-a: 2\nSet-Cookie: a=b\nContent-Language: en\nFoo: \n" },
    { "X2 hop-by-hop", DATE "\nConnection: close\nKeep-Alive: x\nProxy-Connection: x\nTE: x\nUpgrade: x\nTrailer: x",
      LINE DATE "\n" },
    { "X2 what Connection lists", DATE "\nConnection: a, B\na: 1\nb: 2\nc: 3\nConnection: d\nD: 4",
      LINE DATE "\nc: 3\n" },
    { "X2 every field of that name", DATE "\nConnection: a\nA: 1\na: 2\nA: 3\nb: 4", LINE DATE "\nb: 4\n" },
    { "X3 never stored", DATE "\nProxy-Authenticate: x\nProxy-Authentication-Info: x\nProxy-Authorization: x",
      LINE DATE "\n" },
    { "X4 Connection can't remove what must survive",
      DATE "\nConnection: cache-control, vary, etag, set-cookie, date, x\nCache-Control: max-age=1\nVary: a\n"
           "ETag: \"a\"\nSet-Cookie: b\nX: 1",
      LINE DATE "\nCache-Control: max-age=1\nVary: a\nETag: \"a\"\nSet-Cookie: b\n" },
    { "X6 framing is made anew", DATE "\nTransfer-Encoding: chunked\nX: 1", LINE DATE "\nX: 1\n" },
    { "framing and Age are made anew", DATE "\nContent-Length: 5\nAge: 3\nX: 1", LINE DATE "\nX: 1\n" },
    { "X9 Via lines received", DATE "\nVia: 1.1 a\nVia: 1.0 b", LINE DATE "\nVia: 1.1 a\nVia: 1.0 b\n" },
    { "P11 byte for byte", DATE "\nCache-Control: ,, MaX-aGe=\"5\" ,x=\"a, b\"",
      LINE DATE "\nCache-Control: ,, MaX-aGe=\"5\" ,x=\"a, b\"\n" },
    { "S10 private=\"...\"", DATE "\nCache-Control: private=\"a, B\", max-age=5\nA: 1\nb: 2\nab: 3",
      LINE DATE "\nCache-Control: private=\"a, B\", max-age=5\nab: 3\n" },
    { "S12 no-cache=\"...\"", DATE "\nCache-Control: no-cache=\"Set-Cookie\"\nSet-Cookie: s\nB: 2",
      LINE DATE "\nCache-Control: no-cache=\"Set-Cookie\"\nB: 2\n" },
    { "A8 no Date: one is added", "X: 1", LINE "X: 1\n" DATE "\n" },
    { "A8 a bad Date: another takes its place", "Date: foo\nX: 1", LINE "X: 1\n" DATE "\n" },
    { "A8 Date and Expires stay", "Date: Sat, 05 Nov 1994 08:49:37 GMT\nExpires: 0",
      LINE "Date: Sat, 05 Nov 1994 08:49:37 GMT\nExpires: 0\n" },
};

static void heads_are_stored(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(heads); i++) {
        struct object *o = from(NULL, NULL, 200, "", heads[i].fields, 60, 0);

        if (strcmp(head_text(o), heads[i].want) != 0)
            fail_msg("%s:\n%s", heads[i].why, head_text(o));
        object_unref(&o);
    }
}

static void status_lines(void **state)
{
    static struct test_head text;
    static const struct {
        const char *line, *want;
        int status;
    } rows[] = {
        { "HTTP/1.0 203 Non-Authoritative  Information", "HTTP/1.1 203 Non-Authoritative  Information\r\n", 203 },
        { "HTTP/1.1 599 ", "HTTP/1.1 599 \r\n", 599 },
    };

    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        struct cache_control cc;
        struct object_recipe recipe = { .response_cc = &cc, .mono = MONO };
        struct object *o;

        test_head_write(&text, rows[i].line, "");
        recipe.response = test_parse(&text, false);
        cc = cache_control_parse(recipe.response, false);
        o = object_from_response(&recipe);
        assert_true(o->head_len > strlen(rows[i].want));
        assert_memory_equal(o->head, rows[i].want, strlen(rows[i].want));
        assert_int_equal(o->status, rows[i].status);
        object_unref(&o);
    }
}

static void assert_piece(const struct object *o, struct object_piece p, const char *want)
{
    struct span got = object_piece(o, p);

    if (!span_eq(got, span_str(want)))
        fail_msg("%.*s, not %s", SPAN_ARG(got), want);
}

static void pieces_point_at_values(void **state)
{
    struct object *o = from(NULL, NULL, 200, "A: 1\nB: 2",
                            "Foo: 1\nETag: W/\"x\"\nContent-Type: text/html; charset=x\nVary: B, a\n"
                            "Last-Modified: Saturday, 05-Nov-94 08:49:37 GMT\nContent-Type: second",
                            60, 0);

    (void)state;
    assert_piece(o, o->etag, "W/\"x\"");
    assert_piece(o, o->content_type, "text/html; charset=x");
    assert_piece(o, o->last_modified_text, "Saturday, 05-Nov-94 08:49:37 GMT"); /* W1: byte for byte */
    assert_int_equal(o->last_modified, T0 - 86400);
    assert_piece(o, o->vary, "a, b");
    assert_piece(o, o->url, "http://example.com/path?query");
    assert_true(o->etag.at + o->etag.len < o->head_len);
    assert_true(o->vary.at >= o->head_len && o->url.at >= o->head_len);
    assert_int_equal(o->status, 200);
    assert_int_equal(o->key.low, 1);
    assert_int_equal(o->refs, 1);
    assert_null(o->body);
    object_unref(&o);

    o = from(NULL, NULL, 200, "", "Last-Modified: yesterday", 60, 0);
    assert_int_equal(o->last_modified_text.len, 0); /* D8 */
    assert_true(o->last_modified == INT64_MIN);
    assert_int_equal(o->etag.len, 0);
    assert_int_equal(o->vary.len, 0);
    object_unref(&o);

    /* A field that isn't stored has no piece, whatever comes behind it. */
    o = from(NULL, NULL, 200, "",
             "Cache-Control: private=\"etag, last-modified\"\nETag: \"a\"\nLast-Modified: " T0_TEXT, 60, 0);
    assert_int_equal(o->etag.len, 0);
    assert_true(o->last_modified == INT64_MIN);
    object_unref(&o);
}

static void the_request_is_fingerprinted(void **state)
{
    struct object *a = from(NULL, NULL, 200, "Foo: 1", "Vary: Foo", 60, 0);
    struct object *b = from(NULL, NULL, 200, "Foo: 2", "Vary: Foo", 60, 0);
    struct object *plain = from(NULL, NULL, 200, "Foo: 2", "", 60, 0);
    static struct test_head again;
    struct hash128 print = vary_fingerprint(object_piece(a, a->vary), request_head(&again, "GET", "Foo: 1"));

    (void)state;
    assert_true(hash128_eq(a->vary_print, print)); /* V4 */
    assert_false(hash128_eq(b->vary_print, print));
    assert_true(hash128_eq(plain->vary_print, vary_fingerprint(SPAN_NONE, &again.head)));
    object_unref(&a);
    object_unref(&b);
    object_unref(&plain);
}

static const struct {
    const char *why, *fields;
    unsigned want;
} flags[] = {
    { "none", "Cache-Control: max-age=5, public", 0 },
    { "S11", "Cache-Control: no-cache", OBJECT_NO_CACHE },
    { "S12", "Cache-Control: no-cache=\"a\"", OBJECT_NO_CACHE_FIELDS },
    { "T5", "Cache-Control: must-revalidate", OBJECT_MUST_REVALIDATE },
    { "T5", "Cache-Control: proxy-revalidate", OBJECT_MUST_REVALIDATE },
    { "T5", "Cache-Control: s-maxage=5", OBJECT_MUST_REVALIDATE },
    { "V11", "Vary: a, *", OBJECT_VARY_STAR },
    { "together", "Vary: *\nCache-Control: no-cache, s-maxage=0",
      OBJECT_VARY_STAR | OBJECT_NO_CACHE | OBJECT_MUST_REVALIDATE },
};

static void flags_are_set(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(flags); i++) {
        struct object *o = from(NULL, NULL, 200, "", flags[i].fields, 60, 0);

        if (o->flags != flags[i].want)
            fail_msg("%s: %x", flags[i].why, (unsigned)o->flags);
        object_unref(&o);
    }
}

static const struct {
    const char *why, *fields;
    int64_t lifetime, at, fresh_until, age_base; /* microseconds from MONO */
} clocks[] = {
    { "just made", DATE, 60, 0, 60 * US_PER_S, 0 },
    { "A1 an old Date", DATE, 60, 10, 60 * US_PER_S, 0 },
    { "A3 Age 30", DATE "\nAge: 30", 60, 0, 30 * US_PER_S, -30 * US_PER_S },
    { "A2 Age 90: stale on arrival", DATE "\nAge: 90", 60, 0, -30 * US_PER_S, -90 * US_PER_S },
    { "lifetime 0", DATE, 0, 0, 0, 0 },
    { "P6 everything huge", DATE, INT64_MAX, 0, (INT64_C(1) << 40) * US_PER_S, 0 },
};

static void clocks_are_monotonic(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(clocks); i++) {
        struct object *o = from(NULL, NULL, 200, "", clocks[i].fields, clocks[i].lifetime, clocks[i].at);

        if (o->fresh_until != MONO + clocks[i].fresh_until || o->age_base != MONO + clocks[i].age_base)
            fail_msg("%s: %lld %lld", clocks[i].why, (long long)(o->fresh_until - MONO),
                     (long long)(o->age_base - MONO));
        object_unref(&o);
    }
}

static void stale_allowances_are_kept(void **state)
{
    struct object *o =
        from(NULL, NULL, 200, "", "Cache-Control: max-age=1, stale-while-revalidate=7, stale-if-error=8", 1, 0);

    (void)state;
    assert_int_equal(o->stale_while_revalidate, 7);
    assert_int_equal(o->stale_if_error, 8);
    assert_int_equal(o->max_stale, -1);
    object_unref(&o);
    o = from(NULL, NULL, 200, "", "", 1, 0);
    assert_int_equal(o->stale_while_revalidate, -1);
    assert_int_equal(o->stale_if_error, -1);
    object_unref(&o);
    /* For ever, and not negative. */
    o = from(NULL, NULL, 200, "", "Cache-Control: stale-while-revalidate=2147483648, stale-if-error=99999999999", 1, 0);
    assert_int_equal(o->stale_while_revalidate, INT32_MAX);
    assert_int_equal(o->stale_if_error, INT32_MAX);
    object_unref(&o);
}

static void memory_comes_from_the_arena(void **state)
{
    struct arena *arena = arena_new(1 << 20);
    struct object *o, *held[4096];
    size_t n = 0;

    (void)state;
    o = from(NULL, arena, 200, "", DATE "\nVary: a", 60, 0);
    assert_int_equal(o->charge, arena_round(sizeof *o + o->head_len + o->url.len + o->vary.len));
    assert_int_equal(arena_used(arena), o->charge);
    object_unref(&o);
    assert_int_equal(arena_used(arena), 0);
    o = from(NULL, NULL, 200, "", DATE, 60, 0);
    assert_int_equal(o->charge, 0);
    object_unref(&o);
    while (n < ROWS(held) && (held[n] = from(NULL, arena, 200, "", DATE, 60, 0)) != NULL)
        n++;
    assert_in_range(n, 1, ROWS(held) - 1); /* full: NULL, nothing worse */
    while (n > 0)
        object_unref(&held[--n]);
    assert_int_equal(arena_used(arena), 0);
    arena_free(&arena);
}

#define LM "Last-Modified: Sat, 05 Nov 1994 08:49:37 GMT"
#define LATER "Date: Sun, 06 Nov 1994 08:51:17 GMT" /* T0 + 100, when the 304s come */

static const struct {
    const char *why, *stored, *update, *want;
    int64_t lifetime;
} unions[] = {
    { "W3 a bare 304", DATE "\nETag: \"a\"\nTest-Header: A\nCache-Control: max-age=5", LATER "\nETag: \"a\"",
      LINE "Test-Header: A\nCache-Control: max-age=5\n" LATER "\nETag: \"a\"\n", 5 },
    { "W7 replaced, any letter case", DATE "\nTest-Header: A\nX: 1\nCache-Control: max-age=5",
      LATER "\ntest-header: B\ncache-control: max-age=3600",
      LINE "X: 1\n" LATER "\ntest-header: B\ncache-control: max-age=3600\n", 3600 },
    { "W7 all lines of a name", DATE "\nA: 1\nSet-Cookie: a\nA: 2\nSet-Cookie: b\nB: 3", LATER "\nA: 4\nSet-Cookie: c",
      LINE "B: 3\n" LATER "\nA: 4\nSet-Cookie: c\n", 0 },
    { "W7 Expires", DATE "\nExpires: Sun, 06 Nov 1994 08:49:38 GMT", LATER "\nExpires: Sun, 06 Nov 1994 08:52:17 GMT",
      LINE LATER "\nExpires: Sun, 06 Nov 1994 08:52:17 GMT\n", 60 },
    { "W7 representation fields", DATE "\nContent-Type: a/b\nContent-Encoding: x\nContent-MD5: x\nContent-Location: /x",
      LATER "\nContent-Type: c/d\nContent-Encoding: y\nContent-MD5: y\nContent-Location: /y",
      LINE LATER "\nContent-Type: c/d\nContent-Encoding: y\nContent-MD5: y\nContent-Location: /y\n", 0 },
    { "W8 not Content-Length, not hop-by-hop", DATE "\nX: 1",
      LATER "\nContent-Length: 10\nConnection: close, x\nKeep-Alive: y\nTransfer-Encoding: chunked\nX: 2\nAge: 5",
      LINE "X: 1\n" LATER "\n", 0 },
    { "W8 nor what its Connection lists", DATE "\nServer: old", LATER "\nConnection: server\nServer: new",
      LINE "Server: old\n" LATER "\n", 0 },
    { "S12 what no-cache=\"...\" names", DATE "\nA: 1\nB: 2",
      LATER "\nCache-Control: max-age=9, no-cache=\"a, c\"\nC: 3",
      LINE "B: 2\n" LATER "\nCache-Control: max-age=9, no-cache=\"a, c\"\n", 9 },
    { "A8 no Date in the 304: the time it came", DATE "\nX: 1", "Y: 2", LINE "X: 1\nY: 2\n" LATER "\n", 0 },
    { "H3 a new heuristic", DATE "\n" LM, LATER, LINE LM "\n" LATER "\n", 86500 / 5 },
    { "P7 a 304 can't half replace Cache-Control", DATE "\nCache-Control: max-age=60\nCache-Control: public",
      LATER "\nCache-Control: max-age=1", LINE LATER "\nCache-Control: max-age=1\n", 1 },
};

static void updates_unite(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROWS(unions); i++) {
        struct object *old = from(NULL, NULL, 200, "", unions[i].stored, 60, 0);
        struct object *o = from(old, NULL, 304, "", unions[i].update, 7777, 100);

        assert_non_null(o);
        if (strcmp(head_text(o), unions[i].want) != 0)
            fail_msg("%s:\n%s", unions[i].why, head_text(o));
        if (o->lifetime != unions[i].lifetime)
            fail_msg("%s: %lld", unions[i].why, (long long)o->lifetime);
        assert_int_equal(o->status, 200);
        object_unref(&old);
        object_unref(&o);
    }
}

static void updates_keep_what_is_not_the_heads(void **state)
{
    struct object *old = from(NULL, NULL, 200, "Foo: 1", DATE "\nVary: Foo\nETag: \"a\"\nContent-Type: a/b", 60, 0);
    struct object *o;

    (void)state;
    old->body = body_new(NULL, 16);
    old->key = (struct hash128){ 7, 8 };
    o = from(old, NULL, 304, "Foo: 1", LATER "\nAge: 3\nCache-Control: max-age=10, must-revalidate", 0, 100);
    assert_ptr_equal(o->body, old->body);
    assert_int_equal(o->body->refs, 2);
    assert_int_equal(o->key.low, 7);
    assert_piece(o, o->url, "http://example.com/path?query");
    assert_piece(o, o->etag, "\"a\"");
    assert_piece(o, o->content_type, "a/b");
    assert_true(hash128_eq(o->vary_print, old->vary_print));
    assert_int_equal(o->times.response_time, T0 + 100);
    assert_int_equal(o->times.age_value, 3);
    assert_true(o->age_base == MONO + 97 * US_PER_S);
    assert_true(o->fresh_until == MONO + 107 * US_PER_S);
    assert_int_equal(o->flags, OBJECT_MUST_REVALIDATE);
    assert_int_equal(old->refs, 1); /* untouched */
    assert_int_equal(old->flags, 0);
    object_unref(&old);
    assert_int_equal(o->body->refs, 1);
    object_unref(&o);
}

/* What the origin said of the stored response holds as long as a 304 says nothing else. */
static void updates_keep_the_stored_cache_control(void **state)
{
    struct object *old =
        from(NULL, NULL, 200, "", DATE "\nCache-Control: max-age=9, must-revalidate, stale-if-error=5", 9, 0);
    struct object *o = from(old, NULL, 304, "", LATER, 0, 100);

    (void)state;
    assert_int_equal(o->flags, OBJECT_MUST_REVALIDATE);
    assert_int_equal(o->stale_if_error, 5);
    assert_int_equal(o->lifetime, 9);
    object_unref(&old);
    object_unref(&o);
}

/* A 304 that fills the head up to more fields than there may be is refused, not cut. */
static void a_union_that_is_too_large(void **state)
{
    char a[8192] = DATE, b[8192] = LATER;
    struct object *old, *o;

    (void)state;
    for (int i = 0; i < HEAD_FIELDS_MAX / 2 + 1; i++) {
        snprintf(a + strlen(a), sizeof a - strlen(a), "\nA%d: 1", i);
        snprintf(b + strlen(b), sizeof b - strlen(b), "\nB%d: 1", i);
    }
    old = from(NULL, NULL, 200, "", a, 60, 0);
    o = from(old, NULL, 304, "", b, 60, 100);
    assert_null(o);
    object_unref(&old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heads_are_stored),
        cmocka_unit_test(status_lines),
        cmocka_unit_test(pieces_point_at_values),
        cmocka_unit_test(the_request_is_fingerprinted),
        cmocka_unit_test(flags_are_set),
        cmocka_unit_test(clocks_are_monotonic),
        cmocka_unit_test(stale_allowances_are_kept),
        cmocka_unit_test(memory_comes_from_the_arena),
        cmocka_unit_test(updates_unite),
        cmocka_unit_test(updates_keep_what_is_not_the_heads),
        cmocka_unit_test(updates_keep_the_stored_cache_control),
        cmocka_unit_test(a_union_that_is_too_large),
    };

    hash_init();
    return cmocka_run_group_tests_name("cache/response", tests, NULL, NULL);
}
