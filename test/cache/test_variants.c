#include "heads.h"
#include "base/clock.h"
#include "cache/response.h"
#include "cache/variants.h"

static struct object *stored(int status, const char *request_fields, const char *fields)
{
    static struct test_head request, response;
    const struct head *h = response_head(&response, status, fields);
    struct cache_control cc = cache_control_parse(h, false);
    struct object_recipe recipe = {
        .url = SPAN("http://example.com/"),
        .request = request_head(&request, "GET", request_fields),
        .response = h,
        .response_cc = &cc,
        .times = response_times_of(h, T0, T0),
        .mono = US_PER_S,
    };
    struct object *o = object_from_response(&recipe);

    assert_non_null(o);
    return o;
}

/* Newest first, as the store hangs them. */
static struct object *chain(struct object **o, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        atomic_store(&o[i]->older, o[i + 1]);
    return o[0];
}

static void unref_all(struct object **o, size_t n)
{
    for (size_t i = 0; i < n; i++)
        object_unref(&o[i]);
}

static void each_by_its_own_vary(void **state)
{
    static struct test_head head;
    struct object *o[] = { stored(200, "Bar: 1", "Vary: Bar"), stored(200, "Foo: 2", "Vary: Foo"),
                           stored(200, "Foo: 1", "Vary: Foo") };
    struct object *newest = chain(o, ROWS(o));

    (void)state;
    assert_ptr_equal(variant_select(newest, request_head(&head, "GET", "Foo: 1")), o[2]);
    assert_ptr_equal(variant_select(newest, request_head(&head, "GET", "Foo: 2")), o[1]);
    assert_ptr_equal(variant_select(newest, request_head(&head, "GET", "Foo: 1\nBar: 1")), o[0]); /* V12 */
    assert_null(variant_select(newest, request_head(&head, "GET", "Foo: 3")));
    assert_false(variant_names_equal(o[0], o[1]));
    assert_true(variant_names_equal(o[1], o[2]));
    unref_all(o, ROWS(o));
}

static void tags_worth_asking_with(void **state)
{
    static struct test_head head;
    struct object *o[] = {
        stored(200, "", "Vary: Foo\nETag: \"a\""),
        stored(200, "", "Vary: Foo\nETag: W/\"b\""),
        stored(200, "", "Vary: Foo\nETag: b"),   /* would spoil the list */
        stored(200, "", "Vary: Foo\nETag: W/b"), /* likewise */
        stored(200, "", "Vary: Foo"),
        stored(404, "", "Vary: Foo\nETag: \"d\""),
        stored(200, "", "Vary: Foo, Accept-Encoding\nETag: \"e\""),
    };
    struct object *found[VARIANT_TAGS_MAX];
    size_t n = variants_with_tags(chain(o, ROWS(o)), found);

    (void)state;
    assert_int_equal(n, 2);
    assert_ptr_equal(found[0], o[0]);
    assert_ptr_equal(found[1], o[1]);
    assert_int_equal(variant_named(found, n, response_head(&head, 304, "ETag: W/\"b\"")), 1);
    assert_int_equal(variant_named(found, n, response_head(&head, 304, "ETag: \"b\"")), n);
    assert_int_equal(variant_named(found, n, response_head(&head, 304, "")), n);
    unref_all(found, n);
    unref_all(o, ROWS(o));
}

static void the_newest_of_many(void **state)
{
    struct object *o[VARIANT_TAGS_MAX + 3], *found[VARIANT_TAGS_MAX];

    (void)state;
    for (size_t i = 0; i < ROWS(o); i++)
        o[i] = stored(200, "", "Vary: Foo\nETag: \"a\"");
    assert_int_equal(variants_with_tags(chain(o, ROWS(o)), found), VARIANT_TAGS_MAX);
    assert_ptr_equal(found[0], o[0]);
    assert_ptr_equal(found[VARIANT_TAGS_MAX - 1], o[VARIANT_TAGS_MAX - 1]);
    unref_all(found, VARIANT_TAGS_MAX);
    unref_all(o, ROWS(o));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_by_its_own_vary),
        cmocka_unit_test(tags_worth_asking_with),
        cmocka_unit_test(the_newest_of_many),
    };

    hash_init();
    return cmocka_run_group_tests_name("cache/variants", tests, NULL, NULL);
}
