/* ACLs about users, the addresses they come from, and logins that are remembered. */
#include "lines.h"
#include "access/logins.h"
#include "access/user_addresses.h"
#include "base/hash.h"

static const struct {
    const char *line;
    enum user_state state;
    const char *user;
    bool any_case;
    enum acl_answer want;
} rows[] = {
    { "x proxy_auth REQUIRED", USER_UNKNOWN, "", false, ACL_NEED_USER },
    { "x proxy_auth REQUIRED", USER_ABSENT, "", false, ACL_NEED_LOGIN },
    { "x proxy_auth REQUIRED", USER_NOBODY, "", false, ACL_NO },
    { "x proxy_auth REQUIRED", USER_KNOWN, "ann", false, ACL_YES },
    { "x proxy_auth ann bob carl", USER_KNOWN, "bob", false, ACL_YES },
    { "x proxy_auth ann bob carl", USER_KNOWN, "Bob", false, ACL_NO },
    { "x proxy_auth ann Bob bob", USER_KNOWN, "bob", false, ACL_YES },
    { "x proxy_auth ann Bob bob", USER_KNOWN, "BOB", false, ACL_NO },
    { "x proxy_auth Bob", USER_KNOWN, "bob", true, ACL_YES },
    { "x proxy_auth -i BOB ann", USER_KNOWN, "bob", false, ACL_YES },
    { "x proxy_auth bo bobb", USER_KNOWN, "bob", false, ACL_NO },
    { "x proxy_auth required", USER_KNOWN, "ann", false, ACL_NO },
    { "x proxy_auth ann", USER_UNKNOWN, "ann", false, ACL_NEED_USER },
    { "x proxy_auth_regex ^b -i ^A", USER_KNOWN, "ann", false, ACL_YES },
    { "x proxy_auth_regex ^B", USER_KNOWN, "bob", false, ACL_NO },
    { "x proxy_auth_regex .", USER_ABSENT, "", false, ACL_NEED_LOGIN },
    { "x max_user_ip 1", USER_UNKNOWN, "", false, ACL_NEED_USER },
    { "x max_user_ip 1", USER_ABSENT, "", false, ACL_NEED_LOGIN },
    { "x max_user_ip 1", USER_KNOWN, "ann", false, ACL_NO }, /* not counted */
};

static void users_match(void **state)
{
    (void)state;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct acl_set *s = acl_set_new();
        struct access_facts f = example_facts();

        define(s, rows[i].line);
        f.user_state = rows[i].state;
        f.user = span_str(rows[i].user);
        f.user_any_case = rows[i].any_case;
        if (acl_matches(acl_find(s, SPAN("x")), &f) != rows[i].want)
            fail_msg("%s of '%s'", rows[i].line, rows[i].user);
        acl_set_free(&s);
    }
}

/* Who isn't known is found out, and asked, at the line that wants to know, and at no earlier one. */
static void lists_ask_when_it_matters(void **state)
{
    static const struct {
        const char *lines;
        enum user_state state;
        enum access_answer want;
        const char *where;
    } lists[] = {
        { "allow us; deny !known", USER_UNKNOWN, ACCESS_ALLOWED, "f:1" },
        { "deny them known; allow us known", USER_UNKNOWN, ACCESS_NEED_USER, "f:2" },
        { "allow us known; deny all", USER_ABSENT, ACCESS_NEED_LOGIN, "f:1" },
        { "deny !known; allow all", USER_ABSENT, ACCESS_NEED_LOGIN, "f:1" },
        { "deny any; allow all", USER_ABSENT, ACCESS_NEED_LOGIN, "f:1" },
        { "allow known; deny all", USER_KNOWN, ACCESS_ALLOWED, "f:1" },
        { "deny !known; allow all", USER_KNOWN, ACCESS_ALLOWED, "f:2" },
        { "allow known; deny all", USER_NOBODY, ACCESS_DENIED, "f:2" },
    };
    struct acl_set *s = acl_set_new();
    struct access_facts f = example_facts();

    (void)state;
    define(s, "us src 192.0.2.0/24");
    define(s, "them src 198.51.100.0/24");
    define(s, "known proxy_auth REQUIRED");
    define(s, "any any-of them known");
    f.user = SPAN("ann");
    for (size_t i = 0; i < LENGTH(lists); i++) {
        struct access_list *l = access_list_new(false);
        struct access_verdict v;
        char *text = xstrdup(lists[i].lines), *rest = text, *line;
        unsigned n = 0;

        while ((line = strsep(&rest, ";")) != NULL) {
            struct acl_problem p;
            char where[8];

            snprintf(where, sizeof where, "f:%u", ++n);
            assert_true(list_line(l, s, line, where, &p));
        }
        f.user_state = lists[i].state;
        v = access_check(l, &f);
        if (v.answer != lists[i].want || strcmp(v.where, lists[i].where) != 0)
            fail_msg("%s: %d at %s", lists[i].lines, (int)v.answer, v.where);
        free(text);
        access_list_free(&l);
    }
    acl_set_free(&s);
}

static unsigned seen(struct user_addresses *t, const char *user, const char *from, int64_t now)
{
    struct addr a = addr_of(from, (uint16_t)(now % 60000)); /* the port doesn't count */

    return user_addresses_seen(t, span_str(user), &a, now, 100, 3);
}

