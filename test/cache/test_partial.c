#include "heads.h"
#include "base/clock.h"
#include "cache/partial.h"
#include "cache/response.h"

static void what_a_206_brings(void **state)
{
    static const struct {
        int status;
        uint64_t length;
        const char *fields;
        uint64_t first, last, whole; /* whole 0: nothing that can be kept */
    } rows[] = {
        { 206, 5, "Content-Range: bytes 5-9/10", 5, 9, 10 },
        { 206, 1, "Content-Range: Bytes 0-0/1", 0, 0, 1 },
        { 206, 1, "Content-Range: bytes 9223372036854775805-9223372036854775805/9223372036854775806", INT64_MAX - 2,
          INT64_MAX - 2, INT64_MAX - 1 },
        { 200, 5, "Content-Range: bytes 5-9/10", 0, 0, 0 },
        { 206, 4, "Content-Range: bytes 5-9/10", 0, 0, 0 },
        { 206, 6, "Content-Range: bytes 5-9/10", 0, 0, 0 },
        { 206, 0, "Content-Range: bytes 5-4/10", 0, 0, 0 },
        { 206, UINT64_MAX, "Content-Range: bytes 5-9/10", 0, 0, 0 },
        { 206, 5, "Content-Range: bytes 5-9/9", 0, 0, 0 },
        { 206, 5, "Content-Range: bytes 5-9/*", 0, 0, 0 },
        { 206, 5, "Content-Range: bytes */10", 0, 0, 0 },
        { 206, 5, "Content-Range: bytes 5-9", 0, 0, 0 },
        { 206, 5, "Content-Range: bytes 5 - 9/10", 0, 0, 0 },
        { 206, 5, "Content-Range: bytes -5-9/10", 0, 0, 0 },
        { 206, 5, "Content-Range: bytes=5-9/10", 0, 0, 0 },
        { 206, 5, "Content-Range: lines 5-9/10", 0, 0, 0 },
        { 206, 5, "Content-Range: bytes 5-9/10x", 0, 0, 0 },
        { 206, 5, "Content-Range: bytes 5-9/99999999999999999999", 0, 0, 0 },
        { 206, 5, "Content-Range: bytes ", 0, 0, 0 },
        { 206, 5, "Content-Type: multipart/byteranges; boundary=x", 0, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        static struct test_head response;
        struct byte_range part = { 0, 0 };
        uint64_t whole = 0;
        bool is =
            part_of_response(response_head(&response, rows[i].status, rows[i].fields), rows[i].length, &part, &whole);

        if (is != (rows[i].whole != 0))
            fail_msg("%s, %llu bytes", rows[i].fields, (unsigned long long)rows[i].length);
        if (is) {
            assert_int_equal(part.first, rows[i].first);
            assert_int_equal(part.last, rows[i].last);
            assert_int_equal(whole, rows[i].whole);
        }
    }
}

static struct object *stored_part(struct object_part part, const char *fields)
{
    static struct test_head request, response;
    const struct head *h = response_head(&response, 206, fields);
    struct cache_control cc = cache_control_parse(h, false);
    struct object_recipe recipe = {
        .url = SPAN("http://example.com/"),
        .request = request_head(&request, "GET", ""),
        .response = h,
        .response_cc = &cc,
        .times = response_times_of(h, T0, T0),
        .mono = US_PER_S,
        .part = part,
    };
    struct object *o = object_from_response(&recipe);

    assert_non_null(o);
    o->body = body_new(NULL, 20);
    o->body->length = o->body->last->len = 20;
    return o;
}

static struct object *stored(const char *fields)
{
    return stored_part((struct object_part){ 40, 100 }, fields); /* bytes 40-59 */
}

#define STRONG "ETag: \"a\""

static void what_a_part_can_do(void **state)
{
    static const struct {
        const char *method, *request, *fields;
        enum part_use use;
        uint64_t first, last;
    } rows[] = {
        { "GET", "Range: bytes=40-59", STRONG, PART_SERVES, 40, 59 },
        { "GET", "Range: bytes=50-50", STRONG, PART_SERVES, 50, 50 },
        { "GET", "Range: bytes=50-50", "", PART_SERVES, 50, 50 },
        { "GET", "Range: bytes=50-50\nIf-Range: \"a\"", STRONG, PART_SERVES, 50, 50 },
        { "GET", "Range: bytes=50-50\nIf-Range: \"b\"", STRONG, PART_USELESS, 0, 0 },
        { "GET", "Range: bytes=50-50\nIf-None-Match: \"b\"", STRONG, PART_USELESS, 0, 0 },
        { "GET", "Range: bytes=50-50, 52-52", STRONG, PART_USELESS, 0, 0 },
        { "GET", "Range: bytes=39-50", STRONG, PART_USELESS, 0, 0 },
        { "GET", "Range: bytes=200-", STRONG, PART_USELESS, 0, 0 },
        { "GET", "Range: pages=1", STRONG, PART_USELESS, 0, 0 },
        { "GET", "", STRONG, PART_USELESS, 0, 0 },
        { "HEAD", "Range: bytes=50-50", STRONG, PART_USELESS, 0, 0 },
        { "HEAD", "", STRONG, PART_USELESS, 0, 0 },
        { "GET", "Range: bytes=40-60", STRONG, PART_BEGINS, 40, 60 },
        { "GET", "Range: bytes=60-60", STRONG, PART_BEGINS, 60, 60 },
        { "GET", "Range: bytes=-60", STRONG, PART_BEGINS, 40, 99 },
        { "GET", "Range: bytes=61-61", STRONG, PART_USELESS, 0, 0 },
        { "GET", "Range: bytes=50-", "ETag: W/\"a\"", PART_USELESS, 0, 0 },
        { "GET", "Range: bytes=50-", "ETag: a", PART_USELESS, 0, 0 },
        { "GET", "Range: bytes=50-", "Date: " T0_TEXT "\nLast-Modified: Sun, 06 Nov 1994 08:48:37 GMT", PART_BEGINS, 50,
          99 },
        { "GET", "Range: bytes=50-", "Date: " T0_TEXT "\nLast-Modified: Sun, 06 Nov 1994 08:48:38 GMT", PART_USELESS, 0,
          0 },
        { "GET", "Range: bytes=50-", "", PART_USELESS, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        static struct test_head request;
        struct object *p = stored(rows[i].fields);
        struct byte_range wanted = { 0, 0 };
        enum part_use use = part_use_of(request_head(&request, rows[i].method, rows[i].request), p, &wanted);

        if (use != rows[i].use)
            fail_msg("%s %s, %s: %d", rows[i].method, rows[i].request, rows[i].fields, (int)use);
        if (use != PART_USELESS) {
            assert_int_equal(wanted.first, rows[i].first);
            assert_int_equal(wanted.last, rows[i].last);
        }
        object_unref(&p);
    }
}

static void what_continues_it(void **state)
{
    static const struct {
        const char *fields; /* of the stored */
        int status;
        uint64_t length;
        const char *response;
        bool does;
    } rows[] = {
        { STRONG, 206, 40, STRONG "\nContent-Range: bytes 60-99/100", true },
        { STRONG, 200, 40, STRONG "\nContent-Range: bytes 60-99/100", false },
        { STRONG, 206, 39, STRONG "\nContent-Range: bytes 60-99/100", false },
        { STRONG, 206, 39, STRONG "\nContent-Range: bytes 60-98/100", false },
        { STRONG, 206, 39, STRONG "\nContent-Range: bytes 61-99/100", false },
        { STRONG, 206, 40, STRONG "\nContent-Range: bytes 60-99/101", false },
        { STRONG, 206, 40, "ETag: \"b\"\nContent-Range: bytes 60-99/100", false },
        { STRONG, 206, 40, "ETag: W/\"a\"\nContent-Range: bytes 60-99/100", false },
        { STRONG, 206, 40, "Content-Range: bytes 60-99/100", false },
        { "Last-Modified: " T0_TEXT, 206, 40, "Last-Modified: " T0_TEXT "\nContent-Range: bytes 60-99/100", true },
        { "Last-Modified: " T0_TEXT, 206, 40, "Content-Range: bytes 60-99/100", false },
        { "Last-Modified: " T0_TEXT, 206, 40, STRONG "\nLast-Modified: " T0_TEXT "\nContent-Range: bytes 60-99/100",
          false },
    };

    (void)state;
    for (size_t i = 0; i < ROWS(rows); i++) {
        static struct test_head response;
        struct object *p = stored(rows[i].fields);

        if (part_continues(p, 99, response_head(&response, rows[i].status, rows[i].response), rows[i].length) !=
            rows[i].does)
            fail_msg("%s: %s", rows[i].fields, rows[i].response);
        object_unref(&p);
    }
}

/* RFC 9111 section 3.4. */
static void what_both_make(void **state)
{
    static struct test_head request, response;
    struct object *p = stored(STRONG "\nA: 1\nB: 1\nContent-Range: bytes 40-59/100"), *o;
    const struct head *h =
        response_head(&response, 206, STRONG "\nA: 2\nCache-Control: max-age=9\nContent-Range: bytes 60-69/100");
    struct cache_control cc = cache_control_parse(h, false);
    struct object_recipe recipe = {
        .request = request_head(&request, "GET", ""),
        .response = h,
        .response_cc = &cc,
        .times = response_times_of(h, T0, T0),
        .mono = US_PER_S,
    };

    (void)state;
    o = object_from_parts(p, 69, &recipe);
    assert_int_equal(o->status, 206);
    assert_int_equal(object_part(o).first, 40);
    assert_int_equal(object_part(o).whole, 100);
    assert_int_equal(o->lifetime, 9);
    assert_null(o->body);
    assert_non_null(memmem(o->head, o->head_len, "\r\nA: 2\r\n", 8));
    assert_non_null(memmem(o->head, o->head_len, "\r\nB: 1\r\n", 8));
    assert_null(memmem(o->head, o->head_len, "A: 1", 4));
    assert_null(memmem(o->head, o->head_len, "Content-Range", 13));
    object_unref(&o);
    o = object_from_parts(p, 99, &recipe);
    assert_true(object_is_part(o)); /* its first 40 bytes are missing */
    object_unref(&o);
    object_unref(&p);
    p = stored_part((struct object_part){ 0, 100 }, STRONG);
    o = object_from_parts(p, 99, &recipe);
    assert_false(object_is_part(o));
    assert_int_equal(o->status, 200);
    assert_memory_equal(o->head, "HTTP/1.1 200 OK\r\n", 17);
    object_unref(&o);
    object_unref(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_206_brings),
        cmocka_unit_test(what_a_part_can_do),
        cmocka_unit_test(what_continues_it),
        cmocka_unit_test(what_both_make),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