static void addresses_are_counted_for_a_while(void **state)
{
    struct user_addresses *t = user_addresses_new();
    struct addr two = addr_of("192.0.2.2", 0);

    (void)state;
    assert_int_equal(seen(t, "ann", "192.0.2.1", 1000), 1);
    assert_int_equal(seen(t, "ann", "192.0.2.1", 1010), 1);
    assert_int_equal(seen(t, "ann", "192.0.2.2", 1020), 2);
    assert_int_equal(seen(t, "bob", "192.0.2.2", 1030), 1);
    assert_int_equal(seen(t, "ann", "2001:db8::1", 1040), 3);
    user_addresses_forget(t, SPAN("ann"), &two);
    assert_int_equal(seen(t, "ann", "2001:db8::1", 1050), 2);
    assert_int_equal(seen(t, "ann", "2001:db8::1", 1115), 1); /* 192.0.2.1 was last seen 105 ago */
    assert_int_equal(seen(t, "ann", "192.0.2.9", 1120), 2);
    user_addresses_forget(t, SPAN("ann"), NULL);
    assert_int_equal(seen(t, "ann", "192.0.2.1", 1130), 1);
    user_addresses_forget(t, SPAN("nobody"), NULL);
    user_addresses_free(&t);
}

static void who_was_not_seen_longest_gives_way(void **state)
{
    struct user_addresses *t = user_addresses_new();

    (void)state;
    seen(t, "a", "192.0.2.1", 1000);
    seen(t, "b", "192.0.2.1", 1001);
    seen(t, "c", "192.0.2.1", 1002);
    seen(t, "a", "192.0.2.2", 1003);
    seen(t, "d", "192.0.2.1", 1004);
    assert_int_equal(seen(t, "a", "192.0.2.3", 1005), 3);
    assert_int_equal(seen(t, "b", "192.0.2.2", 1006), 1);
    user_addresses_free(&t);
}

static void addresses_of_one_user_are_bounded(void **state)
{
    struct user_addresses *t = user_addresses_new();
    struct addr a = addr_of("10.0.0.0", 0);
    unsigned n = 0;

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        a.bytes[2] = (uint8_t)(i >> 8);
        a.bytes[3] = (uint8_t)i;
        n = user_addresses_seen(t, SPAN("ann"), &a, 5000 + i, 1000000, 10);
    }
    assert_int_equal(n, 256);
    user_addresses_free(&t);
}

static void logins_are_found_by_their_password_only(void **state)
{
    struct logins *l = logins_new();
    unsigned char key[LOGIN_KEY_BYTES], other[LOGIN_KEY_BYTES];
    struct login *one;

    (void)state;
    logins_key(l, SPAN("ann"), SPAN("secret"), SPAN_NONE, key);
    logins_key(l, SPAN("annsec"), SPAN("ret"), SPAN_NONE, other);
    assert_memory_not_equal(key, other, sizeof key);
    logins_key(l, SPAN("ann"), SPAN("secret"), SPAN("x"), other);
    assert_memory_not_equal(key, other, sizeof key);
    one = logins_add(l, key, SPAN("ann"), 1, 10);
    assert_string_equal(one->user, "ann");
    assert_null(logins_find(l, other, 1));
    logins_key(l, SPAN("ann"), SPAN("secret"), SPAN_NONE, other);
    assert_ptr_equal(logins_find(l, other, 2), one);
    logins_free(&l);
}

static struct login *add(struct logins *l, unsigned n, int64_t now, size_t most)
{
    unsigned char key[LOGIN_KEY_BYTES] = { 0 };

    key[5] = (unsigned char)n;
    return logins_add(l, key, SPAN("u"), now, most);
}

static bool has(struct logins *l, unsigned n, int64_t now)
{
    unsigned char key[LOGIN_KEY_BYTES] = { 0 };

    key[5] = (unsigned char)n;
    return logins_find(l, key, now) != NULL;
}

static void logins_are_bounded(void **state)
{
    struct logins *l = logins_new();
    struct login *one = add(l, 1, 1, 3);

    (void)state;
    add(l, 2, 2, 3);
    add(l, 3, 3, 3);
    assert_true(has(l, 2, 4));
    one->is_pending = true; /* stays, though it is the oldest */
    add(l, 4, 5, 3);
    assert_int_equal(logins_count(l), 3);
    assert_true(has(l, 1, 6) && has(l, 2, 7) && has(l, 4, 8) && !has(l, 3, 9));
    one->is_pending = false;
    logins_drop_unused(l, 8);
    assert_true(!has(l, 1, 9) && !has(l, 2, 9) && has(l, 4, 9));
    logins_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_match),
        cmocka_unit_test(lists_ask_when_it_matters),
        cmocka_unit_test(addresses_are_counted_for_a_while),
        cmocka_unit_test(who_was_not_seen_longest_gives_way),
        cmocka_unit_test(addresses_of_one_user_are_bounded),
        cmocka_unit_test(logins_are_found_by_their_password_only),
        cmocka_unit_test(logins_are_bounded),
    };

    hash_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
